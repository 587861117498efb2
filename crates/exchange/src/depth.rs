//! Feeds of price levels: entries of market data, several a message.

use crate::error::Error;
use crate::market::{Change, DepthChange, LevelAction, Market, Profile, Security, Tick};
use crate::truth::TrueBook;
use std::ops::RangeInclusive;
use tickwire_feed::book::Side;

/// Most entries that one thing that happens is told in.
pub(crate) const ENTRIES_OF_EVENT_MAX: usize = 2;

/// One MDEntry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) security: u32,
    pub(crate) exponent: i32,
    pub(crate) rpt_seq: u64,
    /// What the price is above the close of the day before, as a mantissa.
    pub(crate) net_change: i64,
    pub(crate) change: DepthChange,
}

/// Above every price, as a mantissa.
const PRICE_MAX: i64 = 100_000_000;
/// Above every size of a level.
const SIZE_MAX: u32 = 1_000_000;

impl Entry {
    /// Entries that take more bytes than any others, whatever stands before them: levels, and
    /// trades. Values jump from the least to the greatest.
    pub(crate) fn largest(count: usize) -> [Vec<Self>; 2] {
        let level = |price, size| DepthChange::Level {
            action: LevelAction::New,
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

/// How long a message may become, and which securities it tells of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Entries, if they fit.
    pub(crate) entries: usize,
    /// So many entries fit for certain.
    pub(crate) entries_sure: usize,
    /// In a hundred things that happen, so many are about another security than the one before.
    pub(crate) split_percent: u8,
}

/// The market as a feed of price levels tells it.
#[derive(Debug)]
pub(crate) struct DepthMarket {
    pub(crate) market: Market,
    changes: Vec<Change>,
    entries: Vec<Entry>,
    /// Indices of the securities that the entries tell of.
    touched: Vec<usize>,
}

impl DepthMarket {
    pub(crate) fn new(profile: Profile, seed: u64) -> Self {
        let market = Market::new(profile, seed);
        Self { market, changes: Vec::new(), entries: Vec::new(), touched: Vec::new() }
    }

    /// Lets things happen until there are as many entries as wanted, or as many as fit. At least
    /// one thing is told whatever `room` says: how many more entries fit for certain, `None` if these
    /// do not.
    pub(crate) fn entries(
        &mut self,
        wanted: Wanted,
        mut room: impl FnMut(&[Entry]) -> Result<Option<usize>, Error>,
    ) -> Result<&[Entry], Error> {
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

    /// Lets a session go on before it is told of: so much happens to each security, and its RptSeq
    /// goes further by a number of `rpt_seq`.
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

    /// Lets something happen to a security and adds the entries that tell it.
    fn act(&mut self, index: usize, entries_max: usize) {
        let Market { random, profile, securities, order_id, .. } = &mut self.market;
        let security = &mut securities[index];
        self.changes.clear();
        security.act(profile, random, order_id, entries_max, &mut self.changes);
        for &change in &self.changes {
            let Change::Depth(change) = change else { continue };
            security.rpt_seq += 1;
            self.entries.push(Entry {
                security: security.id,
                exponent: security.exponent,
                rpt_seq: security.rpt_seq,
                net_change: security.net_change(change.price()),
                change,
            });
        }
    }

    /// The books of the securities that the last entries tell of.
    pub(crate) fn changed(&mut self) -> Vec<TrueBook> {
        self.touched.sort_unstable();
        self.touched.dedup();
        let securities = &self.market.securities;
        self.touched.iter().map(|index| securities[*index].true_book()).collect()
    }

    /// All books.
    pub(crate) fn books(&self) -> Vec<TrueBook> {
        self.market.securities.iter().map(Security::true_book).collect()
    }
}
