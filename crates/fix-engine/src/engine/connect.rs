//! Outgoing connections and reconnection.

use std::fmt::Display;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use mio::net::TcpStream;
use tickwire_fix_session::Now;
use tickwire_host::affinity::unpin_current_thread;
use tracing::Level;

use super::super::application::Application;
use super::super::connection::{Connection, ConnectionState};
use super::super::handle::EngineHandle;
use super::super::initiator::InitiatorOptions;
use super::super::sessions::SessionKey;
use super::super::transport::ConnectionTransport;
use super::Engine;

/// The connection state of an initiator session.
#[derive(Debug)]
pub(super) struct Dialer {
    pub key: SessionKey,
    options: InitiatorOptions,
    /// The time to connect, on the steady clock; `None` while connected or connecting.
    due_ns: Option<u64>,
    failures: u32,
    next_address: usize,
    /// A running look-up of its hosts.
    lookup: Option<Lookup>,
    /// True if host names are to be resolved before the next attempt.
    is_stale: bool,
}

/// The result of a look-up, which runs on a separate thread because it may block.
type Lookup = Receiver<Vec<(SocketAddr, String)>>;

/// Looks up hosts on a separate thread and wakes the engine when done.
fn look_up(hosts: Vec<(String, u16)>, engine: EngineHandle) -> Lookup {
    let (found, lookup) = sync_channel(1);
    std::thread::spawn(move || {
        // The engine's thread may be pinned.
        unpin_current_thread();
        let mut addresses = Vec::new();
        for (host, port) in hosts {
            // A host that cannot be resolved is skipped.
            let of_host = (host.as_str(), port).to_socket_addrs().into_iter().flatten();
            addresses.extend(of_host.map(|address| (address, host.clone())));
        }
        // Errors are harmless: if the engine is gone, nobody needs the addresses; if it cannot be
        // woken, it finds them within a second.
        let _ = found.send(addresses);
        let _ = engine.wake();
    });
    lookup
}

/// Returns host and address of a connection, for logs.
fn target(address: SocketAddr, host: &str) -> String {
    match address.ip().to_string() == host {
        true => address.to_string(),
        false => format!("{host} ({address})"),
    }
}

/// Returns the reason why no connection was established.
pub(super) fn cannot_connect(target: &str, error: impl Display) -> String {
    format!("cannot connect to {target}: {error}")
}

impl Dialer {
    pub const fn new(key: SessionKey, options: InitiatorOptions) -> Self {
        Self {
            key,
            options,
            due_ns: Some(0),
            failures: 0,
            next_address: 0,
            lookup: None,
            is_stale: false,
        }
    }

    /// Starts or completes the look-up of the hosts. Returns true if the addresses are current.
    fn is_looked_up(&mut self, engine: &EngineHandle) -> bool {
        if let Some(lookup) = &self.lookup {
            match lookup.try_recv() {
                Err(TryRecvError::Empty) => return false,
                // If no name can be resolved, the previous addresses are tried.
                Ok(found) if !found.is_empty() => self.options.addresses = found,
                Ok(_) | Err(TryRecvError::Disconnected) => {}
            }
            self.lookup = None;
            self.next_address = 0;
            return true;
        }
        if !std::mem::take(&mut self.is_stale) || self.options.hosts.is_empty() {
            return true;
        }
        self.lookup = Some(look_up(self.options.hosts.clone(), engine.clone()));
        false
    }

    /// Returns the address to try next. After the last one, the hosts are looked up again.
    fn take_address(&mut self) -> Option<(SocketAddr, String)> {
        let address = self.options.addresses.get(self.next_address).cloned();
        self.next_address += 1;
        if self.next_address >= self.options.addresses.len() {
            self.next_address = 0;
            self.is_stale = true;
        }
        address
    }

    /// True while its host names are being resolved.
    pub const fn is_looking_up(&self) -> bool {
        self.lookup.is_some()
    }

    /// Returns the time to connect; `None` during a look-up, which wakes the engine itself.
    pub fn timer_ns(&self) -> Option<u64> {
        self.due_ns.filter(|_| self.lookup.is_none())
    }
}

