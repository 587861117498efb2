//! The sessions of an engine.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;

use tickwire_fix::Writer;
use tickwire_fix_session::{
    BeginString, Config, Now, OutgoingHeader, Refusal, SendError, Session, SessionId, Store,
    StoreError,
};

use super::access::Access;
use super::admission::{Decision, Ticket};
use super::initiator::InitiatorOptions;
use super::message_log::MessageLog;
use super::metrics::FixCounters;

/// Bytes of a line that are kept in memory.
const TAIL_LINE_BYTES_MAX: usize = 4096;

/// A store of any kind.
pub type BoxStore = Box<dyn Store + Send>;

/// The key of a session in an engine. The key of a removed session is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    index: usize,
    generation: u64,
}

/// The reason why a session is not added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddError {
    /// A session with this id exists.
    Duplicate(SessionId),
    /// The role does not match: a listener needs an acceptor, an outgoing connection an initiator.
    Role,
    /// The listener does not exist.
    Listener,
}

impl fmt::Display for AddError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(id) => write!(out, "the session {id} already exists"),
            Self::Role => out.write_str("the role of the session does not fit: add acceptors with add_acceptor, initiators with add_initiator"),
            Self::Listener => out.write_str("no such listener"),
        }
    }
}

impl std::error::Error for AddError {}

pub(super) struct SessionSlot {
    generation: u64,
    session: Session<BoxStore>,
    access: Access,
    /// Index of its listener; `None` for an initiator.
    listener: Option<usize>,
    /// Index of the connection.
    connection: Option<usize>,
    /// The other end of the connection.
    pub(super) peer: Option<SocketAddr>,
    /// True if it may log on.
    pub(super) is_enabled: bool,
    /// Connections refused, by reason.
    refusals: BTreeMap<Refusal, u64>,
    /// True if it is in the list of dirty sessions.
    dirty: bool,
    /// The message log.
    log: Option<MessageLog>,
    /// The last lines of the message log.
    tail: VecDeque<Box<[u8]>>,
}

/// Returns an id without its qualifier, which a Logon cannot carry.
fn unqualified(id: &SessionId) -> SessionId {
    SessionId { qualifier: String::new(), ..id.clone() }
}

/// The sessions of an engine.
#[derive(Default)]
pub struct Sessions {
    slots: Vec<Option<SessionSlot>>,
    generations: u64,
    by_id: HashMap<SessionId, SessionKey>,
    /// Acceptor sessions by listener and id without qualifier, which a Logon does not have.
    by_listener: HashMap<(usize, SessionId), SessionKey>,
    /// Number of listeners.
    pub(super) listeners: usize,
    /// Added initiators that the engine has not processed yet.
    pub(super) initiators: Vec<(SessionKey, InitiatorOptions)>,
    /// Sessions to drop when their connections have ended.
    pub(super) leaving: Vec<SessionKey>,
    /// True if a session was enabled that the engine has not processed yet.
    pub(super) has_enabled: bool,
    /// Errors of failed commits in this turn.
    store_failures: HashMap<SessionKey, StoreError>,
    /// Why stores or message logs of sessions could not be opened.
    unopened: BTreeMap<SessionId, String>,
    /// Counters of removed sessions.
    pub(super) gone: FixCounters,
    /// Sessions with output.
    dirty: Vec<SessionKey>,
    /// Connections refused, by reason.
    refusals: BTreeMap<Refusal, u64>,
    /// Lines of message logs kept in memory, by session.
    tail_max: usize,
    /// Decisions on Logons that the engine has not processed yet.
    decisions: Vec<(Ticket, Decision)>,
    /// Changes by the administration that the application has not been told yet.
    pub(super) administered: Vec<(SessionKey, String)>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Sessions").field("count", &self.len()).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Adds an acceptor session of a listener, or an initiator session if `listener` is `None`.
    pub(super) fn add(
        &mut self,
        config: Config,
        store: BoxStore,
        access: Access,
        listener: Option<usize>,
    ) -> Result<SessionKey, AddError> {
        let place = listener.map(|listener| (listener, unqualified(&config.id)));
        let is_taken = place.as_ref().is_some_and(|place| self.by_listener.contains_key(place));
        if is_taken || self.by_id.contains_key(&config.id) {
            return Err(AddError::Duplicate(config.id));
        }
        let index = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        self.unopened.remove(&config.id);
        self.generations += 1;
        let key = SessionKey { index, generation: self.generations };
        self.by_id.insert(config.id.clone(), key);
        if let Some(place) = place {
            self.by_listener.insert(place, key);
        }
        let slot = SessionSlot {
            generation: key.generation,
            session: Session::new(config, store),
            access,
            listener,
            connection: None,
            peer: None,
            is_enabled: true,
            refusals: BTreeMap::new(),
            dirty: false,
            log: None,
            tail: VecDeque::new(),
        };
        if index == self.slots.len() {
            self.slots.push(None);
        }
        if let Some(place) = self.slots.get_mut(index) {
            *place = Some(slot);
        }
        Ok(key)
    }

