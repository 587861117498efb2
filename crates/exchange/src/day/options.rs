//! Options of a day.

use crate::error::ExchangeError;
use crate::packer::checked_reset;
use tickwire_feed::framing::{Framing, FramingResetPolicy, Preset};

/// Maximum number of instruments of a day.
const INSTRUMENTS_MAX: u32 = 10_000;
/// Longest heartbeat interval and gap between packets, in nanoseconds: one day.
const GAP_NS_MAX: u64 = 86_400_000_000_000;

/// The form in which the feed publishes books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookForm {
    /// Price levels by position (MDPriceLevel, 1023). Levels pushed out of the depth are dropped
    /// implicitly; levels that come into view are new at the last position.
    Levels {
        /// Levels per side: instrument `i` has `depths[i % depths.len()]`.
        depths: Vec<u32>,
    },
    /// Price levels by price: all of them, or the best `depth`; levels pushed out are deleted
    /// explicitly.
    Prices {
        /// Levels per side; `None` for all.
        depth: Option<u32>,
    },
    /// Every order by its MDEntryID (278). A delete carries the id and no price.
    Orders,
}

/// The fields by which messages identify instruments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstrumentKeyKind {
    /// SecurityID (48), a number.
    SecurityId,
    /// Symbol (55) and TradingSessionID (336), as at MOEX ASTS: a symbol trades in up to two
    /// sessions.
    SymbolAndSession,
}

/// The unit of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceNumbers {
    /// Packets. The number is in the preamble, and in MsgSeqNum (34) of every message in the
    /// packet.
    Packets,
    /// Messages. The number is only in MsgSeqNum (34); packets have no preamble.
    Messages,
}

/// The heartbeats of an idle channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeats {
    /// No heartbeats.
    None,
    /// Heartbeats (35=0) that consume sequence numbers.
    Numbered,
    /// Heartbeats without a number; only with [`SequenceNumbers::Messages`].
    Unnumbered,
}

/// A day change: SequenceReset (35=4) as the last packet of the old session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayChange {
    /// NewSeqNo (36): number of the first packet or message of the new session.
    pub new_seq_no: u64,
    /// True if every instrument's RptSeq restarts at 1.
    pub restarts_rpt_seq: bool,
}

/// The properties of a day. Start from one of the constructors and change individual fields.
#[derive(Clone, Debug)]
pub struct DayOptions {
    /// Seed; the same seed gives the same day.
    pub seed: u64,
    /// Instruments of the channel, 1 to 10,000. Default 20.
    pub instruments: u32,
    /// Packets of updates in the day, including resets and status, without heartbeats. Default
    /// 10,000.
    pub packets: u64,
    /// Maximum number of messages in a packet of updates. Default 1.
    pub messages_per_packet_max: usize,
    /// Maximum number of market events in a message; an event has one or more entries. Default 4.
    pub events_per_message_max: usize,
    /// Form of the books.
    pub books: BookForm,
    /// Identification of instruments.
    pub key: InstrumentKeyKind,
    /// True if every entry carries its instrument's RptSeq (83); otherwise only sequence numbers
    /// reveal a gap.
    pub has_rpt_seq: bool,
    /// Unit of sequence numbers.
    pub sequence: SequenceNumbers,
    /// Preamble of packets, if packets are numbered. Default [`Preset::Cme`].
    pub framing: Framing,
    /// True if implied levels (276=K) are published beside outright ones.
    pub has_implied: bool,
    /// True if levels have order counts (346).
    pub has_order_counts: bool,
    /// Maximum number of entries in a snapshot message; larger books are sent in fragments with
    /// LastFragment (893). `None` sends whole books, without field 893.
    pub fragment_entries_max: Option<usize>,
    /// Packets of updates between snapshots, each instrument in turn; 0 for no snapshots.
    /// Default 5.
    pub snapshot_every: u64,
    /// Maximum number of entries in a message of updates. Larger transactions are sent in several
    /// messages with LastFragment (893), in one packet or in consecutive packets. `None` sends them
    /// in one message, without field 893.
    pub transaction_entries_max: Option<usize>,
    /// True if the templates also contain the fields that no message of the day uses, so that all
    /// days have the same templates. Only with [`InstrumentKeyKind::SecurityId`].
    pub has_unused_fields: bool,
    /// True if a SequenceReset ends every snapshot cycle, so that the numbers of snapshots restart
    /// at 1.
    pub resets_snapshots: bool,
    /// True if snapshots carry MarketDepth (264).
    pub has_snapshot_depth: bool,
    /// Packets of updates between definitions, each instrument in turn; 0 for none. The day begins
    /// with all of them. Default 50.
    pub definition_every: u64,
    /// True if trades and statistics are published.
    pub has_trades: bool,
    /// True if instruments change their status: auctions with crossed books, halts.
    pub has_status: bool,
    /// Probability from 0 to 1 that a message empties the books (269=J) of an instrument, a session
    /// or the channel instead of updating them.
    pub empty_book: f64,
    /// Day changes, evenly distributed over the day. Default none.
    pub day_changes: Vec<DayChange>,
    /// True if books are full and RptSeq is far from 1 at the first packet.
    pub mid_session: bool,
    /// Sequence number of the first packet or message. Default 1.
    pub first_seq_num: u64,
    /// Time of the first packet, nanoseconds since 1970. Default 2026-11-20 10:00:00 UTC.
    pub start_ns: u64,
    /// Mean time between packets of updates, in nanoseconds. Default 1 ms.
    pub gap_ns: u64,
    /// Heartbeats during pauses.
    pub heartbeats: Heartbeats,
    /// Longest silence before a heartbeat, in nanoseconds. Default 1 s.
    pub heartbeat_interval_ns: u64,
    /// True if the truth keeps every version of every book, for
    /// [`DayTruth::book_at`](super::DayTruth::book_at). Default off: memory grows with the day.
    pub keeps_history: bool,
}

