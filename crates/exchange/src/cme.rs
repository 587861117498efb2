//! The cme feed: updates of price levels, trades and statistics, and snapshots of whole books.

use crate::depth::{DepthMarket, ENTRIES_OF_EVENT_MAX, Entry, Wanted};
use crate::draft::{Draft, Value};
use crate::error::Error;
use crate::fix::{self, Parts};
use crate::market::Profile;
use crate::options::CmeShape;
use crate::source::{Made, Room, Source};
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
        let profile = Profile {
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
fn header(message_type: &'static str, time_ms: u64) -> Vec<Value> {
    vec![
        Value::Text("9"),
        Value::Text(message_type),
        Value::Text(SENDER),
        Value::UInt(0),
        Value::UInt(sending_time(time_ms)),
        Value::Absent,
    ]
}

fn incremental(entries: &[Entry], time_ms: u64) -> Draft {
    let mut fields = header("X", time_ms);
    let time = clock(time_ms);
    let entries = entries.iter().map(|entry| md_entry(entry, time)).collect();
    fields.extend([Value::UInt(TRADE_DATE), Value::Sequence(entries)]);
    Draft { template: "MDIncrementalRefresh", fields }
}

fn md_entry(entry: &Entry, time: u64) -> Vec<Value> {
    let parts = Parts::of(&entry.change);
    let price_of = |mantissa| Value::Decimal(mantissa, entry.exponent);
    vec![
        Value::UInt(parts.action),
        fix::optional(parts.level),
        Value::Text(parts.entry_type),
        Value::UInt(SECURITY_ID_SOURCE),
        Value::UInt(entry.security.into()),
        Value::UInt(entry.rpt_seq),
        price_of(parts.price),
        Value::UInt(time),
        fix::optional_size(parts.size),
        fix::optional(parts.orders),
        Value::Text(TRADING_SESSION),
        price_of(entry.net_change).when(parts.is_trade()),
        fix::optional(parts.volume),
        parts.tick.map_or(Value::Absent, Value::Text),
        Value::Absent,
        fix::optional(parts.aggressor),
        Value::Text("1"),
    ]
}

/// Returns the snapshot of a book. `last_seq_num` is the last packet of updates in it, `count` the
/// number of books.
fn snapshot(book: &TrueBook, last_seq_num: u64, count: usize, time_ms: u64) -> Draft {
    let mut fields = header("W", time_ms);
    let entries = Side::ALL.iter().flat_map(|&side| {
        let levels = (1..).zip(book.levels(side));
        levels.map(move |(number, level)| snapshot_entry(side, number, level))
    });
    fields.extend([
        Value::UInt(last_seq_num),
        Value::UInt(count as u64),
        Value::UInt(TRADE_DATE),
        Value::UInt(SECURITY_ID_SOURCE),
        Value::UInt(book.security.into()),
        Value::UInt(book.rpt_seq),
        Value::UInt(BOOK_TYPE),
        Value::Sequence(entries.collect()),
    ]);
    Draft { template: "MDSnapshotFullRefresh", fields }
}

fn snapshot_entry(side: Side, number: u64, level: &Level) -> Vec<Value> {
    vec![
        Value::Text(fix::entry_type(side)),
        Value::Decimal(level.price.mantissa, level.price.exponent),
        Value::Int(level.size.mantissa),
        fix::optional(level.orders.map(u64::from)),
        Value::UInt(number),
        Value::Text(TRADING_SESSION),
    ]
}

impl Source for Cme {
    fn next(&mut self, room: &mut Room<'_>) -> Result<Made, Error> {
        self.depth.market.advance(3);
        let market = &mut self.depth.market;
        let time_ms = market.time_ms;
        let entries = match self.shape {
            CmeShape::Average => draw(&mut self.deck, &mut market.random),
            CmeShape::Channel9 => 4,
            CmeShape::Channel11 => 1,
        };
        let wanted = Wanted {
            entries,
            entries_sure: self.entries_sure,
            split_percent: self.shape.split_percent(),
        };
        let entries = self.depth.entries(wanted, |entries| room(&incremental(entries, time_ms)))?;
        let draft = incremental(entries, time_ms);
        Ok(Made { draft, books: self.depth.changed(), time_ms })
    }

    fn largest(&self) -> Vec<Draft> {
        self.largest_with(ENTRIES_OF_EVENT_MAX)
    }

    fn largest_with(&self, entries: usize) -> Vec<Draft> {
        let time_ms = self.depth.market.time_ms;
        Entry::largest(entries).iter().map(|entries| incremental(entries, time_ms)).collect()
    }

    fn set_entries_sure(&mut self, entries: usize) {
        self.entries_sure = entries;
    }

    fn done(&self) -> Option<Draft> {
        None
    }

    fn snapshot(&self, book: &TrueBook, last_seq_num: u64) -> Option<Draft> {
        let market = &self.depth.market;
        Some(snapshot(book, last_seq_num, market.securities.len(), market.time_ms))
    }

    fn largest_snapshot(&self) -> Option<Draft> {
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
