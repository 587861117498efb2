//! Converts OPRA messages to market data.
//!
//! | message | market data |
//! |---|---|
//! | quote (`k`) | the best bid and offer of its series, as the BBO indicator tells them; a halt (type T), and its end |
//! | last sale (`a`) | a trade with its type as condition; a cancelled one (types A, C, E, G) is deleted |
//! | open interest (`d`), end of day (`f`) | statistics |
//! | control (`H`) | K (numbers restart) and C (start of day) empty all books; C opens the session, H ends it |
//!
//! Quotes that are not the best of their series change nothing, because each quote says what the
//! best ones are. Underlying values, foreign currency options and texts are ignored.

use std::collections::HashMap;
use std::io::Write as _;

use tickwire_opra::{OpraMessage, OptionKey, Price, Quote, Typed};

use crate::book::{Amount, BookUpdate, Level, LevelAction, Side};
use crate::market::{
    Adapt, BookKind, Clear, ClearScope, ExchangeTime, Instrument, InstrumentKey, MarketDataError,
    MarketEvent, MarketSink, Statistic, Status, StatusScope, Trade, TradeAction, Update,
};

/// SecurityTradingStatus (326) of a halt and of its end.
const HALT: u64 = 2;
const RESUME: u64 = 3;
/// TradSesStatus (340).
const OPEN: u64 = 2;
const CLOSED: u64 = 3;

/// State of a series.
#[derive(Clone, Copy, Debug, Default)]
struct SeriesState {
    /// True for each side that has a best price.
    has_best: [bool; 2],
    is_halted: bool,
}

/// Content of a quote for one side.
enum Best {
    Same,
    Gone,
    Is(Option<Level>),
}

/// Converts OPRA messages to updates of the best prices of each series, trades, statistics and
/// status.
///
/// Instruments are named by symbol, expiration and strike price: `IBM 120121C195.5`. In version
/// 1.03, whose codes are not decoded, the name is `IBM A9 195.5`.
#[derive(Clone, Debug, Default)]
pub struct OpraAdapter {
    series: HashMap<Instrument, SeriesState>,
    name: Vec<u8>,
}

impl OpraAdapter {
    /// Creates an adapter before its first message.
    pub fn new() -> Self {
        Self::default()
    }

    fn instrument(&mut self, option: &OptionKey, sink: &mut impl MarketSink) -> Option<Instrument> {
        write_name(&mut self.name, option);
        sink.instrument(InstrumentKey::Text(&self.name))
    }

    fn quote(&mut self, quote: &Quote, seq_num: u64, sink: &mut impl MarketSink) {
        let Some(instrument) = self.instrument(&quote.option, sink) else { return };
        let known = self.series.entry(instrument).or_default();
        let is_halted = quote.preamble.message_type == u32::from(b'T');
        if std::mem::replace(&mut known.is_halted, is_halted) != is_halted {
            let code = if is_halted { HALT } else { RESUME };
            let scope = StatusScope::Instrument(instrument);
            sink.event(&MarketEvent::Status(Status { scope, code }));
        }
        let sides = Side::ALL.into_iter().zip(best(quote)).zip(&mut known.has_best);
        for ((side, best), has_best) in sides {
            let action = match best {
                Best::Same => continue,
                Best::Is(Some(level)) if *has_best => LevelAction::Change(level),
                Best::Is(Some(level)) => LevelAction::New(level),
                Best::Is(None) | Best::Gone if *has_best => LevelAction::Delete,
                Best::Is(None) | Best::Gone => continue,
            };
            *has_best = !matches!(action, LevelAction::Delete);
            sink.update(&Update {
                instrument,
                kind: BookKind::Outright,
                seq_num,
                rpt_seq: None,
                depth: Some(1),
                change: BookUpdate::ByLevel { side, level: 1, action },
            });
        }
    }

    fn control(&mut self, message_type: u32, seq_num: u64, sink: &mut impl MarketSink) {
        let scope = StatusScope::Channel;
        match u8::try_from(message_type) {
            Ok(b'K') => self.clear(seq_num, sink),
            Ok(b'C') => {
                self.clear(seq_num, sink);
                sink.event(&MarketEvent::Status(Status { scope, code: OPEN }));
            }
            Ok(b'H') => sink.event(&MarketEvent::Status(Status { scope, code: CLOSED })),
            _ => {}
        }
    }

    fn clear(&mut self, seq_num: u64, sink: &mut impl MarketSink) {
        self.series.clear();
        sink.clear(&Clear { scope: ClearScope::Channel, seq_num });
    }
}

