//! Decoding together with the order books that the messages make.

use super::fast::corpus::Corpus;
use super::fast::engine::Pass;
use crate::failure::Failure;
use std::hint::black_box;
use tickwire_fast::{Decoder, Engine};
use tickwire_feed::recovery::{
    LevelNaming, MarketData, MarketDataAdapter, Recovery, RecoveryOptions,
};

/// Name in tables and in JSON.
pub const NAME: &str = "dynamic and order books";
/// Levels a side that the feeds show.
const DEPTH_MAX: u32 = 10;

/// Decodes and keeps the book of every security.
///
/// # Errors
/// No message of the corpus says anything about a book.
pub fn pass(corpus: &Corpus) -> Result<Pass<'_>, Failure> {
    let mut decoder = corpus.decoder(&corpus.program, Engine::Automatic);
    let mut adapter = MarketDataAdapter::new(corpus.program.clone(), LevelNaming::ByLevel);
    if keep_books(corpus, &mut decoder, &mut adapter) == 0 {
        return Err(Failure::Data(format!("{}: no message changes a book", corpus.name)));
    }
    Ok(Box::new(move || {
        black_box(keep_books(corpus, &mut decoder, &mut adapter));
    }))
}

/// Keeps books from nothing and returns how many updates came to them.
fn keep_books(corpus: &Corpus, decoder: &mut Decoder, adapter: &mut MarketDataAdapter) -> usize {
    let options = RecoveryOptions { depth_max: DEPTH_MAX, ..RecoveryOptions::default() };
    let mut recovery = Recovery::new(options);
    let (mut seq_num, mut count) = (0, 0);
    let decoded = corpus.each_message(decoder, |message| {
        seq_num += 1;
        if let Ok(MarketData::Incremental(updates)) = adapter.adapt(message, seq_num) {
            count += updates.len();
            for update in updates {
                black_box(recovery.handle_incremental(update));
            }
        }
    });
    black_box((decoded.is_ok(), &recovery));
    count
}
