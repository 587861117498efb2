//! Adds, disables and removes sessions while the engine runs.

use std::fmt;
use std::net::SocketAddr;

use tickwire_fix_session::{
    Config, DisconnectReason, Now, Session, SessionRole, Store, StoreError,
};

use super::acceptor::ListenerKey;
use super::access::Access;
use super::initiator::InitiatorOptions;
use super::sessions::{AddError, BoxStore, SessionKey, Sessions};

/// Highest sequence number that can be set; it leaves enough numbers for any session.
pub const SEQ_NUM_MAX: u64 = i64::MAX as u64;

/// The reason why sequence numbers are not set.
#[derive(Debug)]
#[non_exhaustive]
pub enum NumbersError {
    /// The session does not exist.
    Unknown,
    /// The session is connected: changing its numbers would lose messages.
    Connected,
    /// A number is outside 1 to [`SEQ_NUM_MAX`].
    Range,
    /// The store failed.
    Store(StoreError),
}

impl fmt::Display for NumbersError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => out.write_str("no such session"),
            Self::Connected => {
                out.write_str("the session is connected; disable it first, which logs it out")
            }
            Self::Range => write!(out, "sequence numbers are from 1 to {SEQ_NUM_MAX}"),
            Self::Store(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for NumbersError {}

/// Ends the connection of a session, with a Logout if both sides are logged on.
pub(super) fn end(session: &mut Session<BoxStore>, now: Now) {
    if session.is_logged_on() {
        session.logout(now, "");
    } else if session.is_connected() && !session.is_logging_out() {
        session.disconnect(DisconnectReason::Shutdown);
    }
}

impl Sessions {
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
        if config.role != SessionRole::Acceptor {
            return Err(AddError::Role);
        }
        if listener.0 >= self.listeners {
            return Err(AddError::Listener);
        }
        self.add(config, store, access, Some(listener.0))
    }

    /// Adds an initiator session, which connects, and reconnects whenever the connection is lost.
    /// It belongs to no listener, so no incoming connection can log on to it.
    ///
    /// # Errors
    /// [`AddError`].
    pub fn add_initiator(
        &mut self,
        config: Config,
        store: BoxStore,
        options: InitiatorOptions,
    ) -> Result<SessionKey, AddError> {
        if config.role != SessionRole::Initiator {
            return Err(AddError::Role);
        }
        let key = self.add(config, store, Access::default(), None)?;
        self.initiators.push((key, options));
        Ok(key)
    }

    /// Removes a session. If it is logged on, it is logged out first; when its connection has
    /// ended, its store is closed. Its id is in use until then. A template creates the session
    /// again at its next Logon.
    pub fn remove(&mut self, key: SessionKey, now: Now) {
        if self.session(key).is_none() {
            return;
        }
        self.set_enabled(key, false, now);
        if !self.leaving.contains(&key) {
            self.leaving.push(key);
        }
    }

    /// Enables or disables a session. A disabled session is logged out, does not connect, and
    /// refuses Logons. Messages sent meanwhile are stored for its next Logon.
    pub fn set_enabled(&mut self, key: SessionKey, is_enabled: bool, now: Now) {
        if is_enabled && self.leaving.contains(&key) {
            return;
        }
        let Some(slot) = self.slot_mut(key) else { return };
        slot.is_enabled = is_enabled;
        self.has_enabled |= is_enabled;
        if !is_enabled && let Some(session) = self.session_mut(key) {
            end(session, now);
        }
    }

    /// True if a session is enabled.
    pub fn is_enabled(&self, key: SessionKey) -> bool {
        self.slot(key).is_some_and(|slot| slot.is_enabled)
    }

    /// Returns the peer's address of a session's connection.
    pub fn peer(&self, key: SessionKey) -> Option<SocketAddr> {
        self.slot(key)?.peer
    }

    /// Sets the sequence number of the next message to send, of the next one expected, or both,
    /// from 1 to [`SEQ_NUM_MAX`]. The session must not be connected.
    ///
    /// # Errors
    /// [`NumbersError`].
    pub fn set_numbers(
        &mut self,
        key: SessionKey,
        next_sender: Option<u64>,
        next_target: Option<u64>,
    ) -> Result<(), NumbersError> {
        let session = self.session_mut(key).ok_or(NumbersError::Unknown)?;
        if session.is_connected() {
            return Err(NumbersError::Connected);
        }
        let is_allowed = |number: &u64| (1..=SEQ_NUM_MAX).contains(number);
        if ![next_sender, next_target].iter().flatten().all(is_allowed) {
            return Err(NumbersError::Range);
        }
        let store = session.store_mut();
        let set = next_sender
            .map_or(Ok(()), |next| store.set_next_sender(next))
            .and_then(|()| next_target.map_or(Ok(()), |next| store.set_next_target(next)))
            .and_then(|()| store.commit());
        set.map_err(NumbersError::Store)
    }

    pub(super) fn set_listeners(&mut self, listeners: usize) {
        self.listeners = listeners;
    }

    pub(super) fn take_initiators(&mut self) -> Vec<(SessionKey, InitiatorOptions)> {
        std::mem::take(&mut self.initiators)
    }

    /// Returns true if a session was enabled since the last call.
    pub(super) fn take_enabled(&mut self) -> bool {
        std::mem::take(&mut self.has_enabled)
    }

    /// Returns the sessions to drop that still exist.
    pub(super) fn leaving(&mut self) -> Vec<SessionKey> {
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.retain(|key| self.slot(*key).is_some());
        self.leaving.clone_from(&leaving);
        leaving
    }
}
