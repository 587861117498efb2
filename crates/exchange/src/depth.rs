//! Feeds of price levels: market data with several entries per message.

use crate::error::ExchangeError;
use crate::market::{
    DepthAction, DepthChange, Market, MarketChange, MarketProfile, Security, Tick,
};
use crate::truth::TrueBook;
use std::ops::RangeInclusive;
use tickwire_feed::book::Side;

/// Maximum number of entries for one event.
pub(crate) const ENTRIES_OF_EVENT_MAX: usize = 2;

/// One MDEntry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DepthEntry {
    pub(crate) security: u32,
    pub(crate) exponent: i32,
    pub(crate) rpt_seq: u64,
    /// Difference between the price and the previous day's close, as a mantissa.
    pub(crate) net_change: i64,
    pub(crate) change: DepthChange,
}

/// Upper bound of all prices, as a mantissa.
const PRICE_MAX: i64 = 100_000_000;
/// Upper bound of all sizes of a level.
const SIZE_MAX: u32 = 1_000_000;

impl DepthEntry {
    /// Returns entries that are at least as long as any others, whatever precedes them: levels, and
    /// trades. Values alternate between the smallest and the greatest.
    pub(crate) fn largest(count: usize) -> [Vec<Self>; 2] {
        let level = |price, size| DepthChange::Level {
            action: DepthAction::New,
            side: Side::Offer,
            level: 1_000,
            price,
            size: u64::from(size),
            orders: 1_000 * (size % 2),
        };
        let trade = |price, size| DepthChange::Trade {
            aggressor: Side::Bid,
            price,
            size,
            tick: Tick::Down,
            volume: u64::MAX,
        };
        let entries = |change: &dyn Fn(i64, u32) -> DepthChange| {
            let entry = |index: usize| {
                let (price, size, sign) = match index % 2 {
                    0 => (PRICE_MAX, SIZE_MAX + 1, 1),
                    _ => (1, 2, -1),
                };
                Self {
                    security: u32::MAX >> (index % 2),
                    exponent: -2,
                    rpt_seq: u64::from(u32::MAX >> (index % 2)),
                    net_change: sign * PRICE_MAX,
                    change: change(price, size),
                }
            };
            (0..count).map(entry).collect()
        };
        [entries(&level), entries(&trade)]
    }
}

/// The desired length of a message and mix of its securities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DepthTarget {
    /// Desired number of entries, if they fit.
    pub(crate) entries: usize,
    /// Number of entries that fit in any case, whatever their values.
    pub(crate) entries_sure: usize,
    /// Percentage of events that concern another security than the event before.
    pub(crate) split_percent: u8,
}

/// The market, with events in the form of a feed of price levels.
#[derive(Debug)]
pub(crate) struct DepthMarket {
    pub(crate) market: Market,
    changes: Vec<MarketChange>,
    entries: Vec<DepthEntry>,
    /// Indices of the securities in the entries.
    touched: Vec<usize>,
}

impl DepthMarket {
    pub(crate) fn new(profile: MarketProfile, seed: u64) -> Self {
        let market = Market::new(profile, seed);
        Self { market, changes: Vec::new(), entries: Vec::new(), touched: Vec::new() }
    }

    /// Simulates events until there are as many entries as wanted, or as many as fit; at least one
    /// event. `room` returns the number of further entries that certainly fit, or `None` if the
    /// given ones do not fit.
    pub(crate) fn entries(
        &mut self,
        wanted: DepthTarget,
        mut room: impl FnMut(&[DepthEntry]) -> Result<Option<usize>, ExchangeError>,
    ) -> Result<&[DepthEntry], ExchangeError> {
        self.entries.clear();
        self.touched.clear();
        let mut index = self.market.any_security();
        let mut entries_sure = wanted.entries_sure;
        while self.entries.len() < wanted.entries {
            let before = self.entries.len();
            let may_switch = before > 0 && !self.market.securities[index].is_trading();
            if may_switch && self.market.random.u8(0..100) < wanted.split_percent {
                index = self.market.any_security();
            }
            let is_sure = before == 0 || before + ENTRIES_OF_EVENT_MAX <= entries_sure;
            let saved = (!is_sure).then(|| self.market.securities[index].clone());
            self.act(index, wanted.entries - before);
            if self.entries.len() == before {
                continue;
            }
            if let Some(saved) = saved {
                let Some(more) = room(&self.entries)? else {
                    self.market.securities[index] = saved;
                    self.entries.truncate(before);
                    break;
                };
                entries_sure = self.entries.len() + more;
            }
            self.touched.push(index);
        }
        Ok(&self.entries)
    }

    /// Simulates the session up to the feed's start: `events` events for each security, whose
    /// RptSeq then advances by a random number in `rpt_seq`.
    pub(crate) fn begin_before(&mut self, events: u32, rpt_seq: RangeInclusive<u64>) {
        for index in 0..self.market.securities.len() {
            for _ in 0..events {
                self.entries.clear();
                self.act(index, ENTRIES_OF_EVENT_MAX);
            }
            let further = self.market.random.u64(rpt_seq.clone());
            self.market.securities[index].rpt_seq += further;
        }
    }

    /// Simulates an event of a security and adds its entries.
    fn act(&mut self, index: usize, entries_max: usize) {
        let Market { random, profile, securities, order_id, .. } = &mut self.market;
        let security = &mut securities[index];
        self.changes.clear();
        security.act(profile, random, order_id, entries_max, &mut self.changes);
        for &change in &self.changes {
            let MarketChange::Depth(change) = change else { continue };
            security.rpt_seq += 1;
            self.entries.push(DepthEntry {
                security: security.id,
                exponent: security.exponent,
                rpt_seq: security.rpt_seq,
                net_change: security.net_change(change.price()),
                change,
            });
        }
    }

    /// Returns the books of the securities in the last entries.
    pub(crate) fn changed(&mut self) -> Vec<TrueBook> {
        self.touched.sort_unstable();
        self.touched.dedup();
        let securities = &self.market.securities;
        self.touched.iter().map(|index| securities[*index].true_book()).collect()
    }

    /// Returns all books.
    pub(crate) fn books(&self) -> Vec<TrueBook> {
        self.market.securities.iter().map(Security::true_book).collect()
    }
}
