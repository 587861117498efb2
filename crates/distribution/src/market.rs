//! Publishes the feed handler's books and events as [`BookTop`], [`BookSample`], [`TradeSample`], [`StatusSample`] and [`DefinitionSample`]
//! samples.

use std::collections::HashMap;
use std::fmt::Write as _;

use tickwire_feed::book::{Amount, Level, Side};
use tickwire_feed::market::{
    BookKind, Instrument, Instruments, MarketEvent, StatusScope, Trade as FeedTrade, TradeAction,
};
use tickwire_feed::recovery::{BookChange, Recovery};

use crate::delivery::TopicSet;
use crate::publisher::Outlet;
use crate::{
    BookLevel, BookSample, BookTop, DefinitionSample, SampleDecimal, StatusSample, TradeSample,
};

/// Returns the topic sets of the samples of any feed, in the order in which [`MarketSamples`] uses them.
#[must_use]
pub fn market_sets() -> Vec<TopicSet> {
    let mut sets = best_price_sets();
    sets.extend([TopicSet::of::<BookSample>(), TopicSet::of::<DefinitionSample>()]);
    sets
}

/// Returns the first of these sets, for a feed that sends only best prices, trades and status, such as OPRA.
#[must_use]
pub fn best_price_sets() -> Vec<TopicSet> {
    vec![TopicSet::of::<BookTop>(), TopicSet::of::<TradeSample>(), TopicSet::of::<StatusSample>()]
}

const BOOK_TOP: usize = 0;
const TRADE: usize = 1;
const STATUS: usize = 2;
const BOOK: usize = 3;
const DEFINITION: usize = 4;

/// Origin of a change: the packet of the message that caused it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeOrigin {
    /// Sequence number of the packet; `None` if packets have none.
    pub seq_num: Option<u64>,
    /// Sending time of the exchange, in the digits of the feed; `None` if the feed does not send it.
    pub sending_time: Option<u64>,
    /// Receive time in nanoseconds since 1970.
    pub received_ns: u64,
}

/// Fills the samples of one channel and writes them. Samples are reused, so once warm, filling does not allocate.
pub struct MarketSamples {
    /// Maximum number of published levels per side.
    levels_max: usize,
    top: BookTop,
    book: BookSample,
    trade: TradeSample,
    status: StatusSample,
    definition: DefinitionSample,
    /// The best prices and book states published last.
    tops: HashMap<(Instrument, BookKind), BookTop>,
}

/// Sets the members at the start of all samples.
macro_rules! set_head {
    ($sample:expr, $instrument:expr, $origin:expr) => {{
        set($instrument, &mut $sample.instrument);
        $sample.seq_num = $origin.seq_num.unwrap_or(0);
        $sample.sending_time = $origin.sending_time.unwrap_or(0);
        $sample.received_ns = $origin.received_ns;
    }};
}

impl MarketSamples {
    /// Creates the samples of one channel of a source, with at most `levels_max` levels per side.
    #[must_use]
    pub fn new(source: &str, channel: &str, levels_max: Option<u32>) -> Self {
        let (source, channel) = (source.to_owned(), channel.to_owned());
        let all = (source.clone(), channel.clone());
        Self {
            levels_max: levels_max.map_or(usize::MAX, |levels| levels as usize),
            top: BookTop { source: all.0.clone(), channel: all.1.clone(), ..BookTop::default() },
            book: BookSample {
                source: all.0.clone(),
                channel: all.1.clone(),
                ..BookSample::default()
            },
            trade: TradeSample {
                source: all.0.clone(),
                channel: all.1.clone(),
                ..TradeSample::default()
            },
            status: StatusSample { source: all.0, channel: all.1, ..StatusSample::default() },
            definition: DefinitionSample { source, channel, ..DefinitionSample::default() },
            tops: HashMap::new(),
        }
    }