    /// Commits the changes of a session and drops it, which closes its store. A failure of the
    /// store is logged, and reported to the unanswered requests of this turn.
    pub(super) fn drop_session(&mut self, key: SessionKey) {
        if self.slot(key).is_some()
            && let Some(mut slot) = self.slots.get_mut(key.index).and_then(Option::take)
        {
            let store = slot.session.store_mut();
            let failure = store.commit().and_then(|()| store.sync()).err();
            if let Some(error) = &failure {
                let session = slot.session.config().id.to_string();
                tracing::error!(target: "tickwire::fix", session, "closing its store: {error}");
            }
            if let Some(Err(error)) = slot.log.as_mut().map(MessageLog::flush) {
                let session = slot.session.config().id.to_string();
                tracing::error!(target: "tickwire::fix", session, "closing its message log: {error}");
            }
            self.note_store_failure(key, failure);
            self.initiators.retain(|(added, _)| *added != key);
            self.gone.add(slot.session.counters());
            let id = &slot.session.config().id;
            self.by_id.remove(id);
            if let Some(listener) = slot.listener {
                self.by_listener.remove(&(listener, unqualified(id)));
            }
        }
    }

    /// Records that the store or message log of a session cannot be opened, until the session is added.
    pub(super) fn note_unopened(&mut self, id: &SessionId, text: String) {
        self.unopened.insert(id.clone(), text);
    }

    /// Records the error of another attempt to open a session of a settings file. The sessions of
    /// templates are not recorded: any peer can name one.
    pub(super) fn renew_unopened(&mut self, id: &SessionId, text: &str) {
        if let Some(known) = self.unopened.get_mut(id) {
            text.clone_into(known);
        }
    }

    /// Returns the sessions of a settings file whose store or message log could not be opened yet,
    /// with the reason.
    pub fn unopened(&self) -> impl Iterator<Item = (&SessionId, &str)> {
        self.unopened.iter().map(|(id, text)| (id, text.as_str()))
    }

    pub(super) fn slot(&self, key: SessionKey) -> Option<&SessionSlot> {
        let slot = self.slots.get(key.index)?.as_ref()?;
        (slot.generation == key.generation).then_some(slot)
    }

    pub(super) fn slot_mut(&mut self, key: SessionKey) -> Option<&mut SessionSlot> {
        let slot = self.slots.get_mut(key.index)?.as_mut()?;
        (slot.generation == key.generation).then_some(slot)
    }

    /// Decides on a Logon after [`Decision::Later`]. A decision after the timeout has no effect.
    pub fn decide(&mut self, ticket: Ticket, decision: Decision) {
        self.decisions.push((ticket, decision));
    }

    /// Returns the number of connections refused for a reason.
    pub fn refusals(&self, refusal: Refusal) -> u64 {
        self.refusals.get(&refusal).copied().unwrap_or(0)
    }

    /// Returns the number of refused connections by reason.
    pub fn all_refusals(&self) -> impl Iterator<Item = (Refusal, u64)> {
        self.refusals.iter().map(|(refusal, count)| (*refusal, *count))
    }

