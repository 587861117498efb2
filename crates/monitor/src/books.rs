//! Books in the form of the API, read from the handler's board without stopping the handler.

use serde::Serialize;
use tickwire_feed::board::Top;
use tickwire_feed::book::{Amount, Level, Side};
use tickwire_feed::market::{BookKind, Instrument};
use tickwire_feed::recovery::StaleReason;
use tickwire_host::clock::monotonic_ns;

use crate::channel::MonitoredChannel;

/// Most instruments in one answer.
pub const LIST_MAX: usize = 200;
/// Most trades of one instrument in an answer.
const SHOWN_TRADES_MAX: usize = 20;

/// A price level. Price and size are decimal numbers as text.
#[derive(Clone, Debug, Serialize)]
pub struct LevelState {
    /// Price.
    pub price: String,
    /// Size.
    pub size: String,
    /// Number of orders; `null` if the feed does not send it.
    pub orders: Option<u32>,
}

/// The best prices of an instrument.
#[derive(Clone, Debug, Serialize)]
pub struct BestState {
    /// Index of the instrument, for requests of its book.
    pub instrument: usize,
    /// Name of the instrument.
    pub name: String,
    /// `fresh`, or a one-word reason why the book is stale.
    pub status: &'static str,
    /// The best bid.
    pub bid: Option<LevelState>,
    /// The best offer.
    pub offer: Option<LevelState>,
    /// Time at which the handler found the book changed, in milliseconds since 1970; `null` before
    /// the first change in a view. Every 100 ms the handler compares 256 of the viewed books: it
    /// finds a change within 100 ms for up to 256 books, within 1.6 s for 4096. A change while
    /// nobody viewed the book has the time of the next view.
    pub changed_ms: Option<u64>,
    /// Time since which the book is stale, in milliseconds since 1970; `null` if it is fresh, or stale only until its transaction is
    /// whole.
    pub stale_since_ms: Option<u64>,
}

/// The top of a book.
#[derive(Clone, Debug, Serialize)]
pub struct BookState {
    /// Name and best prices.
    #[serde(flatten)]
    pub best: BestState,
    /// Why the book is stale, as a sentence.
    pub stale_text: Option<String>,
    /// `outright` or `implied`.
    pub kind: &'static str,
    /// Best offer minus best bid.
    pub spread: Option<String>,
    /// Bids, best first.
    pub bids: Vec<LevelState>,
    /// Offers, best first.
    pub offers: Vec<LevelState>,
    /// The last trades, the newest first.
    pub trades: Vec<TradeState>,
}

/// A trade.
#[derive(Clone, Debug, Serialize)]
pub struct TradeState {
    /// Number of the trade; it rises from trade to trade of a channel.
    pub id: u64,
    /// Time at which the handler received the trade, in milliseconds since 1970.
    pub at_ms: u64,
    /// Price.
    pub price: Option<String>,
    /// Size.
    pub size: Option<String>,
    /// Side of the aggressor: `bid` or `offer`.
    pub aggressor: Option<&'static str>,
}

/// Instruments that match a search.
#[derive(Clone, Debug, Serialize)]
pub struct BookList {
    /// Name of the channel.
    pub channel: String,
    /// Number of known instruments.
    pub instruments: usize,
    /// Number of instruments that match the search.
    pub matching: usize,
    /// True if the handler has published every listed book since clients began to view it. The handler publishes 256 books every
    /// 100 ms. A view ends 2 s after the last request; a book has no levels until it is published in the current view.
    pub is_ready: bool,
    /// The matching instruments from `offset` on.
    pub books: Vec<BestState>,
    /// The books that the request asked for.
    pub ladders: Vec<BookState>,
}

fn level(level: &Level) -> LevelState {
    let Level { price, size, orders } = level;
    LevelState { price: price.to_string(), size: size.to_string(), orders: *orders }
}

/// Returns `offer - bid`; `None` if the difference does not fit an amount.
fn spread(bid: Amount, offer: Amount) -> Option<Amount> {
    let exponent = bid.exponent.min(offer.exponent);
    let scaled = |amount: Amount| {
        let power = u32::try_from(amount.exponent.checked_sub(exponent)?).ok()?;
        amount.mantissa.checked_mul(10_i64.checked_pow(power)?)
    };
    let mantissa = scaled(offer)?.checked_sub(scaled(bid)?)?;
    Some(Amount { mantissa, exponent })
}

impl MonitoredChannel {
    /// Returns the instruments whose names contain `search`, from `offset` on, and the books of `wanted`.
    pub(crate) fn list(
        &self,
        search: &str,
        only_stale: bool,
        offset: usize,
        limit: usize,
        wanted: &[usize],
    ) -> BookList {
        let search = search.to_lowercase();
        let is_match = |(index, (_, name)): &(usize, &(Instrument, Box<str>))| {
            let is_named = search.is_empty() || name.to_lowercase().contains(&search);
            is_named && (!only_stale || self.book_state(*index).is_some_and(|state| state != 0))
        };
        let matching: Vec<usize> =
            self.names.iter().enumerate().filter(is_match).map(|(index, _)| index).collect();
        let shown = matching.get(offset..).unwrap_or_default();
        let shown = shown.get(..limit.min(LIST_MAX)).unwrap_or(shown);
        let listed = || shown.iter().chain(wanted).copied();
        self.want(listed());
        BookList {
            channel: self.description.name.clone(),
            instruments: self.names.len(),
            matching: matching.len(),
            is_ready: self.is_published(listed()),
            books: shown.iter().filter_map(|index| self.best(*index)).collect(),
            ladders: wanted
                .iter()
                .filter_map(|index| self.book(*index, BookKind::Outright))
                .collect(),
        }
    }

