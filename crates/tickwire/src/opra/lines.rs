//! `tickwire opra decode` for lines: A and B sides, in one capture or in two.

use super::bus::{LineBus, check_output};
use super::decode::OpraDecodeArgs;
use super::print::{MessageLines, OpraReport};
use super::show::MarketRows;
use super::style::OpraMessagePlace;
use crate::distribution::{Bus, refused};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::InputArgs;
use crate::progress::Progress;
use crate::units::{TimeSpan, hold};
use std::io::{Read, Write};
use std::path::PathBuf;
use tickwire_captures::not_a_datagram;
use tickwire_distribution::market::best_price_sets;
use tickwire_feed::arbiter::{ArbiterOptions, Line};
use tickwire_feed::capture::{CaptureKind, CaptureReader};
use tickwire_feed::counted;
use tickwire_feed::opra::{LineHandler, OpraEvent, Ports};
use tickwire_net::Stop;

/// Maximum number of lines: more than any feed had.
const LINES_MAX: i64 = 256;

/// Addresses of the sides of lines in captures.
#[derive(Clone, Debug, clap::Args)]
pub struct OpraLineArgs {
    /// Capture of the B side; the first file is the A side. The packets of both are merged by time
    #[arg(long, value_name = "FILE")]
    file_b: Option<PathBuf>,
    /// Number of lines in the captures (pcap and pcapng), distinguished by destination port
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=LINES_MAX))]
    lines: Option<u16>,
    /// Port of the A side of the first line; further lines use the next ports
    #[arg(long, value_name = "PORT", default_value_t = Ports::default().first_a, requires = "lines")]
    first_port_a: u16,
    /// Port of the B side of the first line; further lines use the next ports
    #[arg(long, value_name = "PORT", default_value_t = Ports::default().first_b, requires = "lines")]
    first_port_b: u16,
    /// Longest wait for a missing packet after a later packet has arrived, by capture time
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = hold)]
    hold: TimeSpan,
}

impl OpraLineArgs {
    /// True if the captures contain lines with A and B sides.
    pub fn are_given(&self) -> bool {
        self.file_b.is_some() || self.lines.is_some()
    }

    fn ports(&self) -> Option<Ports> {
        let (first_a, first_b) = (self.first_port_a, self.first_port_b);
        self.lines.map(|lines| Ports { first_a, first_b, lines })
    }
}

/// Runs the command.
pub fn run(args: &OpraDecodeArgs) -> Result<Outcome, Failure> {
    let path = args.input.required_path()?;
    let style = args.style()?;
    let heading = style.heading();
    let progress = Progress::of(path);
    let mut captures = vec![LineCapture::open(&args.input, Line::A, &progress)?];
    if let Some(path) = &args.sides.file_b {
        let none = Progress::none();
        captures.push(LineCapture::open(&args.input.with_path(path), Line::B, &none)?);
    }
    let hold_ns = args.sides.hold.nanoseconds();
    let options = ArbiterOptions { hold_ns, ..ArbiterOptions::default() };
    let mut inputs = vec![path];
    inputs.extend(args.sides.file_b.as_deref());
    check_output(&args.bus, &args.show, &args.output)?;
    let mut out = args.output.create(&inputs)?;
    let heading = heading.filter(|_| !args.has_market_events());
    out.write_all(heading.unwrap_or_default().as_bytes())?;
    let stop = stop_of(args)?;
    let bus = Bus::join(&args.bus, &best_price_sets(), true, &stop)?;
    let line = |index: u16| CapturedLine {
        handler: LineHandler::new(options),
        market: (!args.show.is_empty()).then(|| MarketRows::new(&args.show)),
        bus: bus.clone().map(|bus| LineBus::new(bus, args.bus.source_name(), index + 1, 0)),
    };
    let mut feed = OpraLines {
        captured: (0..args.sides.lines.unwrap_or(1)).map(line).collect(),
        prints_messages: !args.has_market_events(),
        now_ns: 0,
        stop,
        ports: args.sides.ports(),
        other_ports: 0,
        gaps: 0,
        lost: 0,
        left: args.messages_max(),
        packets: 0,
        lines_named: args.sides.lines.is_some(),
        lines: MessageLines::new(style),
        report: OpraReport::new(files::name_of(path), &progress),
    };
    let decoded = feed.decode_all(&mut captures, &mut out);
    // Subscribers learn of the end, whatever happened.
    let is_whole = decoded.is_ok() && !feed.stop.is_set();
    let unpublished = bus.map(|bus| bus.finish(is_whole)).transpose();
    decoded?;
    out.flush()?;
    feed.finish(args.quiet);
    let is_unpublished = unpublished?.unwrap_or(false);
    Ok(Outcome::flawed_if(feed.report.errors.count > 0 || feed.gaps > 0 || is_unpublished))
}

