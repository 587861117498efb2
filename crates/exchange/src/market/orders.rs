//! One side of a book, with every order in it.

use std::collections::VecDeque;
use tickwire_feed::book::Side;

/// An order in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestingOrder {
    pub(crate) id: u32,
    pub(crate) size: u32,
}

/// The orders at one price, oldest first; never empty.
#[derive(Clone, Debug)]
pub(crate) struct PriceLevel {
    /// In ticks.
    pub(crate) price: i64,
    pub(crate) orders: VecDeque<RestingOrder>,
    /// Total size of the orders.
    pub(crate) size: u64,
}

/// The position of an added order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddedOrder {
    /// Index of its level, best first.
    pub(crate) index: usize,
    /// True if the order created the level.
    pub(crate) is_new_level: bool,
}

/// One side of a book, best level first.
#[derive(Clone, Debug)]
pub(crate) struct BookSide {
    side: Side,
    levels: Vec<PriceLevel>,
}

impl BookSide {
    pub(crate) fn new(side: Side) -> Self {
        Self { side, levels: Vec::new() }
    }

    pub(crate) fn levels(&self) -> &[PriceLevel] {
        &self.levels
    }

    /// Returns the best price in ticks.
    pub(crate) fn best(&self) -> Option<i64> {
        self.levels.first().map(|level| level.price)
    }

    /// Returns the index of a price, or the index at which to insert it.
    pub(crate) fn find(&self, price: i64) -> Result<usize, usize> {
        self.levels.binary_search_by(|level| match self.side {
            Side::Bid => price.cmp(&level.price),
            Side::Offer => level.price.cmp(&price),
        })
    }

    /// Adds an order after the others of its price.
    pub(crate) fn add(&mut self, price: i64, order: RestingOrder) -> AddedOrder {
        match self.find(price) {
            Ok(index) => {
                let level = &mut self.levels[index];
                level.orders.push_back(order);
                level.size += u64::from(order.size);
                AddedOrder { index, is_new_level: false }
            }
            Err(index) => {
                let orders = VecDeque::from([order]);
                self.levels.insert(index, PriceLevel { price, orders, size: order.size.into() });
                AddedOrder { index, is_new_level: true }
            }
        }
    }

    /// Reduces an order by `size`, at most by all of it. Returns the remaining order, and true if
    /// its level was removed.
    pub(crate) fn take(
        &mut self,
        index: usize,
        position: usize,
        size: u32,
    ) -> (RestingOrder, bool) {
        let level = &mut self.levels[index];
        let order = &mut level.orders[position];
        let taken = size.min(order.size);
        order.size -= taken;
        let left = *order;
        level.size -= u64::from(taken);
        if left.size == 0 {
            level.orders.remove(position);
        }
        let is_gone = level.orders.is_empty();
        if is_gone {
            self.levels.remove(index);
        }
        (left, is_gone)
    }
}