    /// Returns the top of a book and when it was published; `None` before the first publication of
    /// the current view, because the board keeps books of earlier views.
    fn top(&self, index: usize, kind: BookKind) -> Option<(u64, Top)> {
        let (instrument, _) = self.names.get(index)?;
        // Read first: the book is at least as new.
        let published_ns = self.wishes.published_ns(*instrument)?;
        Some((published_ns, self.board.book(*instrument, kind)?))
    }

    /// Requests books of these indexes from the handler.
    fn want(&self, indexes: impl Iterator<Item = usize>) {
        let known = indexes.filter_map(|index| self.names.get(index));
        let instruments = known.map(|(instrument, _)| *instrument);
        let reserved = instruments.inspect(|instrument| self.board.reserve(*instrument));
        self.wishes.want_books(reserved, monotonic_ns());
    }

    /// Returns true if the handler has published the books of these indexes since clients began to view them.
    pub(crate) fn is_published(&self, indexes: impl IntoIterator<Item = usize>) -> bool {
        let mut known = indexes.into_iter().filter_map(|index| self.names.get(index));
        known.all(|(instrument, _)| self.wishes.published_ns(*instrument).is_some())
    }

    fn best(&self, index: usize) -> Option<BestState> {
        self.best_of(index, self.top(index, BookKind::Outright))
    }

    fn best_of(&self, index: usize, published: Option<(u64, Top)>) -> Option<BestState> {
        let (_, name) = self.names.get(index)?;
        // The board may be newer than the counters published last, or older if many books are published in turn.
        let is_newest = published.as_ref().is_some_and(|(at_ns, _)| !self.has_counts_after(*at_ns));
        let top = published.as_ref().map(|(_, top)| top);
        let status = match (self.book_state(index), top) {
            (state, Some(top)) if top.is_fresh() && (is_newest || state == Some(0)) => "fresh",
            (Some(state @ 1..), _) => {
                StaleReason::LABELS.get(usize::from(state) - 1).copied().unwrap_or("stale")
            }
            (Some(0), None) => "fresh",
            _ => "stale",
        };
        let best = |side| top.and_then(|top| top.best(side)).map(level);
        let epoch_ns = self.description.epoch_ns;
        let changed_ns = top.map(Top::time_ns).filter(|at_ns| *at_ns > 0);
        let changed_ms = changed_ns.map(|at_ns| epoch_ns.saturating_add(at_ns) / 1_000_000);
        Some(BestState {
            instrument: index,
            name: name.to_string(),
            status,
            bid: best(Side::Bid),
            offer: best(Side::Offer),
            changed_ms,
            stale_since_ms: (status != "fresh").then(|| self.stale_since_ms(index)).flatten(),
        })
    }

    /// Returns the book of an instrument.
    pub(crate) fn book(&self, index: usize, kind: BookKind) -> Option<BookState> {
        self.want([index].into_iter());
        let published = self.top(index, kind);
        let best = self.best_of(index, published)?;
        let top = published.map(|(_, top)| top);
        let levels = |side| top.iter().flat_map(move |top| top.levels(side)).map(level).collect();
        let spread = top
            .as_ref()
            .and_then(|top| spread(top.best(Side::Bid)?.price, top.best(Side::Offer)?.price));
        let trades =
            self.trades.iter().rev().filter(|(_, trade)| trade.instrument.index() == index);
        let trades = trades.take(SHOWN_TRADES_MAX).map(|(id, trade)| TradeState {
            id: *id,
            at_ms: self.description.epoch_ns.saturating_add(trade.at_ns) / 1_000_000,
            price: trade.price.map(|price| price.to_string()),
            size: trade.size.map(|size| size.to_string()),
            aggressor: trade.aggressor.map(|side| match side {
                Side::Bid => "bid",
                Side::Offer => "offer",
            }),
        });
        let stale_text = (best.status != "fresh").then(|| self.stale_text(index)).flatten();
        Some(BookState {
            stale_text,
            kind: kind.name(),
            spread: spread.map(|spread| spread.to_string()),
            bids: levels(Side::Bid),
            offers: levels(Side::Offer),
            trades: trades.collect(),
            best,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_exact_whatever_the_exponents() {
        let amount = |mantissa, exponent| Amount { mantissa, exponent };
        let text = |bid, offer| spread(bid, offer).map(|spread| spread.to_string());
        assert_eq!(text(amount(100, 0), amount(10_025, -2)).as_deref(), Some("0.25"));
        assert_eq!(text(amount(5, 1), amount(49, 0)).as_deref(), Some("-1"));
        assert_eq!(text(amount(1, 60), amount(1, 0)), None);
    }
}
