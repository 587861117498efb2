//! Incoming connections: permitted peers and limits.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Token};
use socket2::{SockRef, TcpKeepalive};
use tickwire_fix_session::{Now, Refusal};

use super::super::acceptor::{AcceptorOptions, ListenerKey, SessionFactory};
use super::super::access::Peer;
use super::super::admission::RefusedConnection;
use super::super::application::Application;
use super::super::connection::{Connection, ConnectionState};
use super::super::listener::FixListener;
use super::super::sessions::AddError;
use super::super::transport::ConnectionTransport;
use super::{CONNECTIONS, Engine};
use tickwire_host::clock::{SECOND_NS, monotonic_ns};
use tickwire_host::{HostError, SystemOperation};

/// Wait before accepting again when no descriptors are left.
const RETRY_NS: u64 = SECOND_NS / 10;
/// TCP keep-alive: silence before the first probe, number of probes, and time between them. Needed
/// because sessions may have agreed on rare heartbeats or none.
const SILENCE: Duration = Duration::from_secs(60);
const PROBES: u32 = 4;
const PROBE_INTERVAL: Duration = Duration::from_secs(15);
/// Most connections accepted from a listener at a time, so that a flood leaves time for sessions.
const ACCEPT_MAX: usize = 64;

impl<A: Application> Engine<A> {
    /// Listens on an address. Its peers can log on only to the sessions that are added to this
    /// listener ([`Engine::add_acceptor`], [`Engine::set_template`]).
    ///
    /// # Errors
    /// If listening on the address fails.
    pub fn listen(&mut self, options: AcceptorOptions) -> Result<ListenerKey, HostError> {
        let failed = |error| HostError::at(SystemOperation::Bind, options.address, error);
        let mut socket = TcpListener::bind(options.address).map_err(failed)?;
        let key = ListenerKey(self.listeners.len());
        let registry = self.poll.registry();
        registry.register(&mut socket, Token(key.0), Interest::READABLE).map_err(failed)?;
        self.listeners.push(FixListener::new(socket, options, monotonic_ns()));
        self.sessions.set_listeners(self.listeners.len());
        Ok(key)
    }

    /// Returns the address of a listener; a port of 0 is replaced by the chosen one.
    pub fn address(&self, listener: ListenerKey) -> Option<SocketAddr> {
        self.listeners.get(listener.0)?.socket.local_addr().ok()
    }

    /// Sets the template by which a listener creates sessions for unknown counterparties.
    ///
    /// # Errors
    /// [`AddError::Listener`] for a key of another engine.
    pub fn set_template(
        &mut self,
        listener: ListenerKey,
        template: SessionFactory,
    ) -> Result<(), AddError> {
        let listener = self.listeners.get_mut(listener.0).ok_or(AddError::Listener)?;
        listener.template = Some(template);
        Ok(())
    }

    /// Continues with listeners that had more connections than were accepted in the last turn.
    pub(super) fn accept_waiting(&mut self, now: Now) {
        for index in 0..self.listeners.len() {
            if self.listeners.get(index).is_some_and(|listener| listener.readable) {
                self.accept(index, now);
            }
        }
    }

    /// Retries listeners that lacked descriptors.
    pub(super) fn accept_again(&mut self, now: Now) {
        for index in 0..self.listeners.len() {
            let Some(listener) = self.listeners.get_mut(index) else { return };
            if listener.retry_ns.take_if(|at| *at <= now.steady_ns).is_some() {
                self.accept(index, now);
            }
        }
    }

