//! Prometheus metrics of the reception of OPRA lines.

use tickwire_feed::handler::FeedLine;
use tickwire_feed::opra::{LineHandler, LineHandlerCounters};
use tickwire_net::multicast::Receiver;
use tickwire_telemetry::metrics::{ArbitrationMetrics, Counter, Metrics};

/// Accessor of a counter of a line.
type LineCounterAccessor = fn(&LineHandlerCounters) -> u64;
/// A counter of a line: its name, its help text and its accessor.
type NamedLineCounter = (&'static str, &'static str, LineCounterAccessor);

const HANDLER: [NamedLineCounter; 5] = [
    ("opra_unnumbered_packets", "Packets without an OPRA header with a sequence number", |c| {
        c.unnumbered
    }),
    ("opra_repeats", "Packets delivered that repeat the last sequence number used", |c| c.repeats),
    ("opra_dropped_repeats", "Duplicates of packets that repeat a sequence number", |c| {
        c.repeats_dropped
    }),
    ("opra_not_polled_packets", "Packets dropped because the previous one was not read", |c| {
        c.not_polled
    }),
    (
        "opra_rejected_packets",
        "Packets not decoded that were replaced by a copy or wait for one",
        |c| c.rejected,
    ),
];

/// Results of the packets of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineResults {
    /// Messages.
    pub messages: u64,
    /// Packets that could not be decoded completely and were not replaced by a good copy.
    pub failed: u64,
}

/// Publishes the counters of a line; the label `channel` is its number.
pub struct OpraLineMetrics {
    arbitration: ArbitrationMetrics,
    handler: Vec<(Counter, LineCounterAccessor)>,
    decoded: [Counter; 2],
}

impl OpraLineMetrics {
    /// Registers the counters of a line; lines are numbered from 1.
    pub fn new(metrics: &Metrics, line: u16, sources: impl IntoIterator<Item = FeedLine>) -> Self {
        let channel = line.to_string();
        let labels = [("channel", &*channel)];
        let counter = |name, help| metrics.counter(name, help, &labels);
        Self {
            arbitration: ArbitrationMetrics::new(metrics, Some(&channel), sources),
            handler: HANDLER.map(|(name, help, count)| (counter(name, help), count)).into(),
            decoded: [
                counter("opra_decoded_messages", "Messages decoded"),
                counter("opra_failed_packets", "Packets that could not be decoded to their end"),
            ],
        }
    }

    /// True if a quarter of a second has passed since the last publication.
    pub const fn is_due(&self, now_ns: u64) -> bool {
        self.arbitration.is_due(now_ns)
    }

    /// Publishes the counters at `now_ns`, the time on the monotonic clock.
    pub fn publish(
        &mut self,
        now_ns: u64,
        inputs: &[(FeedLine, &Receiver)],
        handler: &LineHandler,
        decoded: LineResults,
    ) {
        self.arbitration.publish(now_ns, inputs, handler.arbiter());
        let counters = handler.counters();
        for (counter, count) in &self.handler {
            counter.set(count(&counters));
        }
        let LineResults { messages, failed } = decoded;
        for (counter, count) in self.decoded.iter().zip([messages, failed]) {
            counter.set(count);
        }
    }
}