impl Adapt<OpraMessage<'_>> for OpraAdapter {
    fn adapt<S: MarketSink>(
        &mut self,
        message: &OpraMessage<'_>,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError> {
        match message.typed() {
            Typed::Quote(quote) => self.quote(&quote, seq_num, sink),
            Typed::LastSale(sale) => {
                let Some(instrument) = self.instrument(&sale.option, sink) else { return Ok(()) };
                let condition = condition(sale.preamble.message_type);
                let is_cancelled = matches!(condition, Some(b'A' | b'C' | b'E' | b'G'));
                sink.event(&MarketEvent::Trade(Trade {
                    instrument,
                    action: if is_cancelled { TradeAction::Delete } else { TradeAction::New },
                    price: amount(sale.premium),
                    size: Some(Amount::integer(sale.volume.into())),
                    time: time(sale.preamble.time),
                    id: None,
                    aggressor: None,
                    conditions: condition.as_slice(),
                }));
            }
            Typed::OpenInterest(interest) => {
                let Some(instrument) = self.instrument(&interest.option, sink) else {
                    return Ok(());
                };
                let size = Some(Amount::integer(interest.volume.into()));
                let time = time(interest.preamble.time);
                let statistic = Statistic { instrument, entry_type: b'C', price: None, size, time };
                sink.event(&MarketEvent::Statistic(statistic));
            }
            Typed::EndOfDay(day) => {
                let Some(instrument) = self.instrument(&day.option, sink) else { return Ok(()) };
                let time = time(day.preamble.time);
                let prices =
                    [(b'4', day.open), (b'7', day.high), (b'8', day.low), (b'5', day.last)];
                for (entry_type, value) in prices {
                    let price = amount(Price { denominator: day.denominator, value });
                    let size = None;
                    let statistic = Statistic { instrument, entry_type, price, size, time };
                    sink.event(&MarketEvent::Statistic(statistic));
                }
                for (entry_type, count) in [(b'B', day.volume), (b'C', day.open_interest)] {
                    let (price, size) = (None, Some(Amount::integer(count.into())));
                    let statistic = Statistic { instrument, entry_type, price, size, time };
                    sink.event(&MarketEvent::Statistic(statistic));
                }
            }
            Typed::Control(preamble, _) => self.control(preamble.message_type, seq_num, sink),
            _ => {}
        }
        sink.end_message(false);
        Ok(())
    }
}

/// Interprets the BBO indicator for the best bid and the best offer.
fn best(quote: &Quote) -> [Best; 2] {
    let letter = u8::try_from(quote.bbo).ok().filter(|letter| (b'A'..=b'P').contains(letter));
    // A space: the quote is not eligible.
    let Some(index) = letter.map(|letter| letter - b'A') else { return [Best::Same, Best::Same] };
    let bid = match index / 4 {
        0 => Best::Same,
        1 => Best::Is(level(quote.bid, quote.bid_size)),
        2 => Best::Gone,
        _ => Best::Is(quote.best_bid.and_then(|best| level(best.price, best.size))),
    };
    let offer = match index % 4 {
        0 => Best::Same,
        1 => Best::Is(level(quote.offer, quote.offer_size)),
        2 => Best::Is(quote.best_offer.and_then(|best| level(best.price, best.size))),
        _ => Best::Gone,
    };
    [bid, offer]
}

/// Returns a level; `None` for a size of 0, which means that there are no buyers or sellers.
fn level(price: Price, size: u32) -> Option<Level> {
    let size = (size > 0).then(|| Amount::integer(size.into()))?;
    Some(Level { price: amount(price)?, size, orders: None })
}

/// Returns the price; `None` if the denominator code is invalid.
fn amount(price: Price) -> Option<Amount> {
    let decimal = price.decimal()?;
    let exponent = -i32::try_from(decimal.places).ok()?;
    Some(Amount { mantissa: decimal.digits.into(), exponent })
}

fn time(time: u32) -> ExchangeTime {
    ExchangeTime { date: None, time: Some(time.into()) }
}

/// Returns the message type as a condition; `None` for a regular one.
fn condition(message_type: u32) -> Option<u8> {
    u8::try_from(message_type).ok().filter(|code| *code != b' ')
}

