//! One instrument of a day: its orders, implied levels, status, and its possible events.

use super::DayBookKind;
use crate::truth::TrueBook;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use tickwire_feed::book::{Amount, Level, Side};

/// Maximum number of orders on a side.
const SIDE_ORDERS_MAX: usize = 40;
/// A side with fewer orders than this receives new orders first.
const SIDE_ORDERS_MIN: usize = 3;
/// Maximum distance of new orders from the fair price, in ticks.
const DISTANCE_MAX: i64 = 14;
/// Bounds of the fair price, in ticks.
const FAIR: std::ops::RangeInclusive<i64> = 500..=3_000_000;
/// Implied levels per side that the feed publishes; there are never more.
pub(super) const IMPLIED_DEPTH: u32 = 2;
const SIZE_MAX: u64 = 500;

/// SecurityTradingStatus (326).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TradingStatus {
    /// 2: no events.
    Halt,
    /// 17.
    ReadyToTrade,
    /// 18.
    NotAvailable,
    /// 21: orders are collected; the book may be crossed.
    PreOpen,
}

impl TradingStatus {
    /// Returns the value of SecurityTradingStatus (326).
    pub const fn code(self) -> u32 {
        match self {
            Self::Halt => 2,
            Self::ReadyToTrade => 17,
            Self::NotAvailable => 18,
            Self::PreOpen => 21,
        }
    }
}

/// The change of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DayOrderChange {
    New,
    Change,
    Delete,
}

/// An order after a change; size 0 if it was removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderTold {
    pub(super) change: DayOrderChange,
    pub(super) side: Side,
    pub(super) id: u64,
    pub(super) price: i64,
    pub(super) size: u64,
}

/// A trade or a statistic, as one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarketEntry {
    /// MDEntryType (269).
    pub(super) entry_type: &'static str,
    /// Mantissa of MDEntryPx, if the entry has a price.
    pub(super) price: Option<i64>,
    /// MDEntrySize, if the entry has a size.
    pub(super) size: Option<u64>,
    /// TradeCondition (277).
    pub(super) condition: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
struct DayOrder {
    id: u64,
    size: u64,
}

/// Orders by price in ticks, oldest first.
type OrdersByPrice = BTreeMap<i64, Vec<DayOrder>>;

/// The identification of an instrument.
#[derive(Clone, Debug)]
pub(super) struct SecurityName {
    /// As handlers print it: SecurityID, or `SYMBOL:SESSION`.
    pub(super) text: String,
    pub(super) number: u32,
    pub(super) symbol: Arc<str>,
    pub(super) session: &'static str,
}

/// An instrument with its true book.
#[derive(Clone, Debug)]
pub(super) struct DaySecurity {
    pub(super) name: SecurityName,
    /// Levels per side that the feed publishes; `None` for all.
    pub(super) depth: Option<u32>,
    pub(super) exponent: i32,
    /// Mantissa of one tick.
    pub(super) tick: i64,
    pub(super) rpt_seq: u64,
    /// The last published status; `None` before the first one of the session.
    pub(super) status: Option<TradingStatus>,
    fair: i64,
    orders: [OrdersByPrice; 2],
    implied: [BTreeMap<i64, u64>; 2],
    has_order_counts: bool,
    /// Order changes since [`take_orders`](Self::take_orders).
    changed: Vec<OrderTold>,
    open: bool,
    high: Option<i64>,
    low: Option<i64>,
    volume: u64,
    pub(super) last_trade: Option<(Amount, Amount)>,
}

const fn index(side: Side) -> usize {
    match side {
        Side::Bid => 0,
        Side::Offer => 1,
    }
}

impl DaySecurity {
    pub(super) fn new(
        name: SecurityName,
        depth: Option<u32>,
        has_order_counts: bool,
        random: &mut Rng,
    ) -> Self {
        let (exponent, tick) = [(-2, 1), (-2, 25), (0, 5), (1, 1), (-4, 1)][random.usize(0..5)];
        Self {
            name,
            depth,
            exponent,
            tick,
            rpt_seq: 0,
            status: None,
            fair: random.i64(1_000..100_000),
            orders: Default::default(),
            implied: Default::default(),
            has_order_counts,
            changed: Vec::new(),
            open: false,
            high: None,
            low: None,
            volume: 0,
            last_trade: None,
        }
    }

