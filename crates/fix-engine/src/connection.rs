//! One connection of an engine.

use tickwire_fix_session::SessionId;

use super::access::Peer;
use super::admission::UndecidedLogon;
use super::sessions::SessionKey;
use super::transport::ConnectionTransport;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// An initiator's connection that is not established yet.
    Connecting { until_ns: u64 },
    /// An acceptor's connection whose first message is not complete yet.
    Pending { until_ns: u64 },
    /// An acceptor's connection whose Logon awaits the application's decision. Nothing is read
    /// meanwhile.
    Deciding { until_ns: u64 },
    /// Attached to a session.
    Attached,
    /// All output is written. Further input is discarded until the peer has had time to read the
    /// last bytes.
    Lingering { until_ns: u64 },
}

#[derive(Debug)]
pub(super) struct Connection {
    pub transport: ConnectionTransport,
    pub state: ConnectionState,
    pub session: Option<SessionKey>,
    /// Listener and peer of an accepted connection.
    pub listener: Option<(usize, Peer)>,
    /// Host and address to which an initiator connects.
    pub target: String,
    /// The session that its Logon names.
    pub claimed: Option<SessionId>,
    /// The Logon that is being decided on.
    pub attempt: Option<UndecidedLogon>,
    /// Received bytes until the first message is complete.
    pub early: Vec<u8>,
    /// True if there may be bytes to read that no event will report.
    pub readable: bool,
    /// True if the peer has closed its side: read to the end, because no further event follows.
    pub ended: bool,
    /// When the peer stopped reading, while bytes wait for it; steady clock.
    pub blocked_ns: Option<u64>,
    /// True if the connection is to be closed when everything is written.
    pub closing: bool,
}

impl Connection {
    pub const fn new(transport: ConnectionTransport, state: ConnectionState) -> Self {
        Self {
            transport,
            state,
            session: None,
            listener: None,
            target: String::new(),
            claimed: None,
            attempt: None,
            early: Vec::new(),
            readable: false,
            ended: false,
            blocked_ns: None,
            closing: false,
        }
    }

    /// True if its Logon has not been accepted yet.
    pub const fn is_pending(&self) -> bool {
        matches!(self.state, ConnectionState::Pending { .. } | ConnectionState::Deciding { .. })
    }

    /// True if it is an initiator's connection that is not established yet.
    pub const fn is_dialing(&self) -> bool {
        matches!(self.state, ConnectionState::Connecting { .. })
    }

    /// Returns the next deadline of the connection, on the steady clock.
    pub fn deadline_ns(&self, slow_reader_ns: u64) -> Option<u64> {
        match self.state {
            ConnectionState::Connecting { until_ns }
            | ConnectionState::Pending { until_ns }
            | ConnectionState::Deciding { until_ns }
            | ConnectionState::Lingering { until_ns } => Some(until_ns),
            ConnectionState::Attached => {
                self.blocked_ns.map(|since| since.saturating_add(slow_reader_ns))
            }
        }
    }
}
