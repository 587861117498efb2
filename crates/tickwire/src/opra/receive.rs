//! `tickwire opra receive`: receives lines from sockets and prints their messages.

use super::bus::{LineBus, check_output};
use super::metrics::{LineResults, OpraLineMetrics};
use super::print::{MessageFormat, MessageLines, OpraReport};
use super::show::{MarketRows, OpraEventKind};
use super::style::{OpraMessagePlace, Style};
use crate::distribution::{Bus, BusArgs, refused};
use crate::failure::{Failure, Outcome};
use crate::options::{MetricsArgs, RecordArgs, check_cpu, metrics_of, pin_to, recorded_text, wait};
use crate::output::{OutputArgs, SharedOutput};
use crate::progress::Progress;
use crate::units::{ByteCount, TimeSpan, hold};
use std::cell::RefCell;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::rc::Rc;
use tickwire_distribution::market::best_price_sets;
use tickwire_feed::arbiter::{ArbiterOptions, Line};
use tickwire_feed::counted;
use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_feed::opra::{LineHandler, OpraEvent, OpraSink, Ports};
use tickwire_net::Stop;
use tickwire_net::clock::monotonic_ns;
use tickwire_net::multicast::{
    Endpoint, RECEIVE_BUFFER_BYTES_DEFAULT, Receiver, ReceiverOptions, interface_address,
};
use tickwire_net::reception::{Channel, LoopState, Reception};
use tickwire_opra::OpraMessage;
use tickwire_telemetry::metrics::LoopMetrics;

/// Maximum number of lines: more than any feed had.
const LINES_MAX: i64 = 256;

/// Number of buffered bytes at which the output is written at once.
const WRITE_BYTES: usize = 64 << 10;

