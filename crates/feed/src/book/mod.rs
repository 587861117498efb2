//! Order books: levels by position, by price, or from single orders.
//!
//! A [`Book`] applies [`BookUpdate`]s. An update that does not fit is a [`BookFault`] and changes
//! nothing; [`recovery`](crate::recovery) decides whether the book is still reliable. A book by
//! position has the depth of its feed ([`Book::set_depth`]), or shows only levels that the exchange
//! certainly publishes. A book by price or by order has up to [`LEVELS_MAX`] levels per side.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::book::{Amount, Book, BookUpdate, Level, LevelAction, Side};
//!
//! let mut book = Book::new();
//! let level = Level { price: Amount::integer(100), size: Amount::integer(7), orders: None };
//! let action = LevelAction::New(level);
//! book.apply(&BookUpdate::ByLevel { side: Side::Bid, level: 1, action })?;
//! assert_eq!(book.best(Side::Bid), Some(&level));
//! # Ok::<(), tickwire_feed::book::BookFault>(())
//! ```

mod amount;
mod consolidated;
mod fault;
mod ladder;
mod orders;
mod update;

pub use amount::Amount;
pub use fault::BookFault;

pub(crate) use ladder::INLINE;
pub use ladder::LEVELS_MAX;
pub use orders::ORDERS_MAX;
pub use update::{
    BookUpdate, Level, LevelAction, LevelChange, OrderAction, OrderId, PriceAction, Side,
};

pub(crate) use ladder::PublishedSide;

use std::cmp::Ordering;

use ladder::Ladder;
use orders::BookOrders;

/// The levels of one instrument. Two books are equal if their shown levels are equal.
#[derive(Clone, Debug)]
pub struct Book {
    sides: [Ladder; 2],
    orders: Option<Box<BookOrders>>,
}

impl Default for Book {
    fn default() -> Self {
        Self::new()
    }
}

impl Book {
    /// Creates an empty book whose depth is unknown.
    pub fn new() -> Self {
        Self::with_depth(None)
    }

    /// Creates an empty book by position with this many levels per side; `None` if the depth is
    /// unknown.
    pub fn with_depth(depth: Option<u32>) -> Self {
        let depth = depth.map(|depth| depth.clamp(1, LEVELS_MAX));
        Self { sides: Side::ALL.map(|side| Ladder::new(side, depth)), orders: None }
    }

    /// Sets how many levels per side the feed publishes, from 1 to [`LEVELS_MAX`].
    pub fn set_depth(&mut self, depth: u32) {
        let depth = depth.clamp(1, LEVELS_MAX);
        self.sides.iter_mut().for_each(|side| side.set_depth(depth));
    }

    /// Returns how many levels per side the feed publishes, if known.
    pub fn depth(&self) -> Option<u32> {
        self.ladder(Side::Bid).depth()
    }

    /// Empties this book and gives it the depth of `other`.
    pub(crate) fn clear_to_depth_of(&mut self, other: &Self) {
        for (own, other) in self.sides.iter_mut().zip(&other.sides) {
            own.clear_to_depth_of(other);
        }
        self.orders = None;
    }

    #[inline(always)]
    fn ladder(&self, side: Side) -> &Ladder {
        let [bids, offers] = &self.sides;
        match side {
            Side::Bid => bids,
            Side::Offer => offers,
        }
    }

    #[inline(always)]
    fn ladder_mut(&mut self, side: Side) -> &mut Ladder {
        let [bids, offers] = &mut self.sides;
        match side {
            Side::Bid => bids,
            Side::Offer => offers,
        }
    }

