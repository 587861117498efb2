//! The true state of the books, as the exchange knows it.

use std::collections::BTreeMap;
use tickwire_feed::book::{Book, Level, Side};

/// The published part of one security's book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrueBook {
    /// SecurityID.
    pub security: u32,
    /// RptSeq of the last update told about this security; 0 where the feed does not count them.
    pub rpt_seq: u64,
    /// Levels to buy at, best first. Sizes and order counts are sums over the orders.
    pub bids: Vec<Level>,
    /// Levels to sell at, best first.
    pub offers: Vec<Level>,
}

impl TrueBook {
    /// The levels of a side, best first.
    pub fn levels(&self, side: Side) -> &[Level] {
        match side {
            Side::Bid => &self.bids,
            Side::Offer => &self.offers,
        }
    }

    /// Whether `book` has exactly these levels: prices, sizes and order counts.
    pub fn is(&self, book: &Book) -> bool {
        Side::ALL.into_iter().all(|side| book.levels(side).eq(self.levels(side)))
    }
}

/// The books of all securities after some packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    books: BTreeMap<u32, TrueBook>,
    seq_num: Option<u64>,
    messages: u64,
}

impl Truth {
    /// Books before the first packet.
    pub(crate) fn new(books: impl Iterator<Item = TrueBook>) -> Self {
        let books = books.map(|book| (book.security, book)).collect();
        Self { books, seq_num: None, messages: 0 }
    }

    /// Takes over the books that a message changed.
    pub(crate) fn apply(&mut self, books: Vec<TrueBook>) {
        self.messages += 1;
        self.books.extend(books.into_iter().map(|book| (book.security, book)));
    }

    /// Notes that a packet is complete.
    pub(crate) fn end_packet(&mut self, seq_num: u64) {
        self.seq_num = Some(seq_num);
    }

    /// Sequence number of the last packet in the books; `None` before the first.
    pub fn seq_num(&self) -> Option<u64> {
        self.seq_num
    }

    /// Messages in the books so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The book of a security, or `None` for one that the feed does not have.
    pub fn book(&self, security: u32) -> Option<&TrueBook> {
        self.books.get(&security)
    }

    /// The books of all securities, by ascending SecurityID.
    pub fn books(&self) -> impl Iterator<Item = &TrueBook> {
        self.books.values()
    }
}