/// Receive lines from sockets and print their messages
///
/// The messages of each line are printed once and in order, as by `opra decode`. Gaps and packets
/// that cannot be decoded are reported at once, the counts at the end. The command ends after
/// --idle, --messages or Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct OpraReceiveArgs {
    /// Multicast group of the A sides, or the address of one host for unicast
    #[arg(short = 'a', long, value_name = "GROUP")]
    group: Ipv4Addr,
    /// Multicast group of the B sides. Without it only the A sides are received
    #[arg(long, value_name = "GROUP")]
    group_b: Option<Ipv4Addr>,
    /// Number of lines, on consecutive ports
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=LINES_MAX))]
    lines: u16,
    /// Port of the A side of the first line; further lines use the next ports
    #[arg(long, value_name = "PORT", default_value_t = Ports::default().first_a)]
    first_port_a: u16,
    /// Port of the B side of the first line; further lines use the next ports
    #[arg(long, value_name = "PORT", default_value_t = Ports::default().first_b)]
    first_port_b: u16,
    /// Name or address of the local interface
    #[arg(long, value_name = "INTERFACE", default_value = "127.0.0.1")]
    interface: String,
    /// Receive the A sides only from this sender (source-specific multicast)
    #[arg(long, value_name = "IP")]
    source: Option<Ipv4Addr>,
    /// Receive the B sides only from this sender (source-specific multicast)
    #[arg(long, value_name = "IP", requires = "group_b")]
    source_b: Option<Ipv4Addr>,
    /// Longest wait for a missing packet after a later packet has arrived
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = hold)]
    hold: TimeSpan,
    /// Busy-poll while no packets arrive: lower latency, one CPU fully used. With a time, such as
    /// 50us, busy-poll for this time after the last packet, then sleep
    #[arg(long, value_name = "TIME")]
    spin: Option<Option<TimeSpan>>,
    /// CPU to run on, counted from 0
    #[arg(long, value_name = "NUMBER")]
    cpu: Option<usize>,
    /// Receive buffer of each socket, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = ByteCount(RECEIVE_BUFFER_BYTES_DEFAULT as u64))]
    receive_buffer: ByteCount,
    /// Exit after this many messages
    #[arg(long, value_name = "COUNT")]
    messages: Option<u64>,
    /// Exit after this time without packets, counted from the first packet
    #[arg(long, value_name = "TIME")]
    idle: Option<TimeSpan>,
    /// Output format of messages. With --publish, messages are not printed
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: MessageFormat,
    /// Write market events, not messages, as JSON lines: best prices of each series, trades, or
    /// events such as a series that becomes fresh or stale
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',', conflicts_with = "format")]
    show: Vec<OpraEventKind>,
    #[command(flatten)]
    bus: BusArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
    /// Print the final counts only if something was wrong
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &OpraReceiveArgs) -> Result<Outcome, Failure> {
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?;
    let fail = |error: tickwire_net::HostError| Failure::Usage(error.to_string());
    let progress = Progress::none();
    let style = Style::plain(args.format);
    check_cpu(args.cpu)?;
    check_output(&args.bus, &args.show, &args.output)?;
    let mut out = args.output.create(&[])?;
    let prints_messages = args.show.is_empty() && !args.bus.publish;
    let heading = style.heading().filter(|_| prints_messages);
    out.write_all(heading.unwrap_or_default().as_bytes())?;
    let output = OpraReceiveOutput {
        lines: MessageLines::new(style),
        report: OpraReport::new(format!("{}", args.group), &progress),
        out,
        failure: None,
        messages_max: args.messages.unwrap_or(u64::MAX),
        gaps: 0,
        lost: 0,
        stop: stop.clone(),
    };
    let output = Rc::new(RefCell::new(output));
    let bus = Bus::join(&args.bus, &best_price_sets(), false, &stop)?;
    let mut reception = Reception::new(wait(args.spin)).map_err(fail)?;
    let metrics = metrics_of("opra receive");
    let _exporter = args.metrics.serve(&metrics)?;
    let mut line_metrics = Vec::new();
    for index in 0..args.lines {
        let hold_ns = args.hold.nanoseconds();
        let options = ArbiterOptions { hold_ns, ..ArbiterOptions::default() };
        let market = (!args.show.is_empty()).then(|| MarketRows::new(&args.show));
        let epoch_ns = reception.epoch_ns();
        let decoded = LineResults::default();
        let line = index + 1;
        let bus = bus.clone();
        let bus = bus.map(|bus| LineBus::new(bus, args.bus.source_name(), line, epoch_ns));
        let sink = LineSink { line, output: output.clone(), market, bus, epoch_ns, decoded };
        let inputs = args.open(index)?;
        let sources = inputs.iter().map(|(source, _)| *source);
        line_metrics.push(OpraLineMetrics::new(&metrics, index + 1, sources));
        reception.add_channel(LineHandler::new(options), sink, inputs).map_err(fail)?;
    }
    let name = |index, source| format!("line {} {source}", index + 1);
    args.record.start(&mut reception, None, name)?;
    let loop_metrics = LoopMetrics::new(&metrics, None);
    let mut quiet_since = QuietSince::default();
    let mut is_idle = false;
    pin_to(args.cpu)?;
    let received = reception.run(&stop, |reception, moment| {
        let packets = packets_of(reception);
        let silent_ns = quiet_since.silent_ns(moment, packets);
        if args.idle.is_some_and(|idle| packets > 0 && silent_ns >= idle.nanoseconds()) {
            is_idle = true;
            stop.set();
        }
        if moment.is_idle {
            output.borrow_mut().flush();
        }
        for (channel, metrics) in reception.channels().iter().zip(&mut line_metrics) {
            if metrics.is_due(moment.now_ns) {
                let inputs: Vec<_> = channel.inputs().collect();
                metrics.publish(moment.now_ns, &inputs, &channel.handler, channel.sink.decoded);
                loop_metrics.publish(reception);
            }
        }
    });
    for channel in reception.channels_mut() {
        // The input has ended: held packets are delivered and missing ones are declared lost.
        PacketHandler::handle_timeout(&mut channel.handler, u64::MAX, &mut channel.sink);
    }
    let recording = reception.finish_recording();
    let handlers: Vec<_> = reception.channels().iter().map(|channel| &channel.handler).collect();
    let mut output = output.borrow_mut();
    output.flush();
    output.report.packets = packets_of(&reception);
    output.finish(args, &handlers);
    if let Some(recording) = &recording {
        output.report.print(&recorded_text(recording));
    }
    let refusal =
        reception.channels().iter().find_map(|channel| channel.sink.bus.as_ref()?.failure());
    let failed = match (output.failure.take(), received, refusal) {
        (Some(error), ..) => Err(error.into()),
        (None, Err(error), _) => Err(fail(error)),
        (None, Ok(_), Some(error)) => Err(refused(error)),
        (None, Ok(_), None) => Ok(()),
    };
    // Reception ends by itself only through --idle and --messages.
    let has_ended = is_idle || output.report.messages >= output.messages_max;
    let is_whole = failed.is_ok() && has_ended;
    let unpublished = bus.map(|bus| bus.finish(is_whole)).transpose();
    failed?;
    let unpublished = unpublished?.unwrap_or(false);
    let unnumbered = handlers.iter().any(|handler| handler.counters().unnumbered > 0);
    let unrecorded =
        recording.is_some_and(|recording| recording.unrecorded + recording.refused > 0);
    Ok(Outcome::flawed_if(
        output.report.errors.count > 0 || unnumbered || unrecorded || unpublished,
    ))
}

