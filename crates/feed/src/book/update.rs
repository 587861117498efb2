//! Updates of a book, independent of the feed.

use std::fmt;

use super::Amount;

/// A side of the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// MDEntryType 0: buyers, highest price first.
    Bid,
    /// MDEntryType 1: sellers, lowest price first.
    Offer,
}

impl Side {
    /// Both sides.
    pub const ALL: [Self; 2] = [Self::Bid, Self::Offer];

    /// True if `price` is better on this side than `other`.
    #[inline]
    pub fn is_better(self, price: Amount, other: Amount) -> bool {
        match self {
            Self::Bid => price > other,
            Self::Offer => price < other,
        }
    }
}

/// One price level: price, size and orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// MDEntryPx.
    pub price: Amount,
    /// MDEntrySize.
    pub size: Amount,
    /// NumberOfOrders, if the feed sends it.
    pub orders: Option<u32>,
}

impl Level {
    /// Returns a copy made field by field. Passing the copy by reference puts only the copy into
    /// memory, not the structure that `self` is part of.
    #[inline(always)]
    pub(crate) const fn copied_here(self) -> Self {
        let Self { price, size, orders } = self;
        Self { price, size, orders }
    }

    /// Fills slots without a level.
    pub(crate) const NONE: Self = Self { price: Amount::ZERO, size: Amount::ZERO, orders: None };
}

/// Names an order: MDEntryID (278) or OrderID (37), a number or a text of at most 15 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderId(u128);

impl OrderId {
    /// An id that is sent as a number.
    pub const fn number(id: u64) -> Self {
        Self(id as u128)
    }

    /// An id that is sent as text; `None` for more than 15 bytes.
    pub fn text(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes.get_mut(1..=id.len())?.copy_from_slice(id);
        // The top bit tells texts from numbers; the length tells apart texts that end in zeros.
        bytes[0] = 0x80 | id.len() as u8;
        Some(Self(u128::from_be_bytes(bytes)))
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [head, text @ ..] = self.0.to_be_bytes();
        if head & 0x80 == 0 {
            return write!(f, "{}", self.0);
        }
        let text = text.get(..usize::from(head & 0x7F)).unwrap_or_default();
        write!(f, "{}", text.escape_ascii())
    }
}

/// Action on a level that is identified by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelAction {
    /// MDUpdateAction 0: levels from here on move away by one; the level beyond the depth is deleted.
    New(Level),
    /// MDUpdateAction 1, and 5 (overlay): replaces price, size and orders.
    Change(Level),
    /// MDUpdateAction 2: levels behind move up by one.
    Delete,
    /// MDUpdateAction 3: this level and all better ones are deleted.
    DeleteThru,
    /// MDUpdateAction 4: this level and all worse ones are deleted.
    DeleteFrom,
}

impl LevelAction {
    /// Returns the action as two plain values: the kind of change, and the level's new content,
    /// which is meaningless for a deletion.
    #[inline(always)]
    pub(crate) const fn split(self) -> (LevelChange, Level) {
        match self {
            Self::New(level) => (LevelChange::New, level),
            Self::Change(level) => (LevelChange::Change, level),
            Self::Delete => (LevelChange::Delete, Level::NONE),
            Self::DeleteThru => (LevelChange::DeleteThru, Level::NONE),
            Self::DeleteFrom => (LevelChange::DeleteFrom, Level::NONE),
        }
    }
}

/// A [`LevelAction`] without the level's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelChange {
    /// [`LevelAction::New`].
    New,
    /// [`LevelAction::Change`].
    Change,
    /// [`LevelAction::Delete`].
    Delete,
    /// [`LevelAction::DeleteThru`].
    DeleteThru,
    /// [`LevelAction::DeleteFrom`].
    DeleteFrom,
}

impl LevelChange {
    /// True if the level has content afterwards.
    #[inline(always)]
    pub(crate) const fn has_content(self) -> bool {
        matches!(self, Self::New | Self::Change)
    }

    /// Returns the action with the level's content.
    pub(crate) const fn with(self, level: Level) -> LevelAction {
        match self {
            Self::New => LevelAction::New(level),
            Self::Change => LevelAction::Change(level),
            Self::Delete => LevelAction::Delete,
            Self::DeleteThru => LevelAction::DeleteThru,
            Self::DeleteFrom => LevelAction::DeleteFrom,
        }
    }
}

/// Action on a level that is identified by its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceAction {
    /// A new price.
    New,
    /// Another size or number of orders at an existing price.
    Change,
    /// A price is deleted.
    Delete,
}

/// Action on an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderAction {
    /// A new order.
    New {
        /// Its side.
        side: Side,
        /// Its price.
        price: Amount,
        /// Its size.
        size: Amount,
    },
    /// Another price or size; `None` keeps the previous one.
    Change {
        /// The new price.
        price: Option<Amount>,
        /// The new size.
        size: Option<Amount>,
    },
    /// The order is cancelled or filled.
    Remove,
}

/// One change to a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookUpdate {
    /// By position: MDPriceLevel, 1 is the best.
    ByLevel {
        /// Side of the book.
        side: Side,
        /// MDPriceLevel, from 1.
        level: u32,
        /// Action on the level.
        action: LevelAction,
    },
    /// By price.
    ByPrice {
        /// Side of the book.
        side: Side,
        /// Action on the level; a delete uses only the price.
        action: PriceAction,
        /// Price, size and orders.
        level: Level,
    },
    /// By order: the book's levels are the sums of its orders.
    ByOrder {
        /// The order.
        id: OrderId,
        /// Action on the order.
        action: OrderAction,
    },
    /// MDEntryType J: the book is empty.
    Clear,
    /// An update that changes no level but has its own number, such as a trade.
    Other,
}
