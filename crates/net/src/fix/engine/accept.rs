//! Connections that come in, until they belong to a session.

use std::io;
use std::net::SocketAddr;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Token};
use tickwire_fix::{Framer, Limits, Step};
use tickwire_fix_session::{Identity, Now, SessionId};

use super::super::acceptor::{AcceptorOptions, Template};
use super::super::application::Application;
use super::super::connection::{Connection, State};
use super::super::rate::Bucket;
use super::super::sessions::SessionKey;
use super::super::transport::Transport;
use super::{CONNECTIONS, Engine, Listener};
use crate::clock::{SECOND_NS, monotonic_ns};
use crate::{Action, Error};

/// Connections taken from a listener at a time, so that a flood leaves time for sessions.
const ACCEPT_MAX: usize = 64;

impl<A: Application> Engine<A> {
    /// Listens; returns the address, with the port that was chosen if it was 0. `template` makes
    /// sessions for counterparties that are not known.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub fn listen(
        &mut self,
        options: AcceptorOptions,
        template: Option<Template>,
    ) -> Result<SocketAddr, Error> {
        let failed = |error| Error::at(Action::Bind, options.address, error);
        let mut socket = TcpListener::bind(options.address).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let token = Token(self.listeners.len());
        let registry = self.poll.registry();
        registry.register(&mut socket, token, Interest::READABLE).map_err(failed)?;
        let now_ns = monotonic_ns();
        self.listeners.push(Listener {
            socket,
            template,
            made: 0,
            connections: Bucket::new(options.connection_rate, now_ns),
            logons: Bucket::new(options.logon_rate, now_ns),
            options,
            open: 0,
            strangers: 0,
            readable: false,
        });
        Ok(address)
    }

    /// Goes on with listeners that had more connections than were taken.
    pub(super) fn accept_waiting(&mut self, now: Now) {
        for index in 0..self.listeners.len() {
            if self.listeners.get(index).is_some_and(|listener| listener.readable) {
                self.accept(index, now);
            }
        }
    }

    pub(super) fn accept(&mut self, index: usize, now: Now) {
        for _ in 0..ACCEPT_MAX {
            let Some(listener) = self.listeners.get_mut(index) else { return };
            listener.readable = false;
            let (stream, peer) = match listener.socket.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The peer is gone again, or there are no descriptors: others may still come.
                Err(_) => return,
            };
            let welcome = listener.options.allows(peer.ip())
                && listener.open < listener.options.connections_max
                && listener.strangers < listener.options.strangers_max
                && listener.connections.take(now.steady_ns);
            let transport = match (&listener.options.tls, welcome) {
                (_, false) => None,
                (None, true) => Some(Transport::Plain(stream)),
                (Some(tls), true) => {
                    tls.accept(stream).ok().map(|tls| Transport::Tls(Box::new(tls)))
                }
            };
            if let Some(transport) = transport {
                listener.open += 1;
                listener.strangers += 1;
                let wait = u64::from(listener.options.first_message_timeout_s) * SECOND_NS;
                let until_ns = now.steady_ns.saturating_add(wait);
                let state = State::Stranger { until_ns };
                let mut connection = Connection::new(transport, state);
                connection.listener = Some(index);
                self.add_connection(connection, now);
                self.wake_at(until_ns);
            }
        }
        if let Some(listener) = self.listeners.get_mut(index) {
            listener.readable = true;
        }
    }

    /// Adds a connection and waits for its events; returns its index.
    pub(super) fn add_connection(&mut self, mut connection: Connection, _: Now) -> Option<usize> {
        let index = self.free.pop().unwrap_or(self.connections.len());
        let token = Token(CONNECTIONS + index);
        let interest = Interest::READABLE | Interest::WRITABLE;
        let stream: &mut TcpStream = connection.transport.stream();
        // Small messages leave at once.
        let _ = stream.set_nodelay(true);
        let registered = self.poll.registry().register(stream, token, interest);
        if index == self.connections.len() {
            self.connections.push(None);
        }
        if registered.is_err() {
            self.leave_listener(&connection);
            self.free.push(index);
            return None;
        }
        if let Some(slot) = self.connections.get_mut(index) {
            *slot = Some(connection);
        }
        Some(index)
    }

    /// Looks whether a stranger's first message is whole, and whose it is. Returns whether the
    /// connection goes on.
    pub(super) fn introduce(&mut self, index: usize, now: Now) -> bool {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else {
            return false;
        };
        let listener_index = connection.listener;
        let Some(listener) = listener_index.and_then(|at| self.listeners.get_mut(at)) else {
            return false;
        };
        let len_max = listener.options.first_message_len_max;
        self.framer = Framer::new(Limits { message_len_max: len_max, ..Limits::default() });
        let bytes = match self.framer.step(&connection.early) {
            Step::NeedMore(_) => return connection.early.len() < len_max,
            Step::Garbage(_) => return false,
            Step::Message(bytes) => bytes,
        };
        let identity = self.reader.decode(bytes).ok().and_then(|message| Identity::of(&message));
        let Some(identity) = identity.filter(|identity| identity.is_logon) else { return false };
        if !listener.logons.take(now.steady_ns) {
            return false;
        }
        let Some(key) = self.find_session(listener_index, &identity.id) else { return false };
        if self.sessions.connection(key).is_some() {
            return false;
        }
        self.attach(index, key, now);
        true
    }

    fn find_session(&mut self, listener: Option<usize>, id: &SessionId) -> Option<SessionKey> {
        if let Some(key) = self.sessions.find(id) {
            return Some(key);
        }
        let listener = self.listeners.get_mut(listener?)?;
        if listener.made >= listener.options.template_sessions_max {
            return None;
        }
        let made = listener.template.as_mut()?(id)?;
        listener.made += 1;
        let key = self.sessions.add(made.config, made.store);
        if let Some(log) = made.log {
            self.sessions.keep_log(key, log);
        }
        Some(key)
    }

    /// Gives a connection to its session, with what arrived already.
    pub(super) fn attach(&mut self, index: usize, key: SessionKey, now: Now) {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        if matches!(connection.state, State::Stranger { .. })
            && let Some(listener) =
                connection.listener.and_then(|listener| self.listeners.get_mut(listener))
        {
            listener.strangers -= 1;
        }
        connection.state = State::Attached;
        connection.session = Some(key);
        let early = std::mem::take(&mut connection.early);
        self.sessions.set_connection(key, Some(index));
        if let Some(session) = self.sessions.session_mut(key) {
            session.handle_connected(now);
            session.handle_bytes(&early);
        }
        self.handle_events(key, now);
        self.transmit(key, now);
        self.next_timer_ns = 0;
    }

    /// Counts a connection out.
    pub(super) fn leave_listener(&mut self, connection: &Connection) {
        let listener = connection.listener.and_then(|listener| self.listeners.get_mut(listener));
        if let Some(listener) = listener {
            listener.open -= 1;
            listener.strangers -= usize::from(matches!(connection.state, State::Stranger { .. }));
        }
    }
}