impl OpraReceiveArgs {
    /// Opens the sockets of a line, counted from 0.
    fn open(&self, index: u16) -> Result<Vec<(FeedLine, Receiver)>, Failure> {
        let interface = interface_address(&self.interface)
            .map_err(|error| Failure::Usage(format!("--interface: {error}")))?;
        let options = ReceiverOptions {
            receive_buffer_bytes: self.receive_buffer.bytes(),
            ..ReceiverOptions::default()
        };
        let sides = [
            (Line::A, Some(self.group), self.first_port_a, self.source),
            (Line::B, self.group_b, self.first_port_b, self.source_b),
        ];
        let mut inputs = Vec::new();
        for (side, group, first_port, source) in sides {
            let Some(group) = group else { continue };
            let port = first_port.checked_add(index).ok_or_else(|| {
                let line = index + 1;
                Failure::Usage(format!("line {line} has no port: {first_port} is too high"))
            })?;
            let endpoint = Endpoint { group, port, interface, source };
            let receiver = Receiver::open(endpoint, options);
            let receiver = receiver.map_err(|error| Failure::Usage(error.to_string()))?;
            tracing::info!("line {} {side:?}: {endpoint}", index + 1);
            inputs.push((FeedLine::Incremental(side), receiver));
        }
        Ok(inputs)
    }
}

/// Number of packets that all sockets have received.
fn packets_of<S>(reception: &Reception<LineHandler, S>) -> u64
where
    LineHandler: PacketHandler<S>,
{
    let sockets = reception.channels().iter().flat_map(Channel::inputs);
    sockets.map(|(_, receiver)| receiver.counters().packets).sum()
}

/// Tracks since when no packet has arrived.
#[derive(Default)]
struct QuietSince {
    packets: u64,
    last_ns: u64,
}

impl QuietSince {
    fn silent_ns(&mut self, moment: LoopState, packets: u64) -> u64 {
        if packets != self.packets {
            *self = Self { packets, last_ns: moment.now_ns };
        }
        moment.now_ns.saturating_sub(self.last_ns)
    }
}

/// The output that all lines share.
struct OpraReceiveOutput<'r> {
    lines: MessageLines,
    report: OpraReport<'r>,
    out: SharedOutput,
    /// Reason why no more can be written.
    failure: Option<io::Error>,
    messages_max: u64,
    gaps: u64,
    lost: u64,
    stop: Stop,
}

