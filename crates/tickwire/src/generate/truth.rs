//! The true books as JSON lines.

use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use tickwire_exchange::{BookTruth, GeneratedPacket, TrueBook};
use tickwire_feed::book::Level;

/// Writes a line after each packet and one at the end.
pub struct TruthWriter {
    out: Box<dyn Write>,
    packets: u64,
}

impl TruthWriter {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Ok(Self { out: files::create(Some(path))?, packets: 0 })
    }

    /// Writes the books that a packet changed.
    pub fn packet(&mut self, packet: &GeneratedPacket, truth: &BookTruth) -> Result<(), Failure> {
        let books = packet.changed.iter().filter_map(|security| truth.book(*security)).map(book);
        let line = json!({
            "pkt": self.packets,
            "seq_num": packet.seq_num,
            "messages": truth.messages(),
            "books": books.collect::<Vec<_>>(),
        });
        self.packets += 1;
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Writes all books.
    pub fn finish(mut self, truth: &BookTruth) -> Result<(), Failure> {
        let line = json!({
            "final": true,
            "seq_num": truth.seq_num(),
            "messages": truth.messages(),
            "books": truth.books().map(book).collect::<Vec<_>>(),
        });
        writeln!(self.out, "{line}")?;
        Ok(self.out.flush()?)
    }
}

fn book(book: &TrueBook) -> Value {
    json!({
        "security": book.security,
        "rpt_seq": book.rpt_seq,
        "bids": book.bids.iter().map(level).collect::<Vec<_>>(),
        "offers": book.offers.iter().map(level).collect::<Vec<_>>(),
    })
}

/// Prices as `m` and `e`, as decode prints them.
fn level(level: &Level) -> Value {
    json!({
        "price": { "m": level.price.mantissa, "e": level.price.exponent },
        "size": level.size.mantissa,
        "orders": level.orders,
    })
}
