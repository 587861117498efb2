//! Spans: operations that take time, such as the recovery of a gap, for a tracing system.
//!
//! A thread that sees an operation end hands a [`CompletedSpan`] to a [`SpanSink`]. The sink has a bounded queue and never
//! blocks: a span that finds the queue full is dropped and counted. With the feature `otlp`, `SpanExport` reads the queue on
//! a thread of its own and sends the spans to an OpenTelemetry collector.

#[cfg(feature = "otlp")]
mod client;
#[cfg(feature = "otlp")]
mod export;

#[cfg(feature = "otlp")]
pub use export::{CollectorAddress, SpanExport, SpanSource, is_export_disabled};

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::metrics::{Counter, Metrics};

/// Name of the metric of spans that do not reach the collector, with the label `reason`.
const DROPPED: (&str, &str) = ("trace_dropped_spans", "Spans that did not reach the collector");

/// Identifies a span: the trace that it belongs to, the span itself, and its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanIdentity {
    trace: u128,
    span: u64,
    parent: Option<u64>,
}

impl SpanIdentity {
    /// Creates the first span of a new trace.
    pub fn root() -> Self {
        let trace = u128::from(random()) << 64 | u128::from(random());
        Self { trace, span: random(), parent: None }
    }

    /// Creates a span whose parent is this one.
    pub fn child(self) -> Self {
        Self { trace: self.trace, span: random(), parent: Some(self.span) }
    }

    /// Returns true if `parent` is the parent of this span.
    pub fn is_child_of(self, parent: Self) -> bool {
        self.trace == parent.trace && self.parent == Some(parent.span)
    }
}

/// Returns a random number other than 0, which identifies no span.
fn random() -> u64 {
    // Each value of this type has keys of its own, derived from random bytes of the system.
    RandomState::new().build_hasher().finish().max(1)
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanValue {
    /// An integer.
    Integer(i64),
    /// A text.
    Text(String),
}

impl From<u64> for SpanValue {
    /// Attributes have signed integers: a number above `i64::MAX` becomes a text.
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self::Text(number.to_string()), Self::Integer)
    }
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// An operation that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedSpan {
    /// Kind of the operation. There are few different names; attributes tell operations of one kind apart.
    pub name: &'static str,
    /// Identity, with the parent.
    pub identity: SpanIdentity,
    /// Start, in nanoseconds since 1970.
    pub start_ns: u64,
    /// End, in nanoseconds since 1970.
    pub end_ns: u64,
    /// Attributes.
    pub attributes: Vec<(&'static str, SpanValue)>,
    /// The reason if the operation failed.
    pub error: Option<String>,
}

/// Takes completed spans for export. Clones share the queue.
#[derive(Clone, Debug)]
pub struct SpanSink {
    sender: SyncSender<CompletedSpan>,
    dropped: Counter,
}

impl SpanSink {
    /// Creates a queue for at most `spans_max` spans; spans that find it full are counted in `metrics`.
    pub fn new(spans_max: usize, metrics: &Metrics) -> (Self, Receiver<CompletedSpan>) {
        let (sender, receiver) = sync_channel(spans_max);
        (Self { sender, dropped: dropped(metrics, "queue_full") }, receiver)
    }

    /// Queues a span. Never blocks: drops and counts the span if the queue is full.
    pub fn send(&self, span: CompletedSpan) {
        if self.sender.try_send(span).is_err() {
            self.dropped.add(1);
        }
    }
}

/// Returns the counter of spans that were dropped for this reason.
fn dropped(metrics: &Metrics, reason: &str) -> Counter {
    metrics.counter(DROPPED.0, DROPPED.1, &[("reason", reason)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts_without_waiting() {
        let metrics = Metrics::new();
        let (sink, receiver) = SpanSink::new(2, &metrics);
        let span = |start_ns| CompletedSpan {
            name: "test",
            identity: SpanIdentity::root(),
            start_ns,
            end_ns: start_ns + 1,
            attributes: Vec::new(),
            error: None,
        };
        (0..5).for_each(|start_ns| sink.send(span(start_ns)));
        let kept: Vec<u64> = receiver.try_iter().map(|span| span.start_ns).collect();
        assert_eq!(kept, [0, 1]);
        let text = metrics.encode();
        let line = "tickwire_trace_dropped_spans_total{reason=\"queue_full\"} 3\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn identities_differ_and_children_stay_in_the_trace() {
        let root = SpanIdentity::root();
        let (one, other) = (root.child(), root.child());
        assert_eq!((one.trace, one.parent), (root.trace, Some(root.span)));
        assert_ne!(one.span, other.span);
        assert_ne!(root.trace, SpanIdentity::root().trace);
    }

    #[test]
    fn a_number_that_no_signed_integer_holds_becomes_a_text() {
        assert_eq!(SpanValue::from(7_u64), SpanValue::Integer(7));
        assert_eq!(SpanValue::from(u64::MAX), SpanValue::Text(u64::MAX.to_string()));
    }
}
