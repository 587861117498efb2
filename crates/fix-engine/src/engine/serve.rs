//! Attached connections: reading, events, writing, closing.

use std::io;

use tracing::Level;

use tickwire_fix_session::{DisconnectReason, Event, Now, Refusal, SessionEvent, SessionRole};

use super::super::application::Application;
use super::super::connection::{Connection, ConnectionState};
use super::super::sessions::SessionKey;
use super::super::tls::{TlsError, is_record};
use super::connect::cannot_connect;
use super::{Engine, READ_LEN};
use tickwire_host::clock::SECOND_NS;

/// Most reads per connection and turn, so that a busy one leaves time for others.
const READS_MAX: usize = 8;
/// Most writes per connection and turn, each of about 64 KiB at most, so that one with much output
/// leaves time for others.
const WRITES_MAX: usize = 16;
/// Time for the peer to read the last bytes.
const LINGER_NS: u64 = SECOND_NS;

/// The result of reading.
enum ReadOutcome {
    /// No more bytes are available now.
    Drained,
    /// More bytes may be available.
    More,
    /// The peer has closed the connection.
    Closed,
    /// The connection failed.
    Failed(io::Error),
    /// TLS failed, for this reason.
    TlsFailed(String),
}

/// Text of a connection that ended before the Logon was answered.
const UNANSWERED: &str =
    "the peer closed the connection before it answered the Logon; the peer's log has the reason";
/// Text of a connection whose peer uses TLS although this side does not.
const PEER_USES_TLS: &str = "the peer uses it, and this session does not (SocketUseSSL)";

impl<A: Application> Engine<A> {
    pub(super) fn connection_mut(&mut self, index: usize) -> Option<&mut Connection> {
        self.connections.get_mut(index)?.as_mut()
    }

    pub(super) fn mark_readable(&mut self, index: usize, has_ended: bool) {
        if let Some(connection) = self.connection_mut(index) {
            connection.readable = true;
            connection.ended |= has_ended;
        }
    }

    /// Serves a connection after an event, or to continue the previous turn.
    pub(super) fn serve(&mut self, index: usize, now: Now) {
        let Some(connection) = self.connection_mut(index) else { return };
        if matches!(connection.state, ConnectionState::Connecting { .. }) {
            self.finish_connecting(index, now);
        }
        let Some(connection) = self.connection_mut(index) else { return };
        if connection.blocked_ns.is_some()
            && let Some(key) = connection.session
        {
            self.transmit(key, now);
        }
        let is_readable = self.connection_mut(index).is_some_and(|connection| connection.readable);
        let is_deciding = self
            .connection_mut(index)
            .is_some_and(|connection| matches!(connection.state, ConnectionState::Deciding { .. }));
        if is_deciding {
            // Nothing is read meanwhile; if the peer has closed its side, drop the connection.
            if self.connection_mut(index).is_some_and(|connection| connection.ended) {
                self.drop_connection(index, now);
            }
        } else if is_readable {
            match self.read(index, now) {
                ReadOutcome::Drained => {}
                ReadOutcome::More => self.unread.push(index),
                ReadOutcome::Closed => self.drop_connection(index, now),
                ReadOutcome::Failed(error) => self.drop_failed(index, error.to_string(), now),
                ReadOutcome::TlsFailed(text) => self.drop_tls(index, &text, now),
            }
        }
    }

