//! Market events besides book updates: trades, statistics, status, definitions.

use super::{Definition, Instrument};
use crate::book::{Amount, OrderId, Side};

/// Time of an event, as the exchange sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeTime {
    /// MDEntryDate (272) or TradeDate (75), YYYYMMDD.
    pub date: Option<u64>,
    /// MDEntryTime (273), else TransactTime (60), in the digits of the feed, such as HHMMSSmmm.
    pub time: Option<u64>,
}

/// State of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TradeAction {
    /// A new trade.
    New,
    /// A correction of a trade.
    Change,
    /// A cancellation of a trade.
    Delete,
}

/// A trade (MDEntryType 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade<'a> {
    /// The traded instrument.
    pub instrument: Instrument,
    /// New trade, correction or cancellation.
    pub action: TradeAction,
    /// MDEntryPx (270).
    pub price: Option<Amount>,
    /// MDEntrySize (271).
    pub size: Option<Amount>,
    /// The exchange's time.
    pub time: ExchangeTime,
    /// MDEntryID (278) or TradeID (1003).
    pub id: Option<OrderId>,
    /// AggressorSide (5797, 2446), or the side of the resting order on feeds that send that.
    pub aggressor: Option<Side>,
    /// TradeCondition (277), empty if absent.
    pub conditions: &'a [u8],
}

/// A statistic of the day: opening price, high, volume and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Its instrument.
    pub instrument: Instrument,
    /// MDEntryType (269) as the feed sends it: 4 opening price, 6 settlement price, B volume.
    pub entry_type: u8,
    /// MDEntryPx (270).
    pub price: Option<Amount>,
    /// MDEntrySize (271).
    pub size: Option<Amount>,
    /// The exchange's time.
    pub time: ExchangeTime,
}

/// Scope of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusScope {
    /// One instrument: SecurityStatus, 35=f.
    Instrument(Instrument),
    /// All instruments of the channel: TradingSessionStatus, 35=h.
    Channel,
}

/// A change of trading status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Scope of the status.
    pub scope: StatusScope,
    /// SecurityTradingStatus (326) or TradSesStatus (340).
    pub code: u64,
}

/// SecurityTradingStatus of continuous trading: 3 resume, 17 ready to trade, 23 fast market; T7: 202
/// book, 203 continuous.
const CONTINUOUS_SECURITY: [u64; 5] = [3, 17, 23, 202, 203];
/// TradSesStatus of continuous trading: 2 open.
const CONTINUOUS_SESSION: u64 = 2;

impl Status {
    /// True if books may be crossed in this status: in every status except continuous trading,
    /// orders rest without being matched.
    pub fn may_cross(&self) -> bool {
        match self.scope {
            StatusScope::Instrument(_) => !CONTINUOUS_SECURITY.contains(&self.code),
            StatusScope::Channel => self.code != CONTINUOUS_SESSION,
        }
    }
}

/// A market event besides book updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarketEvent<'a> {
    /// A trade.
    Trade(Trade<'a>),
    /// A statistic of the day.
    Statistic(Statistic),
    /// A trading status.
    Status(Status),
    /// New data of an instrument; its whole definition is in
    /// [`Instruments::definition`](super::Instruments::definition).
    Definition(Instrument, &'a Definition),
}
