//! Sources of packets: a file, or the lines of a group.

use super::args::PublishArgs;
use super::metrics::PublishMetrics;
use super::{FeedEnd, FeedHandler, PublicationEnd, PublishSink};
use crate::distribution;
use crate::failure::Failure;
use crate::files;
use crate::options::{self, pin_to};
use crate::receive::{line, socket_facts};
use std::io::Read;
use tickwire_feed::arbiter::Line;
use tickwire_feed::capture::CaptureReader;
use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_monitor::{ChannelDescription, ExplanationSettings, Facts, MonitorBuilder, Tap};
use tickwire_net::Stop;
use tickwire_net::clock::monotonic_ns;
use tickwire_net::multicast::{Receiver, ReceiverOptions};
use tickwire_net::reception::{Channel, Reception};
use tickwire_telemetry::metrics::{FeedCounts, FeedMetrics};

/// Minimum time between two publications of metrics while a file is read.
const PUBLISH_NS: u64 = 250_000_000;

/// A monitor that is not served yet, and how it explains the feed's packets.
pub struct Monitored {
    /// The monitor.
    pub builder: MonitorBuilder,
    /// How packets are explained.
    pub explaining: ExplanationSettings,
    /// Silence after which a line is called silent, in nanoseconds.
    pub silent_after_ns: u64,
}

/// Packets of a file.
pub type FileCaptureReader = CaptureReader<Box<dyn Read>>;

/// Handles the packets of the file, or else of the lines, until the feed is done, the file ends, or the user
/// stops it.
pub fn run(
    args: &PublishArgs,
    capture: Option<FileCaptureReader>,
    handler: &mut FeedHandler,
    sink: &mut PublishSink,
    metrics: &mut PublishMetrics,
    monitored: Option<Monitored>,
    stop: &Stop,
) -> Result<PublicationEnd, Failure> {
    match capture {
        Some(capture) => {
            // A file has no lines to show.
            let builder = monitored.map(|of| of.builder);
            let _monitor = args.monitor.serve(builder, metrics.all().routes())?;
            pin_to(args.cpu)?;
            let end = file(args, capture, handler, sink, metrics, stop)?;
            Ok(PublicationEnd { end, dropped_by_kernel: 0, too_long: 0 })
        }
        None => lines(args, handler, sink, metrics, monitored, stop),
    }
}

fn file(
    args: &PublishArgs,
    mut capture: FileCaptureReader,
    handler: &mut FeedHandler,
    sink: &mut PublishSink,
    metrics: &mut PublishMetrics,
    stop: &Stop,
) -> Result<FeedEnd, Failure> {
    let mut published_ns = 0;
    while !stop.is_set() && !sink.inner().over().is_set() {
        let packet = capture.next_packet().map_err(|error| {
            let name = args.file.as_deref().map_or_else(String::new, files::name_of);
            Failure::Data(format!("{name}: {error}"))
        })?;
        let Some(packet) = packet else { return Ok(FeedEnd::File) };
        let source = FeedLine::Incremental(Line::A);
        let now_ns = monotonic_ns();
        handler.handle_packet(now_ns, source, packet.bytes, sink);
        if now_ns.saturating_sub(published_ns) >= PUBLISH_NS {
            published_ns = now_ns;
            metrics.publish(sink.inner());
        }
    }
    Ok(end_of(sink))
}

