//! Quality of service of a writer or reader.

use std::time::Duration;

/// Whether lost samples are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reliability {
    /// A lost sample stays lost.
    BestEffort,
    /// A lost sample is sent again as long as the history holds it.
    Reliable {
        /// The longest time a write may wait for room in a full history.
        max_blocking: Duration,
    },
}

/// How many samples of one instance are held.
///
/// A type without key has one instance a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// All that were not yet acknowledged (writer) or taken (reader). A dead reader blocks a reliable
    /// writer until the middleware gives the reader up, so pair it with a short `max_blocking`.
    KeepAll,
    /// The last samples; an older one gives way and a writer never blocks.
    KeepLast(u32),
}

/// Whether a reader that comes late gets what was written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A late reader gets the last samples of every instance from the writers that still live.
    TransientLocal {
        /// How many of each instance, whatever the history holds for readers that are there.
        depth: u32,
    },
    /// A reader gets what is written while it is matched.
    Volatile,
}

/// Quality of service of a writer or reader.
///
/// Writer and reader match only where the writer offers at least what the reader asks for and their
/// partitions have a name in common.
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
    /// Whether lost samples are sent again.
    pub reliability: Reliability,
    /// How many samples of one instance are held.
    pub history: History,
    /// Whether late readers get what was written before.
    pub durability: Durability,
    /// Samples that a writer or reader holds at most over all instances; `None` sets no limit.
    pub samples_max: Option<u32>,
    /// Whether a writer collects samples in one datagram until it is full or
    /// [`flush`](crate::Writer::flush) is called: more samples a second, each later. Readers ignore it.
    pub batching: bool,
    /// Names of the partitions; none means the default partition. Readers may use `*` and `?`.
    pub partitions: Vec<String>,
}

impl Qos {
    /// Time a reliable write may wait for room unless the user says otherwise.
    pub const MAX_BLOCKING: Duration = Duration::from_millis(100);

    /// Reliable, volatile, the last sample of each instance.
    #[must_use]
    pub fn reliable() -> Self {
        Self {
            reliability: Reliability::Reliable { max_blocking: Self::MAX_BLOCKING },
            ..Self::best_effort()
        }
    }

    /// Best effort, volatile, the last sample of each instance.
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

    /// Holds all samples, `samples_max` over all instances at most.
    #[must_use]
    pub fn keep_all(mut self, samples_max: u32) -> Self {
        self.history = History::KeepAll;
        self.samples_max = Some(samples_max);
        self
    }

    /// Lets late readers have the last `depth` samples of each instance.
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

    /// Sets the longest time a reliable write may wait; a best-effort QoS stays as it is.
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
