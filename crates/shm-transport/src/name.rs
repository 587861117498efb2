//! Names of channels: topic, partition, participant and the writer's number, separated by `-`.

use crate::error::ShmTransportError;
use std::path::Path;
use tickwire_distribution::{ParticipantId, Qos};
use tickwire_shm::ShmChannel;

/// Longest topic and partition in bytes, as escaped for a name.
const PLACE_LEN_MAX: usize = 80;

/// Returns the partitions of a QoS; the default partition is the empty name.
pub fn partitions(qos: &Qos) -> Result<Vec<&str>, ShmTransportError> {
    if qos.partitions.iter().any(|name| name.contains(['*', '?'])) {
        return Err(ShmTransportError::Partitions);
    }
    match qos.partitions.is_empty() {
        true => Ok(vec![""]),
        false => Ok(qos.partitions.iter().map(String::as_str).collect()),
    }
}

/// Returns the prefix that the names of all channels of a topic and partition share.
pub fn prefix(topic: &str, partition: &str) -> Result<String, ShmTransportError> {
    let prefix = format!("t{}-{}-", escaped(topic), escaped(partition));
    match prefix.len() <= PLACE_LEN_MAX {
        true => Ok(prefix),
        false => Err(ShmTransportError::TopicTooLong(topic.to_owned())),
    }
}

/// Escapes every byte except letters, digits and `_` as `.` and two hexadecimal digits.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' => char::from(byte).to_string(),
        _ => format!(".{byte:02x}"),
    };
    text.bytes().map(escape).collect()
}

/// Returns the channel of a writer.
pub fn channel(
    directory: &Path,
    prefix: &str,
    participant: ParticipantId,
    number: u64,
) -> Result<ShmChannel, ShmTransportError> {
    Ok(ShmChannel::in_directory(directory, &format!("{prefix}{participant}-{number}"))?)
}

/// Returns the participant in the name of a channel with this prefix; `None` if the name does not have that form.
pub fn participant(name: &str, prefix: &str) -> Option<ParticipantId> {
    let (participant, number) = name.strip_prefix(prefix)?.split_once('-')?;
    number.parse::<u64>().ok()?;
    let number =
        (participant.len() == 32).then(|| u128::from_str_radix(participant, 16).ok())??;
    Some(ParticipantId(number.to_be_bytes()))
}

/// Returns true if a name has the form of this transport's channels: prefix, participant and number.
pub fn is_of_transport(name: &str) -> bool {
    let mut parts = name.splitn(3, '-');
    let (topic, partition) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    topic.starts_with('t') && participant(name, &format!("{topic}-{partition}-")).is_some()
}

/// Files of a channel by which channels are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelFile {
    /// The ring: a channel that can be read.
    Ring,
    /// The writer's lock. It is created first and removed last, so every channel has one, even if
    /// its writer was killed.
    Lock,
}

impl ChannelFile {
    /// Returns the end of the file's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Ring => ".ring",
            Self::Lock => ".lock",
        }
    }
}

/// Returns the names of the channels in a directory that have this file; none if the directory does not exist.
pub fn files(directory: &Path, with: ChannelFile) -> Result<Vec<String>, ShmTransportError> {
    let failure = |error| ShmTransportError::Directory(directory.to_owned(), error);
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failure(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let file = entry.map_err(failure)?.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(with.suffix()));
        found.extend(name.map(str::to_owned));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{is_of_transport, participant, prefix};
    use tickwire_distribution::ParticipantId;

    #[test]
    fn names_of_topics_that_begin_alike_are_told_apart() {
        let id = ParticipantId([0xab; 16]);
        let name = format!("{}{id}-3", prefix("Quote", "").unwrap());
        assert_eq!(participant(&name, &prefix("Quote", "").unwrap()), Some(id));
        assert_eq!(participant(&name, &prefix("Quo", "").unwrap()), None);
        assert_eq!(participant(&name, &prefix("Quote", "a").unwrap()), None);
        assert_eq!(prefix("a/b-c", "x").unwrap(), "ta.2fb.2dc-x-");
    }

    #[test]
    fn names_of_other_channels_are_told_from_those_of_this_transport() {
        let id = ParticipantId([0xab; 16]);
        for (topic, partition) in [("Quote", ""), ("a/b-c", "x-y")] {
            assert!(is_of_transport(&format!("{}{id}-3", prefix(topic, partition).unwrap())));
        }
        for name in ["prices", "tprices", "t-a-b-c", "tQuote--3", "t", ""] {
            assert!(!is_of_transport(name), "{name}");
        }
    }
}
