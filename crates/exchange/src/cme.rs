//! The cme feed: updates of price levels, trades and statistics, and snapshots of whole books.

use crate::depth::{DepthEntry, DepthMarket, DepthTarget, ENTRIES_OF_EVENT_MAX};
use crate::draft::{DraftValue, MessageDraft};
use crate::error::ExchangeError;
use crate::fix::{self, EntryFields};
use crate::market::MarketProfile;
use crate::options::CmeShape;
use crate::source::{EntryRoom, FeedSource, SourceMessage};
use crate::truth::TrueBook;
use fastrand::Rng;
use std::ops::RangeInclusive;
use tickwire_feed::book::{Amount, Level, Side};

const SENDER: &str = "Test Exchange";
const SECURITY_ID_SOURCE: u64 = 8;
const TRADE_DATE: u64 = 20_120_403;
const TRADING_SESSION: &str = "2";
/// MDBookType: price levels.
const BOOK_TYPE: u64 = 2;
/// Published price levels per side.
const DEPTH: usize = 10;
/// Exponent of all prices.
const EXPONENT: i32 = -2;
/// Number of events per security before the feed begins, for a session in progress.
const EVENTS_BEFORE: u32 = 300;
/// Distribution of the entries per message: of 1,000 messages, this many have a number of entries
/// in the range. The mean is 4.83, the maximum 116.
const ENTRIES: [(usize, RangeInclusive<usize>); 9] = [
    (214, 1..=1),
    (260, 2..=2),
    (110, 3..=3),
    (150, 4..=4),
    (60, 5..=5),
    (60, 6..=6),
    (96, 7..=12),
    (40, 13..=30),
    (10, 31..=116),
];

#[derive(Debug)]
pub(crate) struct Cme {
    depth: DepthMarket,
    shape: CmeShape,
    entries_sure: usize,
    /// Ranges of [`ENTRIES`] for the next messages, shuffled, so that the mix of every 1,000
    /// messages is about the same.
    deck: Vec<RangeInclusive<usize>>,
}

impl Cme {
    pub(crate) fn new(securities: u32, seed: u64, shape: CmeShape, mid_session: bool) -> Self {
        let profile = MarketProfile {
            securities,
            // SecurityIDs need three bytes on the wire.
            first_id: 20_000,
            id_step: 7,
            depth: DEPTH,
            price_ticks: 5_000..=40_000,
            tick: 25,
            exponent: |_| EXPONENT,
            lots: shape.lots(),
            lot: 1,
        };
        let mut depth = DepthMarket::new(profile, seed);
        if mid_session {
            depth.begin_before(EVENTS_BEFORE, shape.rpt_seq_before());
        }
        Self { depth, shape, entries_sure: ENTRIES_OF_EVENT_MAX, deck: Vec::new() }
    }
}

impl CmeShape {
    /// Returns the range of order sizes.
    fn lots(self) -> RangeInclusive<u32> {
        match self {
            Self::Average => 1..=32,
            Self::Channel9 | Self::Channel11 => 1..=60,
        }
    }

    /// Returns the range of RptSeq increments before the feed begins, for a session in progress:
    /// two bytes on the wire, three on channel 9.
    fn rpt_seq_before(self) -> RangeInclusive<u64> {
        match self {
            Self::Average | Self::Channel11 => 300..=9_000,
            Self::Channel9 => 20_000..=200_000,
        }
    }

    fn split_percent(self) -> u8 {
        match self {
            Self::Average => 30,
            // Options: each entry concerns another security.
            Self::Channel9 => 100,
            Self::Channel11 => 0,
        }
    }
}

/// Draws the number of entries of the next message from [`ENTRIES`].
fn draw(deck: &mut Vec<RangeInclusive<usize>>, random: &mut Rng) -> usize {
    if deck.is_empty() {
        let ranges = ENTRIES.iter();
        deck.extend(ranges.flat_map(|(count, range)| vec![range.clone(); *count]));
        random.shuffle(deck);
    }
    deck.pop().map_or(1, |range| random.usize(range))
}

