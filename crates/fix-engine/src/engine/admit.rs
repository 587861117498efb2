//! Admission: from the first message of a connection to its session. Checks, in this order,
//! MsgType, CompIDs, version, SendingTime and form, address, certificate, credentials. Nothing is
//! stored before all checks have passed.

use tickwire_fix::{FixFramer, FixLimits, FramerStep};
use tickwire_fix_session::{
    BeginString, Config, Now, PeerIdentity, Refusal, SessionId, Store, admit, check_credentials,
    invalidity, refusal_logout,
};

use super::super::acceptor::{ListenerKey, SessionFactory};
use super::super::access::Access;
use super::super::admission::{
    Decision, LogonAttempt, LogonTarget, RefusedConnection, Ticket, UndecidedLogon,
};
use super::super::application::Application;
use super::super::connection::ConnectionState;
use super::super::sessions::{AddError, BoxStore, SessionKey};
use super::super::tls::is_record;
use super::Engine;
use tickwire_host::clock::SECOND_NS;

/// Result of reading the bytes of a pending connection.
enum PendingInput {
    /// The first message is incomplete.
    NeedMore,
    /// A Logon with the application's decision.
    Logon(UndecidedLogon, Decision),
}

/// Returns a BeginString with which the template has a session of these CompIDs.
fn other_version(template: &mut SessionFactory, id: &SessionId) -> Option<BeginString> {
    BeginString::ALL
        .into_iter()
        .find(|version| template(&SessionId { begin_string: *version, ..id.clone() }).is_some())
}

impl<A: Application> Engine<A> {
    /// Adds an acceptor session to a listener.
    ///
    /// # Errors
    /// [`AddError`].
    pub fn add_acceptor(
        &mut self,
        listener: ListenerKey,
        config: Config,
        store: BoxStore,
        access: Access,
    ) -> Result<SessionKey, AddError> {
        self.sessions.add_acceptor(listener, config, store, access)
    }

    /// Decides on a Logon after [`Decision::Later`]. A decision after the timeout has no effect.
    pub fn decide(&mut self, ticket: Ticket, decision: Decision) {
        self.sessions.decide(ticket, decision);
        self.next_timer_ns = 0;
    }

    /// Checks whether the first message of a pending connection is complete, and finds its session.
    pub(super) fn introduce(&mut self, index: usize, now: Now) {
        let mut text = String::new();
        match self.examine(index, now, &mut text) {
            Ok(PendingInput::NeedMore) => {}
            Ok(PendingInput::Logon(attempt, decision)) => {
                if let Some(connection) = self.connection_mut(index) {
                    connection.attempt = Some(attempt);
                }
                self.settle(index, decision, now);
            }
            Err(refusal) => self.refuse(index, refusal, &text, now),
        }
    }

    /// Examines the received bytes. Details of a refusal beyond its reason go to `text`.
    fn examine(
        &mut self,
        index: usize,
        now: Now,
        text: &mut String,
    ) -> Result<PendingInput, Refusal> {
        let serial = self.next_serial;
        let Self { connections, listeners, sessions, reader, application, .. } = self;
        let connection = connections.get_mut(index).and_then(Option::as_mut);
        let connection = connection.ok_or(Refusal::NotLogon)?;
        let (at, peer) = connection.listener.as_mut().ok_or(Refusal::NotLogon)?;
        let listener = listeners.get_mut(*at).ok_or(Refusal::NotLogon)?;
        if is_record(&connection.early) {
            text.push_str("the peer uses TLS, and this listener does not");
            return Err(Refusal::Tls);
        }
        let len_max = listener.options.first_message_len_max;
        let limits = FixLimits { message_len_max: len_max, ..FixLimits::default() };
        let bytes = match FixFramer::new(limits).step(&connection.early) {
            FramerStep::NeedMore(_) if connection.early.len() < len_max => {
                return Ok(PendingInput::NeedMore);
            }
            FramerStep::NeedMore(_) | FramerStep::Garbage(_) => return Err(Refusal::NotLogon),
            FramerStep::Message(bytes) => bytes,
        };
        if !listener.logons.take(now.steady_ns) {
            return Err(Refusal::Limit);
        }
        let message = reader.decode(bytes).map_err(|_| Refusal::NotLogon)?;
        let identity = PeerIdentity::of(&message).filter(|identity| identity.is_logon);
        let id = identity.ok_or(Refusal::NotLogon)?.id;
        connection.claimed = Some(id.clone());
        let candidate = match sessions.of_listener(*at, &id) {
            Some(key) => LogonTarget::Known(key),
            None => {
                let made = listener.template.as_mut().map(|template| template(&id));
                let has_template = made.is_some();
                let Some(made) = made.flatten() else {
                    let other = sessions.other_version(*at, &id);
                    let other = other.or_else(|| other_version(listener.template.as_mut()?, &id));
                    if let Some(version) = other {
                        *text = format!("the session with these CompIDs has {version}");
                        return Err(Refusal::BeginString);
                    }
                    text.push_str(match has_template {
                        true => "no session or template has these CompIDs",
                        false => "no session has these CompIDs",
                    });
                    return Err(Refusal::CompId);
                };
                LogonTarget::Template(Box::new(made))
            }
        };
        let (config, access) = match &candidate {
            LogonTarget::Known(key) => {
                let session = sessions.session(*key).ok_or(Refusal::CompId)?;
                if sessions.connection(*key).is_some() {
                    return Err(Refusal::Connected);
                }
                if !sessions.is_enabled(*key) {
                    return Err(Refusal::Disabled);
                }
                (session.config(), sessions.access(*key).ok_or(Refusal::CompId)?)
            }
            LogonTarget::Template(made) => (&made.config, &made.access),
        };
        admit(config, now, &message).inspect_err(|refusal| {
            if *refusal == Refusal::Invalid {
                *text = invalidity(config, &message);
            }
        })?;
        peer.certificates = connection.transport.peer_certificates();
        access.check(peer)?;
        check_credentials(config, &message)?;
        let mut decision = Decision::Accept;
        if config.authenticate {
            let ticket = Ticket { connection: index, serial };
            decision =
                application.handle_logon(&LogonAttempt { id: &id, config, message, peer, ticket });
        }
        self.next_serial += 1;
        Ok(PendingInput::Logon(UndecidedLogon { serial, id, candidate }, decision))
    }