impl DayOptions {
    /// Returns options of a futures channel: ten levels by position, SecurityID, RptSeq, packets
    /// numbered in a preamble.
    pub fn futures() -> Self {
        Self {
            seed: 1,
            instruments: 20,
            packets: 10_000,
            messages_per_packet_max: 1,
            events_per_message_max: 4,
            books: BookForm::Levels { depths: vec![10] },
            key: InstrumentKeyKind::SecurityId,
            has_rpt_seq: true,
            sequence: SequenceNumbers::Packets,
            framing: Preset::Cme.framing(),
            has_implied: false,
            has_order_counts: true,
            fragment_entries_max: None,
            transaction_entries_max: None,
            has_unused_fields: false,
            snapshot_every: 5,
            resets_snapshots: false,
            has_snapshot_depth: false,
            definition_every: 50,
            has_trades: true,
            has_status: false,
            empty_book: 0.0,
            day_changes: Vec::new(),
            mid_session: false,
            first_seq_num: 1,
            start_ns: 1_795_168_800_000_000_000,
            gap_ns: 1_000_000,
            heartbeats: Heartbeats::None,
            heartbeat_interval_ns: 1_000_000_000,
            keeps_history: false,
        }
    }

    /// Returns options of a shares channel in the form of MOEX ASTS: every order, Symbol and
    /// TradingSessionID, fragmented snapshots.
    pub fn shares() -> Self {
        Self {
            books: BookForm::Orders,
            key: InstrumentKeyKind::SymbolAndSession,
            framing: Preset::MoexAsts.framing(),
            has_order_counts: false,
            fragment_entries_max: Some(20),
            has_status: true,
            heartbeats: Heartbeats::Numbered,
            ..Self::futures()
        }
    }

    /// Returns the framing of packets, which includes the reset policy of the dictionaries.
    pub fn wire_framing(&self) -> Framing {
        match self.sequence {
            SequenceNumbers::Packets => self.framing,
            SequenceNumbers::Messages => Framing::new().reset(FramingResetPolicy::Packet),
        }
    }

    /// Returns the levels per side that the feed publishes of an instrument, by its index; `None`
    /// if it publishes all.
    pub fn depth_of(&self, index: usize) -> Option<u32> {
        match &self.books {
            BookForm::Levels { depths } => depths.get(index % depths.len().max(1)).copied(),
            BookForm::Prices { depth } => *depth,
            BookForm::Orders => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), ExchangeError> {
        if !(1..=INSTRUMENTS_MAX).contains(&self.instruments) {
            let securities = self.instruments;
            return Err(ExchangeError::Securities { securities, securities_max: INSTRUMENTS_MAX });
        }
        let last = self.day_changes.iter().map(|change| change.new_seq_no);
        let first = last.chain([self.first_seq_num]).max().unwrap_or(0);
        let messages = self.packets.saturating_mul(self.messages_per_packet_max as u64);
        let last = first.saturating_add(messages.saturating_mul(2));
        if last > u32::MAX.into() {
            return Err(ExchangeError::SeqNumTooLarge { last });
        }
        if self.sequence == SequenceNumbers::Packets {
            checked_reset(&self.framing)?;
        }
        let needs_numbers = self.heartbeats == Heartbeats::Unnumbered;
        if needs_numbers && self.sequence != SequenceNumbers::Messages {
            return Err(ExchangeError::DayOption(
                "unnumbered heartbeats need SequenceNumbers::Messages",
            ));
        }
        if self.has_implied && self.books == BookForm::Orders {
            return Err(ExchangeError::DayOption(
                "orders are never implied: choose levels or prices",
            ));
        }
        let depths = (0..self.instruments.min(16) as usize).map(|index| self.depth_of(index));
        let is_depth_wrong = depths.flatten().any(|depth| !(1..=100).contains(&depth));
        let has_no_depth = matches!(&self.books, BookForm::Levels { depths } if depths.is_empty());
        if is_depth_wrong || has_no_depth {
            return Err(ExchangeError::DayOption("books have 1 to 100 levels per side"));
        }
        if self.fragment_entries_max == Some(0) {
            return Err(ExchangeError::DayOption(
                "a fragment of a snapshot has at least one entry",
            ));
        }
        if self.transaction_entries_max == Some(0) {
            return Err(ExchangeError::DayOption("a message of updates has at least one entry"));
        }
        if self.has_unused_fields && self.key != InstrumentKeyKind::SecurityId {
            return Err(ExchangeError::DayOption(
                "has_unused_fields needs InstrumentKey::SecurityId",
            ));
        }
        let is_gap_wrong = |ns: u64| ns == 0 || ns > GAP_NS_MAX;
        if is_gap_wrong(self.gap_ns) || is_gap_wrong(self.heartbeat_interval_ns) {
            return Err(ExchangeError::DayOption(
                "gap_ns and heartbeat_interval_ns must be above 0 and at most a day",
            ));
        }
        Ok(())
    }
}
