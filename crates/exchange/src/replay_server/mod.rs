//! A TCP replay server: resends messages that a client missed on the multicast lines.
//!
//! It follows the replay services of MOEX (SPECTRA "TCP Replay", ASTS "TCP Recovery"). The server
//! does no I/O and has no clock. [`ReplayServer`] stores the messages of a session and counts
//! requests; one [`ReplayConnection`] per TCP connection turns bytes from the client into bytes to
//! the client.
//!
//! # The protocol
//!
//! One TCP connection serves one request:
//!
//! ```text
//! client                                            server
//!   |  Logon (35=A, 553 user, 554 password)  ------->  |
//!   |  <-------------------------------  Logon (35=A)  |
//!   |  MarketDataRequest (35=V, 1182, 1183)  ------->  |
//!   |  <-----  frame: length (u32 BE), FAST message    |   once for each number of the range
//!   |  <-----  frame ...                               |
//!   |  <------------------------------  Logout (35=5)  |
//!   |  Logout (35=5)  ------------------------------>  |
//!   |                                          closes  |
//! ```
//!
//! **FIX messages** are tag=value with SOH as delimiter, a correct BodyLength (9) and CheckSum
//! (10), and at most [`FIX_BYTES_MAX`] bytes. BeginString is `FIX.4.4` or `FIXT.1.1`; the server
//! answers with the client's. Each side numbers its FIX messages (34) from 1. The standard header
//! is 8, 9, 35, 49 (SenderCompID), 56 (TargetCompID), 34, 52 (SendingTime, UTC).
//!
//! | message | from | fields beside header and trailer |
//! |---|---|---|
//! | Logon, 35=A | client | 98=0 (no encryption), 108=HeartBtInt in seconds, 141=Y, 553=Username, 554=Password; 1137=9 with FIXT.1.1 |
//! | Logon, 35=A | server | 98=0, 108 as the client said, 141=Y; 1137=9 with FIXT.1.1 |
//! | MarketDataRequest, 35=V | client | 1180=ApplID (optional; the channel's name), 1182=ApplBegSeqNum, 1183=ApplEndSeqNum; both numbers are inside the range |
//! | Logout, 35=5 | server | 1409=SessionStatus, 58=Text |
//! | Logout, 35=5 | client | none needed |
//! | Heartbeat, 35=0 | client | accepted at any time after Logon, never answered |
//!
//! **Frames** carry the answer: a length of 4 bytes, big-endian, followed by that number of bytes,
//! at most [`FRAME_BYTES_MAX`]. A frame holds one packet's FAST messages as sent on the lines,
//! *without* the packet's preamble. Dictionaries are reset before each frame. The sequence number
//! is MsgSeqNum (34) in the FAST message. Frames are sent in ascending order of their numbers;
//! numbers that the server no longer stores are omitted. A range that ends beyond the last number
//! sent is cut there.
//!
//! **Telling them apart**: the server's byte stream is a sequence of FIX messages and frames. A FIX
//! message begins with the byte `8` (0x38); a frame begins with the byte 0, because no frame is
//! longer than [`FRAME_BYTES_MAX`].
//!
//! **The end**: every session ends with a Logout whose SessionStatus (1409) says why:
//!
//! | 1409 | [`LogoutReason`] | meaning |
//! |---|---|---|
//! | 4 | `Complete` | the whole range was sent |
//! | 5 | `Credentials` | unknown user or wrong password |
//! | 100 | `RequestLimit` | too many requests today: wait for the next day or use snapshots |
//! | 101 | `RangeTooLong` | more than [`ReplayServerOptions::messages_per_request_max`] numbers; ask for less |
//! | 102 | `NotAvailable` | none of these numbers can be sent: too old, or not sent yet |
//! | 103 | `Malformed` | the server expected another message, or a field is missing |
//!
//! The server closes the connection after the client's Logout, and immediately after a Logout with
//! a reason other than `Complete`. It may also close the connection at any moment without a Logout,
//! even inside a frame. The client keeps the whole frames and requests the rest over a new
//! connection.

mod connection;
mod reply;

#[cfg(test)]
mod tests;

pub use connection::ReplayConnection;

use fastrand::Rng;
use std::collections::BTreeMap;

/// Maximum length in bytes of a FIX message that the server reads or sends.
pub const FIX_BYTES_MAX: usize = 4_096;
/// Maximum length in bytes of the FAST messages in a frame.
pub const FRAME_BYTES_MAX: usize = 65_535;