    /// True if orders on both sides may cross without a trade.
    pub(super) fn is_auction(&self) -> bool {
        self.status == Some(TradingStatus::PreOpen)
    }

    /// True if the book can change.
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.status, Some(TradingStatus::Halt | TradingStatus::NotAvailable))
    }

    fn amount(&self, ticks: i64) -> Amount {
        Amount { mantissa: ticks * self.tick, exponent: self.exponent }
    }

    /// Returns all levels, including those beyond the published depth.
    pub(super) fn levels(&self, side: Side, kind: DayBookKind) -> Vec<Level> {
        let counts = self.has_order_counts;
        let outright = |(price, orders): (&i64, &Vec<DayOrder>)| Level {
            price: self.amount(*price),
            size: Amount::integer(orders.iter().map(|order| order.size).sum::<u64>() as i64),
            orders: counts.then_some(orders.len() as u32),
        };
        let implied = |(price, size): (&i64, &u64)| Level {
            price: self.amount(*price),
            size: Amount::integer(*size as i64),
            orders: None,
        };
        match (kind, side) {
            (DayBookKind::Outright, Side::Bid) => {
                self.orders[0].iter().rev().map(outright).collect()
            }
            (DayBookKind::Outright, Side::Offer) => self.orders[1].iter().map(outright).collect(),
            (DayBookKind::Implied, Side::Bid) => {
                self.implied[0].iter().rev().map(implied).collect()
            }
            (DayBookKind::Implied, Side::Offer) => self.implied[1].iter().map(implied).collect(),
        }
    }

    /// Returns the levels per side that the feed publishes.
    pub(super) fn depth_of(&self, kind: DayBookKind) -> usize {
        match kind {
            DayBookKind::Outright => self.depth.map_or(usize::MAX, |depth| depth as usize),
            DayBookKind::Implied => IMPLIED_DEPTH as usize,
        }
    }

    /// Returns the book to the published depth.
    pub(super) fn true_book(&self, kind: DayBookKind) -> TrueBook {
        let depth = self.depth_of(kind);
        let levels = |side| {
            let mut levels = self.levels(side, kind);
            levels.truncate(depth);
            levels
        };
        TrueBook {
            security: self.name.number,
            rpt_seq: self.rpt_seq,
            bids: levels(Side::Bid),
            offers: levels(Side::Offer),
        }
    }

    /// Returns every order of a side, best price first, oldest first.
    pub(super) fn all_orders(&self, side: Side) -> Vec<OrderTold> {
        let told = |(price, orders): (&i64, &Vec<DayOrder>)| {
            let price = *price * self.tick;
            let new = |order: &DayOrder| OrderTold {
                change: DayOrderChange::New,
                side,
                id: order.id,
                price,
                size: order.size,
            };
            orders.iter().map(new).collect::<Vec<_>>()
        };
        match side {
            Side::Bid => self.orders[0].iter().rev().flat_map(told).collect(),
            Side::Offer => self.orders[1].iter().flat_map(told).collect(),
        }
    }

    /// Returns the order changes since the last call.
    pub(super) fn take_orders(&mut self) -> Vec<OrderTold> {
        std::mem::take(&mut self.changed)
    }

    /// Empties both books without individual deletes.
    pub(super) fn clear(&mut self) {
        self.orders = Default::default();
        self.implied = Default::default();
        self.changed.clear();
    }

    /// Starts a new session: no orders, no statistics, no status.
    pub(super) fn begin_session(&mut self, restarts_rpt_seq: bool) {
        self.clear();
        self.status = None;
        (self.open, self.high, self.low, self.volume) = (false, None, None, 0);
        if restarts_rpt_seq {
            self.rpt_seq = 0;
        }
    }

    /// Simulates one event. Returns trades and statistics; order changes are available from
    /// [`take_orders`](Self::take_orders).
    pub(super) fn act(
        &mut self,
        random: &mut Rng,
        next_id: &mut u64,
        implied: bool,
    ) -> Vec<MarketEntry> {
        self.fair += [-1, 0, 0, 0, 0, 0, 0, 1][random.usize(0..8)];
        self.fair = self.fair.clamp(*FAIR.start(), *FAIR.end());
        let side = Side::ALL[random.usize(0..2)];
        if implied && random.u8(0..100) < 20 {
            self.change_implied(random, side);
            return Vec::new();
        }
        let count = self.orders[index(side)].values().map(Vec::len).sum::<usize>();
        match random.u8(0..100) {
            _ if count < SIDE_ORDERS_MIN => self.add(random, next_id, side),
            0..45 if count < SIDE_ORDERS_MAX => self.add(random, next_id, side),
            45..60 => self.resize(random, side),
            60..63 => self.cancel_levels(random, side),
            63..75 if !self.is_auction() => return self.trade(random, side),
            _ => self.cancel(random, side),
        }
        Vec::new()
    }

    /// Executes crossing orders after an auction.
    pub(super) fn uncross(&mut self) -> Vec<MarketEntry> {
        let mut told = Vec::new();
        while let (Some((&bid, bids)), Some((&offer, offers))) =
            (self.orders[0].last_key_value(), self.orders[1].first_key_value())
        {
            if bid < offer {
                break;
            }
            let size = bids[0].size.min(offers[0].size);
            self.fill(Side::Bid, bid, size);
            self.fill(Side::Offer, offer, size);
            told.extend(self.traded(bid, size, Some("U")));
        }
        told
    }

    fn best(&self, side: Side) -> Option<i64> {
        match side {
            Side::Bid => self.orders[0].last_key_value().map(|(price, _)| *price),
            Side::Offer => self.orders[1].first_key_value().map(|(price, _)| *price),
        }
    }

    fn add(&mut self, random: &mut Rng, next_id: &mut u64, side: Side) {
        let distance = random.i64(1..=DISTANCE_MAX).min(random.i64(1..=DISTANCE_MAX));
        let price = match (side, self.is_auction()) {
            (Side::Bid, true) => self.fair - distance + 5,
            (Side::Offer, true) => self.fair + distance - 5,
            (Side::Bid, false) => {
                let limit = self.best(Side::Offer).map_or(i64::MAX, |best| best - 1);
                (self.fair - distance).min(limit)
            }
            (Side::Offer, false) => {
                let limit = self.best(Side::Bid).map_or(i64::MIN, |best| best + 1);
                (self.fair + distance).max(limit)
            }
        };
        *next_id += random.u64(1..4);
        let order = DayOrder { id: *next_id, size: random.u64(1..=SIZE_MAX) };
        self.orders[index(side)].entry(price).or_default().push(order);
        self.tell(DayOrderChange::New, side, price, order);
    }

    fn tell(&mut self, change: DayOrderChange, side: Side, price: i64, order: DayOrder) {
        let price = price * self.tick;
        self.changed.push(OrderTold { change, side, id: order.id, price, size: order.size });
    }

    fn any_order(&self, random: &mut Rng, side: Side) -> Option<(i64, usize)> {
        let orders = &self.orders[index(side)];
        let level = random.usize(0..orders.len().max(1));
        let (price, at) = orders.iter().nth(level)?;
        Some((*price, random.usize(0..at.len())))
    }

    fn resize(&mut self, random: &mut Rng, side: Side) {
        let Some((price, position)) = self.any_order(random, side) else { return };
        let Some(level) = self.orders[index(side)].get_mut(&price) else { return };
        level[position].size = random.u64(1..=SIZE_MAX);
        let order = level[position];
        self.tell(DayOrderChange::Change, side, price, order);
    }

    fn cancel(&mut self, random: &mut Rng, side: Side) {
        if let Some((price, position)) = self.any_order(random, side) {
            self.remove(side, price, position);
        }
    }

    fn remove(&mut self, side: Side, price: i64, position: usize) {
        let orders = &mut self.orders[index(side)];
        let Some(level) = orders.get_mut(&price) else { return };
        let order = DayOrder { size: 0, ..level.remove(position) };
        if level.is_empty() {
            orders.remove(&price);
        }
        self.tell(DayOrderChange::Delete, side, price, order);
    }

    /// Cancels some of the best levels, or all levels from some position on.
    fn cancel_levels(&mut self, random: &mut Rng, side: Side) {
        let mut prices: Vec<i64> = self.orders[index(side)].keys().copied().collect();
        if side == Side::Bid {
            prices.reverse();
        }
        let cut = random.usize(0..=prices.len());
        let gone = if random.bool() { &prices[..cut.min(4)] } else { &prices[cut..] };
        for &price in gone {
            while self.orders[index(side)].contains_key(&price) {
                self.remove(side, price, 0);
            }
        }
    }

    /// Fills the oldest orders at a price, up to `size`. Returns the filled size.
    fn fill(&mut self, side: Side, price: i64, size: u64) -> u64 {
        let mut left = size;
        while left > 0 {
            let Some(level) = self.orders[index(side)].get_mut(&price) else { break };
            let taken = level[0].size.min(left);
            left -= taken;
            if taken == level[0].size {
                self.remove(side, price, 0);
            } else {
                level[0].size -= taken;
                let order = level[0];
                self.tell(DayOrderChange::Change, side, price, order);
            }
        }
        size - left
    }

    /// Executes an incoming order against the best levels of `side`.
    fn trade(&mut self, random: &mut Rng, side: Side) -> Vec<MarketEntry> {
        let mut told = Vec::new();
        let mut left = random.u64(1..=2 * SIZE_MAX);
        let condition = [None, None, Some("C"), Some("R")][random.usize(0..4)];
        while left > 0
            && let Some(price) = self.best(side)
        {
            let size = self.fill(side, price, left);
            left -= size;
            told.extend(self.traded(price, size, condition));
        }
        told
    }

    /// Returns the trade and the statistics that it changes.
    fn traded(
        &mut self,
        price: i64,
        size: u64,
        condition: Option<&'static str>,
    ) -> Vec<MarketEntry> {
        let mantissa = Some(price * self.tick);
        let statistic =
            |entry_type, price, size| MarketEntry { entry_type, price, size, condition: None };
        let mut told =
            vec![MarketEntry { entry_type: "2", price: mantissa, size: Some(size), condition }];
        if !std::mem::replace(&mut self.open, true) {
            told.push(statistic("4", mantissa, None));
        }
        if self.high.is_none_or(|high| price > high) {
            self.high = Some(price);
            told.push(statistic("7", mantissa, None));
        }
        if self.low.is_none_or(|low| price < low) {
            self.low = Some(price);
            told.push(statistic("8", mantissa, None));
        }
        self.volume += size;
        told.push(statistic("B", None, Some(self.volume)));
        self.last_trade = Some((self.amount(price), Amount::integer(size as i64)));
        told
    }

    /// Returns a settlement price or open interest.
    pub(super) fn statistic(&self, random: &mut Rng) -> MarketEntry {
        if random.bool() {
            let price = Some((self.fair + random.i64(-5..=5)) * self.tick);
            MarketEntry { entry_type: "6", price, size: None, condition: None }
        } else {
            let size = Some(random.u64(0..100_000));
            MarketEntry { entry_type: "C", price: None, size, condition: None }
        }
    }

    fn change_implied(&mut self, random: &mut Rng, side: Side) {
        let distance = random.i64(1..4);
        let price = match side {
            Side::Bid => self.fair - distance,
            Side::Offer => self.fair + distance,
        };
        let crosses = match side {
            Side::Bid => self.implied[1].first_key_value().is_some_and(|(best, _)| price >= *best),
            Side::Offer => self.implied[0].last_key_value().is_some_and(|(best, _)| price <= *best),
        };
        let levels = &mut self.implied[index(side)];
        if crosses || levels.len() >= IMPLIED_DEPTH as usize && !levels.contains_key(&price) {
            let nth = random.usize(0..levels.len().max(1));
            let gone = levels.keys().nth(nth).copied();
            gone.map(|price| levels.remove(&price));
            return;
        }
        match levels.contains_key(&price) && random.bool() {
            true => levels.remove(&price),
            false => levels.insert(price, random.u64(1..=SIZE_MAX)),
        };
    }
}
