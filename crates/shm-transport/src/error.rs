//! Errors of shared memory.

use std::fmt;
use std::sync::Arc;
use tickwire_distribution::TransportError;
use tickwire_distribution::cdr::{SampleDecodeError, SampleEncodeError};
use tickwire_shm::ShmOperation;

/// Errors of samples in shared memory.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShmTransportError {
    /// A sample cannot be encoded.
    Encode(SampleEncodeError),
    /// The bytes of a sample do not match its type, so its key cannot be read.
    Key(SampleDecodeError),
    /// An error of the channel.
    Shm(tickwire_shm::ShmError),
    /// A key of a topic is longer than keys may be.
    KeyLength {
        /// The topic.
        topic: String,
        /// Length of the key in bytes.
        len: usize,
    },
    /// A sample of a topic is longer than a slot of its ring.
    SampleLength {
        /// The topic.
        topic: String,
        /// Length of the sample in bytes.
        len: usize,
        /// Length of a slot in bytes.
        max: usize,
    },
    /// The ring of a topic has room for fewer than two samples.
    RingBytes {
        /// The topic.
        topic: String,
        /// Size of the ring in bytes.
        bytes: usize,
        /// Size of a slot in bytes.
        slot: usize,
    },
    /// A reader of a topic is a whole ring behind, and the writer keeps all samples.
    Full {
        /// The topic. Shared with the writer, so that a refused write does not allocate.
        topic: Arc<str>,
    },
    /// The operating system refused to start the thread that sends heartbeats.
    Thread(std::io::Error),
    /// The directory of the channels cannot be read.
    Directory(std::path::PathBuf, std::io::Error),
    /// The files of a writer in this directory were removed while it was open: no later reader could find them.
    Removed(std::path::PathBuf),
    /// A writer has several partitions, or a partition with a wildcard.
    Partitions,
    /// Topic and partition, as escaped for a file's name, are longer than 80 bytes.
    TopicTooLong(String),
}

impl fmt::Display for ShmTransportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => error.fmt(out),
            Self::Key(error) => write!(out, "a sample has no key: {error}"),
            Self::Shm(error) => {
                error.fmt(out)?;
                match error {
                    tickwire_shm::ShmError::Io { attempt: ShmOperation::Reserve, .. } => out.write_str(
                        ": memory of rings and last values is reserved; set smaller ones (--shm-ring, --shm-sample), keep no last values (--last-values 0), let subscribers send no echoes (--no-echo), or make the file system larger (/dev/shm)",
                    ),
                    tickwire_shm::ShmError::Directory { .. } => out.write_str(" (--shm-directory, --shm-user)"),
                    tickwire_shm::ShmError::Sizes => out.write_str(" (--shm-ring, --shm-sample)"),
                    _ => Ok(()),
                }
            }
            Self::KeyLength { topic, len } => write!(
                out,
                "topic {topic}: a key has {len} bytes, and shared memory takes {} at most: publish it over DDS, or with \
                 a shorter key",
                crate::writer::KEY_BYTES
            ),
            Self::SampleLength { topic, len, max } => write!(
                out,
                "topic {topic}: a sample has {len} bytes, and its ring in shared memory takes {max} at most: set a \
                 larger size of samples (--shm-sample), or publish less in a sample, such as fewer levels of books"
            ),
            Self::RingBytes { topic, bytes, slot } => write!(
                out,
                "topic {topic}: its ring of {bytes} bytes does not hold two samples of {slot} bytes: set a larger ring \
                 (--shm-ring), or shorter samples (--shm-sample)"
            ),
            Self::Full { topic } => write!(
                out,
                "topic {topic}: a subscriber is a whole ring behind (a larger one: --shm-ring)"
            ),
            Self::Thread(error) => write!(out, "cannot start a thread: {error}"),
            Self::Directory(path, error) => write!(out, "cannot read {}: {error}", path.display()),
            Self::Removed(path) => write!(
                out,
                "files in {} were removed while they were written, so later subscribers would not find them; \
                 systemd-logind does that when a user logs out (RemoveIPC=yes in logind.conf): allow the user to linger \
                 (loginctl enable-linger), run as a system user, or name a directory outside of /dev/shm (--shm-directory)",
                path.display()
            ),
            Self::Partitions => out.write_str(
                "in shared memory a writer has at most one partition and names of partitions have no wildcards; name one partition",
            ),
            Self::TopicTooLong(topic) => write!(
                out,
                "topic {topic:?} and its partition are too long for a file's name; shorten them to 76 characters in all, \
                 of which each that is no letter, digit or _ takes three"
            ),
        }
    }
}

impl std::error::Error for ShmTransportError {}

impl From<SampleEncodeError> for ShmTransportError {
    fn from(error: SampleEncodeError) -> Self {
        Self::Encode(error)
    }
}

impl From<tickwire_shm::ShmError> for ShmTransportError {
    fn from(error: tickwire_shm::ShmError) -> Self {
        Self::Shm(error)
    }
}

impl TransportError for ShmTransportError {
    fn is_timed_out(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}
