//! What topics are called and which there are.

use std::str::FromStr;
use tickwire_dds::{Sample, security_topic};

/// Most securities with topics of their own.
const SECURITIES_MAX: usize = 10_000;

/// Topics of samples that have the security as key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TopicMode {
    /// One topic; the security is its key.
    Keyed,
    /// One topic a security.
    Security,
}

/// Securities with topics of their own, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityList(pub Vec<u32>);

impl FromStr for SecurityList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            text.trim().parse::<u32>().map_err(|_| format!("{text} is no number of a security"))
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

/// Names of the topics of a type: one a security, or one alone without a security.
pub fn topic_names<S: Sample>(
    mode: TopicMode,
    securities: &SecurityList,
) -> Vec<(Option<u32>, String)> {
    let has_key = S::default().security().is_some();
    match mode {
        TopicMode::Security if has_key => {
            let name = |&security| (Some(security), security_topic::<S>(security));
            securities.0.iter().map(name).collect()
        }
        _ => vec![(None, S::TOPIC.to_owned())],
    }
}

/// The topic on which a subscriber echoes what it takes from `topic`.
pub fn echo_of(topic: &str) -> String {
    format!("{topic}/Echo")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_dds::{MarketData, Quote};

    #[test]
    fn securities_are_ranges_and_numbers() {
        let list = |text: &str| text.parse::<SecurityList>();
        assert_eq!(list("3-5,1,4"), Ok(SecurityList(vec![1, 3, 4, 5])));
        assert!(list("5-3").unwrap_err().contains("ends before"));
        assert!(list("x").unwrap_err().contains("no number"));
        assert!(list("0-4294967295").unwrap_err().contains("more than 10000"));
        assert!(list("1-9000,10001-19000").unwrap_err().contains("more than 10000"));
    }

    #[test]
    fn only_samples_with_a_key_have_topics_by_security() {
        let list = SecurityList(vec![7, 9]);
        let names = topic_names::<MarketData>(TopicMode::Security, &list);
        let names: Vec<_> = names.iter().map(|(key, name)| (*key, name.as_str())).collect();
        assert_eq!(names, [(Some(7), "MarketData/7"), (Some(9), "MarketData/9")]);
        let one = [(None, "Quote".to_owned())];
        assert_eq!(topic_names::<Quote>(TopicMode::Security, &list), one);
    }
}