impl OpraReceiveOutput<'_> {
    fn write(&mut self) {
        let written = self.out.write_all(&self.lines.bytes);
        self.lines.clear();
        self.note(written);
    }

    fn flush(&mut self) {
        if self.lines.bytes.is_empty() {
            return;
        }
        self.write();
        let flushed = self.out.flush();
        self.note(flushed);
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
            self.stop.set();
        }
    }

    fn finish(&mut self, args: &OpraReceiveArgs, handlers: &[&LineHandler]) {
        let sum =
            |count: &dyn Fn(&LineHandler) -> u64| handlers.iter().map(|line| count(line)).sum();
        let unnumbered: u64 = sum(&|line| line.counters().unnumbered);
        if unnumbered > 0 {
            self.report.print(&format!(
                "{unnumbered} packets without an OPRA header with a sequence number: is the port right?"
            ));
        }
        if !args.quiet || self.gaps > 0 {
            let side = |line: Line| {
                let received: u64 = sum(&|handler| handler.arbiter().line_counters(line).received);
                let first: u64 = sum(&|handler| handler.arbiter().line_counters(line).first);
                format!("{line:?} received {}, {first} of them first", counted(received, "packet"))
            };
            let [a, b] = Line::ALL.map(side);
            let (gaps, lost) = (counted(self.gaps, "gap"), counted(self.lost, "message"));
            self.report.print(&format!("{a}; {b}; {gaps} of {lost}"));
        }
        self.report.finish(args.quiet);
    }
}

/// Prints the messages of a line.
struct LineSink<'r> {
    /// Number of the line, from 1.
    line: u16,
    output: Rc<RefCell<OpraReceiveOutput<'r>>>,
    /// Shows market events, if requested.
    market: Option<MarketRows>,
    /// Publishes market events, if requested.
    bus: Option<LineBus>,
    /// Offset from the handler's times to nanoseconds since 1970.
    epoch_ns: u64,
    /// Results of the packets, for the metrics.
    decoded: LineResults,
}

impl OpraSink for LineSink<'_> {
    fn handle_message(&mut self, message: &OpraMessage<'_>) {
        let mut output = self.output.borrow_mut();
        if output.report.messages >= output.messages_max {
            return;
        }
        output.report.messages += 1;
        self.decoded.messages += 1;
        if let Some(bus) = &mut self.bus {
            bus.message(message);
        }
        match &mut self.market {
            Some(market) => market.message(message),
            // With --publish, messages are not printed; --show prints market events.
            None if self.bus.is_some() => {}
            None => output.lines.push(message),
        }
        if output.report.messages >= output.messages_max {
            output.stop.set();
        }
    }

    fn handle_event(&mut self, event: &OpraEvent) {
        let line = self.line;
        let output = &mut *self.output.borrow_mut();
        if let Some(market) = &mut self.market {
            market.event(event, self.epoch_ns, &mut output.lines.bytes);
        }
        if let Some(bus) = &mut self.bus {
            bus.event(event, monotonic_ns());
            if bus.failure().is_some() {
                output.stop.set();
            }
        }
        if let OpraEvent::Packet { .. } = event {
            output.lines.place(OpraMessagePlace::default());
            if output.lines.bytes.len() >= WRITE_BYTES {
                output.write();
            }
        }
        match event {
            OpraEvent::Packet { seq_num, result: Ok(summary), .. } => {
                output.report.warn(format_args!("line {line}, number {seq_num}"), summary);
            }
            OpraEvent::Packet { seq_num, result: Err(error), .. } => {
                self.decoded.failed += 1;
                output.report.error(&format!("line {line}, number {seq_num}: {error}"));
            }
            OpraEvent::Gap(gap) => {
                output.gaps += 1;
                output.lost = output.lost.saturating_add(gap.count);
                let (first, last) = (gap.first, gap.last());
                output.report.print(&format!(
                    "line {line}: sequence numbers {first} to {last} are missing on both sides"
                ));
            }
            OpraEvent::Reset { seq_num } => {
                output.report.print(&format!("line {line}: sequence numbers restart at {seq_num}"));
            }
        }
    }
}
