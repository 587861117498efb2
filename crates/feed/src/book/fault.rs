//! Errors of books and updates.

use std::error::Error;
use std::fmt;

use super::{Amount, OrderId, Side};

/// Reason why an update does not fit a book, or why a book is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BookFault {
    /// The best bid is above the best offer.
    Crossed {
        /// Best bid.
        bid: Amount,
        /// Best offer.
        offer: Amount,
    },
    /// The best bid equals the best offer. Some markets allow this for a moment.
    Locked {
        /// The price of both.
        price: Amount,
    },
    /// A new level, or a level of a snapshot, would leave a hole before it.
    Hole {
        /// Side of the book.
        side: Side,
        /// The level named, from 1.
        level: u32,
        /// Number of levels.
        levels: u32,
    },
    /// The update names a level that does not exist.
    NoSuchLevel {
        /// Side of the book.
        side: Side,
        /// The level named, from 1.
        level: u32,
        /// Number of levels.
        levels: u32,
    },
    /// The level is 0 or below the depth limit.
    LevelOutOfRange {
        /// Side of the book.
        side: Side,
        /// The level named.
        level: u32,
        /// Deepest allowed level.
        depth_max: u32,
    },
    /// The update names a price that does not exist.
    NoSuchPrice {
        /// Side of the book.
        side: Side,
        /// The price named.
        price: Amount,
    },
    /// The price of a new level already exists.
    PriceExists {
        /// Side of the book.
        side: Side,
        /// The price named.
        price: Amount,
    },
    /// A level is not worse than the one before it.
    Disordered {
        /// Side of the book.
        side: Side,
        /// The level, from 1.
        level: u32,
    },
    /// The update names an order that does not exist.
    NoSuchOrder {
        /// The order named.
        id: OrderId,
    },
    /// The id of a new order already exists.
    OrderExists {
        /// The order named.
        id: OrderId,
    },
    /// A new order exceeds the limit of the book.
    TooManyOrders {
        /// The limit.
        orders_max: usize,
    },
    /// The sum of the order sizes at a price does not fit a size.
    SizeOverflow {
        /// Side of the book.
        side: Side,
        /// The price.
        price: Amount,
    },
    /// A new level exceeds the limit of a book by price.
    TooManyLevels {
        /// Side of the book.
        side: Side,
        /// The limit.
        depth_max: u32,
    },
}

impl fmt::Display for BookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Crossed { bid, offer } => write!(f, "best bid {bid} is above best offer {offer}"),
            Self::Locked { price } => write!(f, "best bid and best offer are both {price}"),
            Self::Hole { side, level, levels } => {
                write!(f, "{side:?} level {level} would leave a gap: the book has {levels} levels")
            }
            Self::NoSuchLevel { side, level, levels } => {
                write!(f, "{side:?} level {level} does not exist: the book has {levels} levels")
            }
            Self::LevelOutOfRange { side, level, depth_max } => {
                write!(f, "{side:?} level {level} is not from 1 to {depth_max}")
            }
            Self::NoSuchPrice { side, price } => write!(f, "{side:?} price {price} does not exist"),
            Self::PriceExists { side, price } => {
                write!(f, "new {side:?} price {price} already exists")
            }
            Self::Disordered { side, level } => {
                write!(f, "{side:?} level {level} is not worse than the level before it")
            }
            Self::NoSuchOrder { id } => write!(f, "order {id} does not exist"),
            Self::OrderExists { id } => write!(f, "new order {id} already exists"),
            Self::TooManyOrders { orders_max } => {
                write!(f, "the book has {orders_max} orders, the limit")
            }
            Self::SizeOverflow { side, price } => {
                write!(f, "the sum of the {side:?} sizes at price {price} is too large")
            }
            Self::TooManyLevels { side, depth_max } => {
                write!(f, "{side:?} has {depth_max} levels, the limit")
            }
        }
    }
}

impl Error for BookFault {}