    /// Returns the number of refused connections to a session by reason.
    pub fn refusals_of(&self, key: SessionKey) -> impl Iterator<Item = (Refusal, u64)> {
        let refusals = self.slot(key).into_iter().flat_map(|slot| &slot.refusals);
        refusals.map(|(refusal, count)| (*refusal, *count))
    }

    pub(super) fn count_refusal(&mut self, refusal: Refusal, key: Option<SessionKey>) {
        *self.refusals.entry(refusal).or_default() += 1;
        if let Some(slot) = key.and_then(|key| self.slot_mut(key)) {
            *slot.refusals.entry(refusal).or_default() += 1;
        }
    }

    pub(super) fn take_decisions(&mut self) -> Vec<(Ticket, Decision)> {
        std::mem::take(&mut self.decisions)
    }

    /// Returns the session with this id.
    pub fn find(&self, id: &SessionId) -> Option<SessionKey> {
        self.by_id.get(id).copied()
    }

    /// Returns the number of sessions.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// True if there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Returns the keys of all sessions, in the order of their addition if none was removed.
    pub fn keys(&self) -> impl Iterator<Item = SessionKey> + use<> {
        let key = |(index, slot): (usize, &Option<SessionSlot>)| {
            Some(SessionKey { index, generation: slot.as_ref()?.generation })
        };
        self.slots.iter().enumerate().filter_map(key).collect::<Vec<_>>().into_iter()
    }

    /// Returns a session; `None` for a key of another engine.
    pub fn session(&self, key: SessionKey) -> Option<&Session<BoxStore>> {
        self.slot(key).map(|slot| &slot.session)
    }

