//! A listener of an engine: its socket, its template sessions and its connections.

use mio::net::TcpListener;

use super::acceptor::{AcceptorOptions, SessionFactory};
use super::pending::PendingConnections;
use super::rate::Bucket;
use super::sessions::{SessionKey, Sessions};

pub(super) struct FixListener {
    pub socket: TcpListener,
    pub options: AcceptorOptions,
    pub template: Option<SessionFactory>,
    /// Sessions created by the template, in the order of their last disconnection, the most recent
    /// last.
    made: Vec<SessionKey>,
    pub connections: Bucket,
    pub logons: Bucket,
    pub open: usize,
    pub pending: PendingConnections,
    /// Number of Logons that wait for a decision.
    pub deciding: usize,
    pub readable: bool,
    /// Time of the next attempt to accept after the operating system failed to, on the steady
    /// clock.
    pub retry_ns: Option<u64>,
}

impl FixListener {
    pub fn new(socket: TcpListener, options: AcceptorOptions, now_ns: u64) -> Self {
        Self {
            socket,
            template: None,
            made: Vec::new(),
            connections: Bucket::new(options.connection_rate, now_ns),
            logons: Bucket::new(options.logon_rate, now_ns),
            options,
            open: 0,
            pending: PendingConnections::default(),
            deciding: 0,
            readable: false,
            retry_ns: None,
        }
    }

    /// Adds a session that the template created.
    pub fn add_made(&mut self, key: SessionKey) {
        self.made.push(key);
    }

    /// Removes a session.
    pub fn forget(&mut self, key: SessionKey) {
        self.made.retain(|made| *made != key);
    }

    /// Makes room for one more template session. Returns the session to remove, which is the one
    /// that has been disconnected longest; `None` if no removal is needed. Fails if all are
    /// connected.
    pub fn make_room(&mut self, sessions: &Sessions) -> Result<Option<SessionKey>, ()> {
        if self.made.len() < self.options.template_sessions_max {
            return Ok(None);
        }
        // A disabled session stays; otherwise the template would create it again as enabled.
        let has_to_go =
            |key: &SessionKey| sessions.connection(*key).is_none() && sessions.is_enabled(*key);
        let at = self.made.iter().position(has_to_go).ok_or(())?;
        Ok(Some(self.made.remove(at)))
    }

    /// Records the disconnection of a session.
    pub fn disconnected(&mut self, key: SessionKey) {
        if let Some(at) = self.made.iter().position(|made| *made == key) {
            self.made.remove(at);
            self.made.push(key);
        }
    }
}
