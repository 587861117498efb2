//! Values of FIX market data.

use crate::draft::DraftValue;
use crate::market::{DepthAction, DepthChange, Tick};
use tickwire_feed::book::Side;

/// The fields of an entry that describe the change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryFields {
    /// MDUpdateAction.
    pub(crate) action: u64,
    /// MDPriceLevel.
    pub(crate) level: Option<u64>,
    /// MDEntryType.
    pub(crate) entry_type: &'static str,
    /// MDEntryPx, as a mantissa.
    pub(crate) price: i64,
    /// MDEntrySize.
    pub(crate) size: Option<u64>,
    /// NumberOfOrders.
    pub(crate) orders: Option<u64>,
    /// TickDirection; this and the following fields are for trades only.
    pub(crate) tick: Option<&'static str>,
    /// AggressorSide.
    pub(crate) aggressor: Option<u64>,
    /// TradeVolume.
    pub(crate) volume: Option<u64>,
}

impl EntryFields {
    pub(crate) fn of(change: &DepthChange) -> Self {
        match *change {
            DepthChange::Level { action, side, level, price, size, orders } => {
                let is_there = action != DepthAction::Delete;
                Self {
                    action: update_action(action),
                    level: Some(level.into()),
                    entry_type: entry_type(side),
                    price,
                    size: is_there.then_some(size),
                    orders: is_there.then_some(orders.into()),
                    ..Self::default()
                }
            }
            DepthChange::Trade { aggressor, price, size, tick, volume } => Self {
                entry_type: "2",
                price,
                size: Some(size.into()),
                tick: Some(tick_direction(tick)),
                aggressor: Some(side_number(aggressor)),
                volume: Some(volume.min(u32::MAX.into())),
                ..Self::default()
            },
            DepthChange::Extreme { is_high, price } => {
                let entry_type = if is_high { "7" } else { "8" };
                Self { entry_type, price, ..Self::default() }
            }
        }
    }

    pub(crate) fn is_trade(&self) -> bool {
        self.tick.is_some()
    }
}

/// Returns an unsigned value, if there is one.
pub(crate) fn optional(value: Option<u64>) -> DraftValue {
    value.map_or(DraftValue::Absent, DraftValue::UInt)
}

/// Returns a size, if there is one, as a signed value as in FIX.
pub(crate) fn optional_size(value: Option<u64>) -> DraftValue {
    value.map_or(DraftValue::Absent, |size| DraftValue::Int(size as i64))
}

/// Returns the MDUpdateAction.
fn update_action(action: DepthAction) -> u64 {
    match action {
        DepthAction::New => 0,
        DepthAction::Change => 1,
        DepthAction::Delete => 2,
    }
}

/// Returns the MDEntryType of a side.
pub(crate) fn entry_type(side: Side) -> &'static str {
    match side {
        Side::Bid => "0",
        Side::Offer => "1",
    }
}

/// Returns the AggressorSide.
fn side_number(side: Side) -> u64 {
    match side {
        Side::Bid => 1,
        Side::Offer => 2,
    }
}

/// Returns the TickDirection.
fn tick_direction(tick: Tick) -> &'static str {
    match tick {
        Tick::Up => "0",
        Tick::Same => "1",
        Tick::Down => "2",
    }
}
