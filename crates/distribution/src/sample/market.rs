//! Samples that do not depend on an exchange: best prices, books, trades, status and definitions, as in
//! `idl/Market.idl`.
//!
//! The key of each type is source, channel and instrument; for books it also has the kind. Prices and sizes are exact
//! decimals. If the feed does not send a value, a flag beside it is false, or the value is 0 or empty, as its
//! documentation states.

use super::Sample;
use crate::fields;

/// An exact number: `mantissa` times ten to the power of `exponent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SampleDecimal {
    /// The digits.
    pub mantissa: i64,
    /// Power of ten; -2 for hundredths.
    pub exponent: i32,
}

/// One price level of a book.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BookLevel {
    /// The price.
    pub price: SampleDecimal,
    /// Size available at the price.
    pub size: SampleDecimal,
    /// Number of orders; 0 if the feed does not send it.
    pub orders: u32,
}

/// The best prices of an instrument, published when a message changed them or their state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BookTop {
    /// Name of the source, chosen by the publisher.
    pub source: String,
    /// Channel of the source; empty if it has only one.
    pub channel: String,
    /// The instrument as the feed names it.
    pub instrument: String,
    /// Orders that the book is made of: `outright` or `implied`.
    pub kind: String,
    /// Sequence number of the packet that changed the prices; 0 if packets have none.
    pub seq_num: u64,
    /// Time at which the exchange sent that packet, in the digits of the feed; 0 if the feed does not send
    /// it.
    pub sending_time: u64,
    /// Receive time of that packet, in nanoseconds since 1970.
    pub received_ns: u64,
    /// Reason why the book is stale, such as `gap`; empty if it is fresh. The prices of a stale book are the
    /// last known ones.
    pub stale_reason: String,
    /// True if there is a bid.
    pub has_bid: bool,
    /// The best bid.
    pub bid: BookLevel,
    /// True if there is an offer.
    pub has_offer: bool,
    /// The best offer.
    pub offer: BookLevel,
}

/// The levels of an instrument's book, published when a message changed them or their state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BookSample {
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

/// A new, corrected or cancelled trade.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TradeSample {
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
    /// Date at the exchange, YYYYMMDD; 0 if the feed does not send it.
    pub exchange_date: u64,
    /// True if the feed sends the time of the trade.
    pub has_exchange_time: bool,
    /// Time at the exchange, in the digits of the feed.
    pub exchange_time: u64,
    /// `new`, `change` (a correction) or `delete` (a cancellation).
    pub action: String,
    /// True if the feed sends the price.
    pub has_price: bool,
    /// The price.
    pub price: SampleDecimal,
    /// True if the feed sends the size.
    pub has_size: bool,
    /// The size.
    pub size: SampleDecimal,
    /// The trade's identifier; empty if the feed does not send it.
    pub id: String,
    /// Side of the aggressor, `bid` or `offer`; empty if the feed does not send it.
    pub aggressor: String,
    /// Conditions of the trade, as the feed spells them.
    pub conditions: String,
}

/// A trading status, of an instrument or of a whole channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusSample {
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
    /// True if books may be crossed in this status, as in every status except continuous trading.
    pub may_cross: bool,
}

/// Known properties of an instrument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionSample {
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
    /// Readable symbol; empty if the feed does not send it.
    pub symbol: String,
    /// True if the feed sends the price step.
    pub has_tick: bool,
    /// The price step.
    pub tick: SampleDecimal,
    /// Expiry, in the digits of the feed; empty if the feed does not send it.
    pub expiry: String,
}

fields!("tickwire::Decimal" SampleDecimal { ; mantissa "mantissa", exponent "exponent" });
fields!("tickwire::BookLevel" BookLevel { ; price "price", size "size", orders "orders" });
fields!("tickwire::BookTop" BookTop {
    source "source", channel "channel", instrument "instrument", kind "kind";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns",
    stale_reason "stale_reason", has_bid "has_bid", bid "bid", has_offer "has_offer", offer "offer",
});
fields!("tickwire::Book" BookSample {
    source "source", channel "channel", instrument "instrument", kind "kind";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns",
    stale_reason "stale_reason", bids "bids", offers "offers",
});
fields!("tickwire::Trade" TradeSample {
    source "source", channel "channel", instrument "instrument";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns",
    exchange_date "exchange_date", has_exchange_time "has_exchange_time",
    exchange_time "exchange_time", action "action", has_price "has_price", price "price",
    has_size "has_size", size "size", id "id", aggressor "aggressor", conditions "conditions",
});
fields!("tickwire::Status" StatusSample {
    source "source", channel "channel", instrument "instrument";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns", code "code",
    may_cross "may_cross",
});
fields!("tickwire::Definition" DefinitionSample {
    source "source", channel "channel", instrument "instrument";
    seq_num "seq_num", sending_time "sending_time", received_ns "received_ns", symbol "symbol",
    has_tick "has_tick", tick "tick", expiry "expiry",
});

macro_rules! samples {
    ($($topic:literal $name:ident)*) => {
        $(
            impl Sample for $name {
                const TOPIC: &'static str = $topic;
            }
        )*
    };
}

samples! {
    "Book" BookSample
    "BookTop" BookTop
    "Definition" DefinitionSample
    "Status" StatusSample
    "Trade" TradeSample
}
