//! Ladders of books on a terminal, each drawing over the previous one.

use super::book::Shot;
use super::row::Printable;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tickwire_feed::book::{Level, Side};

/// Minimum time between two drawings, by capture or receive time.
const REDRAW_NS: u64 = 100_000_000;

/// Rows of a terminal that does not report its size.
const ROWS_DEFAULT: usize = 24;

/// Moves to the first line of the terminal and clears it.
const HOME_AND_CLEAR: &str = "\x1b[H\x1b[J";

/// The latest ladder of each book, by name.
#[derive(Debug, Default)]
pub struct Ladders {
    by_name: BTreeMap<String, String>,
    drawn_ns: Option<u64>,
    is_changed: bool,
}

impl Ladders {
    /// Stores a book and returns whether the ladders must be drawn now.
    pub fn update(&mut self, channel: Option<&str>, shot: &Shot<'_>) -> bool {
        let key = format!("{} {} {}", channel.unwrap_or_default(), shot.name, shot.kind);
        self.by_name.insert(key, ladder(channel, shot));
        self.is_changed = true;
        let is_due = |drawn_ns: u64| shot.time_ns >= drawn_ns.saturating_add(REDRAW_NS);
        let draws = self.drawn_ns.is_none_or(is_due);
        if draws {
            self.drawn_ns = Some(shot.time_ns);
        }
        draws
    }

    /// Appends the ladders that fit the terminal, if anything changed since the last drawing.
    pub fn draw(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let rows = terminal_size::terminal_size().map_or(ROWS_DEFAULT, |(_, rows)| rows.0.into());
        out.extend_from_slice(HOME_AND_CLEAR.as_bytes());
        out.extend_from_slice(self.page(rows).as_bytes());
    }

    /// Returns the ladders that fit into `rows` rows, and the number of ladders that do not fit.
    fn page(&self, rows: usize) -> String {
        let mut page = String::new();
        let mut left = rows.saturating_sub(2);
        for (shown, ladder) in self.by_name.values().enumerate() {
            let needed = ladder.lines().count();
            if needed > left && shown > 0 {
                let more = self.by_name.len() - shown;
                // Writing to a string does not fail.
                let _ = writeln!(page, "and {more} more; choose with --instrument");
                break;
            }
            page.push_str(ladder);
            left = left.saturating_sub(needed);
        }
        page
    }
}

/// A heading, then bids and offers side by side, best first.
fn ladder(channel: Option<&str>, shot: &Shot<'_>) -> String {
    let mut text = channel.map_or_else(String::new, |channel| format!("{channel} "));
    let _ = write!(text, "{}", Printable(shot.name));
    if let Some(symbol) = shot.definition.and_then(|definition| definition.symbol.as_deref()) {
        let _ = write!(text, " {}", Printable(symbol));
    }
    let _ = write!(text, "  {} {}", shot.kind, shot.state_name());
    if let Err(reason) = shot.state {
        let _ = write!(text, ": {reason}");
    }
    text.push_str("  ");
    tickwire_text::push_date_time(&mut text, shot.time_ns);
    text.push('\n');
    let (mut bids, mut offers) = (shot.book.levels(Side::Bid), shot.book.levels(Side::Offer));
    loop {
        let (bid, offer) = (bids.next(), offers.next());
        if bid.is_none() && offer.is_none() {
            break;
        }
        let [bid_size, bid_price] = cells(bid);
        let [offer_size, offer_price] = cells(offer);
        let line = format!("{bid_size:>12} {bid_price:>12} | {offer_price:<12} {offer_size:<12}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn cells(level: Option<&Level>) -> [String; 2] {
    level.map_or_else(Default::default, |level| [level.size.to_string(), level.price.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_feed::book::{Amount, Book, BookUpdate, LevelAction};
    use tickwire_feed::market::BookKind;

    #[test]
    fn ladders_stand_side_by_side_and_as_many_as_fit() {
        let mut book = Book::new();
        for (side, price) in [(Side::Bid, 99), (Side::Offer, 101)] {
            let (price, size) = (Amount::integer(price), Amount::integer(5));
            let action = LevelAction::New(Level { price, size, orders: None });
            book.apply(&BookUpdate::ByLevel { side, level: 1, action }).unwrap();
        }
        let mut ladders = Ladders::default();
        let kind = BookKind::Outright.name();
        let mut draws = Vec::new();
        for (name, time_ns) in [("A", 1), ("B", 2), ("C", REDRAW_NS + 1)] {
            let shot = Shot { time_ns, name, definition: None, state: Ok(()), kind, book: &book };
            draws.push(ladders.update(None, &shot));
        }
        assert_eq!(draws, [true, false, true]);
        let all = ladders.page(24);
        assert!(
            all.starts_with(
                "A  outright fresh  1970-01-01T00:00:00.000000001Z\n           5           99 | \
                 101          5\nB  outright"
            ),
            "{all}"
        );
        assert_eq!(all.lines().count(), 6);
        let some = ladders.page(6);
        assert!(some.ends_with("and 1 more; choose with --instrument\n"), "{some}");
    }
}
