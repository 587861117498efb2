//! Output formats of a book.

use super::row::{MemberRow, MemberValue, Printable, push_json_level};
use std::fmt::Write as _;
use tickwire_feed::book::{Book, Level, Side};
use tickwire_feed::market::{BookKind, Definition, Instrument};
use tickwire_feed::recovery::{Recovery, StaleReason};
use tickwire_text::json::{ObjectWriter, push_string, push_unsigned};

/// Columns of books as CSV, one row per level.
pub const BOOK_COLUMNS: [&str; 10] =
    ["time", "instrument", "state", "reason", "kind", "side", "level", "price", "size", "orders"];

/// Columns of best prices as CSV.
pub const BBO_COLUMNS: [&str; 7] =
    ["time", "instrument", "state", "reason", "kind", "bid", "offer"];

/// Name of a consolidated book: outright and implied orders together.
pub const CONSOLIDATED: &str = "consolidated";

/// Returns the combined book of an instrument's outright and implied orders, and its state; `None` if the
/// instrument has no book.
pub fn consolidated(
    recovery: &Recovery,
    instrument: Instrument,
) -> Option<(Book, Result<(), StaleReason>)> {
    let outright = recovery.last_known_book(instrument, BookKind::Outright)?;
    let Some(implied) = recovery.last_known_book(instrument, BookKind::Implied) else {
        return Some((outright.clone(), recovery.book(instrument, BookKind::Outright).map(|_| ())));
    };
    let state = recovery.book(instrument, BookKind::Outright).map(|_| ());
    let state = state.and_then(|()| recovery.book(instrument, BookKind::Implied).map(|_| ()));
    Some(match Book::consolidated(outright, implied) {
        Ok(book) => (book, state),
        // The sum of two sizes is out of range.
        Err(fault) => (outright.clone(), Err(StaleReason::Inconsistent(fault))),
    })
}

/// A snapshot of a book.
pub struct Shot<'b> {
    /// Time at which it took this state, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The feed's name of the instrument.
    pub name: &'b str,
    /// Properties of the instrument from definitions.
    pub definition: Option<&'b Definition>,
    /// `Ok` if it is fresh, else the reason why it is stale.
    pub state: Result<(), StaleReason>,
    /// Kind of the book: outright, implied or consolidated.
    pub kind: &'static str,
    /// The levels; of a stale book, the last known ones.
    pub book: &'b Book,
}

impl<'b> Shot<'b> {
    /// The current book; `None` if the instrument has none of this kind.
    pub fn new(
        recovery: &'b Recovery,
        instrument: Instrument,
        kind: BookKind,
        time_ns: u64,
    ) -> Option<Self> {
        let instruments = recovery.instruments();
        Some(Self {
            time_ns,
            name: instruments.name(instrument),
            definition: instruments.definition(instrument),
            state: recovery.book(instrument, kind).map(|_| ()),
            kind: kind.name(),
            book: recovery.last_known_book(instrument, kind)?,
        })
    }

    /// A consolidated book in this state.
    pub fn consolidated(
        recovery: &'b Recovery,
        instrument: Instrument,
        (book, state): &'b (Book, Result<(), StaleReason>),
        time_ns: u64,
    ) -> Self {
        let instruments = recovery.instruments();
        Self {
            time_ns,
            name: instruments.name(instrument),
            definition: instruments.definition(instrument),
            state: *state,
            kind: CONSOLIDATED,
            book,
        }
    }

