//! One security: its book, its moving price, and its possible events.

use super::change::{DepthAction, DepthChange, MarketChange, OrderChange, OrderChangeAction, Tick};
use super::orders::{BookSide, RestingOrder};
use super::profile::MarketProfile;
use crate::truth::TrueBook;
use fastrand::Rng;
use tickwire_feed::book::{Amount, Level, Side};

/// Maximum number of levels per side beyond the published depth.
const LEVELS_HIDDEN_MAX: usize = 6;
/// A side with fewer levels than this receives new orders first.
const LEVELS_MIN: usize = 4;
/// Maximum number of orders at one price.
const ORDERS_MAX: usize = 60;
/// A side with this many orders receives no new ones.
const SIDE_ORDERS_MAX: usize = 150;
/// Maximum distance of new orders from the fair price, in ticks.
const DISTANCE_MAX: i64 = 12;
/// Bounds of the fair price, in ticks.
const FAIR: std::ops::RangeInclusive<i64> = 200..=3_900_000;

/// The part of a published trade that the book does not reflect yet.
#[derive(Clone, Copy, Debug)]
struct UnappliedFill {
    /// The side of the resting orders.
    side: Side,
    size: u32,
}

/// A security and its true book.
#[derive(Clone, Debug)]
pub(crate) struct Security {
    pub(crate) id: u32,
    pub(crate) exponent: i32,
    /// Mantissa of one tick.
    tick: i64,
    depth: usize,
    /// Fair price in ticks; orders are placed around it.
    fair: i64,
    bids: BookSide,
    offers: BookSide,
    /// Number of updates published so far.
    pub(crate) rpt_seq: u64,
    close: i64,
    last: i64,
    high: i64,
    low: i64,
    volume: u64,
    extreme: Option<bool>,
    fill: Option<UnappliedFill>,
}

impl Security {
    pub(crate) fn new(index: u32, profile: &MarketProfile, random: &mut Rng) -> Self {
        let fair = random.i64(profile.price_ticks.clone());
        Self {
            id: profile.first_id + index * profile.id_step,
            exponent: (profile.exponent)(index),
            tick: profile.tick,
            depth: profile.depth,
            fair,
            bids: BookSide::new(Side::Bid),
            offers: BookSide::new(Side::Offer),
            rpt_seq: 0,
            close: fair,
            last: fair,
            high: fair,
            low: fair,
            volume: 0,
            extreme: None,
            fill: None,
        }
    }

