//! A Logon between its arrival and the decision on it.

use std::net::SocketAddr;

use tickwire_fix::Message;
use tickwire_fix_session::{Refusal, SessionId};

use super::acceptor::TemplateSession;
use super::access::Peer;
use super::sessions::SessionKey;

/// Key of a pending decision. Can be sent to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(super) connection: usize,
    pub(super) serial: u64,
}

/// A Logon to decide on. All that does not need the application is right: CompIDs, version, SendingTime,
/// address, certificate.
#[derive(Debug)]
pub struct LogonAttempt<'a> {
    /// The session that the Logon is for.
    pub id: &'a SessionId,
    /// The Logon.
    pub message: Message<'a, 'a>,
    /// Its sender.
    pub peer: &'a Peer,
    /// For a decision later: [`super::Sessions::decide`].
    pub ticket: Ticket,
}

/// Decision on a Logon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The peer is admitted.
    Accept,
    /// It is sent away: with a Logout of that text that uses no number, or without a message if it is
    /// empty, which is right for QuickFIX: it counts the Logout.
    Refuse {
        /// The text.
        text: String,
    },
    /// It will be said later, in [`super::AcceptorOptions::decision_timeout_s`] seconds at most.
    Later,
}

/// A connection that was refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// Address of the peer.
    pub peer: SocketAddr,
    /// The session that a Logon named.
    pub id: Option<&'a SessionId>,
    /// Why.
    pub refusal: Refusal,
    /// More of it, as what could not be opened; often empty.
    pub text: &'a str,
}

/// The session that a Logon is for.
#[derive(Debug)]
pub(super) enum Candidate {
    Known(SessionKey),
    Template(Box<TemplateSession>),
}

/// A Logon that waits for a decision.
#[derive(Debug)]
pub(super) struct Attempt {
    pub serial: u64,
    pub id: SessionId,
    pub candidate: Candidate,
}