/// Credentials, limits and faults of a [`ReplayServer`].
#[derive(Clone, Debug)]
pub struct ReplayServerOptions {
    /// Username (553) that may log on. Default `user`.
    pub username: String,
    /// Its password (554). Default `password`.
    pub password: String,
    /// SenderCompID (49) of the server. Default `REPLAY`.
    pub comp_id: String,
    /// Maximum number of requests per day, over all connections. Default 1,000.
    pub requests_per_day_max: u32,
    /// Maximum number of sequence numbers in one request. Default 1,000.
    pub messages_per_request_max: u64,
    /// Maximum number of messages stored; the oldest are dropped first. Default 100,000.
    pub messages_stored_max: usize,
    /// Probability from 0 to 1 that a connection breaks in the middle of an answer. Default 0.
    pub disconnect: f64,
    /// Seed of the random disconnects.
    pub seed: u64,
}

impl Default for ReplayServerOptions {
    fn default() -> Self {
        Self {
            username: "user".to_owned(),
            password: "password".to_owned(),
            comp_id: "REPLAY".to_owned(),
            requests_per_day_max: 1_000,
            messages_per_request_max: 1_000,
            messages_stored_max: 100_000,
            disconnect: 0.0,
            seed: 1,
        }
    }
}

/// The reason of a logout by the server; [`code`](Self::code) is SessionStatus (1409).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogoutReason {
    /// The whole range was sent.
    Complete,
    /// Unknown user or wrong password.
    Credentials,
    /// Too many requests on this day.
    RequestLimit,
    /// The range has more numbers than one request may ask for.
    RangeTooLong,
    /// None of the numbers can be sent.
    NotAvailable,
    /// An unexpected message, or one that lacks a required field.
    Malformed,
}

impl LogoutReason {
    /// Returns SessionStatus (1409).
    pub const fn code(self) -> u64 {
        match self {
            Self::Complete => 4,
            Self::Credentials => 5,
            Self::RequestLimit => 100,
            Self::RangeTooLong => 101,
            Self::NotAvailable => 102,
            Self::Malformed => 103,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Complete => "Replay complete",
            Self::Credentials => "Unknown user or wrong password",
            Self::RequestLimit => "Too many requests today",
            Self::RangeTooLong => "Too many messages in one request",
            Self::NotAvailable => "Messages are not available",
            Self::Malformed => "Unexpected or malformed message",
        }
    }
}

/// Counters of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayServerCounters {
    /// Accepted logons.
    pub logons: u64,
    /// Requests answered with messages.
    pub requests: u64,
    /// Logouts with a reason other than [`LogoutReason::Complete`].
    pub refused: u64,
    /// Frames sent whole.
    pub frames: u64,
    /// Connections broken deliberately.
    pub disconnects: u64,
}

/// The messages of a session, and the limits that all connections share. See the [module](self).
#[derive(Debug)]
pub struct ReplayServer {
    options: ReplayServerOptions,
    messages: BTreeMap<u64, Vec<u8>>,
    requests_today: u32,
    random: Rng,
    counters: ReplayServerCounters,
}

impl ReplayServer {
    /// Creates a server without messages.
    pub fn new(options: ReplayServerOptions) -> Self {
        let random = Rng::with_seed(options.seed);
        let counters = ReplayServerCounters::default();
        Self { options, messages: BTreeMap::new(), requests_today: 0, random, counters }
    }

    /// Stores the FAST bytes of a packet, without preamble. Returns false and stores nothing if
    /// they are longer than [`FRAME_BYTES_MAX`].
    pub fn publish(&mut self, seq_num: u64, fast: &[u8]) -> bool {
        if fast.len() > FRAME_BYTES_MAX {
            return false;
        }
        self.messages.insert(seq_num, fast.to_vec());
        while self.messages.len() > self.options.messages_stored_max {
            self.messages.pop_first();
        }
        true
    }

    /// Drops all messages: sequence numbers restart.
    pub fn begin_session(&mut self) {
        self.messages.clear();
    }

    /// Resets the request limit for a new day.
    pub const fn begin_day(&mut self) {
        self.requests_today = 0;
    }

    /// Accepts a TCP connection.
    pub fn connect(&self) -> ReplayConnection {
        ReplayConnection::new()
    }

    /// Returns the counters.
    pub const fn counters(&self) -> ReplayServerCounters {
        self.counters
    }

    /// Counts a request and returns the messages of its range, or the reason why they are not sent.
    fn request(&mut self, first: u64, last: u64) -> Result<Vec<Vec<u8>>, LogoutReason> {
        if self.requests_today >= self.options.requests_per_day_max {
            return Err(LogoutReason::RequestLimit);
        }
        self.requests_today += 1;
        if first > last {
            return Err(LogoutReason::Malformed);
        }
        if last - first >= self.options.messages_per_request_max {
            return Err(LogoutReason::RangeTooLong);
        }
        let found: Vec<Vec<u8>> =
            self.messages.range(first..=last).map(|(_, fast)| fast.clone()).collect();
        if found.is_empty() {
            return Err(LogoutReason::NotAvailable);
        }
        self.counters.requests += 1;
        Ok(found)
    }
}
