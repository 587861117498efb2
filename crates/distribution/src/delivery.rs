//! Delivery settings of publishers and subscribers, and the names of topics.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::sample::Sample;
use crate::types::StructType;
use crate::{Done, Qos};

/// Default number of samples held for a slow subscriber of a topic without key.
const DEPTH: u32 = 65_536;
/// Default number of samples held per instance of a topic with key. DDS reserves 8 bytes for each of them when an
/// instance is first written.
const KEYED_DEPTH: u32 = 128;
/// Samples per instance that a best-effort reader holds until the application takes them.
const KEYED_READER_DEPTH: u32 = 1_024;
/// Samples that a reader holds until the application takes them.
const READER_SAMPLES: u32 = 65_536;
/// Longest time that one write waits for room; after that, the publisher tries again.
const WRITE_SLICE: Duration = Duration::from_millis(10);
/// Suffix of the names of echo topics.
const ECHO_END: &str = "/Echo";
/// Maximum number of securities with their own topics.
const SECURITIES_MAX: usize = 10_000;

/// How many samples are held for a slow subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryDepth {
    /// All samples; a full history makes the publisher wait.
    All,
    /// The last samples of each instance, or of a topic without key; older ones are dropped.
    Last(u32),
}

/// Delivery settings. Publisher and subscriber must have the same `best_effort`, `last_values` and partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliverySettings {
    /// True if lost samples are not retransmitted.
    pub best_effort: bool,
    /// Number of samples held for a slow subscriber; `None` for 128 per instance, or 65,536 per topic without key.
    pub held: Option<HistoryDepth>,
    /// Number of samples per instance that late subscribers get; 0 for none.
    pub last_values: u32,
    /// Partitions. They filter data; they do not restrict access.
    pub partitions: Vec<String>,
}

impl Default for DeliverySettings {
    /// Reliable, with the last value of each instance for late subscribers.
    fn default() -> Self {
        Self { best_effort: false, held: None, last_values: 1, partitions: Vec::new() }
    }
}

impl DeliverySettings {
    /// Returns the QoS of a writer.
    #[must_use]
    pub fn writer_qos(&self, has_key: bool) -> Qos {
        let own = if has_key { KEYED_DEPTH } else { DEPTH };
        let qos = self.base().max_blocking(WRITE_SLICE);
        self.with_last_values(match self.held {
            Some(HistoryDepth::All) => qos.keep_all(READER_SAMPLES),
            Some(HistoryDepth::Last(depth)) => qos.keep_last(depth),
            None => qos.keep_last(own),
        })
    }

    /// Returns the QoS of a reader. With reliable delivery, received samples that the application has not taken yet are
    /// never overwritten, except by a reader that `conflates`: it keeps only the last sample of each instance.
    #[must_use]
    pub fn reader_qos(&self, has_key: bool, conflates: bool) -> Qos {
        let qos = self.base();
        self.with_last_values(match (conflates, self.best_effort, has_key) {
            (true, ..) => qos.keep_last(1),
            (false, true, true) => qos.keep_last(KEYED_READER_DEPTH),
            (false, true, false) => qos.keep_last(DEPTH),
            (false, false, _) => qos.keep_all(READER_SAMPLES),
        })
    }

    /// Returns the QoS of the writers and readers of echoes. Late subscribers get no echoes.
    #[must_use]
    pub fn echo_qos(&self) -> Qos {
        self.base().max_blocking(WRITE_SLICE).keep_last(DEPTH)
    }

    /// Returns the QoS of the samples that announce the end of a feed: always reliable, and sent to late subscribers.
    #[must_use]
    pub fn done_qos(&self) -> Qos {
        self.partitioned(Qos::reliable()).keep_last(1).transient_local(1)
    }

    fn base(&self) -> Qos {
        self.partitioned(if self.best_effort { Qos::best_effort() } else { Qos::reliable() })
    }

    fn partitioned(&self, qos: Qos) -> Qos {
        self.partitions.iter().fold(qos, |qos, name| qos.partition(name))
    }

