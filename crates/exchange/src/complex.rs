//! The complex feed: FIX market data with several entries per message, and quote requests.

use crate::depth::{DepthEntry, DepthMarket, DepthTarget, ENTRIES_OF_EVENT_MAX};
use crate::draft::{DraftValue, MessageDraft};
use crate::error::ExchangeError;
use crate::fix::{self, EntryFields};
use crate::market::MarketProfile;
use crate::source::{EntryRoom, FeedSource, SourceMessage};
use crate::truth::TrueBook;

const SENDER: &str = "Test Exchange";
const SECURITY_ID_SOURCE: u64 = 9;
const TRADE_DATE: u64 = 20_100_209;
const TRADING_SESSION: &str = "2";
/// Published price levels per side.
const DEPTH: usize = 5;
/// Percentage of messages that are quote requests.
const QUOTE_REQUEST_PERCENT: u8 = 1;
const QUOTE_REQUEST_IDS: [&str; 4] = ["RFQ-1", "RFQ-22", "RFQ-333", "RFQ-4444"];
const RELATED_SYMBOLS_MAX: usize = 3;
/// Percentage of events that concern another security than the event before. A message of three
/// entries then covers 1.4 securities on average.
const SPLIT_PERCENT: u8 = 22;

/// Returns the message that ends the feed.
fn done() -> MessageDraft {
    MessageDraft { template: "Done", fields: vec![DraftValue::Text("99")] }
}

#[derive(Debug)]
pub(crate) struct Complex {
    depth: DepthMarket,
    entries_mean: usize,
    entries_sure: usize,
    split_percent: u8,
}

impl Complex {
    pub(crate) fn new(securities: u32, seed: u64, entries_mean: u32, split: bool) -> Self {
        let profile = MarketProfile {
            securities,
            first_id: 1,
            id_step: 1,
            depth: DEPTH,
            price_ticks: 5_000..=200_000,
            tick: 1,
            // A tenth of the securities have prices in hundredths.
            exponent: |index| if index % 10 == 9 { -2 } else { 0 },
            lots: 1..=100,
            lot: 1,
        };
        Self {
            depth: DepthMarket::new(profile, seed),
            entries_mean: entries_mean as usize,
            entries_sure: ENTRIES_OF_EVENT_MAX,
            split_percent: if split { SPLIT_PERCENT } else { 0 },
        }
    }

    fn market_data(&mut self, room: &mut EntryRoom<'_>) -> Result<SourceMessage, ExchangeError> {
        let market = &mut self.depth.market;
        let time_ms = market.time_ms;
        let wanted = DepthTarget {
            entries: market.random.usize(1..2 * self.entries_mean),
            entries_sure: self.entries_sure,
            split_percent: self.split_percent,
        };
        let entries = self.depth.entries(wanted, |entries| room(&market_data(entries, time_ms)))?;
        let draft = market_data(entries, time_ms);
        Ok(SourceMessage { draft, books: self.depth.changed(), time_ms })
    }

    fn quote_request(&mut self) -> SourceMessage {
        let market = &mut self.depth.market;
        let time_ms = market.time_ms;
        let count = market.random.usize(1..=RELATED_SYMBOLS_MAX);
        let security = market.any_security();
        let mut symbols = Vec::with_capacity(count);
        for _ in 0..count {
            let security = if self.split_percent == 0 { security } else { market.any_security() };
            let id = market.securities[security].id;
            let quantity = market.random.u64(0..1_000);
            let side = market.random.u64(1..=2);
            symbols.push(related_symbol(id, quantity, side, time_ms));
        }
        let request = market.random.usize(0..=QUOTE_REQUEST_IDS.len());
        let request = QUOTE_REQUEST_IDS.get(request).copied();
        SourceMessage {
            draft: quote_request(request, symbols, time_ms),
            books: Vec::new(),
            time_ms,
        }
    }
}