    /// Returns a session for changes. The engine transmits its output afterwards.
    pub fn session_mut(&mut self, key: SessionKey) -> Option<&mut Session<BoxStore>> {
        let slot = self.slot_mut(key)?;
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.push(key);
        }
        self.session_quietly(key)
    }

    /// Sends an application message; see [`Session::send`].
    ///
    /// # Errors
    /// As [`Session::send`]; [`SendError::NotLoggedOn`] for a key of another engine.
    pub fn send(
        &mut self,
        key: SessionKey,
        now: Now,
        head: &OutgoingHeader<'_>,
        write: impl FnMut(&mut Writer<'_>),
    ) -> Result<u64, SendError> {
        let session = self.session_mut(key).ok_or(SendError::NotLoggedOn)?;
        session.send(now, head, write)
    }

    /// Sends a message of a generated type; see [`Session::send_fields`].
    ///
    /// # Errors
    /// As [`Session::send`]; [`SendError::NotLoggedOn`] for a key of another engine.
    pub fn send_fields(
        &mut self,
        key: SessionKey,
        now: Now,
        head: &OutgoingHeader<'_>,
        write: impl for<'w> FnMut(Writer<'w>) -> Writer<'w>,
    ) -> Result<u64, SendError> {
        let session = self.session_mut(key).ok_or(SendError::NotLoggedOn)?;
        session.send_fields(now, head, write)
    }

    /// Records that a store could not commit, until the requests of this turn are answered.
    pub(super) fn note_store_failure(&mut self, key: SessionKey, failure: Option<StoreError>) {
        if let Some(failure) = failure {
            self.store_failures.entry(key).or_insert(failure);
        }
    }

    /// Returns the store's error if the changes of a session in this turn could not be stored.
    pub(super) fn store_failure(&self, key: SessionKey) -> Option<StoreError> {
        let StoreError { doing, source } = self.store_failures.get(&key)?;
        Some(StoreError::new(doing, io::Error::new(source.kind(), source.to_string())))
    }

    /// True if any store could not commit in this turn.
    pub(super) fn has_store_failure(&self) -> bool {
        !self.store_failures.is_empty()
    }

    pub(super) fn forget_store_failures(&mut self) {
        self.store_failures.clear();
    }

    pub(super) fn connection(&self, key: SessionKey) -> Option<usize> {
        self.slot(key)?.connection
    }

    pub(super) fn access(&self, key: SessionKey) -> Option<&Access> {
        self.slot(key).map(|slot| &slot.access)
    }

    pub(super) fn listener(&self, key: SessionKey) -> Option<usize> {
        self.slot(key)?.listener
    }

    pub(super) fn set_connection(
        &mut self,
        key: SessionKey,
        connection: Option<usize>,
        peer: Option<SocketAddr>,
    ) {
        if let Some(slot) = self.slot_mut(key) {
            slot.connection = connection;
            slot.peer = peer;
        }
    }

    /// Returns the session that a Logon to a listener names.
    pub(super) fn of_listener(&self, listener: usize, id: &SessionId) -> Option<SessionKey> {
        self.by_listener.get(&(listener, unqualified(id))).copied()
    }

    /// Returns the BeginString of a session of a listener that differs only there.
    pub(super) fn other_version(&self, listener: usize, id: &SessionId) -> Option<BeginString> {
        BeginString::ALL.into_iter().find(|version| {
            let id = SessionId { begin_string: *version, ..id.clone() };
            self.of_listener(listener, &id).is_some()
        })
    }

    /// Returns a session for changes by the engine, without marking it dirty.
    pub(super) fn session_quietly(&mut self, key: SessionKey) -> Option<&mut Session<BoxStore>> {
        self.slot_mut(key).map(|slot| &mut slot.session)
    }

    /// Writes a session's message log to a file, if its configuration enables the log.
    pub fn keep_log(&mut self, key: SessionKey, log: MessageLog) {
        if let Some(slot) = self.slot_mut(key) {
            slot.log = Some(log);
        }
    }

    /// Keeps the last `count` lines of each session's message log in memory too, each to 4 KiB.
    pub const fn keep_tails(&mut self, count: usize) {
        self.tail_max = count;
    }

    /// Returns the last lines of a session's message log, the oldest first; empty unless the session is configured to
    /// make one and [`keep_tails`](Self::keep_tails) was called.
    pub fn tail(&self, key: SessionKey) -> impl Iterator<Item = &[u8]> {
        self.slot(key).into_iter().flat_map(|slot| slot.tail.iter().map(|line| &**line))
    }

    /// Moves lines of the message log to its file.
    pub(super) fn write_log(&mut self, key: SessionKey) -> io::Result<()> {
        let tail_max = self.tail_max;
        let Some(SessionSlot { session, log, tail, .. }) = self.slot_mut(key) else {
            return Ok(());
        };
        let mut written = Ok(());
        session.take_log(|lines| {
            if tail_max > 0 {
                for line in lines.split_inclusive(|byte| *byte == b'\n') {
                    if tail.len() == tail_max {
                        tail.pop_front();
                    }
                    tail.push_back(line.get(..TAIL_LINE_BYTES_MAX).unwrap_or(line).into());
                }
            }
            if let Some(log) = log {
                written = log.write(lines);
            }
        });
        written
    }

    /// Syncs the committed data of a session to the disk.
    pub(super) fn sync(&mut self, key: SessionKey) {
        if let Some(slot) = self.slot_mut(key) {
            slot.session.sync();
        }
    }

    /// Flushes the message log to its file. If the log resumes after a failure, returns the number
    /// of lines left out.
    pub(super) fn flush_log(&mut self, key: SessionKey) -> io::Result<Option<u64>> {
        let Some(SessionSlot { log: Some(log), .. }) = self.slot_mut(key) else { return Ok(None) };
        log.flush()
    }

    /// Removes and returns a session that has output.
    pub(super) fn take_dirty(&mut self) -> Option<SessionKey> {
        let key = self.dirty.pop()?;
        if let Some(slot) = self.slot_mut(key) {
            slot.dirty = false;
        }
        Some(key)
    }

    /// Returns the earliest timer of all sessions.
    pub(super) fn next_timeout(&self) -> Option<u64> {
        self.slots.iter().flatten().filter_map(|slot| slot.session.poll_timeout()).min()
    }
}
