//! Metrics of the sender.

use super::Feed;
use tickwire_net::clock::monotonic_ns;
use tickwire_net::playback::Playback;
use tickwire_telemetry::metrics::{Counter, Distribution, Metrics};

/// Minimum time between two publications, in nanoseconds.
const PUBLISH_NS: u64 = 250_000_000;

/// The counters of one line.
struct Line {
    packets: Counter,
    bytes: Counter,
    no_room: Counter,
    lost: Counter,
    duplicated: Counter,
    overtaken: Counter,
}

/// The metrics of a playback.
pub struct Published {
    lines: Vec<Line>,
    late: Distribution,
    published_ns: u64,
}

impl Published {
    /// Registers the metrics.
    pub fn new(metrics: &Metrics, feeds: &[Feed<'_>]) -> Self {
        let line = |feed: &Feed<'_>| {
            let name = feed.name.to_lowercase();
            let labels = [("line", &name[..])];
            let counter = |name, help| metrics.counter(name, help, &labels);
            Line {
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
        }
    }

    /// Publishes the metrics, unless less than [`PUBLISH_NS`] has passed since the last time.
    pub fn publish(&mut self, playback: &Playback) {
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(self.published_ns) < PUBLISH_NS {
            return;
        }
        self.published_ns = now_ns;
        for (line, sent) in self.lines.iter().zip(playback.lines()) {
            let (counters, faults) = (sent.counters(), sent.faults());
            line.packets.set(counters.packets);
            line.bytes.set(counters.bytes);
            line.no_room.set(counters.no_room + faults.overflowed);
            line.lost.set(faults.lost);
            line.duplicated.set(faults.duplicated);
            line.overtaken.set(faults.reordered);
        }
        self.late.publish(playback.lateness());
    }
}
