//! Why a message is not sent, and what a store could not do.

use std::fmt;
use std::io;

use tickwire_fix::Tag;

/// Failure of a store. The session cannot continue without it and disconnects.
#[derive(Debug)]
pub struct StoreError {
    /// The failed operation, and its file if there is one.
    pub doing: String,
    /// The operating system's error.
    pub source: io::Error,
}

impl StoreError {
    /// An error while `doing` something.
    pub fn new(doing: impl Into<String>, source: io::Error) -> Self {
        Self { doing: doing.into(), source }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "message store: cannot {}: {}", self.doing, self.source)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Why a message was not accepted for sending. Nothing was stored and no number was used.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// A field of the header cannot be sent: one that the session writes itself, out of order, or with a
    /// value that would end it. [`Tag::MSG_TYPE`] for a MsgType that is none, or one of the session's.
    Header(Tag),
    /// The message is longer than [`crate::Limits::message_len_max`].
    MessageLength,
    /// Not logged on, and a reset to come would lose the message.
    NotLoggedOn,
    /// More waits for the peer to read than [`crate::Limits::backlog_max`] messages or
    /// [`crate::Limits::backlog_bytes_max`]; send again later.
    QueueFull,
    /// The store failed; the session disconnects.
    Store(StoreError),
    /// A field of the body is empty or contains a delimiter.
    Value,
    /// A hook withholds the message.
    Withheld,
}

impl fmt::Display for SendError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(tag) => write!(out, "header field {tag} has a value that cannot be sent"),
            Self::MessageLength => out.write_str("the message is longer than the limit allows"),
            Self::NotLoggedOn => {
                out.write_str("not logged on, and the next logon resets the sequence numbers")
            }
            Self::QueueFull => out.write_str("the peer does not read; send again later"),
            Self::Store(error) => error.fmt(out),
            Self::Withheld => out.write_str("a hook withholds the message"),
            Self::Value => out.write_str("a field is empty or contains a delimiter"),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for SendError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
