//! A Logon that waits for its decision.

use std::net::SocketAddr;

use tickwire_fix::FixMessage;
use tickwire_fix_session::{Config, Refusal, SessionId};

use super::acceptor::TemplateSession;
use super::access::Peer;
use super::sessions::SessionKey;

/// The key of a pending decision. It can be sent to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(super) connection: usize,
    pub(super) serial: u64,
}

/// A Logon to decide on. All checks that do not need the application have passed: CompIDs, version,
/// SendingTime, address, certificate.
#[derive(Debug)]
pub struct LogonAttempt<'a> {
    /// The session that the Logon is for.
    pub id: &'a SessionId,
    /// The session's configuration, which has the same id.
    pub config: &'a Config,
    /// The Logon.
    pub message: FixMessage<'a, 'a>,
    /// The peer that sent it.
    pub peer: &'a Peer,
    /// The key for a later decision with [`super::Sessions::decide`].
    pub ticket: Ticket,
}

/// The decision on a Logon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The peer is admitted.
    Accept,
    /// The peer is refused with a Logout that uses no sequence number. With an empty text it is
    /// only disconnected, which is right for QuickFIX peers, because they count the Logout.
    Refuse {
        /// Text (58) of the Logout.
        text: String,
    },
    /// The application will decide later, within [`super::AcceptorOptions::decision_timeout_s`]
    /// seconds.
    Later,
}

/// A connection that was refused.
#[derive(Clone, Copy, Debug)]
pub struct RefusedConnection<'a> {
    /// Address of the peer.
    pub peer: SocketAddr,
    /// The session that a Logon named.
    pub id: Option<&'a SessionId>,
    /// The reason.
    pub refusal: Refusal,
    /// Details, such as what could not be opened; often empty.
    pub text: &'a str,
}

/// The session that a Logon is for.
#[derive(Debug)]
pub(super) enum LogonTarget {
    Known(SessionKey),
    Template(Box<TemplateSession>),
}

/// A Logon that waits for a decision.
#[derive(Debug)]
pub(super) struct UndecidedLogon {
    pub serial: u64,
    pub id: SessionId,
    pub candidate: LogonTarget,
}