/// Returns the flag that ends publishing; a signal sets it, so that subscribers learn of the end.
fn stop_of(args: &OpraDecodeArgs) -> Result<Stop, Failure> {
    match args.bus.publish {
        true => Stop::on_signals()
            .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}"))),
        false => Ok(Stop::default()),
    }
}

/// A capture and its next packet.
struct LineCapture {
    side: Line,
    reader: CaptureReader<Box<dyn Read>>,
    next: Option<CapturedPacket>,
    taken: u64,
}

/// A packet copied out of its reader.
struct CapturedPacket {
    timestamp_ns: Option<u64>,
    port: Option<u16>,
    index: u64,
    bytes: Vec<u8>,
}

impl LineCapture {
    fn open(input: &InputArgs, side: Line, progress: &Progress) -> Result<Self, Failure> {
        let reader = input.open(progress)?;
        if reader.kind() == CaptureKind::Stream {
            let text =
                "a raw file is one packet: lines need a capture of several packets".to_owned();
            return Err(Failure::Usage(text));
        }
        Ok(Self { side, reader, next: None, taken: 0 })
    }

    /// Reads the next packet, unless one has been read already.
    fn look(&mut self, report: &mut OpraReport<'_>) {
        while self.next.is_none() {
            let packet = match self.reader.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => return,
                Err(error) => return report.error(&error.to_string()),
            };
            if let Some(why) = not_a_datagram(&packet, false) {
                report.packets += 1;
                report.error(&format!("packet {}: {why}", packet.index));
                continue;
            }
            self.next = Some(CapturedPacket {
                timestamp_ns: packet.timestamp_ns,
                port: packet.destination.map(|address| address.port()),
                index: packet.index,
                bytes: packet.bytes.to_vec(),
            });
        }
    }
}

/// A line and the outputs of its messages.
struct CapturedLine {
    handler: LineHandler,
    /// Converter to market events, if they are shown.
    market: Option<MarketRows>,
    /// Publisher of market events, if they are published.
    bus: Option<LineBus>,
}

/// All lines and their report.
struct OpraLines<'r> {
    captured: Vec<CapturedLine>,
    /// True if messages are printed, not market events.
    prints_messages: bool,
    /// Capture time of the last packet.
    now_ns: u64,
    stop: Stop,
    ports: Option<Ports>,
    other_ports: u64,
    gaps: u64,
    lost: u64,
    /// Messages still to be written.
    left: u64,
    /// Packets that the lines delivered.
    packets: u64,
    /// True if messages contain the line on which they arrived.
    lines_named: bool,
    lines: MessageLines,
    report: OpraReport<'r>,
}

