//! Decoding together with the order books that the messages make.

use super::fast::corpus::Corpus;
use super::fast::engine::Pass;
use std::hint::black_box;
use tickwire_fast::Engine as DynamicEngine;
use tickwire_fast::rt::{self, Templates};
use tickwire_feed::handler::{self, Engine, SeqNumField};
use tickwire_feed::market::{Adapt, AdapterOptions, MarketDataAdapter};
use tickwire_feed::recovery::{BookKinds, Recovery, RecoveryOptions};

/// Name in tables and in JSON of dynamic decoding with books.
pub const NAME: &str = "books";
/// Name of generated decoding with books.
pub const NAME_GENERATED: &str = "books-generated";

/// Decodes dynamically and keeps the books of every instrument, outright and implied, checked after
/// each message; `None` where no message changes a book.
pub fn pass(corpus: &Corpus) -> Option<Pass<'_>> {
    let decoder = corpus.decoder(&corpus.program, DynamicEngine::Automatic);
    pass_of(corpus, handler::Dynamic::new(decoder, &SeqNumField::default()))
}

/// As [`pass`], by generated code.
pub fn pass_generated<T: Templates>(corpus: &Corpus, decoder: rt::Decoder<T>) -> Option<Pass<'_>> {
    pass_of(corpus, handler::Generated::new(decoder, &SeqNumField::default()))
}

fn pass_of<'c, E: Engine + 'c>(corpus: &'c Corpus, mut engine: E) -> Option<Pass<'c>>
where
    MarketDataAdapter: Adapt<E::Message>,
{
    let kinds = BookKinds::OutrightAndImplied;
    let recovery = Recovery::new(RecoveryOptions { kinds, ..Default::default() });
    let adapter = MarketDataAdapter::new(corpus.program.clone(), &AdapterOptions::default());
    let mut books = Books { adapter, recovery };
    let updates = books.keep(corpus, &mut engine);
    (updates > 0).then(|| -> Pass<'c> {
        Box::new(move || {
            black_box(books.keep(corpus, &mut engine));
        })
    })
}

/// Books of a corpus. Each pass is a session of its own, as a day is to a handler that runs for weeks:
/// instruments are known, their books empty.
struct Books {
    adapter: MarketDataAdapter,
    recovery: Recovery,
}

impl Books {
    /// Keeps the books of a session and returns how many updates came to them.
    fn keep<E: Engine>(&mut self, corpus: &Corpus, engine: &mut E) -> u64
    where
        MarketDataAdapter: Adapt<E::Message>,
    {
        let Self { adapter, recovery } = self;
        let before = recovery.counters();
        recovery.handle_reset();
        let mut seq_num = 0;
        for packet in &corpus.packets {
            engine.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let Ok(decoded) = engine.decode(rest) else { break };
                seq_num += 1;
                recovery.handle_progress(seq_num + 1);
                black_box(adapter.adapt(decoded.message, seq_num, recovery).is_ok());
                while let Some(change) = recovery.next_change() {
                    black_box(&change);
                }
                rest = &rest[decoded.len..];
            }
        }
        let counters = recovery.counters();
        assert_eq!(seq_num, corpus.messages, "all decodes, as it did when the corpus was read");
        counters.applied + counters.held - before.applied - before.held
    }
}
