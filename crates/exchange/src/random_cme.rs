//! Market data with values of unpredictable lengths, for benchmarks: no branch predictor can learn
//! it.
//!
//! The values form no books.

use crate::draft::{DraftValue, MessageDraft};
use crate::error::ExchangeError;
use crate::source::{EntryRoom, FeedSource, SourceMessage};
use crate::truth::TrueBook;
use fastrand::Rng;

const SENDER: &str = "Test Exchange";
const SECURITY_ID_SOURCE: u64 = 9;
const TRADE_DATE: u64 = 20_120_403;
/// Maximum number of entries per message.
const ENTRIES_MAX: usize = 12;
/// Probability in 1/1000 that another entry follows an entry: 2.9 entries on average.
const ANOTHER_PERMILLE: u32 = 657;
const TRADE_PERCENT: u8 = 12;
/// Upper bound of prices, as mantissas.
const PRICE_END: i64 = 1 << 31;
/// Microseconds since 1970, 3 April 2012, 09:30.
const OPENING_US: u64 = 1_333_445_400_000_000;

/// A source of random market data.
#[derive(Debug)]
pub(crate) struct RandomCme {
    random: Rng,
    time_us: u64,
    security: u64,
    rpt_seq: u64,
    price: i64,
}

impl RandomCme {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Rng::with_seed(seed);
        Self { random, time_us: OPENING_US, security: 1, rpt_seq: 0, price: 100_000 }
    }

    /// Returns a number of 0 to `bits_max` bits; each number of bits is equally likely.
    fn of_bits(&mut self, bits_max: u32) -> u64 {
        let bits = self.random.u32(0..=bits_max);
        self.random.u64(0..1 << bits)
    }

    fn percent(&mut self, percent: u8) -> bool {
        self.random.u8(0..100) < percent
    }

    fn entry_count(&mut self) -> usize {
        let mut count = 1;
        while count < ENTRIES_MAX && self.random.u32(0..1_000) < ANOTHER_PERMILLE {
            count += 1;
        }
        count
    }

    fn walk(&mut self) {
        if self.percent(45) {
            self.security = 1 + self.of_bits(17);
            self.rpt_seq = self.of_bits(21);
        }
        self.rpt_seq += if self.percent(85) { 1 } else { 1 + self.of_bits(7) };
        let step = self.of_bits(16) as i64;
        let step = if self.random.bool() { step } else { -step };
        self.price = (self.price + step).clamp(1, PRICE_END - 1);
    }

    fn entry(&mut self) -> Vec<DraftValue> {
        self.walk();
        let is_trade = self.percent(TRADE_PERCENT);
        let action = self.random.u64(0..=2);
        let level = self.random.u64(1..=10);
        let entry_type = match self.random.u8(0..2) {
            _ if is_trade => "2",
            0 => "0",
            _ => "1",
        };
        let time = self.time_us / 1_000 % 86_400_000;
        let has_size = is_trade || action != 2;
        let (size, orders) = (self.of_bits(14) as i64, self.of_bits(8));
        let net_change = self.of_bits(14) as i64 - (1 << 13);
        let volume = self.of_bits(24);
        let exponent = if self.percent(10) { -2 } else { 0 };
        vec![
            DraftValue::UInt(action),
            DraftValue::UInt(level).when(!is_trade),
            DraftValue::Text(entry_type),
            DraftValue::UInt(self.random.u64(0..=5)).when(self.percent(10)),
            DraftValue::UInt(SECURITY_ID_SOURCE),
            DraftValue::UInt(self.security),
            DraftValue::UInt(self.rpt_seq),
            DraftValue::Decimal(self.price, exponent),
            DraftValue::UInt(time),
            DraftValue::Int(size).when(has_size),
            DraftValue::UInt(orders).when(has_size && !is_trade),
            DraftValue::Text("2").when(!self.percent(3)),
            DraftValue::Decimal(net_change, 0).when(is_trade),
            DraftValue::UInt(volume).when(is_trade),
            DraftValue::Text("W").when(is_trade && self.percent(30)),
            DraftValue::Text(["0", "1", "2"][self.random.usize(0..3)]).when(is_trade),
            DraftValue::Text("C").when(self.percent(15)),
            DraftValue::UInt(self.random.u64(1..=2)).when(is_trade),
            DraftValue::Text("1").when(!self.percent(3)),
        ]
    }
}

/// Returns the message with these entries. Its MsgSeqNum is set when its packet is known.
fn market_data(entries: Vec<Vec<DraftValue>>, time_us: u64) -> MessageDraft {
    let fields = vec![
        DraftValue::Text("1.0"),
        DraftValue::Text("X"),
        DraftValue::Text(SENDER),
        DraftValue::UInt(0),
        DraftValue::UInt(time_us),
        DraftValue::UInt(TRADE_DATE),
        DraftValue::Sequence(entries),
    ];
    MessageDraft { template: "MarketData", fields }
}

/// Returns an entry of the maximum length, whatever precedes it: values alternate between least and
/// greatest.
fn largest_entry(index: usize) -> Vec<DraftValue> {
    let number = |bits: u32| DraftValue::UInt((1 << bits) >> (index % 2));
    let sign = 1 - 2 * (index as i64 % 2);
    vec![
        DraftValue::UInt(index as u64 % 2),
        number(4),
        DraftValue::Text(["0", "1"][index % 2]),
        number(3),
        DraftValue::UInt(SECURITY_ID_SOURCE),
        number(18),
        number(31),
        DraftValue::Decimal(if sign > 0 { PRICE_END } else { 0 }, -2),
        number(27),
        DraftValue::Int(sign << 15),
        DraftValue::UInt((1 << 9) * (index as u64 % 2)),
        DraftValue::Absent,
        DraftValue::Decimal(sign << 15, 0),
        number(25),
        DraftValue::Text("W"),
        DraftValue::Text("2"),
        DraftValue::Text("C"),
        DraftValue::UInt(2),
        DraftValue::Absent,
    ]
}

impl FeedSource for RandomCme {
    fn next(&mut self, _: &mut EntryRoom<'_>) -> Result<SourceMessage, ExchangeError> {
        self.time_us += self.of_bits(14);
        let entries = (0..self.entry_count()).map(|_| self.entry()).collect();
        let draft = market_data(entries, self.time_us);
        Ok(SourceMessage { draft, books: Vec::new(), time_ms: self.time_ms() })
    }

    fn largest(&self) -> Vec<MessageDraft> {
        vec![market_data((0..ENTRIES_MAX).map(largest_entry).collect(), self.time_us)]
    }

    fn done(&self) -> Option<MessageDraft> {
        None
    }

    fn books(&self) -> Vec<TrueBook> {
        Vec::new()
    }

    fn time_ms(&self) -> u64 {
        self.time_us / 1_000 % 86_400_000
    }
}
