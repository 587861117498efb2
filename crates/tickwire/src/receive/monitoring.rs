//! Publishes a channel to the monitor.

use super::described::DescribedChannel;
use super::handler::FeedChannel;
use crate::failure::Failure;
use tickwire_feed::handler::FeedLine;
use tickwire_monitor::{
    ChannelDescription, ExplanationSettings, Facts, LineDescription, MessageTimes, MonitorBuilder,
    SocketFacts, Tap,
};
use tickwire_net::multicast::Receiver;
use tickwire_telemetry::metrics::FeedMetrics;

/// Adds a channel to the monitor. `epoch_ns` is the offset that converts its handler's times to nanoseconds since 1970.
pub fn add_channel(
    monitor: &mut MonitorBuilder,
    described: &DescribedChannel,
    inputs: &[(FeedLine, Receiver)],
    metrics: &FeedMetrics,
    times: &MessageTimes,
    epoch_ns: u64,
) -> Result<Tap, Failure> {
    let (set, options) = (described.program.set().clone(), &described.options);
    let explaining = ExplanationSettings::new(set, described.decoding, options.framing);
    Ok(monitor.add_channel(ChannelDescription {
        name: described.args.label().unwrap_or("feed").to_owned(),
        epoch_ns,
        silent_after_ns: options.arbiter.silent_after_ns,
        lines: inputs.iter().map(|input| line(input, metrics)).collect(),
        times: times.clone(),
        explaining: Some(explaining.map_err(Failure::Usage)?),
    }))
}

/// Describes a line for the monitor.
pub fn line((source, receiver): &(FeedLine, Receiver), metrics: &FeedMetrics) -> LineDescription {
    LineDescription {
        source: *source,
        group: receiver.endpoint().to_string(),
        delays: metrics.delays(*source).unwrap_or_default(),
    }
}

/// Returns the counts of a socket.
pub fn socket_facts((source, receiver): (FeedLine, &Receiver)) -> SocketFacts {
    let counters = receiver.counters();
    SocketFacts {
        source,
        packets: counters.packets,
        bytes: counters.bytes,
        dropped: counters.dropped_by_kernel,
        last_packet_ns: receiver.last_packet_ns(),
    }
}

/// Publishes the counters of a channel, on its handler's thread.
pub fn publish(now_ns: u64, channel: &mut FeedChannel) {
    let sockets = channel.inputs().map(socket_facts).collect();
    let events = channel.sink.events().labelled();
    let FeedChannel { handler, sink, .. } = channel;
    let Some(tap) = sink.inner_mut().tap_mut() else { return };
    tap.publish(now_ns, &Facts { sockets, view: handler.view(), events });
}
