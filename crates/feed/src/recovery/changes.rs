//! What changed with a message, and the checks after it.

use super::instrument::Told;
use super::{BookChange, Recovery, StaleReason};
use crate::board::index_of;
use crate::market::{BookKind, Instrument as Id};

/// Instruments that changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Touched by the messages since the last end of a transaction.
    pub(super) touched: Vec<Id>,
    /// Checked, and to be told of: the last first.
    ready: Vec<Ready>,
}

/// A book to be told of.
#[derive(Clone, Copy, Debug)]
struct Ready {
    instrument: Id,
    kind: BookKind,
    is_new_state: bool,
}

impl Recovery {
    /// Ends a message: checks the books that it changed, unless the exchange's transaction goes on.
    #[inline]
    pub fn end_message(&mut self, continues: bool) {
        self.is_in_transaction = continues;
        self.settle();
    }

    /// Checks and tells of what changed otherwise than by a message of the incremental feed, unless a
    /// transaction goes on.
    #[inline]
    pub fn settle(&mut self) {
        if !self.is_in_transaction && !self.changes.touched.is_empty() {
            self.check_touched();
        }
    }

    /// The next book that changed, or whose state did; to be asked for after each message, until
    /// `None`. The end of the next message forgets those that were not asked for.
    #[inline]
    pub fn next_change(&mut self) -> Option<BookChange> {
        let Ready { instrument, kind, is_new_state } = self.changes.ready.pop()?;
        // As it was when the message ended: nothing came since.
        Some(BookChange { instrument, kind, state: self.state(instrument), is_new_state })
    }

    pub(super) fn touch(&mut self, id: Id) {
        if let Some(instrument) = self.instruments.get_mut(id.index())
            && !instrument.is_touched
        {
            instrument.is_touched = true;
            self.changes.touched.push(id);
        }
    }

    pub(super) fn touch_all(&mut self) {
        for id in self.ids.iter() {
            self.touch(id);
        }
    }

    fn check_touched(&mut self) {
        // Changes that nobody asked for do not pile up.
        self.changes.ready.clear();
        let mut touched = std::mem::take(&mut self.changes.touched);
        // What is ready is taken from the end.
        for id in touched.iter().rev() {
            self.check(*id);
        }
        touched.clear();
        self.changes.touched = touched;
    }

    /// Checks an instrument's books that changed, and notes which are to be told of.
    #[inline]
    fn check(&mut self, id: Id) {
        let Some(instrument) = self.instruments.get_mut(id.index()) else { return };
        instrument.is_touched = false;
        let kinds_changed = std::mem::take(&mut instrument.kinds_changed);
        let is_fresh = !self.is_silent && !self.behind.is_over && instrument.is_fresh(self.gap);
        if is_fresh
            && self.options.checks
            && let Some(fault) = instrument.inconsistency(kinds_changed, self.session_may_cross)
        {
            self.counters.inconsistent += 1;
            instrument.broken = Some(StaleReason::Inconsistent(fault));
        }
        let is_as_told = is_fresh && instrument.told == Told::Fresh && instrument.broken.is_none();
        let is_new_state = !is_as_told && self.note_state(id);
        if self.board.is_some() {
            self.publish(id, if is_new_state { u8::MAX } else { kinds_changed });
        }
        let Some(instrument) = self.instruments.get(id.index()) else { return };
        for kind in BookKind::ALL.into_iter().rev() {
            let is_changed = kinds_changed >> kind as u8 & 1 != 0;
            if (is_changed || is_new_state) && instrument.books.get(kind).is_some() {
                self.changes.ready.push(Ready { instrument: id, kind, is_new_state });
            }
        }
    }

    /// Publishes the books of these kinds, a bit each.
    pub(super) fn publish(&mut self, id: Id, kinds: u8) {
        let is_fresh = self.state(id).is_ok();
        let Self { board: Some(board), instruments, now_ns, .. } = self else { return };
        let Some(instrument) = instruments.get_mut(id.index()) else { return };
        for kind in BookKind::ALL.into_iter().filter(|kind| kinds >> *kind as u8 & 1 != 0) {
            if let Some(book) = instrument.books.get_mut(kind) {
                board.publish(index_of(id, kind), book, is_fresh, *now_ns);
            }
        }
    }

    /// Whether an instrument's state is another than was told of.
    #[cold]
    fn note_state(&mut self, id: Id) -> bool {
        let told = match self.state(id) {
            Ok(()) => Told::Fresh,
            Err(reason) => Told::Stale(reason.index()),
        };
        let Some(instrument) = self.instruments.get_mut(id.index()) else { return false };
        std::mem::replace(&mut instrument.told, told) != told
    }
}
