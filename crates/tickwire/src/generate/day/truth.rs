//! The true books at the end of a day, in the format of book lines.

use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use tickwire_exchange::TrueBook;
use tickwire_exchange::day::{Day, DayBookKind};
use tickwire_feed::book::Level;

/// Writes one line per book, ordered by name; outright books precede implied ones.
pub fn write(path: &Path, day: &Day, time_ns: u64) -> Result<(), Failure> {
    let mut out = files::create(Some(path))?;
    for line in lines(day, time_ns) {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// Returns the lines of all books, ordered by name; outright books precede implied ones.
pub fn lines(day: &Day, time_ns: u64) -> Vec<Value> {
    let kinds = [(DayBookKind::Outright, "outright"), (DayBookKind::Implied, "implied")];
    let of = |name: &std::sync::Arc<str>| {
        let books = kinds.map(|(kind, label)| (label, day.truth().book(name, kind)));
        let books = books.into_iter().filter_map(|(label, book)| Some((label, book?)));
        books.map(|(label, book)| line(time_ns, name, label, book)).collect::<Vec<_>>()
    };
    day.truth().names().flat_map(of).collect()
}

fn line(time_ns: u64, name: &str, kind: &str, book: &TrueBook) -> Value {
    json!({
        "time": time_ns,
        "instrument": name,
        "state": "fresh",
        "reason": null,
        "kind": kind,
        "bids": book.bids.iter().map(level).collect::<Vec<_>>(),
        "offers": book.offers.iter().map(level).collect::<Vec<_>>(),
    })
}

fn level(level: &Level) -> Value {
    json!([level.price.to_string(), level.size.to_string(), level.orders])
}