    /// Publishes a book that has changed, or that has become fresh or stale: all its levels and, if they or the state
    /// changed, the best prices.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn publish_book<O: Outlet>(
        &mut self,
        publisher: &mut O,
        change: &BookChange,
        recovery: &Recovery,
        origin: &ChangeOrigin,
    ) -> Result<(), O::Error> {
        let Some(levels) = recovery.last_known_book(change.instrument, change.kind) else {
            return Ok(());
        };
        let name = recovery.instruments().name(change.instrument);
        let reason = match recovery.book(change.instrument, change.kind) {
            Ok(_) => "",
            Err(reason) => reason.label(),
        };

        let key = (change.instrument, change.kind);
        let sides = [Side::Bid, Side::Offer].map(|side| levels.best(side));
        self.publish_top(publisher, key, name, sides, reason, origin)?;

        let Self { book, levels_max, .. } = self;
        set_head!(book, name, origin);
        set(change.kind.name(), &mut book.kind);
        set(reason, &mut book.stale_reason);
        for (side, out) in [(Side::Bid, &mut book.bids), (Side::Offer, &mut book.offers)] {
            out.clear();
            out.extend(levels.levels(side).take(*levels_max).map(level));
        }
        publisher.publish(BOOK, book)
    }

    /// Publishes the best bid and offer of the instrument `name` if they or the reason why they are stale have changed;
    /// `stale_reason` is empty while they are fresh.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn publish_top<O: Outlet>(
        &mut self,
        publisher: &mut O,
        key: (Instrument, BookKind),
        name: &str,
        [bid, offer]: [Option<&Level>; 2],
        stale_reason: &str,
        origin: &ChangeOrigin,
    ) -> Result<(), O::Error> {
        let Self { top, tops, .. } = self;
        set_head!(top, name, origin);
        set(key.1.name(), &mut top.kind);
        set(stale_reason, &mut top.stale_reason);
        (top.has_bid, top.bid) = best(bid);
        (top.has_offer, top.offer) = best(offer);
        match tops.get_mut(&key) {
            Some(last) if is_same(last, top) => {}
            Some(last) => {
                publisher.publish(BOOK_TOP, top)?;
                last.clone_from(top);
            }
            None => {
                publisher.publish(BOOK_TOP, top)?;
                tops.insert(key, top.clone());
            }
        }
        Ok(())
    }

    /// Publishes a trade, a status or a definition; ignores other events.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn publish_event<O: Outlet>(
        &mut self,
        publisher: &mut O,
        event: &MarketEvent<'_>,
        instruments: &Instruments,
        origin: &ChangeOrigin,
    ) -> Result<(), O::Error> {
        match event {
            MarketEvent::Trade(told) => {
                set_head!(self.trade, instruments.name(told.instrument), origin);
                fill_trade(&mut self.trade, told);
                publisher.publish(TRADE, &self.trade)
            }
            MarketEvent::Status(told) => {
                let name = match told.scope {
                    StatusScope::Instrument(instrument) => instruments.name(instrument),
                    StatusScope::Channel => "",
                };
                set_head!(self.status, name, origin);
                self.status.code = told.code;
                self.status.may_cross = told.may_cross();
                publisher.publish(STATUS, &self.status)
            }
            MarketEvent::Definition(instrument, told) => {
                let definition = &mut self.definition;
                // Publish all known properties, not only the new ones.
                let known = instruments.definition(*instrument).unwrap_or(told);
                set_head!(definition, instruments.name(*instrument), origin);
                set(known.symbol.as_deref().unwrap_or_default(), &mut definition.symbol);
                (definition.has_tick, definition.tick) = optional(known.tick);
                set(known.expiry.as_deref().unwrap_or_default(), &mut definition.expiry);
                publisher.publish(DEFINITION, definition)
            }
            _ => Ok(()),
        }
    }
}

/// Returns true if best prices and state equal those published last.
fn is_same(last: &BookTop, top: &BookTop) -> bool {
    last.stale_reason == top.stale_reason
        && (last.has_bid, last.has_offer) == (top.has_bid, top.has_offer)
        && is_same_level(&last.bid, &top.bid)
        && is_same_level(&last.offer, &top.offer)
}

/// Returns true if levels are equal by value: 1333 x 10^1 equals 13330.
fn is_same_level(last: &BookLevel, level: &BookLevel) -> bool {
    amount(last.price) == amount(level.price)
        && amount(last.size) == amount(level.size)
        && last.orders == level.orders
}

fn amount(decimal: SampleDecimal) -> Amount {
    Amount { mantissa: decimal.mantissa, exponent: decimal.exponent }
}

fn fill_trade(trade: &mut TradeSample, told: &FeedTrade<'_>) {
    trade.exchange_date = told.time.date.unwrap_or(0);
    trade.has_exchange_time = told.time.time.is_some();
    trade.exchange_time = told.time.time.unwrap_or(0);
    let action = match told.action {
        TradeAction::New => "new",
        TradeAction::Change => "change",
        TradeAction::Delete => "delete",
    };
    set(action, &mut trade.action);
    (trade.has_price, trade.price) = optional(told.price);
    (trade.has_size, trade.size) = optional(told.size);
    trade.id.clear();
    if let Some(id) = told.id {
        // Writing to a string does not fail.
        let _ = write!(trade.id, "{id}");
    }
    let aggressor = match told.aggressor {
        Some(Side::Bid) => "bid",
        Some(Side::Offer) => "offer",
        None => "",
    };
    set(aggressor, &mut trade.aggressor);
    set(&String::from_utf8_lossy(told.conditions), &mut trade.conditions);
}

/// Replaces a string, reusing its memory. Leaves out NUL characters, because NUL ends a string on the wire.
fn set(value: &str, text: &mut String) {
    text.clear();
    text.extend(value.split('\0'));
}

fn decimal(amount: Amount) -> SampleDecimal {
    SampleDecimal { mantissa: amount.mantissa, exponent: amount.exponent }
}

fn optional(amount: Option<Amount>) -> (bool, SampleDecimal) {
    (amount.is_some(), amount.map(decimal).unwrap_or_default())
}

fn level(level: &Level) -> BookLevel {
    BookLevel {
        price: decimal(level.price),
        size: decimal(level.size),
        orders: level.orders.unwrap_or(0),
    }
}

fn best(best: Option<&Level>) -> (bool, BookLevel) {
    (best.is_some(), best.map(level).unwrap_or_default())
}
