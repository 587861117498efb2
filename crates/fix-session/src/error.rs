//! Errors of sending and of the store.

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

/// The reason why a message was not accepted for sending. Nothing was stored and no sequence number
/// was used.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// A header field cannot be sent: the session writes it itself, it is out of order, or its
    /// value contains a delimiter. [`Tag::MSG_TYPE`] if MsgType is invalid or that of a session
    /// message.
    Header(Tag),
    /// The message is longer than [`crate::SessionLimits::message_len_max`].
    MessageLength,
    /// The session is not logged on, and the reset at the next Logon would lose the message.
    NotLoggedOn,
    /// More messages are queued than [`crate::SessionLimits::backlog_max`] or
    /// [`crate::SessionLimits::backlog_bytes_max`] allows, because the peer reads too slowly. Send again
    /// later.
    QueueFull,
    /// The store failed; the session disconnects.
    Store(StoreError),
    /// A field of the body is empty or contains a delimiter.
    Value,
    /// A hook withheld the message.
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
