//! The true state of the books, as known to the exchange.

use std::collections::BTreeMap;
use tickwire_feed::book::{Book, Level, Side};

/// The published part of one security's book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrueBook {
    /// SecurityID.
    pub security: u32,
    /// RptSeq of the last published update of this security; 0 if the feed does not count them.
    pub rpt_seq: u64,
    /// Bid levels, best first. Sizes and order counts are sums over the orders.
    pub bids: Vec<Level>,
    /// Offer levels, best first.
    pub offers: Vec<Level>,
}

impl TrueBook {
    /// Returns the levels of a side, best first.
    pub fn levels(&self, side: Side) -> &[Level] {
        match side {
            Side::Bid => &self.bids,
            Side::Offer => &self.offers,
        }
    }

    /// True if `book` has exactly these levels: prices, sizes and order counts.
    pub fn is(&self, book: &Book) -> bool {
        Side::ALL.into_iter().all(|side| book.levels(side).eq(self.levels(side)))
    }
}

/// The books of all securities after a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookTruth {
    books: BTreeMap<u32, TrueBook>,
    seq_num: Option<u64>,
    messages: u64,
}

impl BookTruth {
    /// Creates the books before the first packet.
    pub(crate) fn new(books: impl Iterator<Item = TrueBook>) -> Self {
        let books = books.map(|book| (book.security, book)).collect();
        Self { books, seq_num: None, messages: 0 }
    }

    /// Applies the books that a message changed.
    pub(crate) fn apply(&mut self, books: Vec<TrueBook>) {
        self.messages += 1;
        self.books.extend(books.into_iter().map(|book| (book.security, book)));
    }

    /// Records that a packet is complete.
    pub(crate) fn end_packet(&mut self, seq_num: u64) {
        self.seq_num = Some(seq_num);
    }

    /// Returns the sequence number of the last packet in the books; `None` before the first.
    pub fn seq_num(&self) -> Option<u64> {
        self.seq_num
    }

    /// Returns the number of messages in the books so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Returns the book of a security, or `None` if the feed does not have it.
    pub fn book(&self, security: u32) -> Option<&TrueBook> {
        self.books.get(&security)
    }

    /// Returns the books of all securities, by ascending SecurityID.
    pub fn books(&self) -> impl Iterator<Item = &TrueBook> {
        self.books.values()
    }
}
