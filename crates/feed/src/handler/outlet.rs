//! Sink of an adapter while the handler decodes.

use std::marker::PhantomData;

use super::{Delivery, Sink};
use crate::market::{
    Clear, Definition, Instrument, InstrumentKey, LevelUpdate, MarketEvent, MarketSink, Snapshot,
    Update,
};
use crate::recovery::Recovery;

/// Feed of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageOrigin {
    Definitions,
    Incremental,
    /// Lost packets that were replayed.
    Replay,
    Snapshot,
}

/// Passes the content of a message to the books and to the user's sink.
pub(super) struct MessageOutlet<'a, M: ?Sized, S> {
    recovery: &'a mut Recovery,
    sink: &'a mut S,
    delivery: Delivery,
    feed: MessageOrigin,
    reset_to: Option<u64>,
    had_snapshot: bool,
    message: PhantomData<fn(&M)>,
}

impl<'a, M: ?Sized, S: Sink<M>> MessageOutlet<'a, M, S> {
    fn new(
        recovery: &'a mut Recovery,
        sink: &'a mut S,
        delivery: Delivery,
        feed: MessageOrigin,
    ) -> Self {
        let (reset_to, had_snapshot, message) = (None, false, PhantomData);
        Self { recovery, sink, delivery, feed, reset_to, had_snapshot, message }
    }

    /// Creates the sink for a message of the incremental feed.
    #[inline]
    pub(super) fn incremental(
        recovery: &'a mut Recovery,
        sink: &'a mut S,
        delivery: Delivery,
    ) -> Self {
        Self::new(recovery, sink, delivery, MessageOrigin::Incremental)
    }

    /// Creates the sink for a message of the snapshot feed: its updates, trades and resets do not
    /// reach the books.
    pub(super) fn snapshot(
        recovery: &'a mut Recovery,
        sink: &'a mut S,
        delivery: Delivery,
    ) -> Self {
        Self::new(recovery, sink, delivery, MessageOrigin::Snapshot)
    }

    /// Creates the sink for a message of the definition feed: only definitions and status reach the
    /// books.
    pub(super) fn definitions(
        recovery: &'a mut Recovery,
        sink: &'a mut S,
        delivery: Delivery,
    ) -> Self {
        Self::new(recovery, sink, delivery, MessageOrigin::Definitions)
    }

    /// Creates the sink for a message of a replayed packet: later messages were handled before it,
    /// so only its updates count.
    pub(super) fn replay(recovery: &'a mut Recovery, sink: &'a mut S, delivery: Delivery) -> Self {
        Self::new(recovery, sink, delivery, MessageOrigin::Replay)
    }

    /// First number of the next session after a SequenceReset.
    pub(super) const fn reset_to(&self) -> Option<u64> {
        self.reset_to
    }

    /// True if the message was a snapshot.
    pub(super) const fn had_snapshot(&self) -> bool {
        self.had_snapshot
    }
}

impl<M: ?Sized, S: Sink<M>> MarketSink for MessageOutlet<'_, M, S> {
    #[inline(always)]
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        self.recovery.instrument(key)
    }

    #[inline]
    fn update(&mut self, update: &Update) {
        match self.feed {
            MessageOrigin::Incremental => {
                self.recovery.handle_update(update);
            }
            MessageOrigin::Replay => {
                self.recovery.handle_replayed(update);
            }
            MessageOrigin::Definitions | MessageOrigin::Snapshot => {}
        }
    }

    #[inline(always)]
    fn level_update(&mut self, update: LevelUpdate) {
        match self.feed {
            MessageOrigin::Incremental => self.recovery.handle_level_update(update),
            MessageOrigin::Replay => {
                let key = InstrumentKey::Number(update.number);
                if let Some(instrument) = self.recovery.instrument(key) {
                    self.recovery.handle_replayed(&update.of(instrument));
                }
            }
            MessageOrigin::Definitions | MessageOrigin::Snapshot => {}
        }
    }

    #[inline]
    fn wants_events(&self) -> bool {
        self.feed == MessageOrigin::Incremental && self.sink.wants_events()
    }

    fn clear(&mut self, clear: &Clear<'_>) {
        match self.feed {
            MessageOrigin::Incremental => self.recovery.handle_clear(clear),
            MessageOrigin::Replay => self.recovery.handle_replayed_clear(clear),
            MessageOrigin::Definitions | MessageOrigin::Snapshot => {}
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot<'_>) {
        if matches!(self.feed, MessageOrigin::Definitions | MessageOrigin::Replay) {
            return;
        }
        self.had_snapshot = true;
        let line = self.delivery.line.index();
        let seq_num = snapshot.seq_num.or(self.delivery.seq_num);
        let snapshot = Snapshot { seq_num, ..*snapshot };
        let outcome = self.recovery.handle_snapshot(line, &snapshot);
        self.sink.handle_snapshot(&snapshot, outcome, self.recovery);
    }

    fn define(&mut self, instrument: Instrument, definition: &Definition) {
        let is_late = self.feed == MessageOrigin::Replay;
        if is_late && self.recovery.instruments().definition(instrument).is_some() {
            return;
        }
        if self.recovery.define(instrument, definition) {
            let known = self.recovery.instruments().definition(instrument);
            let event = MarketEvent::Definition(instrument, known.unwrap_or(definition));
            self.sink.handle_event(&self.delivery, &event, self.recovery);
        }
    }

    fn event(&mut self, event: &MarketEvent<'_>) {
        let is_new = match (event, self.feed) {
            // Snapshot feeds repeat the status in every round.
            (_, MessageOrigin::Replay) => false,
            (MarketEvent::Status(status), feed) => {
                self.recovery.handle_status(status) || feed == MessageOrigin::Incremental
            }
            (_, feed) => feed == MessageOrigin::Incremental,
        };
        if is_new {
            self.sink.handle_event(&self.delivery, event, self.recovery);
        }
    }

    fn sequence_reset(&mut self, next_seq_num: u64, sending_time: Option<u64>) {
        if self.feed == MessageOrigin::Incremental {
            self.recovery.note_sequence_reset(sending_time);
            self.reset_to = Some(next_seq_num);
        }
    }

    fn end_other_message(&mut self) {
        self.recovery.settle();
    }

    #[inline]
    fn end_message(&mut self, continues: bool) {
        match self.feed {
            MessageOrigin::Incremental => self.recovery.end_message(continues),
            MessageOrigin::Definitions | MessageOrigin::Replay | MessageOrigin::Snapshot => {
                self.recovery.settle()
            }
        }
    }
}
