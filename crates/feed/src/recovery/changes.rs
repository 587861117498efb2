//! Changes by messages, and the checks after each message.

use super::instrument::{IMPLIED, InstrumentState, OUTRIGHT, ReportedState};
use super::{BookChange, Recovery, StaleReason};
use crate::market::{BookKind, Instrument as Id};

/// Instruments that changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The first `count` entries were touched by messages since the last end of a transaction.
    /// There is room for all instruments and one more.
    touched: Vec<Id>,
    count: usize,
    /// Checked books; those from the index `next` on are still to be reported.
    ready: Vec<Ready>,
    next: usize,
}

/// A book to be reported.
#[derive(Clone, Copy, Debug)]
struct Ready {
    instrument: Id,
    kind: BookKind,
    /// True if it is known to be still fresh.
    is_fresh: bool,
    is_new_state: bool,
}

impl Changes {
    /// Reserves space for this many instruments.
    pub(super) fn reserve(&mut self, instruments: usize) {
        self.touched.resize(instruments + 1, Id(0));
    }

    /// Records that an instrument was touched; `is_touched` is its flag. The code does not branch
    /// on the flag, because that branch cannot be predicted.
    #[inline(always)]
    pub(super) fn touch(&mut self, id: Id, is_touched: &mut bool) {
        self.touched[self.count] = id;
        self.count += usize::from(!*is_touched);
        *is_touched = true;
    }

    /// Queues the books of these kinds, one bit each, for the report.
    #[inline(always)]
    fn note(
        &mut self,
        reported: ReportedState,
        id: Id,
        instrument: &InstrumentState,
        kinds: u8,
        is_new_state: bool,
    ) {
        let is_fresh = reported == ReportedState::Fresh;
        let ready = |kind| Ready { instrument: id, kind, is_fresh, is_new_state };
        if kinds & OUTRIGHT != 0 {
            self.ready.push(ready(BookKind::Outright));
        }
        if kinds & IMPLIED != 0 && instrument.books.implied.is_some() {
            self.ready.push(ready(BookKind::Implied));
        }
    }
}

impl Recovery {
    /// Ends a message: checks the books that it changed, unless the exchange's transaction continues.
    #[inline]
    pub fn end_message(&mut self, continues: bool) {
        self.is_in_transaction = continues;
        self.settle();
    }

    /// Checks and reports changes that no message of the incremental feed made, unless a
    /// transaction continues.
    #[inline]
    pub fn settle(&mut self) {
        if !self.is_in_transaction && self.changes.count > 0 {
            self.check_touched();
        }
    }

    /// Returns the next book whose levels or state changed. Call it after each message until it
    /// returns `None`: the end of the next message discards the rest.
    #[inline(always)]
    pub fn next_change(&mut self) -> Option<BookChange> {
        let &Ready { instrument, kind, is_fresh, is_new_state } =
            self.changes.ready.get(self.changes.next)?;
        self.changes.next += 1;
        // The state is that at the end of the message, because nothing arrived since.
        let state = if is_fresh { Ok(()) } else { self.state(instrument) };
        Some(BookChange { instrument, kind, state, is_new_state })
    }

    pub(super) fn touch(&mut self, id: Id) {
        if let Some(instrument) = self.instruments.get_mut(id.index()) {
            self.changes.touch(id, &mut instrument.is_touched);
        }
    }

    /// Touches all instruments: a book with a queued change that was fresh may be stale now.
    pub(super) fn touch_all(&mut self) {
        self.changes.ready.iter_mut().for_each(|ready| ready.is_fresh = false);
        for id in self.ids.iter() {
            self.touch(id);
        }
    }

    fn check_touched(&mut self) {
        // Changes that the caller did not request are discarded.
        self.changes.ready.clear();
        self.changes.next = 0;
        let is_current = self.is_current();
        for at in 0..std::mem::take(&mut self.changes.count) {
            self.check(self.changes.touched[at], is_current);
        }
    }

    /// Checks an instrument's changed books, and queues those to be reported.
    #[inline(always)]
    fn check(&mut self, id: Id, is_current: bool) {
        let Some(instrument) = self.instruments.get_mut(id.index()) else { return };
        instrument.is_touched = false;
        instrument.checks = instrument.checks.wrapping_add(1);
        let kinds_changed = std::mem::take(&mut instrument.kinds_changed);
        let is_as_told = is_current
            && instrument.reported == ReportedState::Fresh
            && instrument.is_fresh(self.gap)
            && (!self.options.checks || instrument.is_plainly_right(kinds_changed));
        if !is_as_told {
            return self.check_closely(id, kinds_changed);
        }
        if let Some(board) = &mut self.board {
            instrument.publish(board, id, kinds_changed, true, self.now_ns);
        }
        self.changes.note(ReportedState::Fresh, id, instrument, kinds_changed, false);
    }

    /// As [`check`](Self::check), if something may be wrong or new.
    #[inline(never)]
    fn check_closely(&mut self, id: Id, kinds_changed: u8) {
        let is_heard = !self.is_silent && !self.behind.is_over;
        let Some(instrument) = self.instruments.get_mut(id.index()) else { return };
        if is_heard
            && instrument.is_fresh(self.gap)
            && self.options.checks
            && let Some(fault) = instrument.inconsistency(kinds_changed, self.session_may_cross)
        {
            self.counters.inconsistent += 1;
            instrument.broken = Some(StaleReason::Inconsistent(fault));
        }
        let is_new_state = self.note_state(id);
        let kinds = if is_new_state { u8::MAX } else { kinds_changed };
        self.publish(id, kinds);
        if let Some(instrument) = self.instruments.get(id.index()) {
            self.changes.note(instrument.reported, id, instrument, kinds, is_new_state);
        }
    }

    /// Publishes the books of these kinds, one bit each.
    pub(super) fn publish(&mut self, id: Id, kinds: u8) {
        let is_fresh = self.state(id).is_ok();
        let Self { board: Some(board), instruments, now_ns, .. } = self else { return };
        if let Some(instrument) = instruments.get_mut(id.index()) {
            instrument.publish(board, id, kinds, is_fresh, *now_ns);
        }
    }

    /// True if the state of an instrument differs from the reported one.
    #[cold]
    fn note_state(&mut self, id: Id) -> bool {
        let (reported, code) = match self.state(id) {
            Ok(()) => (ReportedState::Fresh, 0),
            Err(reason) => (ReportedState::Stale(reason.index() as u8), reason.code()),
        };
        if let Some(known) = self.state_codes.get_mut(id.index()) {
            *known = code;
        }
        let Some(instrument) = self.instruments.get_mut(id.index()) else { return false };
        std::mem::replace(&mut instrument.reported, reported) != reported
    }
}
