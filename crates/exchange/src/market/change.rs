//! Changes of the market, as feeds publish them.

use tickwire_feed::book::Side;

/// The change of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderChangeAction {
    New,
    Change,
    Remove,
}

/// The change of a price level within the published depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DepthAction {
    New,
    Change,
    Delete,
}

/// A change that a feed may publish. Prices are mantissas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarketChange {
    /// For feeds of price levels.
    Depth(DepthChange),
    /// For feeds of individual orders.
    Order(OrderChange),
}

/// The change of one order; `size` is its remaining size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderChange {
    pub(crate) action: OrderChangeAction,
    pub(crate) side: Side,
    pub(crate) id: u32,
    pub(crate) price: i64,
    pub(crate) size: u32,
}

/// A change in a feed of price levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DepthChange {
    /// A new highest or lowest trade of the session.
    Extreme { is_high: bool, price: i64 },
    /// `level` is 1 for the best.
    Level { action: DepthAction, side: Side, level: u32, price: i64, size: u64, orders: u32 },
    /// `aggressor` is the side of the incoming order.
    Trade { aggressor: Side, price: i64, size: u32, tick: Tick, volume: u64 },
}

impl DepthChange {
    /// Returns the price of the change, as a mantissa.
    pub(crate) fn price(&self) -> i64 {
        match *self {
            Self::Extreme { price, .. } | Self::Level { price, .. } | Self::Trade { price, .. } => {
                price
            }
        }
    }
}

/// The direction of a trade's price relative to the previous trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    Up,
    Same,
    Down,
}