    /// `fresh` or `stale`.
    pub const fn state_name(&self) -> &'static str {
        if self.state.is_ok() { "fresh" } else { "stale" }
    }

    fn head(&self) -> MemberRow {
        vec![
            ("time", MemberValue::Number(self.time_ns)),
            ("instrument", MemberValue::Text(self.name.to_owned())),
            ("state", MemberValue::Text(self.state_name().to_owned())),
            ("reason", MemberValue::text(self.state.err().map(|reason| reason.label()))),
            ("kind", MemberValue::Text(self.kind.to_owned())),
        ]
    }

    /// The best levels.
    pub fn bbo(&self) -> MemberRow {
        let best = |side| {
            self.book.best(side).map_or(MemberValue::Null, |level| {
                MemberValue::Level(level.price.to_string(), level.size.to_string(), level.orders)
            })
        };
        let mut row = self.head();
        row.extend([("bid", best(Side::Bid)), ("offer", best(Side::Offer))]);
        row
    }

    /// Appends the fixed JSON form and the properties from definitions. The channel comes first if it is
    /// named.
    pub fn push_json(&self, channel: Option<&str>, out: &mut Vec<u8>) {
        let mut members = ObjectWriter::begin(out);
        if let Some(channel) = channel {
            push_string(members.member("channel"), channel);
        }
        push_unsigned(members.member("time"), self.time_ns);
        push_string(members.member("instrument"), self.name);
        push_string(members.member("state"), self.state_name());
        match self.state {
            Ok(()) => members.member("reason").extend_from_slice(b"null"),
            Err(reason) => push_string(members.member("reason"), reason.label()),
        }
        push_string(members.member("kind"), self.kind);
        for (name, side) in [("bids", Side::Bid), ("offers", Side::Offer)] {
            push_levels(members.member(name), self.book.levels(side));
        }
        if let Some(definition) = self.definition {
            let tick = definition.tick.map(|tick| tick.to_string());
            let told = [
                ("symbol", definition.symbol.as_deref()),
                ("tick", tick.as_deref()),
                ("expiry", definition.expiry.as_deref()),
            ];
            for (name, text) in told {
                if let Some(text) = text {
                    push_string(members.member(name), text);
                }
            }
        }
        members.end();
        out.push(b'\n');
    }

    /// The rows of its CSV form: one per level, or one without a level if the book is empty.
    pub fn rows(&self) -> Vec<MemberRow> {
        let of_side = |(name, side): (&'static str, Side)| {
            let levels = self.book.levels(side).zip(1..);
            levels.map(move |(level, position)| {
                let mut row = self.head();
                row.extend([
                    ("side", MemberValue::Text(name.to_owned())),
                    ("level", MemberValue::Number(position)),
                    ("price", MemberValue::Text(level.price.to_string())),
                    ("size", MemberValue::Text(level.size.to_string())),
                    ("orders", MemberValue::number(level.orders.map(u64::from))),
                ]);
                row
            })
        };
        let sides = [("bid", Side::Bid), ("offer", Side::Offer)];
        let rows: Vec<MemberRow> = sides.into_iter().flat_map(of_side).collect();
        if rows.is_empty() { vec![self.head()] } else { rows }
    }

    /// Appends one line of text.
    pub fn push_text(&self, channel: Option<&str>, out: &mut Vec<u8>) {
        let mut line = channel.map_or_else(String::new, |channel| format!("{channel} "));
        tickwire_text::push_date_time(&mut line, self.time_ns);
        // Writing to a string does not fail.
        let _ = write!(line, " {} {}", Printable(self.name), self.state_name());
        if let Err(reason) = self.state {
            let _ = write!(line, " ({})", reason.label());
        }
        if self.kind != BookKind::Outright.name() {
            let _ = write!(line, " {}", self.kind);
        }
        for (name, side) in [("bids", Side::Bid), ("offers", Side::Offer)] {
            let _ = write!(line, " {name}");
            for level in self.book.levels(side) {
                let _ = write!(line, " {}@{}", level.size, level.price);
            }
        }
        line.push('\n');
        out.extend_from_slice(line.as_bytes());
    }
}

fn push_levels<'l>(out: &mut Vec<u8>, levels: impl Iterator<Item = &'l Level>) {
    out.push(b'[');
    for (index, level) in levels.enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        push_json_level(out, &level.price.to_string(), &level.size.to_string(), level.orders);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_feed::book::{Amount, BookUpdate, LevelAction};

    fn book() -> Book {
        let mut book = Book::new();
        let level = |mantissa, exponent, orders| Level {
            price: Amount { mantissa, exponent },
            size: Amount { mantissa: 150, exponent: -2 },
            orders,
        };
        for (side, position, content) in [
            (Side::Bid, 1, level(13_331, 1, Some(3))),
            (Side::Bid, 2, level(13_330, 1, None)),
            (Side::Offer, 1, level(133_320, 0, None)),
        ] {
            let action = LevelAction::New(content);
            book.apply(&BookUpdate::ByLevel { side, level: position, action }).unwrap();
        }
        book
    }

    #[test]
    fn a_book_has_its_fixed_form() {
        let book = book();
        let mut shot = Shot {
            time_ns: 7,
            name: "49634118",
            definition: None,
            state: Ok(()),
            kind: BookKind::Outright.name(),
            book: &book,
        };
        let json = |shot: &Shot<'_>| {
            let mut out = Vec::new();
            shot.push_json(None, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            json(&shot),
            "{\"time\": 7, \"instrument\": \"49634118\", \"state\": \"fresh\", \"reason\": null, \
             \"kind\": \"outright\", \"bids\": [[\"133310\", \"1.5\", 3], [\"133300\", \"1.5\", \
             null]], \"offers\": [[\"133320\", \"1.5\", null]]}\n"
        );
        let definition = Definition {
            symbol: Some("RTS-9.13".into()),
            tick: Some(Amount::integer(10)),
            ..Definition::default()
        };
        shot.definition = Some(&definition);
        shot.state = Err(StaleReason::Gap);
        let text = json(&shot);
        assert!(text.contains("\"state\": \"stale\", \"reason\": \"gap\""), "{text}");
        assert!(text.ends_with(", \"symbol\": \"RTS-9.13\", \"tick\": \"10\"}\n"), "{text}");
        let mut line = Vec::new();
        shot.push_text(None, &mut line);
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "1970-01-01T00:00:00.000000007Z 49634118 stale (gap) bids 1.5@133310 1.5@133300 offers \
             1.5@133320\n"
        );
        assert_eq!(shot.rows().len(), 3);
    }

    #[test]
    fn an_empty_book_is_a_row_without_a_level() {
        let book = Book::new();
        let state = Err(StaleReason::NoSnapshot);
        let (name, kind) = ("X", BookKind::Implied.name());
        let shot = Shot { time_ns: 0, name, definition: None, state, kind, book: &book };
        assert_eq!(shot.rows(), [shot.head()]);
        assert_eq!(shot.bbo()[5..], [("bid", MemberValue::Null), ("offer", MemberValue::Null)]);
    }
}
