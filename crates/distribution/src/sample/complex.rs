//! Market data and quote requests, keyed by security, as in `idl/Complex.idl`.
//!
//! The IDL has no optional members: an absent field is 0 or the empty string.

use super::Sample;
use crate::fields;

/// Market data of one security: the entries of one message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarketData {
    /// Security; the key.
    pub security_id: u32,
    /// Application version, FIX ApplVerID.
    pub appl_version_id: String,
    /// FIX MsgType, `X`.
    pub message_type: String,
    /// FIX SenderCompID.
    pub sender_comp_id: String,
    /// FIX MsgSeqNum of the message.
    pub msg_seq_num: u32,
    /// FIX SendingTime in the units of the feed.
    pub sending_time: u32,
    /// FIX TradeDate as the number YYYYMMDD.
    pub trade_date: u32,
    /// The entries, in the order of the message.
    pub md_entries: Vec<MarketDataEntry>,
}

/// One entry of a [`MarketData`] sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarketDataEntry {
    /// FIX MDUpdateAction: 0 new, 1 change, 2 delete.
    pub md_update_action: u32,
    /// FIX MDPriceLevel, 1 is the best.
    pub md_price_level: u32,
    /// FIX MDEntryType: `0` bid, `1` offer, `2` trade.
    pub md_entry_type: String,
    /// FIX OpenCloseSettleFlag.
    pub open_close_settle_flag: u32,
    /// FIX SecurityIDSource.
    pub security_id_source: u32,
    /// FIX SecurityID.
    pub security_id: u32,
    /// FIX RptSeq.
    pub rpt_seq: u32,
    /// FIX MDEntryPx.
    pub md_entry_px: f64,
    /// FIX MDEntryTime in the units of the feed.
    pub md_entry_time: u32,
    /// FIX MDEntrySize.
    pub md_entry_size: i32,
    /// FIX NumberOfOrders.
    pub number_of_orders: u32,
    /// FIX TradingSessionID.
    pub trading_session_id: String,
    /// FIX NetChgPrevDay.
    pub net_chg_prev_day: f64,
    /// FIX TradeVolume.
    pub trade_volume: u32,
    /// FIX TradeCondition.
    pub trade_condition: String,
    /// FIX TickDirection.
    pub tick_direction: String,
    /// FIX QuoteCondition.
    pub quote_condition: String,
    /// FIX AggressorSide.
    pub aggressor_side: u32,
    /// FIX MatchEventIndicator.
    pub match_event_indicator: String,
}

/// A request for a quote of one security.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuoteRequest {
    /// Security; the key.
    pub security_id: u32,
    /// Application version, FIX ApplVerID.
    pub appl_version_id: String,
    /// FIX MsgType, `R`.
    pub message_type: String,
    /// FIX SenderCompID.
    pub sender_comp_id: String,
    /// FIX MsgSeqNum of the message.
    pub msg_seq_num: u32,
    /// FIX SendingTime in the units of the feed.
    pub sending_time: u32,
    /// FIX QuoteReqID.
    pub quote_req_id: String,
    /// The requested symbols, in the order of the message.
    pub related_sym: Vec<RelatedSymbol>,
}

/// One symbol of a [`QuoteRequest`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelatedSymbol {
    /// FIX Symbol.
    pub symbol: String,
    /// FIX OrderQty.
    pub order_qty: u64,
    /// FIX Side.
    pub side: u32,
    /// FIX TransactTime in the units of the feed.
    pub transact_time: u64,
    /// FIX QuoteType.
    pub quote_type: u32,
    /// FIX SecurityID.
    pub security_id: u32,
    /// FIX SecurityIDSource.
    pub security_id_source: u32,
}

fields!("MiddlewareNewsBrief::MarketData" MarketData {
    security_id "securityID";
    appl_version_id "applVersionID",
    message_type "messageType",
    sender_comp_id "senderCompID",
    msg_seq_num "msgSeqNum",
    sending_time "sendingTime",
    trade_date "tradeDate",
    md_entries "mdEntries",
});

fields!("MiddlewareNewsBrief::MarketDataEntry" MarketDataEntry {
    ;
    md_update_action "mdUpdateAction",
    md_price_level "mdPriceLevel",
    md_entry_type "mdEntryType",
    open_close_settle_flag "openCloseSettleFlag",
    security_id_source "securityIDSource",
    security_id "securityID",
    rpt_seq "rptSeq",
    md_entry_px "mdEntryPx",
    md_entry_time "mdEntryTime",
    md_entry_size "mdEntrySize",
    number_of_orders "numberOfOrders",
    trading_session_id "tradingSessionID",
    net_chg_prev_day "netChgPrevDay",
    trade_volume "tradeVolume",
    trade_condition "tradeCondition",
    tick_direction "tickDirection",
    quote_condition "quoteCondition",
    aggressor_side "aggressorSide",
    match_event_indicator "matchEventIndicator",
});

fields!("MiddlewareNewsBrief::QuoteRequest" QuoteRequest {
    security_id "securityID";
    appl_version_id "applVersionID",
    message_type "messageType",
    sender_comp_id "senderCompID",
    msg_seq_num "msgSeqNum",
    sending_time "sendingTime",
    quote_req_id "quoteReqID",
    related_sym "relatedSym",
});

fields!("MiddlewareNewsBrief::RelatedSymbol" RelatedSymbol {
    ;
    symbol "symbol",
    order_qty "orderQty",
    side "side",
    transact_time "transactTime",
    quote_type "quoteType",
    security_id "securityID",
    security_id_source "securityIDSource",
});

impl Sample for MarketData {
    const TOPIC: &'static str = "MarketData";

    fn security(&self) -> Option<u32> {
        Some(self.security_id)
    }
}

impl Sample for QuoteRequest {
    const TOPIC: &'static str = "QuoteRequest";

    fn security(&self) -> Option<u32> {
        Some(self.security_id)
    }
}
