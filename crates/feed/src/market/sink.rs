//! Sinks of adapters.

use super::{BookKind, Definition, Instrument, InstrumentKey, MarketDataError, MarketEvent};
use crate::book::{BookUpdate, Level, LevelChange, OrderId, Side};

/// One update of one book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// Instrument of the book.
    pub instrument: Instrument,
    /// Kind of the book.
    pub kind: BookKind,
    /// Sequence number of the packet or message the update arrived in.
    pub seq_num: u64,
    /// The instrument's own count of updates (RptSeq), if the feed has it.
    pub rpt_seq: Option<u64>,
    /// MarketDepth (264) of the same entry: levels per side that the feed publishes.
    pub depth: Option<u32>,
    /// The change; [`BookUpdate::Other`] for an entry that changes no level but is counted.
    pub change: BookUpdate,
}

/// An [`Update`] of a level by position, as plain values. Nearly all updates of feeds by level have
/// this form; it passes from the entry to the book in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelUpdate {
    /// The number that identifies the instrument: [`InstrumentKey::Number`].
    pub number: u64,
    /// Kind of the book.
    pub kind: BookKind,
    /// Sequence number of the packet or message the update arrived in.
    pub seq_num: u64,
    /// The instrument's own count of updates (RptSeq).
    pub rpt_seq: u64,
    /// Side of the book.
    pub side: Side,
    /// MDPriceLevel, from 1.
    pub level: u32,
    /// Change of the level.
    pub change: LevelChange,
    /// Content of the level after the change; unused if the level is deleted.
    pub content: Level,
}

impl LevelUpdate {
    /// Returns the same change as an [`Update`] of `instrument`.
    pub fn of(&self, instrument: Instrument) -> Update {
        let Self { kind, seq_num, rpt_seq, side, level, change, content, .. } = *self;
        let change = BookUpdate::ByLevel { side, level, action: change.with(content) };
        Update { instrument, kind, seq_num, rpt_seq: Some(rpt_seq), depth: None, change }
    }
}

/// How a snapshot identifies a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelName {
    /// By MDPriceLevel (1023), from 1.
    Level(u32),
    /// By its price.
    Price,
    /// The level is one order.
    Order(OrderId),
}

/// One level or order of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLevel {
    /// Kind of the book.
    pub kind: BookKind,
    /// Side of the book.
    pub side: Side,
    /// How it is identified.
    pub name: LevelName,
    /// Content of the level.
    pub content: Level,
}

/// Position of a message in a fragmented snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotFragment {
    /// The feed never splits snapshots: it has no LastFragment (893).
    Whole,
    /// More messages of this snapshot follow (893=0).
    Middle,
    /// The last, or only, message of this snapshot (893=1).
    Last,
}

/// A whole book at one moment of the incremental feed, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot<'a> {
    /// Instrument of the book.
    pub instrument: Instrument,
    /// LastMsgSeqNumProcessed (369): the last number of the incremental feed that the snapshot
    /// includes.
    pub last_seq_num: u64,
    /// The instrument's last update that the snapshot includes, if the feed counts them.
    pub rpt_seq: Option<u64>,
    /// SendingTime (52) in the digits of the feed.
    pub sending_time: Option<u64>,
    /// Number of the message on the snapshot feed.
    pub seq_num: Option<u64>,
    /// Position of this message in a fragmented snapshot.
    pub fragment: SnapshotFragment,
    /// MarketDepth (264): levels per side that the feed publishes.
    pub depth: Option<u32>,
    /// Levels, each side of each kind best first.
    pub levels: &'a [SnapshotLevel],
}

/// Instruments of an empty-book entry (MDEntryType J).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClearScope<'a> {
    /// Every instrument of the channel.
    Channel,
    /// Instruments whose key has this text as its field at `index`, such as a TradingSessionID.
    Field {
        /// Index of the field in the key.
        index: usize,
        /// Its text.
        text: &'a [u8],
    },
}

/// Empties several books; a single instrument's book has [`BookUpdate::Clear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear<'a> {
    /// The instruments.
    pub scope: ClearScope<'a>,
    /// Sequence number of the packet or message.
    pub seq_num: u64,
}

/// Receives the content of messages, in order. Only [`instrument`](Self::instrument) is required;
/// the other methods do nothing by default.
pub trait MarketSink {
    /// Returns the instrument of a key; `None` if there are too many, and its data is dropped.
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument>;

    /// One update.
    fn update(&mut self, _update: &Update) {}

    /// One update of a level by position. It must have the same effect as the equivalent
    /// [`Update`].
    #[inline]
    fn level_update(&mut self, update: LevelUpdate) {
        if let Some(instrument) = self.instrument(InstrumentKey::Number(update.number)) {
            self.update(&update.of(instrument));
        }
    }

    /// True if the sink uses trades and statistics of incremental messages; otherwise they may be
    /// omitted. All other events are always sent.
    #[inline]
    fn wants_events(&self) -> bool {
        true
    }

    /// Several books become empty.
    fn clear(&mut self, _clear: &Clear<'_>) {}

    /// A snapshot, or a fragment of one.
    fn snapshot(&mut self, _snapshot: &Snapshot<'_>) {}

    /// A definition of an instrument.
    fn define(&mut self, _instrument: Instrument, _definition: &Definition) {}

    /// A trade, a statistic or a status.
    fn event(&mut self, _event: &MarketEvent<'_>) {}

    /// SequenceReset (35=4): the channel the message arrived on restarts at `next_seq_num`.
    fn sequence_reset(&mut self, _next_seq_num: u64, _sending_time: Option<u64>) {}

    /// A message that changes no book ends. An open transaction continues.
    fn end_other_message(&mut self) {}

    /// A message with changes or a snapshot ends. With `continues`, the exchange's transaction
    /// continues in the next one (LastFragment 893=0): books may be inconsistent until it ends.
    fn end_message(&mut self, _continues: bool) {}
}

/// Interprets decoded messages.
pub trait Adapt<M: ?Sized> {
    /// Pushes the content of a message into `sink`. `seq_num` is the number of the message or of
    /// its packet.
    ///
    /// # Errors
    /// [`MarketDataError`] if the message cannot be interpreted. Content pushed before the error is
    /// valid.
    fn adapt<S: MarketSink>(
        &mut self,
        message: &M,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError>;

    /// True if update messages have a SendingTime.
    fn has_sending_times(&self) -> bool {
        false
    }

    /// Returns the time at which a message was first sent: OrigSendingTime (122), else SendingTime
    /// (52); `None` if it has neither.
    fn sending_time(&self, _message: &M) -> Option<u64> {
        None
    }
}

/// Adapter of feeds without books: no message has book data.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBooks;

impl<M: ?Sized> Adapt<M> for NoBooks {
    fn adapt<S: MarketSink>(&mut self, _: &M, _: u64, _: &mut S) -> Result<(), MarketDataError> {
        Ok(())
    }
}