fn lines(
    args: &PublishArgs,
    handler: &mut FeedHandler,
    sink: &mut PublishSink,
    metrics: &mut PublishMetrics,
    monitored: Option<Monitored>,
    stop: &Stop,
) -> Result<PublicationEnd, Failure> {
    let options = ReceiverOptions {
        receive_buffer_bytes: args.receive_buffer.bytes(),
        ..ReceiverOptions::default()
    };
    let fail = |error: tickwire_net::HostError| Failure::Usage(error.to_string());
    let mut inputs = Vec::new();
    let endpoints = args.endpoints()?;
    for (line, endpoint) in Line::ALL.into_iter().zip([Some(endpoints.a), endpoints.b]) {
        let Some(endpoint) = endpoint else { continue };
        let receiver = Receiver::open(endpoint, options).map_err(fail)?;
        inputs.push((FeedLine::Incremental(line), receiver));
        distribution::say(args.json.as_deref(), &format!("Listening to {endpoint}."))?;
    }
    let mut reception = Reception::new(options::wait(args.spin)).map_err(fail)?;
    let over = sink.inner().over().clone();
    let observed = over.clone();
    let sources = inputs.iter().map(|(source, _)| *source);
    let mut feed = FeedMetrics::new(metrics.all(), None, sources);
    let builder = monitored.map(|mut of| {
        sink.inner_mut().set_tap(of.builder.add_channel(ChannelDescription {
            name: "feed".to_owned(),
            epoch_ns: reception.epoch_ns(),
            silent_after_ns: of.silent_after_ns,
            lines: inputs.iter().map(|input| line(input, &feed)).collect(),
            times: metrics.message_times(),
            explaining: Some(of.explaining),
        }));
        of.builder
    });
    let _monitor = args.monitor.serve(builder, metrics.all().routes())?;
    pin_to(args.cpu)?;
    reception.add_channel(Borrowed { handler, sink }, (), inputs).map_err(fail)?;
    let run = reception.run(&over, |reception: &mut Reception<Borrowed<'_>, ()>, moment| {
        if stop.is_set() {
            observed.set();
        }
        let [channel] = reception.channels_mut() else { return };
        channel.handler.sink.write_held_back(moment.now_ns);
        let is_due = |tap: &mut Tap| tap.is_due(moment.now_ns);
        let is_monitor_due = channel.handler.sink.inner_mut().tap_mut().is_some_and(is_due);
        if is_monitor_due {
            tell_monitor(channel, moment.now_ns);
        }
        // Publish the metrics together with the monitor's data, so that both show the same counts.
        if is_monitor_due || feed.is_due(moment.now_ns) {
            let Borrowed { handler, sink } = &channel.handler;
            let (inputs, handler) = (channel.inputs().collect(), handler.view());
            feed.publish(moment.now_ns, &FeedCounts { inputs, handler, events: sink.events() });
            metrics.publish(channel.handler.sink.inner());
        }
    });
    // Changes since the last publication, such as gaps that were filled.
    reception.channels_mut().iter_mut().for_each(|of| tell_monitor(of, monotonic_ns()));
    run.map_err(fail)?;
    let inputs = || reception.channels().iter().flat_map(Channel::inputs);
    let counters: Vec<_> = inputs().map(|(_, receiver)| receiver.counters()).collect();
    drop(reception);
    let arbitrated = Line::ALL.map(|line| handler.arbiter().line_counters(line).too_long);
    Ok(PublicationEnd {
        end: end_of(sink),
        dropped_by_kernel: counters.iter().map(|counters| counters.dropped_by_kernel).sum(),
        too_long: counters.iter().map(|counters| counters.too_long).chain(arbitrated).sum(),
    })
}

/// Publishes the counts of the feed to the monitor.
fn tell_monitor(channel: &mut Channel<Borrowed<'_>, ()>, now_ns: u64) {
    let sockets = channel.inputs().map(socket_facts).collect();
    let Borrowed { handler, sink } = &mut channel.handler;
    let events = sink.events().labelled();
    if let Some(tap) = sink.inner_mut().tap_mut() {
        tap.publish(now_ns, &Facts { sockets, view: handler.view(), events });
    }
}

/// The handler and its sink, which outlive the sockets.
struct Borrowed<'a> {
    handler: &'a mut FeedHandler,
    sink: &'a mut PublishSink,
}

impl PacketHandler<()> for Borrowed<'_> {
    fn handle_packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8], (): &mut ()) {
        if let Some(tap) = self.sink.inner_mut().tap_mut() {
            tap.packet(received_ns, source, packet);
        }
        self.handler.handle_packet(received_ns, source, packet, self.sink);
    }

    fn handle_timeout(&mut self, now_ns: u64, (): &mut ()) {
        self.handler.handle_timeout(now_ns, self.sink);
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.handler.poll_timeout()
    }
}

fn end_of(sink: &PublishSink) -> FeedEnd {
    if sink.inner().is_done() { FeedEnd::Done } else { FeedEnd::Stopped }
}