    /// Carries out the decision on a Logon.
    fn settle(&mut self, index: usize, decision: Decision, now: Now) {
        match decision {
            Decision::Accept => {
                if let Err((refusal, text)) = self.let_in(index, now) {
                    self.refuse(index, refusal, &text, now);
                }
            }
            Decision::Refuse { text } => self.refuse_with(index, &text, now),
            Decision::Later => self.wait_for_decision(index, now),
        }
    }

    /// Makes a connection wait for the application's decision.
    fn wait_for_decision(&mut self, index: usize, now: Now) {
        let Self { connections, listeners, .. } = self;
        let Some(connection) = connections.get_mut(index).and_then(Option::as_mut) else { return };
        let listener = connection.listener.as_ref().and_then(|(at, _)| listeners.get_mut(*at));
        let Some(listener) = listener else { return };
        if matches!(connection.state, ConnectionState::Deciding { .. }) {
            return;
        }
        if listener.deciding >= listener.options.decisions_max {
            return self.refuse(index, Refusal::Undecided, "too many decisions are pending", now);
        }
        listener.deciding += 1;
        let wait = u64::from(listener.options.decision_timeout_s) * SECOND_NS;
        let until_ns = now.steady_ns.saturating_add(wait);
        connection.state = ConnectionState::Deciding { until_ns };
        self.wake_at(until_ns);
    }

    /// Carries out the application's decisions since the last turn.
    pub(super) fn settle_decisions(&mut self, now: Now) {
        for (ticket, decision) in self.sessions.take_decisions() {
            let connection = self.connection_mut(ticket.connection);
            let waits = connection.is_some_and(|connection| {
                let serial = connection.attempt.as_ref().map(|attempt| attempt.serial);
                matches!(connection.state, ConnectionState::Deciding { .. })
                    && serial == Some(ticket.serial)
            });
            if waits {
                self.settle(ticket.connection, decision, now);
            }
        }
    }