    /// The levels of a side, best first.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = &Level> {
        self.ladder(side).iter()
    }

    /// Returns the number of levels of a side.
    pub fn len(&self, side: Side) -> usize {
        self.ladder(side).shown() as usize
    }

    /// True if no side has a level.
    pub fn is_empty(&self) -> bool {
        Side::ALL.into_iter().all(|side| self.len(side) == 0)
    }

    /// The level at a position of a side, from 0.
    pub fn level(&self, side: Side, position: usize) -> Option<&Level> {
        self.ladder(side).get(u32::try_from(position).ok()?)
    }

    /// The best level of a side.
    #[inline]
    pub fn best(&self, side: Side) -> Option<&Level> {
        self.ladder(side).best()
    }

    /// Orders in a book by order.
    pub fn orders(&self) -> usize {
        self.orders.as_ref().map_or(0, |orders| orders.len())
    }

    /// Removes all levels and orders.
    pub fn clear(&mut self) {
        self.sides.iter_mut().for_each(Ladder::clear);
        if let Some(orders) = &mut self.orders {
            orders.clear();
        }
    }

    /// Applies one update.
    ///
    /// # Errors
    /// [`BookFault`] if the update does not fit; the book is unchanged then.
    #[inline(always)]
    pub fn apply(&mut self, update: &BookUpdate) -> Result<(), BookFault> {
        match *update {
            BookUpdate::ByLevel { side, level, action } => {
                let (change, content) = action.split();
                self.apply_level(side, level, change, content)
            }
            BookUpdate::ByPrice { side, action, level } => {
                apply_price(self.ladder_mut(side), action, level)
            }
            BookUpdate::ByOrder { id, action } => self.apply_order(id, action),
            BookUpdate::Clear => {
                self.clear();
                Ok(())
            }
            BookUpdate::Other => Ok(()),
        }
    }

    /// As [`apply`](Self::apply), for a level by position, given as plain values.
    #[inline(always)]
    pub(crate) fn apply_level(
        &mut self,
        side: Side,
        level: u32,
        change: LevelChange,
        content: Level,
    ) -> Result<(), BookFault> {
        let ladder = self.ladder_mut(side);
        match change {
            LevelChange::Change if ladder.set_plain(level, &content) => Ok(()),
            LevelChange::New => ladder.insert_by_level(level, &content.copied_here()),
            LevelChange::Delete => ladder.remove_by_level(level),
            _ => ladder.change_any(level, change, &content.copied_here()),
        }
    }

    #[inline(never)]
    fn apply_order(&mut self, id: OrderId, action: OrderAction) -> Result<(), BookFault> {
        self.orders.get_or_insert_default().apply(&mut self.sides, id, action)
    }

    /// Levels of each side for readers on other threads, and the slots written since the last call.
    #[inline(always)]
    pub(crate) fn publish(&mut self) -> [PublishedSide<'_>; 2] {
        let [bids, offers] = &mut self.sides;
        [bids.publish(), offers.publish()]
    }

    /// Records that the held levels are all levels that the exchange publishes, as after a
    /// snapshot.
    pub(crate) fn note_complete(&mut self) {
        self.sides.iter_mut().for_each(Ladder::note_complete);
    }

    /// Returns false if levels are hidden because the exchange may no longer publish them: the
    /// depth of the feed is unknown, or was unknown when they were pushed down.
    pub fn is_complete(&self) -> bool {
        !self.sides.iter().any(Ladder::is_partly_uncertain)
    }

    /// True if the shown levels of this book are a prefix of the sides of `whole`.
    pub(crate) fn is_prefix_of(&self, whole: &Self) -> bool {
        Side::ALL.into_iter().all(|side| {
            let whole = whole.ladder(side);
            self.len(side) <= whole.shown() as usize
                && self.levels(side).zip(whole.iter()).all(|(own, other)| own == other)
        })
    }

    /// Returns the fault of a wrong book: levels out of order, or sides that cross or lock. Call it
    /// after whole messages, because a book may cross between two entries of one message.
    pub fn check(&self) -> Option<BookFault> {
        self.sides.iter().find_map(Ladder::disorder).or_else(|| self.crossing())
    }

    /// As [`check`](Self::check), for the prices that changed since the last call.
    #[inline(always)]
    pub(crate) fn check_changed(&mut self) -> Option<BookFault> {
        if self.is_plainly_right() { None } else { self.check_unchecked() }
    }

    /// True if no check is needed, as after most messages: prices arrived in order, and the best
    /// bid is at most the best offer, both with the same exponent.
    #[inline(always)]
    pub(crate) fn is_plainly_right(&self) -> bool {
        let [bids, offers] = &self.sides;
        let is_uncrossed = match (bids.best(), offers.best()) {
            (Some(Level { price: bid, .. }), Some(Level { price: offer, .. })) => {
                bid.exponent == offer.exponent && bid.mantissa <= offer.mantissa
            }
            _ => true,
        };
        is_uncrossed && bids.is_checked() && offers.is_checked()
    }

    #[cold]
    fn check_unchecked(&mut self) -> Option<BookFault> {
        let [bids, offers] = &mut self.sides;
        let (of_bids, of_offers) = (bids.take_unchecked(), offers.take_unchecked());
        let disorder = bids.disorder_at(of_bids).or_else(|| offers.disorder_at(of_offers));
        disorder.or_else(|| self.crossing())
    }

    #[inline]
    fn crossing(&self) -> Option<BookFault> {
        let (bid, offer) = (self.best(Side::Bid)?.price, self.best(Side::Offer)?.price);
        match bid.cmp(&offer) {
            Ordering::Less => None,
            Ordering::Equal => Some(BookFault::Locked { price: bid }),
            Ordering::Greater => Some(BookFault::Crossed { bid, offer }),
        }
    }
}

#[inline(never)]
fn apply_price(ladder: &mut Ladder, action: PriceAction, level: Level) -> Result<(), BookFault> {
    let (side, price) = (ladder.side, level.price);
    match (action, ladder.find(price)) {
        (PriceAction::New, Ok(_)) => return Err(BookFault::PriceExists { side, price }),
        (PriceAction::New, Err(_)) if ladder.shown() >= LEVELS_MAX => {
            return Err(BookFault::TooManyLevels { side, depth_max: LEVELS_MAX });
        }
        (PriceAction::New, Err(position)) => ladder.insert_by_price(position, level),
        (_, Err(_)) => return Err(BookFault::NoSuchPrice { side, price }),
        (PriceAction::Change, Ok(position)) => ladder.set(position, &level),
        (PriceAction::Delete, Ok(position)) => ladder.remove(position),
    }
    Ok(())
}

impl PartialEq for Book {
    fn eq(&self, other: &Self) -> bool {
        Side::ALL.into_iter().all(|side| self.levels(side).eq(other.levels(side)))
    }
}

impl Eq for Book {}

#[cfg(test)]
mod tests;
