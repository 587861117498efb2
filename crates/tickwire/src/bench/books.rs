//! Decoding together with the order books that the messages make.

use super::fast::corpus::Corpus;
use super::fast::engine::Pass;
use std::hint::black_box;
use tickwire_fast::{Decoder, Engine, Message};
use tickwire_feed::market::{Adapt, AdapterOptions, MarketDataAdapter};
use tickwire_feed::recovery::{BookKinds, Recovery, RecoveryOptions};

/// Name in tables and in JSON.
pub const NAME: &str = "books";

/// Decodes dynamically and keeps the books of every instrument, outright and implied, checked after
/// each message; `None` where no message changes a book.
pub fn pass(corpus: &Corpus) -> Option<Pass<'_>> {
    let mut decoder = corpus.decoder(&corpus.program, Engine::Automatic);
    let mut books = Books::new(corpus);
    if books.keep(corpus, &mut decoder) == 0 {
        return None;
    }
    Some(Box::new(move || {
        black_box(books.keep(corpus, &mut decoder));
    }))
}

/// Books of a corpus, begun anew each time.
struct Books {
    adapter: MarketDataAdapter,
}

impl Books {
    fn new(corpus: &Corpus) -> Self {
        let options = AdapterOptions::default();
        Self { adapter: MarketDataAdapter::new(corpus.program.clone(), &options) }
    }

    /// Keeps books from nothing and returns how many updates came to them.
    fn keep(&mut self, corpus: &Corpus, decoder: &mut Decoder) -> u64 {
        let kinds = BookKinds::OutrightAndImplied;
        let mut recovery = Recovery::new(RecoveryOptions { kinds, ..Default::default() });
        let mut seq_num = 0;
        let decoded = corpus.each_message(decoder, |message: &Message| {
            seq_num += 1;
            recovery.handle_progress(seq_num + 1);
            black_box(self.adapter.adapt(message, seq_num, &mut recovery).is_ok());
            while let Some(change) = recovery.next_change() {
                black_box(&change);
            }
        });
        black_box(decoded.is_ok());
        let counters = recovery.counters();
        counters.applied + counters.held
    }
}