/// Returns the message with these entries. Its MsgSeqNum is set when its packet is known.
fn market_data(entries: &[DepthEntry], time_ms: u64) -> MessageDraft {
    let entries = entries.iter().map(|entry| md_entry(entry, time_ms)).collect();
    let fields = vec![
        DraftValue::Text("1.0"),
        DraftValue::Text("X"),
        DraftValue::Text(SENDER),
        DraftValue::UInt(0),
        DraftValue::UInt(time_ms),
        DraftValue::UInt(TRADE_DATE),
        DraftValue::Sequence(entries),
    ];
    MessageDraft { template: "MarketData", fields }
}

fn md_entry(entry: &DepthEntry, time_ms: u64) -> Vec<DraftValue> {
    let parts = EntryFields::of(&entry.change);
    let is_trade = parts.is_trade();
    let price_of = |mantissa| DraftValue::Decimal(mantissa, entry.exponent);
    vec![
        DraftValue::UInt(parts.action),
        fix::optional(parts.level),
        DraftValue::Text(parts.entry_type),
        DraftValue::UInt(4).when(is_trade),
        DraftValue::UInt(SECURITY_ID_SOURCE),
        DraftValue::UInt(entry.security.into()),
        DraftValue::UInt(entry.rpt_seq),
        price_of(parts.price),
        DraftValue::UInt(time_ms),
        fix::optional_size(parts.size),
        fix::optional(parts.orders),
        DraftValue::Text(TRADING_SESSION),
        price_of(entry.net_change).when(is_trade),
        fix::optional(parts.volume),
        DraftValue::Text("W").when(parts.aggressor == Some(1)),
        parts.tick.map_or(DraftValue::Absent, DraftValue::Text),
        DraftValue::Text("C").when(parts.level == Some(1)),
        fix::optional(parts.aggressor),
        DraftValue::Text("1"),
    ]
}

fn quote_request(
    request: Option<&'static str>,
    symbols: Vec<Vec<DraftValue>>,
    time_ms: u64,
) -> MessageDraft {
    let fields = vec![
        DraftValue::Text("1.0"),
        DraftValue::Text("R"),
        DraftValue::Text(SENDER),
        DraftValue::UInt(0),
        DraftValue::UInt(time_ms),
        request.map_or(DraftValue::Absent, DraftValue::Text),
        DraftValue::Sequence(symbols),
    ];
    MessageDraft { template: "QuoteRequest", fields }
}

fn related_symbol(security: u32, quantity: u64, side: u64, time_ms: u64) -> Vec<DraftValue> {
    vec![
        DraftValue::Text("[N/A]"),
        DraftValue::UInt(quantity).when(quantity > 0),
        DraftValue::UInt(side),
        DraftValue::UInt(time_ms),
        DraftValue::UInt(1),
        DraftValue::UInt(security.into()),
        DraftValue::UInt(SECURITY_ID_SOURCE),
    ]
}

impl FeedSource for Complex {
    fn next(&mut self, room: &mut EntryRoom<'_>) -> Result<SourceMessage, ExchangeError> {
        self.depth.market.advance(4);
        match self.depth.market.random.u8(0..100) {
            0..QUOTE_REQUEST_PERCENT => Ok(self.quote_request()),
            _ => self.market_data(room),
        }
    }

    fn largest(&self) -> Vec<MessageDraft> {
        let time_ms = u32::MAX.into();
        let symbol = || related_symbol(u32::MAX, 1_000, 2, time_ms);
        let symbols = (0..RELATED_SYMBOLS_MAX).map(|_| symbol()).collect();
        let mut drafts =
            vec![done(), quote_request(QUOTE_REQUEST_IDS.last().copied(), symbols, time_ms)];
        drafts.extend(self.largest_with(ENTRIES_OF_EVENT_MAX));
        drafts
    }

    fn largest_with(&self, entries: usize) -> Vec<MessageDraft> {
        let time_ms = u32::MAX.into();
        DepthEntry::largest(entries).iter().map(|entries| market_data(entries, time_ms)).collect()
    }

    fn set_entries_sure(&mut self, entries: usize) {
        self.entries_sure = entries;
    }

    fn done(&self) -> Option<MessageDraft> {
        Some(done())
    }

    fn books(&self) -> Vec<TrueBook> {
        self.depth.books()
    }

    fn time_ms(&self) -> u64 {
        self.depth.market.time_ms
    }
}