impl OpraLines<'_> {
    /// Processes the packets of all captures by time, or alternately if they have no times.
    fn decode_all(
        &mut self,
        captures: &mut [LineCapture],
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        while !self.stop.is_set() {
            captures.iter_mut().for_each(|capture| capture.look(&mut self.report));
            let waiting = captures.iter_mut().filter(|capture| capture.next.is_some());
            let first = waiting.min_by_key(|capture| {
                let arrival = capture.next.as_ref();
                (arrival.and_then(|arrival| arrival.timestamp_ns), capture.taken)
            });
            let Some(capture) = first else { break };
            let Some(arrival) = capture.next.take().filter(|_| self.left > 0) else { break };
            capture.taken += 1;
            self.take(capture.side, &arrival)?;
            self.write(out)?;
        }
        let missing = captures.iter().flat_map(|capture| capture.reader.statistics().missing());
        missing.for_each(|text| self.report.error(&text));
        let times_back =
            captures.iter().filter_map(|capture| capture.reader.statistics().times_back());
        times_back.for_each(|text| self.report.print(&text));
        for index in 0..self.captured.len() {
            // A run that was cut short does not report gaps at its end.
            if self.left == 0 || self.stop.is_set() {
                break;
            }
            self.captured[index].handler.handle_timeout(u64::MAX);
            self.poll(index)?;
            self.write(out)?;
        }
        Ok(())
    }

    fn take(&mut self, side: Line, arrival: &CapturedPacket) -> Result<(), Failure> {
        self.report.packets += 1;
        let by_port = self.ports.zip(arrival.port).map(|(ports, port)| ports.side_of(port));
        let Some((index, side)) = by_port.unwrap_or(Some((0, side))) else {
            self.other_ports += 1;
            return Ok(());
        };
        let Some(CapturedLine { handler, .. }) = self.captured.get_mut(index) else {
            return Ok(());
        };
        let unnumbered = handler.counters().unnumbered;
        self.now_ns = arrival.timestamp_ns.unwrap_or(self.now_ns);
        handler.handle_packet(arrival.timestamp_ns.unwrap_or(0), side, &arrival.bytes);
        if handler.counters().unnumbered > unnumbered {
            let text = "no OPRA header with a sequence number: is the port right?";
            self.report.error(&format!("packet {}: {text}", arrival.index));
        }
        self.poll(index)
    }

    fn poll(&mut self, index: usize) -> Result<(), Failure> {
        let Self { captured, prints_messages, now_ns, report, lines, packets, .. } = self;
        let Some(CapturedLine { handler, market, bus }) = captured.get_mut(index) else {
            return Ok(());
        };
        let line = index + 1;
        while let Some(event) = handler.poll_event(|message| {
            report.messages += 1;
            if let Some(market) = market {
                market.message(&message);
            }
            if let Some(bus) = bus {
                bus.message(&message);
            }
            if *prints_messages {
                lines.push(&message);
            }
        }) {
            if let Some(market) = market {
                market.event(&event, 0, &mut lines.bytes);
            }
            if let Some(bus) = bus {
                bus.event(&event, *now_ns);
                if let Some(error) = bus.failure() {
                    return Err(refused(error));
                }
            }
            match event {
                OpraEvent::Packet { seq_num, received_ns, result, .. } => {
                    lines.place(OpraMessagePlace {
                        packet: Some(*packets),
                        captured_ns: Some(received_ns).filter(|ns| *ns > 0),
                        line: self.lines_named.then_some(line),
                    });
                    *packets += 1;
                    let place = format_args!("line {line}, number {seq_num}");
                    match result {
                        Ok(summary) => report.warn(place, &summary),
                        Err(error) => report.error(&format!("{place}: {error}")),
                    }
                }
                OpraEvent::Gap(gap) => {
                    self.gaps += 1;
                    self.lost = self.lost.saturating_add(gap.count);
                    report.print(&format!(
                        "line {line}: sequence numbers {} to {} are missing on both sides",
                        gap.first,
                        gap.last()
                    ));
                }
                OpraEvent::Reset { seq_num } => {
                    report.print(&format!("line {line}: sequence numbers restart at {seq_num}"));
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        if self.prints_messages {
            self.lines.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.left -= self.lines.ends.len() as u64;
        }
        out.write_all(&self.lines.bytes)?;
        self.lines.clear();
        Ok(())
    }

    fn finish(&self, quiet: bool) {
        let handlers = || self.captured.iter().map(|captured| &captured.handler);
        let used = handlers().filter(|handler| {
            Line::ALL.iter().any(|line| handler.arbiter().line_counters(*line).received > 0)
        });
        let count = |of: fn(&LineHandler, Line) -> u64, line: Line| {
            handlers().map(|handler| of(handler, line)).sum::<u64>()
        };
        let received = |handler: &LineHandler, line| handler.arbiter().line_counters(line).received;
        let first = |handler: &LineHandler, line| handler.arbiter().line_counters(line).first;
        if !quiet || self.gaps > 0 {
            self.report.print(&format!(
                "{}; A received {}, {} of them first; B {}, {}; {} of {}; {} to other ports",
                counted(used.count(), "line"),
                counted(count(received, Line::A), "packet"),
                count(first, Line::A),
                count(received, Line::B),
                count(first, Line::B),
                counted(self.gaps, "gap"),
                counted(self.lost, "message"),
                counted(self.other_ports, "packet")
            ));
        }
        self.report.finish(quiet);
    }
}