/// Writes the name of a series.
fn write_name(name: &mut Vec<u8>, option: &OptionKey) {
    name.clear();
    let symbol = option.symbol.bytes();
    name.extend_from_slice(symbol.get(..option.symbol.len()).unwrap_or_default().trim_ascii_end());
    name.push(b' ');
    // Writing to a vector never fails.
    let _ = match option.expiration_month.and_then(|code| u8::try_from(code).ok()) {
        // A to L are calls from January on, M to X puts.
        Some(code @ b'A'..=b'X') => {
            let month = (code - b'A') % 12 + 1;
            let kind = if code < b'M' { 'C' } else { 'P' };
            let (year, date) = (option.year, option.expiration_date);
            write!(name, "{year:02}{month:02}{date:02}{kind}")
        }
        _ => {
            let code =
                |code: u32| char::from_u32(code).filter(char::is_ascii_graphic).unwrap_or('?');
            write!(name, "{}{} ", code(option.expiration_date), code(option.year))
        }
    };
    let _ = match amount(option.strike) {
        Some(strike) => write!(name, "{strike}"),
        None => write!(name, "{}", option.strike.value),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Instruments;
    use tickwire_opra::{BestBid, BestOffer, Chars, Preamble};

    /// Records the pushed data as text.
    #[derive(Debug)]
    struct Words {
        instruments: Instruments,
        words: Vec<String>,
    }

    impl MarketSink for Words {
        fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
            self.instruments.intern(key)
        }

        fn update(&mut self, update: &Update) {
            let BookUpdate::ByLevel { side, level: 1, action } = update.change else {
                panic!("{update:?}")
            };
            let action = match action {
                LevelAction::New(level) => format!("new {}@{}", level.size, level.price),
                LevelAction::Change(level) => format!("change {}@{}", level.size, level.price),
                action => format!("{action:?}"),
            };
            let name = self.instruments.name(update.instrument);
            self.words.push(format!("{name} {side:?} {action}"));
        }

        fn clear(&mut self, _: &Clear<'_>) {
            self.words.push("clear".to_owned());
        }

        fn event(&mut self, event: &MarketEvent<'_>) {
            if let MarketEvent::Status(status) = event {
                self.words.push(format!("status {}", status.code));
            }
        }
    }

    fn quote(bbo: u8, message_type: u8) -> Quote {
        let price = |value| Price { denominator: u32::from(b'B'), value };
        let option = OptionKey {
            symbol: Chars::new(b"IBM  ").unwrap(),
            expiration_month: Some(u32::from(b'A')),
            expiration_date: 21,
            year: 12,
            strike: Price { denominator: u32::from(b'A'), value: 1_955 },
            strike_code: u32::from(b' '),
        };
        let preamble = Preamble {
            message_type: message_type.into(),
            participant: u32::from(b'C'),
            retransmission: u32::from(b' '),
            seq_num: 1,
            time: 93_000_000,
        };
        Quote {
            preamble,
            option,
            bid: price(500),
            bid_size: 10,
            offer: price(520),
            offer_size: 20,
            session: u32::from(b' '),
            bbo: bbo.into(),
            best_bid: Some(BestBid { participant: u32::from(b'Q'), price: price(505), size: 3 }),
            best_offer: Some(BestOffer {
                participant: u32::from(b'Q'),
                price: price(515),
                size: 4,
            }),
        }
    }

    #[test]
    fn the_indicator_tells_the_best_prices_of_a_series() {
        let mut sink = Words { instruments: Instruments::new(10), words: Vec::new() };
        let mut adapter = OpraAdapter::new();
        let mut take = |bbo, message_type| {
            adapter.quote(&quote(bbo, message_type), 7, &mut sink);
            std::mem::take(&mut sink.words).join("; ")
        };
        let name = "IBM 120121C195.5";
        assert_eq!(take(b'A', b' '), "");
        assert_eq!(take(b'F', b' '), format!("{name} Bid new 10@5; {name} Offer new 20@5.2"));
        assert_eq!(
            take(b'O', b' '),
            format!("{name} Bid change 3@5.05; {name} Offer change 4@5.15")
        );
        assert_eq!(take(b'I', b' '), format!("{name} Bid Delete"));
        assert_eq!(take(b'L', b'T'), format!("status 2; {name} Offer Delete"));
        assert_eq!(take(b'L', b' '), "status 3");
        assert_eq!(take(b' ', b' '), "");
    }

    #[test]
    fn control_messages_empty_books_and_tell_the_session() {
        let mut sink = Words { instruments: Instruments::new(10), words: Vec::new() };
        let mut adapter = OpraAdapter::new();
        adapter.quote(&quote(b'E', b' '), 7, &mut sink);
        for (code, expected) in
            [(b'K', "clear"), (b'C', "clear; status 2"), (b'H', "status 3"), (b'N', "")]
        {
            sink.words.clear();
            adapter.control(code.into(), 8, &mut sink);
            assert_eq!(sink.words.join("; "), expected);
        }
        sink.words.clear();
        adapter.quote(&quote(b'E', b' '), 9, &mut sink);
        assert_eq!(sink.words, ["IBM 120121C195.5 Bid new 10@5"], "anew after the reset");
    }
}