    fn read(&mut self, index: usize, now: Now) -> ReadOutcome {
        for _ in 0..READS_MAX {
            let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else {
                return ReadOutcome::Drained;
            };
            let len = match connection.transport.read(&mut self.read_buffer) {
                Ok(0) => return ReadOutcome::Closed,
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.readable = false;
                    return ReadOutcome::Drained;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let tls = error.get_ref().and_then(|error| error.downcast_ref::<TlsError>());
                    return match tls {
                        Some(tls) => ReadOutcome::TlsFailed(tls.text.clone()),
                        None => ReadOutcome::Failed(error),
                    };
                }
            };
            let bytes = self.read_buffer.get(..len).unwrap_or_default();
            match (connection.state, connection.session) {
                (ConnectionState::Pending { .. }, _) => {
                    connection.early.extend_from_slice(bytes);
                    self.introduce(index, now);
                    let is_deciding = self.connection_mut(index).is_some_and(|connection| {
                        matches!(connection.state, ConnectionState::Deciding { .. })
                    });
                    if is_deciding {
                        return ReadOutcome::Drained;
                    }
                }
                (ConnectionState::Attached, Some(key)) => {
                    let session = self.sessions.session(key);
                    if is_record(bytes) && session.is_some_and(|session| session.awaits_logon()) {
                        return ReadOutcome::TlsFailed(PEER_USES_TLS.to_owned());
                    }
                    if let Some(session) = self.sessions.session_quietly(key) {
                        session.handle_bytes(bytes);
                    }
                    self.handle_events(key, now);
                    self.transmit(key, now);
                }
                _ => {}
            }
            // After a short read most likely no more bytes are available; otherwise another event
            // follows.
            if len < READ_LEN
                && let Some(connection) = self.connection_mut(index)
                && connection.transport.drains_short()
                && !connection.ended
            {
                connection.readable = false;
                return ReadOutcome::Drained;
            }
        }
        ReadOutcome::More
    }

    /// Passes all events of a session to the application.
    pub(super) fn handle_events(&mut self, key: SessionKey, now: Now) {
        let Self { sessions, application, noticed, .. } = self;
        let Some(session) = sessions.session_quietly(key) else { return };
        let (mut is_closing, mut refused) = (false, None);
        while let Some(event) = session.poll_event(now) {
            match event {
                Event::Application(delivery) => application.handle_message(key, delivery),
                // Logons were decided on before they reached the session.
                Event::Logon(request) => request.refuse(""),
                Event::Session(notice) => {
                    is_closing |= matches!(notice, SessionEvent::Disconnect(_));
                    if let SessionEvent::Disconnect(DisconnectReason::LogonRefused(reason)) = notice
                    {
                        refused = Some(reason);
                    }
                    application.handle_session_event(key, &notice);
                    if notice != SessionEvent::Handled {
                        noticed.push(notice);
                    }
                }
            }
        }
        let is_acceptor = session.config().role == SessionRole::Acceptor;
        if let Some(refusal) = refused.filter(|_| is_acceptor) {
            self.sessions.count_refusal(refusal, Some(key));
        }
        if let Some(session) = self.sessions.session(key) {
            let id = &session.config().id;
            self.noticed.drain(..).for_each(|notice| self.events.notice(id, &notice, now));
        }
        if is_closing
            && let Some(index) = self.sessions.connection(key)
            && let Some(connection) = self.connection_mut(index)
        {
            connection.closing = true;
        }
    }

    /// Writes the output of all sessions that have any.
    pub(super) fn transmit_dirty(&mut self, now: Now) {
        while let Some(key) = self.sessions.take_dirty() {
            self.handle_events(key, now);
            self.transmit(key, now);
        }
    }

    /// Commits the changes of a session and writes its output as far as the connection accepts it.
    pub(super) fn transmit(&mut self, key: SessionKey, now: Now) {
        let Self { sessions, connections, .. } = self;
        let index = sessions.connection(key);
        let Some(session) = sessions.session_quietly(key) else { return };
        let connection = index.and_then(|at| connections.get_mut(at)).and_then(Option::as_mut);
        self.has_committed = true;
        let Some(connection) = connection else {
            // Not connected: sent messages are committed nevertheless.
            let failure = session.poll_transmit(now).err();
            sessions.note_store_failure(key, failure);
            return;
        };
        let mut gone = false;
        let mut broken = None;
        let mut failure = None;
        let mut writes = 0;
        loop {
            if writes == WRITES_MAX {
                self.unfinished.push(key);
                break;
            }
            writes += 1;
            let bytes = match session.poll_transmit(now) {
                Ok(bytes) => bytes,
                Err(error) => {
                    failure = Some(error);
                    gone = true;
                    break;
                }
            };
            let is_done = bytes.is_empty();
            let written = match is_done {
                true => connection.transport.flush().map(|()| 0),
                false => connection.transport.write(bytes),
            };
            match written {
                Ok(_) if is_done => {
                    connection.blocked_ns = None;
                    break;
                }
                Ok(len) => {
                    session.handle_transmitted(len);
                    if connection.blocked_ns.is_some() {
                        connection.blocked_ns = Some(now.steady_ns);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.blocked_ns.get_or_insert(now.steady_ns);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    broken = Some(error.to_string());
                    break;
                }
            }
        }
        let blocked = connection.blocked_ns;
        let finished = connection.closing && blocked.is_none();
        let is_due = session.poll_timeout().is_some_and(|at| at <= now.steady_ns);
        sessions.note_store_failure(key, failure);
        let written = sessions.write_log(key);
        self.note_log(key, written, now);
        if is_due {
            self.wake_at(now.steady_ns);
        }
        if let Some(index) = index {
            if let Some(text) = broken {
                self.drop_failed(index, text, now);
            } else if gone {
                self.drop_connection(index, now);
            } else if finished {
                self.linger(index, now);
            } else if let Some(since) = blocked {
                self.wake_at(since.saturating_add(self.slow_reader_ns()));
            }
        }
    }

    /// Closes the sending side after all output was written, and waits for the peer.
    pub(super) fn linger(&mut self, index: usize, now: Now) {
        let until_ns = now.steady_ns.saturating_add(LINGER_NS);
        let Some(connection) = self.connection_mut(index) else { return };
        connection.transport.shutdown();
        connection.state = ConnectionState::Lingering { until_ns };
        connection.readable = true;
        let key = connection.session.take();
        self.unread.push(index);
        self.wake_at(until_ns);
        self.detach(key, None, now);
    }

    /// Reports the disconnection to a session. `failure` is the error of the connection or of the
    /// attempt to establish it.
    pub(super) fn detach(&mut self, key: Option<SessionKey>, failure: Option<String>, now: Now) {
        let Some(key) = key else { return };
        self.sessions.set_connection(key, None, None);
        let (mut was_unanswered, mut was_logged_on) = (false, false);
        if let Some(session) = self.sessions.session_mut(key) {
            was_unanswered = session.awaits_logon();
            was_logged_on = session.is_logged_on();
            session.handle_disconnected(now);
        }
        self.handle_events(key, now);
        if let Some(listener) = self.sessions.listener(key)
            && let Some(listener) = self.listeners.get_mut(listener)
        {
            listener.disconnected(key);
        }
        if let Some(session) = self.sessions.session(key) {
            let id = &session.config().id;
            let (level, kind, text) = match failure {
                failure if was_logged_on => {
                    let why = failure.as_deref().unwrap_or("the peer closed it without a Logout");
                    let text = format!("the connection was lost while logged on: {why}");
                    (Level::WARN, "lost", text)
                }
                Some(failure) => (Level::WARN, "failed", failure),
                None if was_unanswered => (Level::WARN, "failed", UNANSWERED.to_owned()),
                None => (Level::INFO, "disconnected", "disconnected".to_owned()),
            };
            self.events.note(level, kind, id, &text, now);
            if kind == "failed" {
                self.application.handle_connection_failure(key, &text);
            }
        }
        self.application.handle_disconnected(key);
        self.dial_later(key, now);
    }

    /// Drops a connection after a failure of TLS.
    fn drop_tls(&mut self, index: usize, text: &str, now: Now) {
        match self.connection_mut(index).is_some_and(|connection| connection.is_pending()) {
            true => self.refuse(index, Refusal::Tls, text, now),
            false => self.drop_failed(index, format!("TLS: {text}"), now),
        }
    }

    /// Drops a connection that failed.
    pub(super) fn drop_failed(&mut self, index: usize, failure: String, now: Now) {
        self.drop_because(index, Some(failure), now);
    }

    /// Drops a connection that the peer or this side has closed.
    pub(super) fn drop_connection(&mut self, index: usize, now: Now) {
        let is_handshaking = self.connection_mut(index).is_some_and(|connection| {
            connection.state == ConnectionState::Attached && connection.transport.is_handshaking()
        });
        let text = "TLS: the peer closed the connection during the handshake; does it use TLS?";
        self.drop_because(index, is_handshaking.then(|| text.to_owned()), now);
    }

    fn drop_because(&mut self, index: usize, failure: Option<String>, now: Now) {
        self.leave_pending(index);
        let Some(mut connection) = self.connections.get_mut(index).and_then(Option::take) else {
            return;
        };
        let listener = connection.listener.as_ref().map(|(listener, _)| *listener);
        if let Some(listener) = listener.and_then(|listener| self.listeners.get_mut(listener)) {
            listener.open -= 1;
        }
        // The operating system deregisters a closed socket in any case.
        let _ = self.poll.registry().deregister(connection.transport.stream());
        self.freed.push(index);
        self.detach(connection.session, failure, now);
    }

    /// Handles an expired deadline of a connection.
    pub(super) fn give_up(&mut self, index: usize, now: Now) {
        let Some(connection) = self.connection_mut(index) else { return };
        match connection.state {
            ConnectionState::Pending { .. } => {
                return self.refuse(index, Refusal::NotLogon, "no Logon arrived in time", now);
            }
            ConnectionState::Deciding { .. } => {
                return self.refuse(index, Refusal::Undecided, "", now);
            }
            ConnectionState::Connecting { .. } => {
                let text = cannot_connect(&connection.target, "no answer in time");
                return self.drop_failed(index, text, now);
            }
            _ => {}
        }
        if let (ConnectionState::Attached, Some(key)) = (connection.state, connection.session)
            && let Some(session) = self.sessions.session_mut(key)
        {
            session.disconnect(DisconnectReason::SlowReader);
            self.handle_events(key, now);
        }
        self.drop_connection(index, now);
    }
}