    pub(super) fn accept(&mut self, index: usize, now: Now) {
        for _ in 0..ACCEPT_MAX {
            let Some(listener) = self.listeners.get_mut(index) else { return };
            listener.readable = false;
            let (stream, address) = match listener.socket.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                // No descriptors are left. No event reports when some become available, so retry
                // after a time.
                Err(_) => {
                    let at_ns = now.steady_ns.saturating_add(RETRY_NS);
                    listener.retry_ns = Some(at_ns);
                    return self.wake_at(at_ns);
                }
            };
            if let Err(refusal) = self.take_in(index, stream, address, now) {
                self.note_refused(
                    &RefusedConnection { peer: address, id: None, refusal, text: "" },
                    None,
                );
            }
        }
        if let Some(listener) = self.listeners.get_mut(index) {
            listener.readable = true;
        }
    }

    /// Makes a connection pending, displacing another one if necessary.
    fn take_in(
        &mut self,
        index: usize,
        stream: TcpStream,
        address: SocketAddr,
        now: Now,
    ) -> Result<(), Refusal> {
        if self.is_ending {
            return Err(Refusal::Shutdown);
        }
        let listener = self.listeners.get_mut(index).ok_or(Refusal::Limit)?;
        if !listener.options.allows(address.ip()) {
            return Err(Refusal::Address);
        }
        let own_rate = listener.options.connection_rate_per_address;
        if !listener.pending.take_rate(address.ip(), own_rate, now.steady_ns)
            || !listener.connections.take(now.steady_ns)
        {
            return Err(Refusal::Limit);
        }
        self.make_room(index, address, now)?;
        let listener = self.listeners.get_mut(index).ok_or(Refusal::Limit)?;
        let transport = match &listener.options.tls {
            None => ConnectionTransport::Plain(stream),
            Some(tls) => {
                let tls = tls.accept(stream).map_err(|_| Refusal::Tls)?;
                ConnectionTransport::Tls(Box::new(tls))
            }
        };
        let wait = u64::from(listener.options.first_message_timeout_s) * SECOND_NS;
        let until_ns = now.steady_ns.saturating_add(wait);
        let mut connection = Connection::new(transport, ConnectionState::Pending { until_ns });
        connection.listener = Some((index, Peer { address, certificates: Vec::new() }));
        let connection = self.add_connection(connection).ok_or(Refusal::Limit)?;
        if let Some(listener) = self.listeners.get_mut(index) {
            listener.open += 1;
            listener.pending.add(address.ip(), connection);
        }
        self.wake_at(until_ns);
        Ok(())
    }

    /// Makes room for one more pending connection: drops one of the same address if this address
    /// has its maximum, else one of the address with the most connections.
    fn make_room(&mut self, index: usize, address: SocketAddr, now: Now) -> Result<(), Refusal> {
        let listener = self.listeners.get(index).ok_or(Refusal::Limit)?;
        let (options, pending) = (&listener.options, &listener.pending);
        let candidates = if pending.of(address.ip()) >= options.pending_per_address_max {
            pending.oldest_of(address.ip())
        } else if pending.len() >= options.pending_max || listener.open >= options.connections_max {
            pending.oldest_of_largest()
        } else {
            return Ok(());
        };
        let is_idle = |index: &usize| {
            let connection = self.connections.get(*index).and_then(Option::as_ref);
            connection.is_some_and(|found| matches!(found.state, ConnectionState::Pending { .. }))
        };
        let oldest = candidates.into_iter().find(is_idle).ok_or(Refusal::Limit)?;
        self.refuse(oldest, Refusal::Limit, "displaced by a newer connection", now);
        Ok(())
    }

    /// Adds a connection and waits for its events; returns its index.
    pub(super) fn add_connection(&mut self, mut connection: Connection) -> Option<usize> {
        let index = self.free.pop().unwrap_or(self.connections.len());
        let token = Token(CONNECTIONS + index);
        let interest = Interest::READABLE | Interest::WRITABLE;
        let stream: &mut TcpStream = connection.transport.stream();
        // Disables Nagle's algorithm, so that small messages are sent at once.
        let _ = stream.set_nodelay(true);
        // Otherwise a peer whose machine vanished would keep its session and could not log on
        // again.
        let keep_alive = TcpKeepalive::new()
            .with_time(SILENCE)
            .with_retries(PROBES)
            .with_interval(PROBE_INTERVAL);
        let _ = SockRef::from(&*stream).set_tcp_keepalive(&keep_alive);
        let registered = self.poll.registry().register(stream, token, interest);
        if index == self.connections.len() {
            self.connections.push(None);
        }
        if registered.is_err() {
            self.free.push(index);
            return None;
        }
        if let Some(slot) = self.connections.get_mut(index) {
            *slot = Some(connection);
        }
        Some(index)
    }

    /// Removes a connection from the pending ones.
    pub(super) fn leave_pending(&mut self, index: usize) {
        let Some(connection) = self.connections.get(index).and_then(Option::as_ref) else { return };
        let Some((listener, peer)) = &connection.listener else { return };
        let Some(listener) = self.listeners.get_mut(*listener) else { return };
        if connection.is_pending() {
            listener.pending.remove(peer.address.ip(), index);
        }
        listener.deciding -=
            usize::from(matches!(connection.state, ConnectionState::Deciding { .. }));
    }
}
