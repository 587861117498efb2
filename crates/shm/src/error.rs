//! Errors of the crate. Each message says what to do.

use crate::schema::Schema;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Errors of a channel.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShmError {
    /// Another process writes the channel.
    Busy {
        /// Its process number; 0 if the file does not state one yet.
        pid: u64,
    },
    /// A file holds values that no writer writes.
    Damaged(Damage),
    /// The directory has the wrong owner, is writable for others, or is a symbolic link.
    Directory {
        /// The directory.
        path: PathBuf,
        /// The user who must own it.
        owner: u32,
    },
    /// The operating system refused a call.
    Io {
        /// The attempted operation.
        attempt: ShmOperation,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A key is empty or too long, or the channel has no last values or no room for another key.
    Key,
    /// A channel's name must have 1 to 200 letters, digits, `.`, `_` and `-`, and not begin with a `.`.
    Name(String),
    /// No writer has opened the channel, or its writer has ended it.
    NoChannel {
        /// The file that is missing.
        path: PathBuf,
    },
    /// A sample is longer than the channel's slots.
    SampleLength {
        /// Length of the sample in bytes.
        len: usize,
        /// Length of a slot in bytes.
        max: usize,
    },
    /// The writer's type is not the type that the reader expects.
    Schema {
        /// The writer's schema.
        written: Schema,
        /// The reader's schema.
        wanted: Schema,
    },
    /// A schema's name is empty, longer than 128 bytes or not printable ASCII.
    SchemaName,
    /// The sizes are out of range for a channel.
    Sizes,
    /// The file has another version of the layout.
    Version {
        /// The file's version.
        found: u64,
    },
}

/// The system call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShmOperation {
    /// Create a file or directory.
    Create,
    /// Set the group or the mode of a file.
    Permit,
    /// Lock a file.
    Lock,
    /// Map a file.
    Map,
    /// Open a file.
    Open,
    /// Identify this process.
    Identify,
    /// Remove a file.
    Remove,
    /// Reserve space for a file.
    Reserve,
}

/// Kind of damage to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The head and the slots contradict each other.
    Head,
    /// An entry of the last values holds what no writer leaves, even when killed.
    Entry,
    /// The length of a sample or key exceeds its slot or entry.
    Length,
    /// The file does not have this kind's magic number.
    Magic,
    /// The schema's name is invalid.
    SchemaName,
    /// The file is shorter than its header states.
    Short,
    /// Sizes are out of range.
    Sizes,
    /// The file was truncated while it was mapped.
    Truncated,
}

impl fmt::Display for ShmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { pid } => {
                write!(f, "process {pid} writes this channel; a channel has one writer")
            }
            Self::Damaged(damage) => write!(
                f,
                "the channel's file is damaged: {damage}; stop its writer, remove the channel and start the writer again"
            ),
            Self::Directory { path, owner } => write!(
                f,
                "{}: a directory of channels must belong to the writers' user (here {owner}), nobody else may write to it, and it must not be a symbolic link; choose another or change its owner and mode",
                path.display()
            ),
            Self::Io { attempt, path, source } => {
                let attempt = match attempt {
                    ShmOperation::Create => "create",
                    ShmOperation::Permit => "set group and mode of",
                    ShmOperation::Lock => "lock",
                    ShmOperation::Map => "map",
                    ShmOperation::Open => "open",
                    ShmOperation::Identify => "read",
                    ShmOperation::Remove => "remove",
                    ShmOperation::Reserve => "reserve memory for",
                };
                write!(f, "cannot {attempt} {}: {source}", path.display())
            }
            Self::Key => write!(
                f,
                "a key must have from one byte up to the channel's key size, and the channel must have room for it"
            ),
            Self::Name(name) => write!(
                f,
                "channel name {name:?}: 1 to 200 letters, digits, '.', '_' and '-' are allowed, the first not a '.'"
            ),
            Self::NoChannel { path } => {
                write!(f, "no such channel: {} is missing; start its writer first", path.display())
            }
            Self::SampleLength { len, max } => {
                write!(f, "a sample of {len} bytes is longer than the channel's {max}")
            }
            Self::Schema { written, wanted } => {
                write!(f, "the channel's samples are {written}, the reader wants {wanted}")
            }
            Self::SchemaName => {
                write!(f, "a schema's name has 1 to 128 printable ASCII characters")
            }
            Self::Sizes => write!(
                f,
                "sizes out of range: samples of 1 B to 1 MiB, 2 to 2^26 slots, keys of at most 256 B, at most 2^24 keys, 1 TiB in all"
            ),
            Self::Version { found } => write!(
                f,
                "layout version {found} is not this program's ({}); use the same release on both sides",
                crate::layout::VERSION
            ),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Entry => "an entry of the last values was not written by a writer",
            Self::Head => "head and slots contradict each other",
            Self::Length => "a length is larger than its room",
            Self::Magic => "wrong magic number",
            Self::SchemaName => "the schema's name is too long",
            Self::Short => "the file is shorter than its header states",
            Self::Sizes => "the sizes in the header are out of range",
            Self::Truncated => "the file was cut while it was mapped",
        })
    }
}

impl std::error::Error for ShmError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<Damage> for ShmError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}