/// Returns a time of day as digits in FIX form, HHMMSSmmm.
fn clock(time_ms: u64) -> u64 {
    let (seconds, ms) = (time_ms / 1_000, time_ms % 1_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    ((hours * 100 + minutes) * 100 + seconds) * 1_000 + ms
}

/// Returns SendingTime, YYYYMMDDHHMMSSmmm.
fn sending_time(time_ms: u64) -> u64 {
    TRADE_DATE * 1_000_000_000 + clock(time_ms)
}

/// Returns the common first fields of all messages. MsgSeqNum is set when the packet is known.
fn header(message_type: &'static str, time_ms: u64) -> Vec<DraftValue> {
    vec![
        DraftValue::Text("9"),
        DraftValue::Text(message_type),
        DraftValue::Text(SENDER),
        DraftValue::UInt(0),
        DraftValue::UInt(sending_time(time_ms)),
        DraftValue::Absent,
    ]
}

fn incremental(entries: &[DepthEntry], time_ms: u64) -> MessageDraft {
    let mut fields = header("X", time_ms);
    let time = clock(time_ms);
    let entries = entries.iter().map(|entry| md_entry(entry, time)).collect();
    fields.extend([DraftValue::UInt(TRADE_DATE), DraftValue::Sequence(entries)]);
    MessageDraft { template: "MDIncrementalRefresh", fields }
}

fn md_entry(entry: &DepthEntry, time: u64) -> Vec<DraftValue> {
    let parts = EntryFields::of(&entry.change);
    let price_of = |mantissa| DraftValue::Decimal(mantissa, entry.exponent);
    vec![
        DraftValue::UInt(parts.action),
        fix::optional(parts.level),
        DraftValue::Text(parts.entry_type),
        DraftValue::UInt(SECURITY_ID_SOURCE),
        DraftValue::UInt(entry.security.into()),
        DraftValue::UInt(entry.rpt_seq),
        price_of(parts.price),
        DraftValue::UInt(time),
        fix::optional_size(parts.size),
        fix::optional(parts.orders),
        DraftValue::Text(TRADING_SESSION),
        price_of(entry.net_change).when(parts.is_trade()),
        fix::optional(parts.volume),
        parts.tick.map_or(DraftValue::Absent, DraftValue::Text),
        DraftValue::Absent,
        fix::optional(parts.aggressor),
        DraftValue::Text("1"),
    ]
}

/// Returns the snapshot of a book. `last_seq_num` is the last packet of updates in it, `count` the
/// number of books.
fn snapshot(book: &TrueBook, last_seq_num: u64, count: usize, time_ms: u64) -> MessageDraft {
    let mut fields = header("W", time_ms);
    let entries = Side::ALL.iter().flat_map(|&side| {
        let levels = (1..).zip(book.levels(side));
        levels.map(move |(number, level)| snapshot_entry(side, number, level))
    });
    fields.extend([
        DraftValue::UInt(last_seq_num),
        DraftValue::UInt(count as u64),
        DraftValue::UInt(TRADE_DATE),
        DraftValue::UInt(SECURITY_ID_SOURCE),
        DraftValue::UInt(book.security.into()),
        DraftValue::UInt(book.rpt_seq),
        DraftValue::UInt(BOOK_TYPE),
        DraftValue::Sequence(entries.collect()),
    ]);
    MessageDraft { template: "MDSnapshotFullRefresh", fields }
}

fn snapshot_entry(side: Side, number: u64, level: &Level) -> Vec<DraftValue> {
    vec![
        DraftValue::Text(fix::entry_type(side)),
        DraftValue::Decimal(level.price.mantissa, level.price.exponent),
        DraftValue::Int(level.size.mantissa),
        fix::optional(level.orders.map(u64::from)),
        DraftValue::UInt(number),
        DraftValue::Text(TRADING_SESSION),
    ]
}

impl FeedSource for Cme {
    fn next(&mut self, room: &mut EntryRoom<'_>) -> Result<SourceMessage, ExchangeError> {
        self.depth.market.advance(3);
        let market = &mut self.depth.market;
        let time_ms = market.time_ms;
        let entries = match self.shape {
            CmeShape::Average => draw(&mut self.deck, &mut market.random),
            CmeShape::Channel9 => 4,
            CmeShape::Channel11 => 1,
        };
        let wanted = DepthTarget {
            entries,
            entries_sure: self.entries_sure,
            split_percent: self.shape.split_percent(),
        };
        let entries = self.depth.entries(wanted, |entries| room(&incremental(entries, time_ms)))?;
        let draft = incremental(entries, time_ms);
        Ok(SourceMessage { draft, books: self.depth.changed(), time_ms })
    }

    fn largest(&self) -> Vec<MessageDraft> {
        self.largest_with(ENTRIES_OF_EVENT_MAX)
    }

    fn largest_with(&self, entries: usize) -> Vec<MessageDraft> {
        let time_ms = self.depth.market.time_ms;
        DepthEntry::largest(entries).iter().map(|entries| incremental(entries, time_ms)).collect()
    }

    fn set_entries_sure(&mut self, entries: usize) {
        self.entries_sure = entries;
    }

    fn done(&self) -> Option<MessageDraft> {
        None
    }

    fn snapshot(&self, book: &TrueBook, last_seq_num: u64) -> Option<MessageDraft> {
        let market = &self.depth.market;
        Some(snapshot(book, last_seq_num, market.securities.len(), market.time_ms))
    }

    fn largest_snapshot(&self) -> Option<MessageDraft> {
        let level = |number: usize| {
            let sign = number as i64 % 2;
            Level {
                price: Amount { mantissa: sign * 100_000_000, exponent: EXPONENT },
                size: Amount::integer(sign * 1_000_000),
                orders: Some(1_000 * sign as u32),
            }
        };
        let levels: Vec<Level> = (1..=DEPTH).map(level).collect();
        let book = TrueBook {
            security: u32::MAX,
            rpt_seq: u32::MAX.into(),
            bids: levels.clone(),
            offers: levels,
        };
        self.snapshot(&book, u32::MAX.into())
    }

    fn books(&self) -> Vec<TrueBook> {
        self.depth.books()
    }

    fn time_ms(&self) -> u64 {
        self.depth.market.time_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_a_message_are_4_8_on_average() {
        let count: usize = ENTRIES.iter().map(|(count, _)| count).sum();
        let twice = ENTRIES.iter().map(|(count, range)| count * (range.start() + range.end()));
        let mean = twice.sum::<usize>() as f64 / 2.0 / count as f64;
        assert!((mean - 4.828).abs() < 0.01, "{mean}");
    }

    #[test]
    fn times_are_written_in_digits() {
        assert_eq!(clock(0), 0);
        assert_eq!(clock(86_399_999), 235_959_999);
        assert_eq!(sending_time(34_200_001), 20_120_403_093_000_001);
    }
}