    fn side(&self, side: Side) -> &BookSide {
        match side {
            Side::Bid => &self.bids,
            Side::Offer => &self.offers,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut BookSide {
        match side {
            Side::Bid => &mut self.bids,
            Side::Offer => &mut self.offers,
        }
    }

    fn price(&self, ticks: i64) -> i64 {
        ticks * self.tick
    }

    /// Returns the difference between a price and the previous day's close, as a mantissa.
    pub(crate) fn net_change(&self, price: i64) -> i64 {
        price - self.price(self.close)
    }

    /// Returns the number of orders on a side of the book.
    pub(crate) fn side_orders(&self, side: Side) -> usize {
        self.side(side).levels().iter().map(|level| level.orders.len()).sum()
    }

    /// True if a trade was published that the book does not reflect yet.
    pub(crate) fn is_trading(&self) -> bool {
        self.fill.is_some()
    }

    /// Returns the first order of the best level of a side: id, price and size.
    pub(crate) fn first_order(&self, side: Side) -> Option<(u32, i64, u32)> {
        let level = self.side(side).levels().first()?;
        let order = level.orders.front()?;
        Some((order.id, self.price(level.price), order.size))
    }

    /// Returns the published part of the book.
    pub(crate) fn true_book(&self) -> TrueBook {
        let levels = |side: &BookSide| {
            let shown = side.levels().iter().take(self.depth);
            shown.map(|level| self.content(level.price, level.size, level.orders.len())).collect()
        };
        TrueBook {
            security: self.id,
            rpt_seq: self.rpt_seq,
            bids: levels(&self.bids),
            offers: levels(&self.offers),
        }
    }

    fn content(&self, price: i64, size: u64, orders: usize) -> Level {
        Level {
            price: Amount { mantissa: self.price(price), exponent: self.exponent },
            size: Amount::integer(size as i64),
            orders: Some(orders as u32),
        }
    }

    /// Simulates an event that a feed of price levels publishes in at most `entries_max` (at least
    /// one) entries, and adds them to `changes`. Adds nothing if the event is not visible.
    pub(crate) fn act(
        &mut self,
        profile: &MarketProfile,
        random: &mut Rng,
        order_id: &mut u32,
        entries_max: usize,
        changes: &mut Vec<MarketChange>,
    ) {
        if let Some(is_high) = self.extreme.take() {
            let price = self.price(self.last);
            changes.push(MarketChange::Depth(DepthChange::Extreme { is_high, price }));
            return;
        }
        if let Some(fill) = self.fill.take() {
            self.execute(fill, changes);
            return;
        }
        self.wander(random);
        let side = any_side(random);
        let choice = random.u8(0..100);
        match choice {
            _ if self.side(side).levels().len() < LEVELS_MIN => {
                self.add(profile, random, order_id, side, changes);
            }
            0..12 => self.trade(random, entries_max, changes),
            12..55 if self.side_orders(side) < SIDE_ORDERS_MAX => {
                self.add(profile, random, order_id, side, changes);
            }
            55..75 => self.reduce(random, side, changes),
            _ => self.cancel(random, side, entries_max, changes),
        }
    }

    /// Moves the fair price by a tick occasionally.
    pub(crate) fn wander(&mut self, random: &mut Rng) {
        let step = match random.u8(0..20) {
            0 => -1,
            1 => 1,
            _ => 0,
        };
        self.fair = (self.fair + step).clamp(*FAIR.start(), *FAIR.end());
    }

    /// Adds an order near the fair price that does not trade.
    pub(crate) fn add(
        &mut self,
        profile: &MarketProfile,
        random: &mut Rng,
        order_id: &mut u32,
        side: Side,
        changes: &mut Vec<MarketChange>,
    ) {
        let price = self.price_of_new(random, side);
        *order_id = order_id.wrapping_add(1);
        let order = RestingOrder { id: *order_id, size: profile.size(random) };
        let added = self.side_mut(side).add(price, order);
        let action = if added.is_new_level { DepthAction::New } else { DepthAction::Change };
        changes.push(self.order_change(OrderChangeAction::New, side, price, order));
        self.push_level(action, side, added.index, changes);
    }

    /// Returns the price of a new order. If the price has too many orders, or the side too many
    /// levels, returns the level with the fewest orders.
    fn price_of_new(&self, random: &mut Rng, side: Side) -> i64 {
        let mut distance = 1;
        while distance < DISTANCE_MAX && random.u8(0..10) < 6 {
            distance += 1;
        }
        let price = match side {
            Side::Bid => {
                let limit = self.offers.best().map_or(i64::MAX, |best| best - 1);
                (self.fair - distance).min(limit)
            }
            Side::Offer => {
                let limit = self.bids.best().map_or(i64::MIN, |best| best + 1);
                (self.fair + distance).max(limit)
            }
        };
        let own = self.side(side);
        let levels = own.levels();
        let fits = match own.find(price) {
            Ok(index) => levels[index].orders.len() < ORDERS_MAX,
            Err(_) => levels.len() < self.depth + LEVELS_HIDDEN_MAX,
        };
        let least = levels.iter().min_by_key(|level| level.orders.len());
        match least {
            Some(least) if !fits => least.price,
            _ => price,
        }
    }

    /// Reduces the size of a random order, if it is larger than 1.
    pub(crate) fn reduce(&mut self, random: &mut Rng, side: Side, changes: &mut Vec<MarketChange>) {
        let Some((index, position)) = self.any_order(random, side) else { return };
        let order = self.side(side).levels()[index].orders[position];
        if order.size < 2 {
            return;
        }
        self.take(side, index, position, random.u32(1..order.size), changes);
    }

    /// Cancels a random order, unless that takes more than `entries_max` entries.
    pub(crate) fn cancel(
        &mut self,
        random: &mut Rng,
        side: Side,
        entries_max: usize,
        changes: &mut Vec<MarketChange>,
    ) {
        let Some((index, position)) = self.any_order(random, side) else { return };
        let levels = self.side(side).levels();
        let empties = levels[index].orders.len() == 1;
        let shows_hidden = index < self.depth && levels.len() > self.depth;
        if empties && shows_hidden && entries_max < 2 {
            return;
        }
        self.take(side, index, position, u32::MAX, changes);
    }

    fn any_order(&self, random: &mut Rng, side: Side) -> Option<(usize, usize)> {
        let levels = self.side(side).levels();
        if levels.is_empty() {
            return None;
        }
        let index = random.usize(0..levels.len());
        Some((index, random.usize(0..levels[index].orders.len())))
    }

    /// Executes an incoming order against the best level of the other side. The book reflects it
    /// with the next event.
    fn trade(&mut self, random: &mut Rng, entries_max: usize, changes: &mut Vec<MarketChange>) {
        let (Some(bid), Some(offer)) = (self.bids.best(), self.offers.best()) else { return };
        // Bids at or above the fair price, and offers at or below it, are executed first.
        let side = match self.fair {
            fair if fair >= offer => Side::Offer,
            fair if fair <= bid => Side::Bid,
            _ => any_side(random),
        };
        let levels = self.side(side).levels();
        let best = &levels[0];
        let total = u32::try_from(best.size).unwrap_or(u32::MAX);
        // An emptied level takes up to four entries: the trade, the day's high or low, the removed
        // level and the level that comes into view.
        let may_empty = levels.len() <= self.depth || entries_max >= 4;
        let first = best.orders[0].size;
        let size = match random.u8(0..4) {
            0 if may_empty => total,
            1 => first.min(total),
            _ => random.u32(1..=first.max(1)),
        };
        let size = if may_empty { size } else { size.min(total - 1) };
        if size == 0 {
            return;
        }
        let price = best.price;
        let tick = match price.cmp(&self.last) {
            std::cmp::Ordering::Less => Tick::Down,
            std::cmp::Ordering::Equal => Tick::Same,
            std::cmp::Ordering::Greater => Tick::Up,
        };
        self.last = price;
        self.volume += u64::from(size);
        if price > self.high || price < self.low {
            self.extreme = Some(price > self.high);
            self.high = self.high.max(price);
            self.low = self.low.min(price);
        }
        self.fill = Some(UnappliedFill { side, size });
        let (aggressor, volume) = (opposite(side), self.volume);
        let price = self.price(price);
        changes.push(MarketChange::Depth(DepthChange::Trade {
            aggressor,
            price,
            size,
            tick,
            volume,
        }));
    }

    /// Removes the traded size from the best level, oldest orders first, as one change of the
    /// level.
    fn execute(&mut self, fill: UnappliedFill, changes: &mut Vec<MarketChange>) {
        let side = fill.side;
        let mut left = fill.size;
        let mut is_gone = false;
        let Some(price) = self.side(side).best() else { return };
        while left > 0 && !is_gone {
            let before = self.side(side).levels()[0].orders[0].size;
            let (order, gone) = self.side_mut(side).take(0, 0, left);
            left -= before - order.size;
            is_gone = gone;
            let action =
                if order.size == 0 { OrderChangeAction::Remove } else { OrderChangeAction::Change };
            changes.push(self.order_change(action, side, price, order));
        }
        self.push_taken(is_gone, side, 0, price, changes);
    }

    /// Executes a trade of at most the first order of the best level immediately.
    pub(crate) fn hit(&mut self, random: &mut Rng, side: Side, changes: &mut Vec<MarketChange>) {
        let Some(best) = self.side(side).levels().first() else { return };
        let first = best.orders[0].size;
        let size = if random.bool() { first } else { random.u32(1..=first) };
        self.last = best.price;
        self.volume += u64::from(size);
        self.take(side, 0, 0, size, changes);
    }

    fn take(
        &mut self,
        side: Side,
        index: usize,
        position: usize,
        size: u32,
        changes: &mut Vec<MarketChange>,
    ) {
        let price = self.side(side).levels()[index].price;
        let (order, is_gone) = self.side_mut(side).take(index, position, size);
        let action =
            if order.size == 0 { OrderChangeAction::Remove } else { OrderChangeAction::Change };
        changes.push(self.order_change(action, side, price, order));
        self.push_taken(is_gone, side, index, price, changes);
    }

    fn order_change(
        &self,
        action: OrderChangeAction,
        side: Side,
        price: i64,
        order: RestingOrder,
    ) -> MarketChange {
        let (id, size) = (order.id, order.size);
        MarketChange::Order(OrderChange { action, side, id, price: self.price(price), size })
    }

    /// Adds the changes for a level that shrank or was removed, and for the level that thereby came
    /// into view.
    fn push_taken(
        &self,
        is_gone: bool,
        side: Side,
        index: usize,
        price: i64,
        changes: &mut Vec<MarketChange>,
    ) {
        if !is_gone {
            return self.push_level(DepthAction::Change, side, index, changes);
        }
        if index >= self.depth {
            return;
        }
        let (action, level) = (DepthAction::Delete, index as u32 + 1);
        let price = self.price(price);
        let gone = DepthChange::Level { action, side, level, price, size: 0, orders: 0 };
        changes.push(MarketChange::Depth(gone));
        if self.side(side).levels().len() >= self.depth {
            self.push_level(DepthAction::New, side, self.depth - 1, changes);
        }
    }

    /// Adds the change for a level, if it is published.
    fn push_level(
        &self,
        action: DepthAction,
        side: Side,
        index: usize,
        changes: &mut Vec<MarketChange>,
    ) {
        if index >= self.depth {
            return;
        }
        let level = &self.side(side).levels()[index];
        changes.push(MarketChange::Depth(DepthChange::Level {
            action,
            side,
            level: index as u32 + 1,
            price: self.price(level.price),
            size: level.size,
            orders: level.orders.len() as u32,
        }));
    }
}

fn any_side(random: &mut Rng) -> Side {
    if random.bool() { Side::Bid } else { Side::Offer }
}

fn opposite(side: Side) -> Side {
    match side {
        Side::Bid => Side::Offer,
        Side::Offer => Side::Bid,
    }
}
