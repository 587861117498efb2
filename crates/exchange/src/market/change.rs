//! What an action at the exchange changes, as feeds tell it.

use tickwire_feed::book::Side;

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderAction {
    New,
    Change,
    Remove,
}

/// What became of a price level that is inside the published depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelAction {
    New,
    Change,
    Delete,
}

/// One thing a feed may tell. Prices are mantissas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// In feeds of price levels.
    Depth(DepthChange),
    /// In feeds that show each order.
    Order(OrderChange),
}

/// What became of one order; `size` is what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderChange {
    pub(crate) action: OrderAction,
    pub(crate) side: Side,
    pub(crate) id: u32,
    pub(crate) price: i64,
    pub(crate) size: u32,
}

/// What a feed of price levels tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DepthChange {
    /// A new highest or lowest trade of the session.
    Extreme { is_high: bool, price: i64 },
    /// `level` is 1 for the best.
    Level { action: LevelAction, side: Side, level: u32, price: i64, size: u64, orders: u32 },
    /// `aggressor` is the side whose order came last.
    Trade { aggressor: Side, price: i64, size: u32, tick: Tick, volume: u64 },
}

impl DepthChange {
    /// The price it is about, as a mantissa.
    pub(crate) fn price(&self) -> i64 {
        match *self {
            Self::Extreme { price, .. } | Self::Level { price, .. } | Self::Trade { price, .. } => {
                price
            }
        }
    }
}

/// How a trade's price stands to that of the trade before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    Up,
    Same,
    Down,
}
