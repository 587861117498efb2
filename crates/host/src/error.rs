//! Errors of the operating system.

use std::error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemOperation {
    /// Binding a socket to an address.
    Bind,
    /// Setting an option of a socket.
    Configure,
    /// Opening a connection.
    Connect,
    /// Joining a multicast group.
    Join,
    /// Creating a socket.
    Open,
    /// Pinning the thread to one CPU.
    Pin,
    /// Receiving.
    Receive,
    /// Redirecting packets from an interface to this process.
    Redirect,
    /// Sending.
    Send,
    /// Starting the thread of a TCP replay client.
    StartReplay,
    /// Starting the thread that watches a file.
    StartWatch,
    /// Waiting for input.
    Wait,
}

impl fmt::Display for SystemOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bind => "bind to",
            Self::Configure => "set up the socket for",
            Self::Connect => "connect to",
            Self::Join => "join",
            Self::Open => "open a socket for",
            Self::Pin => "pin the thread to that CPU, which does not exist or is not allowed",
            Self::Receive => "receive from",
            Self::Redirect => "redirect the packets of",
            Self::Send => "send to",
            Self::StartReplay => "start the TCP replay client",
            Self::StartWatch => "start to watch a file",
            Self::Wait => "wait for packets",
        })
    }
}

/// A failed system call: the operation, its address and the operating system's error.
#[derive(Debug)]
pub struct HostError {
    /// The operation that failed.
    pub action: SystemOperation,
    /// Its address, if it has one.
    pub address: Option<SocketAddr>,
    /// The operating system's error.
    pub source: io::Error,
}

impl HostError {
    /// Creates an error of an operation with an address.
    pub fn at(action: SystemOperation, address: impl Into<SocketAddr>, source: io::Error) -> Self {
        Self { action, address: Some(address.into()), source }
    }

    /// Creates an error of an operation without an address.
    pub const fn of(action: SystemOperation, source: io::Error) -> Self {
        Self { action, address: None, source }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.action)?;
        if let Some(address) = self.address {
            write!(f, " {address}")?;
        }
        write!(f, ": {}", self.source)
    }
}

impl error::Error for HostError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_what_was_tried_and_where() {
        let source = io::Error::from(io::ErrorKind::AddrInUse);
        let error = HostError::at(SystemOperation::Bind, ([127, 0, 0, 1], 13014), source);
        assert_eq!(error.to_string(), "cannot bind to 127.0.0.1:13014: address in use");
    }
}
