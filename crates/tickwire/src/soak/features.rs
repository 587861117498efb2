//! Feeds of the receivers, and the variations of their trading days.

use fastrand::Rng;
use tickwire_exchange::day::{BookForm, DayChange, DayOptions, Heartbeats, InstrumentKeyKind};

/// The feed of a receiver, whose templates stay the same for as long as the receiver runs.
#[derive(Clone, Debug)]
pub struct Features(DayOptions);

impl Features {
    /// Chooses a feed at random.
    pub fn draw(random: &mut Rng) -> Self {
        let books = match random.u8(0..5) {
            0 => BookForm::Levels { depths: vec![5, 10, 1, 3] },
            1 => BookForm::Levels { depths: vec![10] },
            2 => BookForm::Prices { depth: None },
            3 => BookForm::Prices { depth: Some(5) },
            _ => BookForm::Orders,
        };
        let keys = [InstrumentKeyKind::SecurityId, InstrumentKeyKind::SymbolAndSession];
        Self(DayOptions {
            instruments: 12,
            has_implied: books != BookForm::Orders && random.bool(),
            // Without MarketDepth a receiver shows only levels that are certainly published.
            has_snapshot_depth: matches!(books, BookForm::Levels { .. }),
            books,
            key: keys[random.usize(0..keys.len())],
            has_rpt_seq: random.u8(0..4) > 0,
            fragment_entries_max: [None, Some(4)][random.usize(0..2)],
            gap_ns: 500_000,
            ..DayOptions::futures()
        })
    }

    /// True if implied books are kept.
    pub const fn has_implied(&self) -> bool {
        self.0.has_implied
    }

    /// Creates a trading day of the feed.
    pub fn day(&self, seed: u64, packets: u64) -> DayOptions {
        let mut random = Rng::with_seed(seed);
        let change = DayChange { new_seq_no: 1, restarts_rpt_seq: random.bool() };
        let mid_session = random.bool();
        DayOptions {
            seed,
            packets,
            messages_per_packet_max: random.usize(1..5),
            // RptSeq does not reveal that a message which empties all books of the channel was lost on both
            // lines.
            empty_book: if self.0.has_rpt_seq { 0.0 } else { 0.005 },
            has_status: random.bool(),
            heartbeats: [Heartbeats::None, Heartbeats::Numbered][random.usize(0..2)],
            day_changes: vec![change; random.usize(0..3)],
            mid_session,
            first_seq_num: if mid_session { 1_000_000 } else { 1 },
            ..self.0.clone()
        }
    }
}
