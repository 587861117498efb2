//! Samples that do not depend on an exchange: best prices, books, trades, status and definitions, as in
//! `idl/Market.idl`.
//!
//! The key of all of them is source, channel and instrument. Prices and sizes are exact decimals. What a feed
//! does not tell is absent by a flag beside the value, or 0 or empty where the member's documentation says so.

use super::Sample;
use crate::field::fields;

/// An exact number: `mantissa` times ten to the power of `exponent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The digits.
    pub mantissa: i64,
    /// How far the decimal point is moved; -2 for hundredths.
    pub exponent: i32,
}

/// One price of a book.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BookLevel {
    /// The price.
    pub price: Decimal,
    /// What is to be had at it.
    pub size: Decimal,
    /// Number of orders; 0 where the feed does not tell.
    pub orders: u32,
}

/// The best prices of an instrument, after a message that changed them or their state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BookTop {
    /// Source, by the name that the publisher has given it.
    pub source: String,
    /// Channel of the source; empty where it has one alone.
    pub channel: String,
    /// The instrument as the feed names it.
    pub instrument: String,
    /// Which orders the book is made of: `outright` or `implied`.
    pub kind: String,
    /// Sequence number of the packet that changed it; 0 where packets have none.
    pub seq_num: u64,
    /// When the exchange sent that packet, in the digits of the feed; 0 where it does not tell.
    pub sending_time: u64,
    /// When it was received, in nanoseconds since 1970.
    pub received_ns: u64,
    /// Why the book is stale, such as `gap`; empty where it is fresh. A stale book's prices are those it had
    /// last.
    pub stale_reason: String,
    /// Whether there is a bid.
    pub has_bid: bool,
    /// The best bid.
    pub bid: BookLevel,
    /// Whether there is an offer.
    pub has_offer: bool,
    /// The best offer.
    pub offer: BookLevel,
}

/// The levels of an instrument's book, after a message that changed them or their state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Book {
    /// As in [`BookTop`].
    pub source: String,
    /// As in [`BookTop`].
    pub channel: String,
    /// As in [`BookTop`].
    pub instrument: String,
    /// As in [`BookTop`].
    pub kind: String,
    /// As in [`BookTop`].
    pub seq_num: u64,
    /// As in [`BookTop`].
    pub sending_time: u64,
    /// As in [`BookTop`].
    pub received_ns: u64,
    /// As in [`BookTop`].
    pub stale_reason: String,
    /// The bids, the best first.
    pub bids: Vec<BookLevel>,
    /// The offers, the best first.
    pub offers: Vec<BookLevel>,
}

/// A trade, its correction or its cancellation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trade {
    /// As in [`BookTop`].
    pub source: String,
    /// As in [`BookTop`].
    pub channel: String,
    /// As in [`BookTop`].
    pub instrument: String,
    /// As in [`BookTop`].
    pub seq_num: u64,
    /// As in [`BookTop`].
    pub sending_time: u64,
    /// As in [`BookTop`].
    pub received_ns: u64,
    /// Date at the exchange, YYYYMMDD; 0 where the feed does not tell.
    pub exchange_date: u64,
    /// Whether the feed tells the time of the trade.
    pub has_exchange_time: bool,
    /// Time at the exchange, in the digits of the feed.
    pub exchange_time: u64,
    /// `new`, `change` or `delete`.
    pub action: String,
    /// Whether the feed tells the price.
    pub has_price: bool,
    /// The price.
    pub price: Decimal,
    /// Whether the feed tells the size.
    pub has_size: bool,
    /// The size.
    pub size: Decimal,
    /// The trade's identifier; empty where the feed does not tell.
    pub id: String,
    /// Side that took the price, `bid` or `offer`; empty where the feed does not tell.
    pub aggressor: String,
    /// Conditions of the trade, in the letters of the feed.
    pub conditions: String,
}

/// A trading status, of an instrument or of a whole channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// As in [`BookTop`].
    pub source: String,
    /// As in [`BookTop`].
    pub channel: String,
    /// As in [`BookTop`]; empty for the whole channel.
    pub instrument: String,
    /// As in [`BookTop`].
    pub seq_num: u64,
    /// As in [`BookTop`].
    pub sending_time: u64,
    /// As in [`BookTop`].
    pub received_ns: u64,
    /// FIX SecurityTradingStatus (326), or TradSesStatus (340) for a channel, as the feed sends it.
    pub code: u64,
    /// Whether books may be crossed while it lasts: everything but continuous trading.
    pub may_cross: bool,
}

/// What is known of an instrument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// As in [`BookTop`].
    pub source: String,
    /// As in [`BookTop`].
    pub channel: String,
    /// As in [`BookTop`].
    pub instrument: String,
    /// As in [`BookTop`].
    pub seq_num: u64,
    /// As in [`BookTop`].
    pub sending_time: u64,
    /// As in [`BookTop`].
    pub received_ns: u64,
    /// What people call it; empty where the feed does not tell.
    pub symbol: String,
    /// Whether the feed tells the price step.
    pub has_tick: bool,
    /// The price step.
    pub tick: Decimal,
    /// Expiry, in the digits of the feed; empty where the feed does not tell.
    pub expiry: String,
}

fields!("tickwire::Decimal" Decimal { ; mantissa "mantissa", exponent "exponent" });
fields!("tickwire::BookLevel" BookLevel { ; price "price", size "size", orders "orders" });
fields!("tickwire::BookTop" BookTop {
    source "source", channel "channel", instrument "instrument", kind "kind";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns",
    stale_reason "stale_reason", has_bid "has_bid", bid "bid", has_offer "has_offer", offer "offer",
});
fields!("tickwire::Book" Book {
    source "source", channel "channel", instrument "instrument", kind "kind";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns",
    stale_reason "stale_reason", bids "bids", offers "offers",
});
fields!("tickwire::Trade" Trade {
    source "source", channel "channel", instrument "instrument";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns",
    exchange_date "exchange_date", has_exchange_time "has_exchange_time",
    exchange_time "exchange_time", action "action", has_price "has_price", price "price",
    has_size "has_size", size "size", id "id", aggressor "aggressor", conditions "conditions",
});
fields!("tickwire::Status" Status {
    source "source", channel "channel", instrument "instrument";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns", code "code",
    may_cross "may_cross",
});
fields!("tickwire::Definition" Definition {
    source "source", channel "channel", instrument "instrument";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns", symbol "symbol",
    has_tick "has_tick", tick "tick", expiry "expiry",
});

macro_rules! samples {
    ($($name:ident)*) => {
        $(
            impl Sample for $name {
                const TOPIC: &'static str = stringify!($name);
            }
        )*
    };
}

samples! { Book BookTop Definition Status Trade }
