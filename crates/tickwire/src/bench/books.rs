//! Benchmarks of decoding together with order books.

use super::fast::corpus::Corpus;
use super::fast::engine::{CaptureBytes, CorpusPass};
use std::hint::black_box;
use tickwire_fast::generated::{self, Templates};
use tickwire_fast::{EngineUnderTest, Message, ResetPolicy};
use tickwire_feed::arbiter::Line;
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    self, Delivery, Dynamic, FeedEngine, FeedLine, Handler, HandlerOptions, SeqNumField,
};
use tickwire_feed::market::{Adapt, AdapterOptions, MarketDataAdapter};
use tickwire_feed::recovery::{BookKinds, Recovery, RecoveryOptions};

/// Name of dynamic decoding with books, in tables and in JSON.
pub const NAME: &str = "books";
/// Name of generated decoding with books.
pub const NAME_GENERATED: &str = "books-generated";

/// Name of the complete path from a datagram in memory to books, in tables and in JSON.
pub const NAME_HANDLER: &str = "handler";

/// Returns a pass of the dynamic engine that keeps outright and implied books of every instrument and
/// checks them after each message; `None` if no message changes a book.
pub fn pass(corpus: &Corpus) -> Option<CorpusPass<'_>> {
    let decoder = corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
    pass_of(corpus, Dynamic::new(decoder, &SeqNumField::default()))
}

/// Like [`pass`], with generated code.
pub fn pass_generated<T: Templates>(
    corpus: &Corpus,
    decoder: generated::ModuleDecoder<T>,
) -> Option<CorpusPass<'_>> {
    pass_of(corpus, handler::Generated::new(decoder, &SeqNumField::default()))
}

fn pass_of<'c, E: FeedEngine + 'c>(corpus: &'c Corpus, mut engine: E) -> Option<CorpusPass<'c>>
where
    MarketDataAdapter: Adapt<E::Message>,
{
    let kinds = BookKinds::OutrightAndImplied;
    let recovery = Recovery::new(RecoveryOptions { kinds, ..Default::default() });
    let adapter = MarketDataAdapter::new(corpus.program.clone(), &AdapterOptions::default());
    let mut books = CorpusBooks { adapter, recovery, capture: CaptureBytes::of(corpus, 1) };
    let updates = books.keep(corpus, &mut engine);
    (updates > 0).then(|| -> CorpusPass<'c> {
        Box::new(move || {
            black_box(books.keep(corpus, &mut engine));
        })
    })
}

/// Books of a corpus. Each pass is a new session, like a trading day for a handler that runs for weeks: the
/// instruments are known and their books are empty.
struct CorpusBooks {
    adapter: MarketDataAdapter,
    recovery: Recovery,
    capture: CaptureBytes,
}

impl CorpusBooks {
    /// Keeps the books of a session and returns the number of updates applied to them.
    fn keep<E: FeedEngine>(&mut self, corpus: &Corpus, engine: &mut E) -> u64
    where
        MarketDataAdapter: Adapt<E::Message>,
    {
        let Self { adapter, recovery, capture } = self;
        let before = recovery.counters();
        recovery.handle_reset();
        let mut seq_num = 0;
        for mut rest in capture.packets() {
            engine.begin_packet();
            while !rest.is_empty() {
                let Ok(decoded) = engine.decode(rest) else { break };
                seq_num += 1;
                recovery.handle_progress(seq_num + 1);
                black_box(adapter.adapt(decoded.message, seq_num, recovery).is_ok());
                while let Some(change) = recovery.next_change() {
                    black_box(&change);
                }
                rest = rest.behind(decoded.len);
            }
        }
        let counters = recovery.counters();
        assert_eq!(seq_num, corpus.messages, "all decodes, as it did when the corpus was read");
        counters.applied + counters.held - before.applied - before.held
    }
}

/// Bytes of CME's preamble: packet sequence number, channel.
const PREAMBLE: usize = 5;
/// Sequence number of the first packet. It is above the messages' own numbers: if both were equal, the
/// handler would expect them to stay equal and drop later packets as damaged, because packet numbers continue
/// while message numbers restart with each pass.
const FIRST_SEQ_NUM: u32 = 1 << 24;
/// Time between two packets.
const STEP_NS: u64 = 1_000;

/// Returns a pass from datagrams in memory to books. Each numbered packet arrives on line A and then on line
/// B and goes through framing, arbitration, dynamic decoding and recovery. `None` if packets depend on
/// earlier ones or change no book.
pub fn pass_handler(corpus: &Corpus) -> Option<CorpusPass<'_>> {
    if corpus.reset != ResetPolicy::Packet {
        return None;
    }
    let mut feed = Datagrams::new(corpus)?;
    feed.handle();
    let counters = feed.handler.recovery().counters();
    (counters.applied + counters.held > 0)
        .then(|| -> CorpusPass<'_> { Box::new(move || feed.handle()) })
}

/// The packets of a corpus as datagrams, and the handler that receives them.
struct Datagrams {
    datagrams: Vec<Vec<u8>>,
    handler: Handler<Dynamic, MarketDataAdapter>,
    /// Sequence number of the next packet.
    seq_num: u32,
    now_ns: u64,
}

impl Datagrams {
    fn new(corpus: &Corpus) -> Option<Self> {
        let with_preamble = |packet: &Vec<u8>| [&[0; PREAMBLE], &packet[..]].concat();
        let mut options = HandlerOptions { framing: Preset::Cme.framing(), ..Default::default() };
        options.recovery.kinds = BookKinds::OutrightAndImplied;
        let engine = || {
            let decoder = corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
            Dynamic::new(decoder, &SeqNumField::default())
        };
        let adapter = MarketDataAdapter::new(corpus.program.clone(), &AdapterOptions::default());
        Some(Self {
            datagrams: corpus.packets.iter().map(with_preamble).collect(),
            handler: Handler::new(options, engine, adapter).ok()?,
            seq_num: FIRST_SEQ_NUM,
            now_ns: 0,
        })
    }

    /// Handles all packets as a new session whose packet numbers continue from the last pass.
    fn handle(&mut self) {
        let Self { datagrams, handler, seq_num, now_ns } = self;
        handler.recovery_mut().handle_reset();
        let before = handler.counters().messages.decoded;
        let mut sink = |_: &Delivery, message: &Message| {
            black_box(message);
        };
        for datagram in datagrams.iter_mut() {
            datagram[..4].copy_from_slice(&seq_num.to_be_bytes());
            *seq_num += 1;
            *now_ns += STEP_NS;
            for line in Line::ALL {
                handler.handle_packet(*now_ns, FeedLine::Incremental(line), datagram, &mut sink);
            }
        }
        let decoded = handler.counters().messages.decoded - before;
        assert!(decoded >= datagrams.len() as u64, "each packet is delivered once");
    }
}
