//! TCP replay (feature `tcp-replay`): requests lost messages from the exchange.
//!
//! [`ReplayClient`] follows the replay services of MOEX (SPECTRA "TCP Replay", ASTS "TCP
//! Recovery"). It does no I/O and has no clock. The caller owns the TCP connection and the timer:
//!
//! | caller | client |
//! |---|---|
//! | [`request`](ReplayClient::request) a gap | queues it, or refuses it with a [`ReplayFailure`] |
//! | [`poll_event`](ReplayClient::poll_event) | [`ReplayEvent::Connect`], [`Disconnect`](ReplayEvent::Disconnect), messages, ends |
//! | [`handle_connected`](ReplayClient::handle_connected), [`handle_bytes`](ReplayClient::handle_bytes), [`handle_disconnected`](ReplayClient::handle_disconnected) | the session |
//! | [`take_bytes`](ReplayClient::take_bytes) | bytes to send |
//! | [`poll_timeout`](ReplayClient::poll_timeout), [`handle_timeout`](ReplayClient::handle_timeout) | timeouts and back-off |
//!
//! # The protocol
//!
//! One connection serves one request. FIX messages are tag=value; FAST messages come in frames: a
//! length (u32, big-endian) and that many bytes, without the preamble of packets. The first byte
//! distinguishes them: `8` begins a FIX message, 0 a frame.
//!
//! ```text
//! client                                            server
//!   |  Logon (35=A, 553 user, 554 password)  ------->  |
//!   |  <-------------------------------  Logon (35=A)  |
//!   |  MarketDataRequest (35=V, 1182, 1183)  ------->  |
//!   |  <------------------  frames, numbers ascending  |
//!   |  <------------  Logout (35=5, 1409 the reason)   |
//!   |  Logout (35=5)  ------------------------------>  |
//!   |                                          closes  |
//! ```
//!
//! A gap longer than the server's limit takes several requests. A connection that breaks or stalls
//! is opened again after a back-off, and requests only the rest. Each number of a gap is reported
//! as [`ReplayEvent::Replayed`] or as [`Abandoned`](ReplayEvent::Abandoned), with a reason: books
//! then wait for snapshots. [`ReplayEvent::Done`] ends the gap.

#[cfg(feature = "tcp-replay")]
mod client;
mod options;
#[cfg(feature = "tcp-replay")]
mod wire;

#[cfg(feature = "tcp-replay")]
pub use client::{ReplayClient, ReplayEvent};
pub use options::ReplayOptions;
#[cfg(feature = "tcp-replay")]
pub use wire::FRAME_BYTES_MAX;

use std::error::Error;
use std::fmt;

/// Counters of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounters {
    /// Gaps accepted.
    pub gaps: u64,
    /// Requests sent.
    pub requests: u64,
    /// Messages replayed.
    pub replayed: u64,
    /// Numbers abandoned.
    pub abandoned: u64,
    /// Connections that failed: refused, broken, timed out, or with a protocol error.
    pub failures: u64,
}

/// Reason why numbers are not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayFailure {
    /// Too many gaps are waiting.
    Busy,
    /// User or password is wrong; no further attempt before the next day.
    Credentials,
    /// The connection was refused or broke too often.
    Disconnected,
    /// The server no longer has the numbers, or never had them.
    NotAvailable,
    /// The server violated the protocol.
    Protocol,
    /// The server logged out for another reason.
    Refused {
        /// SessionStatus (1409); 0 if it named none.
        status: u64,
    },
    /// The daily number of requests is used up.
    RequestLimit,
    /// The server did not answer in time.
    Timeout,
    /// The gap is longer than [`ReplayOptions::gap_max`]: snapshots are faster.
    TooLong,
}

impl ReplayFailure {
    /// Returns a name for metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Credentials => "credentials",
            Self::Disconnected => "disconnected",
            Self::NotAvailable => "not_available",
            Self::Protocol => "protocol",
            Self::Refused { .. } => "refused",
            Self::RequestLimit => "request_limit",
            Self::Timeout => "timeout",
            Self::TooLong => "too_long",
        }
    }
}

impl fmt::Display for ReplayFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("too many gaps are waiting for replay"),
            Self::Credentials => f.write_str("the replay server refuses user or password"),
            Self::Disconnected => {
                f.write_str("the connection to the replay server fails repeatedly")
            }
            Self::NotAvailable => f.write_str("the replay server does not have the messages"),
            Self::Protocol => f.write_str("the replay server violated its protocol"),
            Self::Refused { status } => write!(f, "the replay server logged out, status {status}"),
            Self::RequestLimit => f.write_str("no more replay requests are allowed today"),
            Self::Timeout => f.write_str("the replay server did not answer in time"),
            Self::TooLong => f.write_str("the gap is too long for replay"),
        }
    }
}

impl Error for ReplayFailure {}

#[cfg(all(test, feature = "tcp-replay"))]
mod tests;