    /// Opens the session of an accepted Logon, if it is not open, and attaches the connection to
    /// it.
    fn let_in(&mut self, index: usize, now: Now) -> Result<(), (Refusal, String)> {
        let plain = |refusal| (refusal, String::new());
        let connection = self.connection_mut(index).ok_or(plain(Refusal::NotLogon))?;
        let listener = connection.listener.as_ref().map(|(listener, _)| *listener);
        let listener = listener.ok_or(plain(Refusal::NotLogon))?;
        let attempt = connection.attempt.take().ok_or(plain(Refusal::NotLogon))?;
        let key = match attempt.candidate {
            LogonTarget::Known(key) => key,
            LogonTarget::Template(made) => {
                let place = self.listeners.get_mut(listener).ok_or(plain(Refusal::NotLogon))?;
                // Another peer may have been admitted under this id meanwhile.
                match self.sessions.of_listener(listener, &attempt.id) {
                    Some(key) => key,
                    // The id belongs to a session of another listener: open nothing for it.
                    None if self.sessions.find(&made.config.id).is_some() => {
                        let text = "the session belongs to another listener";
                        return Err((Refusal::CompId, text.to_owned()));
                    }
                    None => {
                        let gone = place.make_room(&self.sessions);
                        let gone = gone.map_err(|()| plain(Refusal::Limit))?;
                        if let Some(gone) = gone {
                            self.sessions.drop_session(gone);
                        }
                        let (store, log) = (made.open)().map_err(|text| {
                            self.sessions.renew_unopened(&made.config.id, &text);
                            (Refusal::Store, text)
                        })?;
                        let key =
                            self.sessions.add(made.config, store, made.access, Some(listener));
                        let key = key.map_err(|error| (Refusal::CompId, error.to_string()))?;
                        place.add_made(key);
                        if let Some(log) = log {
                            self.sessions.keep_log(key, log);
                        }
                        key
                    }
                }
            }
        };
        match self.sessions.session(key) {
            None => Err(plain(Refusal::CompId)),
            Some(_) if self.sessions.connection(key).is_some() => Err(plain(Refusal::Connected)),
            // The session was disabled while the decision was pending.
            Some(_) if !self.sessions.is_enabled(key) => Err(plain(Refusal::Disabled)),
            Some(_) => {
                self.attach(index, key, now);
                Ok(())
            }
        }
    }

    /// Refuses a Logon with the application's text.
    fn refuse_with(&mut self, index: usize, text: &str, now: Now) {
        let Self { connections, sessions, .. } = self;
        let Some(connection) = connections.get_mut(index).and_then(Option::as_mut) else { return };
        let logout = match connection.attempt.as_ref().map(|attempt| &attempt.candidate) {
            _ if text.is_empty() => Vec::new(),
            Some(LogonTarget::Known(key)) => sessions.session(*key).map_or(Vec::new(), |session| {
                refusal_logout(session.config(), now, session.store().next_sender(), text)
            }),
            Some(LogonTarget::Template(made)) => refusal_logout(&made.config, now, 1, text),
            None => Vec::new(),
        };
        if logout.is_empty() {
            return self.refuse(index, Refusal::Credentials, text, now);
        }
        // If the peer's buffers are already full, the Logout is lost.
        let _ = connection.transport.write(&logout);
        self.tell_refused(index, Refusal::Credentials, text);
        self.leave_pending(index);
        self.linger(index, now);
    }

    /// Closes a connection without a message.
    pub(super) fn refuse(&mut self, index: usize, refusal: Refusal, text: &str, now: Now) {
        self.tell_refused(index, refusal, text);
        self.drop_connection(index, now);
    }

    fn tell_refused(&mut self, index: usize, refusal: Refusal, text: &str) {
        let Some(connection) = self.connections.get(index).and_then(Option::as_ref) else { return };
        let Some((listener, peer)) = &connection.listener else { return };
        let (peer, id) = (peer.address, connection.claimed.clone());
        let key = id.as_ref().and_then(|id| self.sessions.of_listener(*listener, id));
        self.note_refused(&RefusedConnection { peer, id: id.as_ref(), refusal, text }, key);
    }

    pub(super) fn note_refused(
        &mut self,
        refused: &RefusedConnection<'_>,
        key: Option<SessionKey>,
    ) {
        self.sessions.count_refusal(refused.refusal, key);
        self.events.refused(refused, super::now());
        self.application.handle_refused(refused);
    }

    /// Returns the number of connections refused for a reason.
    pub fn refusals(&self, refusal: Refusal) -> u64 {
        self.sessions.refusals(refusal)
    }

    /// Attaches a connection to its session, with the bytes received so far.
    pub(super) fn attach(&mut self, index: usize, key: SessionKey, now: Now) {
        self.leave_pending(index);
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        connection.state = ConnectionState::Attached;
        connection.session = Some(key);
        // Nothing was read while the decision was pending, so bytes may be waiting.
        connection.readable = true;
        let early = std::mem::take(&mut connection.early);
        let is_accepted = connection.listener.is_some();
        let peer = connection.listener.as_ref().map(|(_, peer)| peer.address);
        self.unread.push(index);
        let peer = peer.or_else(|| self.connection_mut(index)?.transport.stream().peer_addr().ok());
        self.sessions.set_connection(key, Some(index), peer);
        if let Some(session) = self.sessions.session_mut(key) {
            match is_accepted {
                true => session.handle_authenticated(now),
                false => session.handle_connected(now),
            }
            session.handle_bytes(&early);
        }
        self.handle_events(key, now);
        self.transmit(key, now);
        self.next_timer_ns = 0;
    }
}