    fn with_last_values(&self, qos: Qos) -> Qos {
        match self.last_values {
            0 => qos,
            depth => qos.transient_local(depth),
        }
    }
}

/// Samples of one type, and the topics to which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSet {
    /// Name of the topic, or of the set.
    pub name: String,
    /// Type of the samples.
    pub of: Arc<StructType>,
    /// Securities that have a topic each, ascending; `None` if there is one topic for all.
    pub securities: Option<Vec<u32>>,
}

impl TopicSet {
    /// Returns a set with one topic, for samples of this type.
    #[must_use]
    pub fn of<S: Sample>() -> Self {
        Self { name: S::TOPIC.to_owned(), of: S::struct_type().clone(), securities: None }
    }

    /// Returns a set with one topic per security if the key of the samples is the security id; otherwise with one
    /// topic.
    #[must_use]
    pub fn by_security<S: Sample>(securities: &SecurityList) -> Self {
        let has_security = S::default().security().is_some();
        let securities = has_security.then(|| securities.0.clone());
        Self { securities, ..Self::of::<S>() }
    }

    /// Returns the names of the topics, each with its security if it has one.
    pub fn topics(&self) -> impl Iterator<Item = (Option<u32>, String)> {
        let alone = self.securities.is_none().then(|| (None, self.name.clone()));
        let securities = self.securities.iter().flatten();
        let each = securities.map(|&number| (Some(number), format!("{}/{number}", self.name)));
        alone.into_iter().chain(each)
    }
}

/// Returns the name of the topic on which a subscriber echoes the samples of `topic`.
#[must_use]
pub fn echo_topic(topic: &str) -> String {
    format!("{topic}{ECHO_END}")
}

/// Returns true if a topic carries echoes.
#[must_use]
pub fn is_echo_topic(topic: &str) -> bool {
    topic.ends_with(ECHO_END)
}

/// The topics on which a publisher announces that its feed is done or that it was stopped early.
pub(crate) const END_TOPICS: [&str; 2] = [Done::TOPIC, Done::STOPPED_TOPIC];

/// Securities that have a topic each, ascending.
///
/// # Examples
/// ```
/// use tickwire_distribution::SecurityList;
/// assert_eq!("3-5,1,4".parse(), Ok(SecurityList(vec![1, 3, 4, 5])));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityList(pub Vec<u32>);

impl FromStr for SecurityList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            text.trim().parse::<u32>().map_err(|_| format!("{text} is not a security id"))
        };
        let mut securities = Vec::new();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("{range} ends before it begins"));
            }
            if (last - first) as usize >= SECURITIES_MAX - securities.len().min(SECURITIES_MAX - 1)
            {
                return Err(format!("more than {SECURITIES_MAX} securities"));
            }
            securities.extend(first..=last);
        }
        securities.sort_unstable();
        securities.dedup();
        Ok(Self(securities))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MarketData, Quote};

    #[test]
    fn securities_are_ranges_and_numbers() {
        let list = |text: &str| text.parse::<SecurityList>();
        assert!(list("5-3").unwrap_err().contains("ends before"));
        assert!(list("x").unwrap_err().contains("not a security id"));
        assert!(list("0-4294967295").unwrap_err().contains("more than 10000"));
        assert!(list("1-9000,10001-19000").unwrap_err().contains("more than 10000"));
    }

    #[test]
    fn only_samples_of_a_security_have_topics_by_security() {
        let list = SecurityList(vec![7, 9]);
        let names = |set: &TopicSet| set.topics().collect::<Vec<_>>();
        let each = [(Some(7), "MarketData/7".to_owned()), (Some(9), "MarketData/9".to_owned())];
        assert_eq!(names(&TopicSet::by_security::<MarketData>(&list)), each);
        let one = [(None, "Quote".to_owned())];
        assert_eq!(names(&TopicSet::by_security::<Quote>(&list)), one);
    }
}
