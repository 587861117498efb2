//! Quality of service of a writer or reader.

use std::time::Duration;

/// Delivery guarantee: whether lost samples are retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reliability {
    /// A lost sample stays lost.
    BestEffort,
    /// A lost sample is retransmitted as long as the history holds it.
    Reliable {
        /// Longest time that a write may wait for room in a full history.
        max_blocking: Duration,
    },
}

/// Number of held samples per instance.
///
/// A type without key has one instance per topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// All samples that were not acknowledged yet (writer) or not taken yet (reader). A dead reader blocks a reliable
    /// writer until its lease expires, so combine this with a short `max_blocking`.
    KeepAll,
    /// The last samples. Older ones are dropped, and a writer never blocks.
    KeepLast(u32),
}

/// Delivery of samples to a late reader that were written before it matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A late reader gets the last samples of every instance from the writers that still exist.
    TransientLocal {
        /// Number of samples per instance, independent of the history for matched readers.
        depth: u32,
    },
    /// A reader gets only samples that are written while it is matched.
    Volatile,
}

/// Quality of service of a writer or reader.
///
/// They match only if the writer offers at least the QoS that the reader requests and they have a partition in common.
///
/// # Examples
/// ```
/// use tickwire_distribution::{History, Qos};
///
/// let qos = Qos::reliable().keep_last(16).transient_local(1).partition("equities");
/// assert_eq!(qos.history, History::KeepLast(16));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qos {
    /// Retransmission of lost samples.
    pub reliability: Reliability,
    /// Number of held samples per instance.
    pub history: History,
    /// Delivery of earlier samples to late readers.
    pub durability: Durability,
    /// Maximum number of samples that a writer or reader holds over all instances; `None` for no limit.
    pub samples_max: Option<u32>,
    /// True if a writer collects samples in one datagram until it is full or [`flush`](crate::SampleWriter::flush) is called,
    /// which gives higher throughput and higher latency. Readers ignore it.
    pub batching: bool,
    /// Names of the partitions; empty for the default partition. Names of readers may have the wildcards `*` and `?`.
    pub partitions: Vec<String>,
}

impl Qos {
    /// Default time that a reliable write may wait for room.
    pub const MAX_BLOCKING: Duration = Duration::from_millis(100);

    /// Returns a reliable, volatile QoS that holds the last sample of each instance.
    #[must_use]
    pub fn reliable() -> Self {
        Self {
            reliability: Reliability::Reliable { max_blocking: Self::MAX_BLOCKING },
            ..Self::best_effort()
        }
    }

    /// Returns a best-effort, volatile QoS that holds the last sample of each instance.
    #[must_use]
    pub fn best_effort() -> Self {
        Self {
            reliability: Reliability::BestEffort,
            history: History::KeepLast(1),
            durability: Durability::Volatile,
            samples_max: None,
            batching: false,
            partitions: Vec::new(),
        }
    }

    /// Holds the last `depth` samples of each instance.
    #[must_use]
    pub fn keep_last(mut self, depth: u32) -> Self {
        self.history = History::KeepLast(depth);
        self
    }

    /// Holds all samples, at most `samples_max` over all instances.
    #[must_use]
    pub fn keep_all(mut self, samples_max: u32) -> Self {
        self.history = History::KeepAll;
        self.samples_max = Some(samples_max);
        self
    }

    /// Sends the last `depth` samples of each instance to late readers.
    #[must_use]
    pub fn transient_local(mut self, depth: u32) -> Self {
        self.durability = Durability::TransientLocal { depth };
        self
    }

    /// Lets a writer collect samples in one datagram until flushed.
    #[must_use]
    pub fn batching(mut self) -> Self {
        self.batching = true;
        self
    }

    /// Adds a partition.
    #[must_use]
    pub fn partition(mut self, name: &str) -> Self {
        self.partitions.push(name.to_owned());
        self
    }

    /// Sets the longest time that a reliable write may wait for room; a best-effort QoS stays unchanged.
    #[must_use]
    pub fn max_blocking(mut self, time: Duration) -> Self {
        if let Reliability::Reliable { max_blocking } = &mut self.reliability {
            *max_blocking = time;
        }
        self
    }
}

impl Default for Qos {
    fn default() -> Self {
        Self::reliable()
    }
}
