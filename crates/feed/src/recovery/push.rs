//! A recovery as the sink of an adapter.

use super::Recovery;
use crate::market::{
    Clear, Definition, Instrument, InstrumentKey, LevelUpdate, MarketEvent, MarketSink, Snapshot,
    Update,
};

/// For books without a handler. Push the messages of one feed in the order of their numbers, and
/// call [`handle_progress`](Recovery::handle_progress) with its position, or snapshots wait.
/// SequenceReset is ignored: the caller must handle it, because it knows when the next session
/// begins.
impl MarketSink for Recovery {
    #[inline(always)]
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        Recovery::instrument(self, key)
    }

    #[inline]
    fn update(&mut self, update: &Update) {
        self.handle_update(update);
    }

    #[inline(always)]
    fn level_update(&mut self, update: LevelUpdate) {
        self.handle_level_update(update);
    }

    /// Books need only updates.
    #[inline]
    fn wants_events(&self) -> bool {
        false
    }

    fn clear(&mut self, clear: &Clear<'_>) {
        self.handle_clear(clear);
    }

    fn snapshot(&mut self, snapshot: &Snapshot<'_>) {
        self.handle_snapshot(0, snapshot);
    }

    fn define(&mut self, instrument: Instrument, definition: &Definition) {
        Recovery::define(self, instrument, definition);
    }

    fn event(&mut self, event: &MarketEvent<'_>) {
        if let MarketEvent::Status(status) = event {
            self.handle_status(status);
        }
    }

    fn end_other_message(&mut self) {
        self.settle();
    }

    #[inline]
    fn end_message(&mut self, continues: bool) {
        Recovery::end_message(self, continues);
    }
}
