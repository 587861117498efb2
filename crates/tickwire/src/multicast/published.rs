//! Metrics of the sender, for Prometheus and the monitor.

use super::MulticastLine;
use tickwire_monitor::{MonitorBuilder, SenderTap, SentFacts};
use tickwire_net::clock::monotonic_ns;
use tickwire_net::playback::{Playback, PlaybackLine};
use tickwire_telemetry::metrics::{Counter, Distribution, Metrics};

/// Minimum time between two publications, in nanoseconds.
const PUBLISH_NS: u64 = 250_000_000;

/// The counters of one line.
struct PlaybackLineMetrics {
    packets: Counter,
    bytes: Counter,
    no_room: Counter,
    lost: Counter,
    duplicated: Counter,
    overtaken: Counter,
}

/// The metrics of a playback.
pub struct PlaybackMetrics {
    lines: Vec<PlaybackLineMetrics>,
    late: Distribution,
    published_ns: u64,
    monitor: Option<SenderTap>,
}

impl PlaybackMetrics {
    /// Registers the metrics.
    pub fn new(metrics: &Metrics, feeds: &[MulticastLine<'_>]) -> Self {
        let line = |feed: &MulticastLine<'_>| {
            let name = feed.name.to_lowercase();
            let labels = [("line", &name[..])];
            let counter = |name, help| metrics.counter(name, help, &labels);
            PlaybackLineMetrics {
                packets: counter("multicast_sent_packets", "Packets sent"),
                bytes: counter("multicast_sent_bytes", "Bytes sent"),
                no_room: counter(
                    "multicast_no_room_packets",
                    "Packets refused by the kernel: no buffer space",
                ),
                lost: counter("multicast_lost_packets", "Packets lost by fault injection"),
                duplicated: counter(
                    "multicast_duplicated_packets",
                    "Packets duplicated by fault injection",
                ),
                overtaken: counter(
                    "multicast_overtaken_packets",
                    "Packets delayed by fault injection",
                ),
            }
        };
        let help = "Delay of packets behind their schedule";
        Self {
            lines: feeds.iter().map(line).collect(),
            late: metrics.distribution("multicast_late", help, &[]),
            published_ns: 0,
            monitor: None,
        }
    }

    /// Publishes the lines to a monitor from now on.
    pub fn tell_monitor(&mut self, builder: &mut MonitorBuilder, feeds: &[MulticastLine<'_>]) {
        let line =
            |feed: &MulticastLine<'_>| (feed.name.to_owned(), feed.endpoint.address().to_string());
        self.monitor =
            Some(builder.set_sender(feeds.iter().map(line).collect(), self.late.clone()));
    }

    /// Publishes the metrics, unless less than [`PUBLISH_NS`] has passed since the last time.
    pub fn publish(&mut self, playback: &Playback) {
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(self.published_ns) < PUBLISH_NS {
            return;
        }
        self.published_ns = now_ns;
        let facts: Vec<SentFacts> = playback.lines().iter().map(facts).collect();
        for (line, sent) in self.lines.iter().zip(&facts) {
            line.packets.set(sent.packets);
            line.bytes.set(sent.bytes);
            line.no_room.set(sent.no_room);
            line.lost.set(sent.lost);
            line.duplicated.set(sent.duplicated);
            line.overtaken.set(sent.overtaken);
        }
        self.late.publish(playback.lateness());
        if let Some(monitor) = &self.monitor {
            monitor.publish(now_ns, facts);
        }
    }
}

fn facts(line: &PlaybackLine) -> SentFacts {
    let (counters, faults) = (line.counters(), line.faults());
    SentFacts {
        packets: counters.packets,
        bytes: counters.bytes,
        no_room: counters.no_room + faults.overflowed,
        lost: faults.lost,
        duplicated: faults.duplicated,
        overtaken: faults.reordered,
    }
}
