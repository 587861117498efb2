//! One connection of an engine.

use tickwire_fix_session::SessionId;

use super::access::Peer;
use super::admission::Attempt;
use super::sessions::SessionKey;
use super::transport::Transport;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// An initiator's, not open yet.
    Connecting { until_ns: u64 },
    /// An acceptor's, before the first message is whole.
    Pending { until_ns: u64 },
    /// An acceptor's whose Logon the application has not decided on. Nothing is read meanwhile.
    Deciding { until_ns: u64 },
    /// Of a session.
    Attached,
    /// Everything was said; what still comes is thrown away, so that the peer gets to read the last
    /// bytes sent.
    Lingering { until_ns: u64 },
}

#[derive(Debug)]
pub(super) struct Connection {
    pub transport: Transport,
    pub state: State,
    pub session: Option<SessionKey>,
    /// Which listener it came through, and from whom.
    pub listener: Option<(usize, Peer)>,
    /// The session that its Logon names.
    pub claimed: Option<SessionId>,
    /// The Logon that is being decided on.
    pub attempt: Option<Attempt>,
    /// Bytes before the first message is whole.
    pub early: Vec<u8>,
    /// True if there may be bytes to read that no event will tell of.
    pub readable: bool,
    /// True if the peer has ended its side: reading goes on to the end, because no other event tells.
    pub ended: bool,
    /// Since when bytes wait for a peer that does not read.
    pub blocked_ns: Option<u64>,
    /// True if the session wants it closed when all is written.
    pub closing: bool,
}

impl Connection {
    pub const fn new(transport: Transport, state: State) -> Self {
        Self {
            transport,
            state,
            session: None,
            listener: None,
            claimed: None,
            attempt: None,
            early: Vec::new(),
            readable: false,
            ended: false,
            blocked_ns: None,
            closing: false,
        }
    }

    /// True if nobody has accepted its Logon yet.
    pub const fn is_pending(&self) -> bool {
        matches!(self.state, State::Pending { .. } | State::Deciding { .. })
    }

    /// True if it is an initiator's that is not open yet.
    pub const fn is_dialing(&self) -> bool {
        matches!(self.state, State::Connecting { .. })
    }

    /// Returns when something has to be done though nothing arrives.
    pub fn deadline_ns(&self, slow_reader_ns: u64) -> Option<u64> {
        match self.state {
            State::Connecting { until_ns }
            | State::Pending { until_ns }
            | State::Deciding { until_ns }
            | State::Lingering { until_ns } => Some(until_ns),
            State::Attached => self.blocked_ns.map(|since| since.saturating_add(slow_reader_ns)),
        }
    }
}
