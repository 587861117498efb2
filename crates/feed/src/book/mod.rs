//! Order books by price level.
//!
//! A [`Book`] takes [`BookUpdate`]s, by position or by price, and holds at most so many levels a
//! side as it was told. An update that does not fit is a [`BookFault`] and changes nothing; whether
//! the book may be believed afterwards is what [`recovery`](crate::recovery) keeps.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::book::{Amount, Book, BookUpdate, Level, LevelAction, Side};
//!
//! let mut book = Book::new(5);
//! let level = Level { price: Amount::integer(100), size: Amount::integer(7), orders: None };
//! let action = LevelAction::New(level);
//! book.apply(&BookUpdate::ByLevel { side: Side::Bid, level: 1, action })?;
//! assert_eq!(book.best(Side::Bid), Some(&level));
//! # Ok::<(), tickwire_feed::book::BookFault>(())
//! ```

mod amount;
mod fault;
mod ladder;
mod update;

pub use amount::Amount;
pub use fault::BookFault;
pub use update::{BookUpdate, Level, LevelAction, PriceAction, Side};

use ladder::Ladder;

/// The levels of one instrument. Two books are equal if their levels are.
#[derive(Clone, Debug)]
pub struct Book {
    bids: Ladder,
    offers: Ladder,
}

impl Book {
    /// Creates an empty book of at most `depth_max` levels a side; 0 is taken as 1.
    pub fn new(depth_max: u32) -> Self {
        let depth_max = depth_max.max(1) as usize;
        let ladder = |side| Ladder::new(side, depth_max);
        Self { bids: ladder(Side::Bid), offers: ladder(Side::Offer) }
    }

    /// Makes `other` an empty book of this one's depth, with the memory it has.
    pub(crate) fn clone_empty_into(&self, other: &mut Self) {
        other.bids.clear_to_depth_of(&self.bids);
        other.offers.clear_to_depth_of(&self.offers);
    }

    fn ladder(&self, side: Side) -> &Ladder {
        match side {
            Side::Bid => &self.bids,
            Side::Offer => &self.offers,
        }
    }

    fn ladder_mut(&mut self, side: Side) -> &mut Ladder {
        match side {
            Side::Bid => &mut self.bids,
            Side::Offer => &mut self.offers,
        }
    }

    /// The levels of a side, best first.
    pub fn levels(&self, side: Side) -> &[Level] {
        self.ladder(side).levels()
    }

    /// The best level of a side.
    pub fn best(&self, side: Side) -> Option<&Level> {
        self.levels(side).first()
    }

    /// Takes out every level.
    pub fn clear(&mut self) {
        self.bids.clear();
        self.offers.clear();
    }

    /// Applies one update.
    ///
    /// # Errors
    /// [`BookFault`] if the update does not fit; the book is as before then.
    pub fn apply(&mut self, update: &BookUpdate) -> Result<(), BookFault> {
        match *update {
            BookUpdate::ByLevel { side, level, action } => {
                self.ladder_mut(side).apply_level(level, action)
            }
            BookUpdate::ByPrice { side, action, level } => {
                self.ladder_mut(side).apply_price(action, level)
            }
            BookUpdate::Clear => {
                self.clear();
                Ok(())
            }
            BookUpdate::Other => Ok(()),
        }
    }

    /// What shows that the book is wrong: levels out of order, or sides that cross or lock. To be
    /// asked after whole messages, as a book may cross between two entries of one.
    pub fn check(&self) -> Option<BookFault> {
        self.bids.disorder().or_else(|| self.offers.disorder()).or_else(|| self.crossing())
    }

    fn crossing(&self) -> Option<BookFault> {
        let (bid, offer) = (self.best(Side::Bid)?.price, self.best(Side::Offer)?.price);
        match bid.cmp(&offer) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(BookFault::Locked { price: bid }),
            std::cmp::Ordering::Greater => Some(BookFault::Crossed { bid, offer }),
        }
    }
}

impl PartialEq for Book {
    fn eq(&self, other: &Self) -> bool {
        Side::ALL.iter().all(|&side| self.levels(side) == other.levels(side))
    }
}

impl Eq for Book {}

#[cfg(test)]
mod tests;
