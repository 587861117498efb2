//! Login, limits and timers of a replay client.

use std::fmt;

/// Login, limits and timers of a [`ReplayClient`](super::ReplayClient).
#[derive(Clone, PartialEq, Eq)]
pub struct ReplayOptions {
    /// BeginString (8): `FIX.4.4` or `FIXT.1.1`. Default `FIXT.1.1`.
    pub begin_string: String,
    /// SenderCompID (49). Default `CLIENT`.
    pub sender_comp_id: String,
    /// TargetCompID (56). Default `REPLAY`.
    pub target_comp_id: String,
    /// Username (553).
    pub username: String,
    /// Password (554).
    pub password: String,
    /// ApplID (1180), the name of the channel at the exchange. Default none.
    pub appl_id: Option<String>,
    /// Most requests per day. Default 1,000.
    pub requests_max: u32,
    /// Most sequence numbers in one request, at least 1. Halved if the server refuses a request as
    /// too large. Default 1,000.
    pub messages_max: u64,
    /// Longest gap that is replayed, in sequence numbers. Default 10,000.
    pub gap_max: u64,
    /// Most waiting gaps. Default 64.
    pub gaps_max: usize,
    /// How long to wait for the next answer, in nanoseconds. Default 5 s.
    pub timeout_ns: u64,
    /// Consecutive failed connections after which a gap is abandoned, at least 1. Default 4.
    pub attempts_max: u32,
    /// Back-off after the first failure, in nanoseconds; doubled after each further one. Default 100 ms.
    pub backoff_ns: u64,
    /// Longest back-off, in nanoseconds. Default 10 s.
    pub backoff_max_ns: u64,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            begin_string: "FIXT.1.1".to_owned(),
            sender_comp_id: "CLIENT".to_owned(),
            target_comp_id: "REPLAY".to_owned(),
            username: String::new(),
            password: String::new(),
            appl_id: None,
            requests_max: 1_000,
            messages_max: 1_000,
            gap_max: 10_000,
            gaps_max: 64,
            timeout_ns: 5_000_000_000,
            attempts_max: 4,
            backoff_ns: 100_000_000,
            backoff_max_ns: 10_000_000_000,
        }
    }
}

/// Omits the password.
impl fmt::Debug for ReplayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayOptions")
            .field("begin_string", &self.begin_string)
            .field("sender_comp_id", &self.sender_comp_id)
            .field("target_comp_id", &self.target_comp_id)
            .field("username", &self.username)
            .field("appl_id", &self.appl_id)
            .field("requests_max", &self.requests_max)
            .field("messages_max", &self.messages_max)
            .field("gap_max", &self.gap_max)
            .field("timeout_ns", &self.timeout_ns)
            .field("attempts_max", &self.attempts_max)
            .finish_non_exhaustive()
    }
}
