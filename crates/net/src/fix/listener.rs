//! One listener of an engine: its socket, its sessions, and who is connected.

use std::collections::HashMap;

use mio::net::TcpListener;
use tickwire_fix_session::SessionId;

use super::acceptor::{AcceptorOptions, Template};
use super::pending::Pending;
use super::rate::Bucket;
use super::sessions::{SessionKey, Sessions};

pub(super) struct Listener {
    pub socket: TcpListener,
    pub options: AcceptorOptions,
    pub template: Option<Template>,
    /// The sessions that can be logged on to here, by id without qualifier: a Logon has none.
    sessions: HashMap<SessionId, SessionKey>,
    /// Those that the template made, the one that was disconnected last at the end.
    made: Vec<SessionKey>,
    pub connections: Bucket,
    pub logons: Bucket,
    pub open: usize,
    pub pending: Pending,
    /// Logons that wait for a decision.
    pub deciding: usize,
    pub readable: bool,
    /// When to look for connections again after the operating system could not give one.
    pub retry_ns: Option<u64>,
}

/// Returns what a Logon can say of an id.
fn named(id: &SessionId) -> SessionId {
    SessionId { qualifier: String::new(), ..id.clone() }
}

impl Listener {
    pub fn new(socket: TcpListener, options: AcceptorOptions, now_ns: u64) -> Self {
        Self {
            socket,
            template: None,
            sessions: HashMap::new(),
            made: Vec::new(),
            connections: Bucket::new(options.connection_rate, now_ns),
            logons: Bucket::new(options.logon_rate, now_ns),
            options,
            open: 0,
            pending: Pending::default(),
            deciding: 0,
            readable: false,
            retry_ns: None,
        }
    }

    /// Returns the session that a Logon names.
    pub fn find(&self, id: &SessionId) -> Option<SessionKey> {
        self.sessions.get(&named(id)).copied()
    }

    pub fn add(&mut self, id: &SessionId, key: SessionKey) {
        self.sessions.insert(named(id), key);
    }

    /// Adds a session that the template made.
    pub fn add_made(&mut self, id: &SessionId, key: SessionKey) {
        self.add(id, key);
        self.made.push(key);
    }

    /// Makes room for one more session of the template; returns the one that has to go: who was
    /// disconnected first. The error is that all are connected.
    pub fn make_room(&mut self, sessions: &Sessions) -> Result<Option<SessionKey>, ()> {
        if self.made.len() < self.options.template_sessions_max {
            return Ok(None);
        }
        let at = self.made.iter().position(|key| sessions.connection(*key).is_none()).ok_or(())?;
        let key = self.made.remove(at);
        self.sessions.retain(|_, known| *known != key);
        Ok(Some(key))
    }

    /// Takes note that a session was disconnected.
    pub fn disconnected(&mut self, key: SessionKey) {
        if let Some(at) = self.made.iter().position(|made| *made == key) {
            self.made.remove(at);
            self.made.push(key);
        }
    }
}
