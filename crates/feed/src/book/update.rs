//! What a feed says about a book, in words that do not depend on the feed.

use super::Amount;

/// A side of the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// MDEntryType 0: those who buy, best price highest.
    Bid,
    /// MDEntryType 1: those who sell, best price lowest.
    Offer,
}

impl Side {
    /// Both sides.
    pub const ALL: [Self; 2] = [Self::Bid, Self::Offer];

    /// Whether `price` is better on this side than `other`.
    pub fn is_better(self, price: Amount, other: Amount) -> bool {
        match self {
            Self::Bid => price > other,
            Self::Offer => price < other,
        }
    }
}

/// One price and what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// MDEntryPx.
    pub price: Amount,
    /// MDEntrySize.
    pub size: Amount,
    /// NumberOfOrders, where the feed says it.
    pub orders: Option<u32>,
}

/// What to do with a level that is named by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelAction {
    /// MDUpdateAction 0: levels from here on move away by one, the last beyond the depth goes.
    New(Level),
    /// MDUpdateAction 1, and 5 (overlay): replaces price, size and orders.
    Change(Level),
    /// MDUpdateAction 2: levels behind move up by one.
    Delete,
    /// MDUpdateAction 3: this level and all better ones go.
    DeleteThru,
    /// MDUpdateAction 4: this level and all worse ones go.
    DeleteFrom,
}

/// What to do with a level that is named by its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceAction {
    /// A price that was not there.
    New,
    /// Another size or number of orders at a price that is there.
    Change,
    /// A price that goes.
    Delete,
}

/// One change to a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookUpdate {
    /// By position: MDPriceLevel, 1 is the best.
    ByLevel {
        /// Which side.
        side: Side,
        /// MDPriceLevel, from 1.
        level: u32,
        /// What to do there.
        action: LevelAction,
    },
    /// By price.
    ByPrice {
        /// Which side.
        side: Side,
        /// What to do; a delete looks at the price alone.
        action: PriceAction,
        /// Price, size and orders.
        level: Level,
    },
    /// MDEntryType J: the book is empty.
    Clear,
    /// Something that changes no level but has a number of its own, such as a trade.
    Other,
}
