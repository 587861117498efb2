//! The sessions of an engine.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use tickwire_fix::Writer;
use tickwire_fix_session::{Config, Head, Now, SendError, Session, SessionId, Store};

/// A store of any kind.
pub type BoxStore = Box<dyn Store + Send>;

/// Which session of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub(super) usize);

struct Slot {
    session: Session<BoxStore>,
    /// Index of the connection.
    connection: Option<usize>,
    /// Whether it is among the dirty.
    dirty: bool,
    /// Where the message log goes; gone after it could not be written.
    log: Option<BufWriter<File>>,
}

/// The sessions of an engine.
#[derive(Default)]
pub struct Sessions {
    slots: Vec<Slot>,
    by_id: HashMap<SessionId, SessionKey>,
    /// Sessions with something to transmit.
    dirty: Vec<SessionKey>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Sessions").field("count", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Adds a session; returns the one there is if its id is taken.
    pub fn add(&mut self, config: Config, store: BoxStore) -> SessionKey {
        if let Some(key) = self.find(&config.id) {
            return key;
        }
        let key = SessionKey(self.slots.len());
        self.by_id.insert(config.id.clone(), key);
        let session = Session::new(config, store);
        self.slots.push(Slot { session, connection: None, dirty: false, log: None });
        key
    }

    /// Returns the session with that id.
    pub fn find(&self, id: &SessionId) -> Option<SessionKey> {
        self.by_id.get(id).copied()
    }

    /// Returns how many there are.
    pub const fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the keys of all, in the order in which they were added.
    pub fn keys(&self) -> impl Iterator<Item = SessionKey> + use<> {
        (0..self.slots.len()).map(SessionKey)
    }

    /// Returns a session; `None` for a key of another engine.
    pub fn session(&self, key: SessionKey) -> Option<&Session<BoxStore>> {
        self.slots.get(key.0).map(|slot| &slot.session)
    }

    /// Returns a session to be changed; the engine looks afterwards what it wants to transmit.
    pub fn session_mut(&mut self, key: SessionKey) -> Option<&mut Session<BoxStore>> {
        let slot = self.slots.get_mut(key.0)?;
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.push(key);
        }
        Some(&mut slot.session)
    }

    /// Sends a message of the application, as [`Session::send`] does.
    ///
    /// # Errors
    /// As [`Session::send`]; [`SendError::NotLoggedOn`] for a key of another engine.
    pub fn send(
        &mut self,
        key: SessionKey,
        now: Now,
        head: &Head<'_>,
        write: impl FnMut(&mut Writer<'_>),
    ) -> Result<u64, SendError> {
        let session = self.session_mut(key).ok_or(SendError::NotLoggedOn)?;
        session.send(now, head, write)
    }

    /// Sends a message whose fields a generated type writes, as [`Session::send_fields`] does.
    ///
    /// # Errors
    /// As [`Session::send`]; [`SendError::NotLoggedOn`] for a key of another engine.
    pub fn send_fields(
        &mut self,
        key: SessionKey,
        now: Now,
        head: &Head<'_>,
        write: impl for<'w> FnMut(Writer<'w>) -> Writer<'w>,
    ) -> Result<u64, SendError> {
        let session = self.session_mut(key).ok_or(SendError::NotLoggedOn)?;
        session.send_fields(now, head, write)
    }

    pub(super) fn connection(&self, key: SessionKey) -> Option<usize> {
        self.slots.get(key.0)?.connection
    }

    pub(super) fn set_connection(&mut self, key: SessionKey, connection: Option<usize>) {
        if let Some(slot) = self.slots.get_mut(key.0) {
            slot.connection = connection;
        }
    }

    /// Returns a session to be changed by the engine, which looks what it wants to transmit by itself.
    pub(super) fn session_quietly(&mut self, key: SessionKey) -> Option<&mut Session<BoxStore>> {
        self.slots.get_mut(key.0).map(|slot| &mut slot.session)
    }

    /// Keeps a session's message log in a file, if the session is configured to make one.
    pub fn keep_log(&mut self, key: SessionKey, file: File) {
        if let Some(slot) = self.slots.get_mut(key.0) {
            slot.log = Some(BufWriter::with_capacity(1 << 16, file));
        }
    }

    /// Moves lines of the message log to its file; an error ends the log.
    pub(super) fn write_log(&mut self, key: SessionKey) -> io::Result<()> {
        let Some(Slot { session, log, .. }) = self.slots.get_mut(key.0) else { return Ok(()) };
        let mut written = Ok(());
        session.take_log(|lines| {
            if let Some(log) = log {
                written = log.write_all(lines);
            }
        });
        if written.is_err() {
            *log = None;
        }
        written
    }

    /// Hands what a session committed to the disk.
    pub(super) fn sync(&mut self, key: SessionKey) {
        if let Some(slot) = self.slots.get_mut(key.0) {
            slot.session.sync();
            if slot.log.as_mut().is_some_and(|log| log.flush().is_err()) {
                slot.log = None;
            }
        }
    }

    /// Returns a session that has something to transmit, each once.
    pub(super) fn take_dirty(&mut self) -> Option<SessionKey> {
        let key = self.dirty.pop()?;
        if let Some(slot) = self.slots.get_mut(key.0) {
            slot.dirty = false;
        }
        Some(key)
    }

    /// Returns when the first session wants to be told of the time.
    pub(super) fn next_timeout(&self) -> Option<u64> {
        self.slots.iter().filter_map(|slot| slot.session.poll_timeout()).min()
    }
}