impl<A: Application> Engine<A> {
    /// Opens the connections that are due.
    pub(super) fn dial_due(&mut self, now: Now) {
        if self.is_ending {
            return;
        }
        for index in 0..self.dialers.len() {
            let Some(dialer) = self.dialers.get_mut(index) else { continue };
            let is_due = dialer.due_ns.is_some_and(|at| at <= now.steady_ns);
            if !is_due || !self.sessions.is_enabled(dialer.key) {
                continue;
            }
            let session = self.sessions.session(dialer.key);
            let from_ns = session.map(|session| session.config().logon_from(now.wall_ns));
            if from_ns.is_some_and(|from_ns| from_ns != Some(now.wall_ns)) {
                // Outside its schedule no connection is attempted.
                let next_ns = from_ns.flatten().unwrap_or(u64::MAX);
                let wait_ns = next_ns.saturating_sub(now.wall_ns);
                if let Some(config) = session.map(|session| session.config())
                    && let Some(text) = config.schedule_wait(now.wall_ns)
                {
                    self.events.note(Level::INFO, "schedule", &config.id, text, now);
                }
                dialer.due_ns = Some(now.steady_ns.saturating_add(wait_ns));
                continue;
            }
            if !dialer.is_looked_up(&self.requests.handle) {
                continue;
            }
            dialer.due_ns = None;
            let address = dialer.take_address();
            let key = dialer.key;
            let timeout = u64::try_from(dialer.options.connect_timeout.as_nanos());
            let until_ns = now.steady_ns.saturating_add(timeout.unwrap_or(u64::MAX));
            let Some((address, host)) = address else {
                self.dial_later(key, now);
                continue;
            };
            let target = target(address, &host);
            let opened = TcpStream::connect(address).map_err(|error| error.to_string());
            let opened = opened.and_then(|stream| match &dialer.options.tls {
                None => Ok(ConnectionTransport::Plain(stream)),
                Some(tls) => {
                    let tls = tls.connect(stream, &host).map_err(|error| error.to_string())?;
                    Ok(ConnectionTransport::Tls(Box::new(tls)))
                }
            });
            let transport = match opened {
                Ok(transport) => transport,
                Err(error) => {
                    self.detach(Some(key), Some(cannot_connect(&target, error)), now);
                    continue;
                }
            };
            let state = ConnectionState::Connecting { until_ns };
            let mut connection = Connection::new(transport, state);
            connection.session = Some(key);
            connection.target = target;
            match self.add_connection(connection) {
                Some(index) => self.sessions.set_connection(key, Some(index), None),
                None => self.dial_later(key, now),
            }
        }
    }

    /// Schedules the next attempt after a connection was lost or failed.
    pub(super) fn dial_later(&mut self, key: SessionKey, now: Now) {
        let Some(dialer) = self.dialers.iter_mut().find(|dialer| dialer.key == key) else { return };
        dialer.failures = dialer.failures.saturating_add(1);
        let wait = dialer.options.backoff.wait(dialer.failures);
        let wait_ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let at_ns = now.steady_ns.saturating_add(wait_ns);
        dialer.due_ns = Some(at_ns);
        self.wake_at(at_ns);
    }

    /// Checks whether a connection is established.
    pub(super) fn finish_connecting(&mut self, index: usize, now: Now) {
        let Some(connection) = self.connection_mut(index) else { return };
        let stream = connection.transport.stream();
        if let Some(error) = stream.take_error().ok().flatten() {
            let text = cannot_connect(&connection.target, error);
            return self.drop_failed(index, text, now);
        }
        if stream.peer_addr().is_err() {
            return;
        }
        let Some(key) = connection.session else { return };
        // The session was disabled while it connected.
        if !self.sessions.is_enabled(key) {
            return self.drop_connection(index, now);
        }
        if let Some(dialer) = self.dialers.iter_mut().find(|dialer| dialer.key == key) {
            dialer.failures = 0;
        }
        self.attach(index, key, now);
    }
}
