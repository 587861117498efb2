//! Simulated sessions through the feed handler, with the dynamic engine and with generated code:
//! the cme feed over two lossy lines and a lossy channel of snapshots, and the complex feed, which
//! has no snapshots. The books equal the exchange's. To run a failing seed alone, set
//! TICKWIRE_SEED=<seed>.

use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tickwire_exchange::{
    CmeShape, FeedKind, Generator, MessageDraft, Options, TrueBook, templates,
};
use tickwire_fast::generated::{self, Templates};
use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_fast_generated::{exchange_cme, exchange_complex};
use tickwire_feed::arbiter::{ArbiterOptions, Gap, Line};
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedEngine, FeedLine, Generated, GeneratedMessage, Handler,
    HandlerOptions, SeqNumField, Sink,
};
use tickwire_feed::market::{
    Adapt, AdapterOptions, BookKind, Instrument, InstrumentKey, MarketDataAdapter, Snapshot,
};
use tickwire_feed::recovery::{BookChange, Recovery, RecoveryOptions, SnapshotOutcome};

const SEEDS: u64 = 60;
/// Time between two packets.
const SLOT_NS: u64 = 20_000;
/// Time that the handler waits for a missing packet.
const HOLD_NS: u64 = 2_000_000;
/// Maximum delay of a packet in slots, far below the hold time.
const DELAY_SLOTS_MAX: u64 = 8;
const SNAPSHOT_EVERY: usize = 4;

/// The arrival of a packet.
struct Arrival {
    at_ns: u64,
    source: FeedLine,
    bytes: Vec<u8>,
}

/// A session of the exchange.
struct Session {
    generator: Generator,
    /// Levels per side.
    depth: u32,
    /// Messages by packet number.
    sent: BTreeMap<u64, Vec<MessageDraft>>,
    /// Books by security and RptSeq.
    books: BTreeMap<(u32, u64), TrueBook>,
    arrivals: Vec<Arrival>,
    /// Packet numbers that arrived on either line.
    arrived: BTreeSet<u64>,
}

impl Session {
    /// Creates a session of the cme feed.
    fn cme(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let feed = FeedKind::Cme { shape: CmeShape::Average, mid_session: random.bool() };
        let options = Options {
            feed,
            seed,
            messages: 600,
            securities: random.u32(1..30),
            messages_per_packet_max: random.usize(1..4),
            first_seq_num: 1 + random.u64(0..100),
            framing: Some(Preset::Cme.framing()),
            ..Options::cme(CmeShape::Average)
        };
        Self::run(random, &options, true, 10)
    }

    /// Creates a session of the complex feed. Each packet arrives on at least one line, because
    /// there are no snapshots.
    fn complex(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let options = Options {
            seed,
            messages: 600,
            securities: random.u32(1..30),
            messages_per_packet_max: random.usize(1..4),
            framing: Some(Preset::Cme.framing()),
            done: false,
            ..Options::complex()
        };
        Self::run(random, &options, false, 5)
    }

    fn run(mut random: Rng, options: &Options, has_snapshots: bool, depth: u32) -> Self {
        let loss_percent = [1, 5, 20][random.usize(0..3)];
        let generator = Generator::new(options).expect("options that can be");
        let securities: Vec<u32> = generator.truth().books().map(|book| book.security).collect();
        let of = |book: &TrueBook| ((book.security, book.rpt_seq), book.clone());
        let books = generator.truth().books().map(of).collect();
        let (sent, arrivals, arrived) = Default::default();
        let mut session = Self { depth, books, sent, arrivals, arrived, generator };
        let mut index = 0;
        let mut turns = securities.iter().cycle();
        let mut last = None;
        while let Some(packet) = session.generator.next_packet().expect("a packet") {
            let spared = (!has_snapshots).then(|| Line::ALL[random.usize(0..2)]);
            for line in Line::ALL {
                let loss_percent = if spared == Some(line) { 0 } else { loss_percent };
                session.send(&mut random, loss_percent, index, line, packet.seq_num, &packet.bytes);
            }
            let truth = session.generator.truth();
            let changed = packet.changed.iter().filter_map(|security| truth.book(*security));
            session.books.extend(changed.map(of));
            session.sent.insert(packet.seq_num, packet.messages);
            last = Some((packet.seq_num, packet.bytes));
            if has_snapshots
                && index % SNAPSHOT_EVERY as u64 == 0
                && random.u8(0..100) >= loss_percent
            {
                let security = *turns.next().expect("securities without end");
                session.snapshot(index, security);
            }
            index += 1;
        }
        // Later packets reveal a loss, so the last packet arrives on both lines.
        let (seq_num, bytes) = last.expect("a packet");
        for line in Line::ALL {
            session.send(&mut random, 0, index, line, seq_num, &bytes);
        }
        // After the hold time the handler waits for no packet.
        index += DELAY_SLOTS_MAX + 2 * HOLD_NS / SLOT_NS;
        if has_snapshots {
            securities.iter().for_each(|security| session.snapshot(index, *security));
        }
        session.arrivals.sort_by_key(|arrival| arrival.at_ns);
        session
    }

    /// Delivers a packet on a line: never, late, or twice.
    fn send(
        &mut self,
        random: &mut Rng,
        loss_percent: u8,
        index: u64,
        line: Line,
        seq_num: u64,
        bytes: &[u8],
    ) {
        let source = FeedLine::Incremental(line);
        let copies = 1 + u64::from(random.u8(0..20) == 0);
        for _ in 0..copies {
            if random.u8(0..100) < loss_percent {
                continue;
            }
            let slots = if random.u8(0..10) == 0 { random.u64(0..=DELAY_SLOTS_MAX) } else { 0 };
            let at_ns = (index + slots) * SLOT_NS;
            self.arrivals.push(Arrival { at_ns, source, bytes: bytes.to_vec() });
            self.arrived.insert(seq_num);
        }
    }

    fn snapshot(&mut self, index: u64, security: u32) {
        let packet = self.generator.snapshot(security).expect("a snapshot");
        let source = FeedLine::Snapshot(Line::A);
        self.arrivals.push(Arrival { at_ns: index * SLOT_NS, source, bytes: packet.bytes });
    }
}

/// Checks the handler's output.
struct Checked<'s> {
    session: &'s Session,
    delivered: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    /// The last packet number delivered.
    last: Option<u64>,
    books: u64,
}

impl Checked<'_> {
    fn follow(&mut self, seq_num: u64) {
        assert!(
            self.last.is_none_or(|last| seq_num == last + 1),
            "{seq_num} after {:?}",
            self.last
        );
        self.last = Some(seq_num);
    }

    fn check_book(&mut self, instrument: Instrument, recovery: &Recovery) {
        let Ok(book) = recovery.book(instrument, BookKind::Outright) else { return };
        let rpt_seq = recovery.rpt_seq(instrument).expect("a known instrument");
        // The truth is known between packets, not between the messages of a packet.
        let security = recovery.instruments().name(instrument).parse().expect("a SecurityID");
        let Some(truth) = self.session.books.get(&(security, rpt_seq)) else { return };
        assert!(truth.is(book), "{truth:?} {book:?}");
        self.books += 1;
    }
}

/// A message whose values can be checked.
trait Checkable {
    /// Returns the message if the dynamic engine decoded it.
    fn dynamic(&self) -> Option<&Message>;
}

impl Checkable for Message {
    fn dynamic(&self) -> Option<&Message> {
        Some(self)
    }
}

impl<T: Templates> Checkable for GeneratedMessage<T> {
    /// Values decoded by generated code are checked through the books.
    fn dynamic(&self) -> Option<&Message> {
        None
    }
}

impl<M: Checkable + ?Sized> Sink<M> for Checked<'_> {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        let seq_num = delivery.seq_num.expect("packets are numbered");
        let draft = &self.session.sent[&seq_num][delivery.index as usize];
        if let Some(message) = message.dynamic() {
            assert_eq!(self.session.generator.binding().difference(message, draft), None);
        }
        if delivery.index == 0 {
            self.follow(seq_num);
            self.delivered.insert(seq_num);
        }
    }

    fn handle_gap(&mut self, gap: Gap) {
        for seq_num in gap.first..=gap.last() {
            self.follow(seq_num);
            self.lost.insert(seq_num);
        }
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        assert_eq!(change.state, recovery.state(change.instrument));
        self.check_book(change.instrument, recovery);
    }

    fn handle_snapshot(
        &mut self,
        snapshot: &Snapshot<'_>,
        outcome: SnapshotOutcome,
        recovery: &Recovery,
    ) {
        let is_wrong = matches!(outcome, SnapshotOutcome::Mismatch | SnapshotOutcome::Faulty(_));
        assert!(!is_wrong, "{outcome:?}");
        self.check_book(snapshot.instrument, recovery);
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        panic!("{fault}");
    }
}

fn options() -> DecoderOptions {
    let reset = Preset::Cme.framing().reset_policy().into();
    DecoderOptions::default().reset(reset)
}

/// Runs a session through a handler. Returns the number of packets lost on both lines.
fn handle<E: FeedEngine<Message: Checkable>>(
    session: &Session,
    program: &Arc<Program>,
    engine: impl FnMut() -> E,
) -> (usize, Handler<E, MarketDataAdapter>)
where
    MarketDataAdapter: Adapt<E::Message>,
{
    let first = session.sent.keys().next().copied();
    let options = HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: ArbiterOptions {
            hold_ns: HOLD_NS,
            first_seq_num: first,
            ..ArbiterOptions::default()
        },
        recovery: RecoveryOptions { depth: Some(session.depth), ..RecoveryOptions::default() },
        ..HandlerOptions::default()
    };
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let mut handler = Handler::new(options, engine, adapter).expect("a feed that can be handled");
    let (delivered, lost) = Default::default();
    let mut sink = Checked { session, delivered, lost, last: None, books: 0 };
    for Arrival { at_ns, source, bytes } in &session.arrivals {
        while let Some(timeout_ns) = handler.poll_timeout().filter(|timeout| timeout < at_ns) {
            handler.handle_timeout(timeout_ns, &mut sink);
        }
        handler.handle_packet(*at_ns, *source, bytes, &mut sink);
    }
    // After every hold time, but before the channel counts as silent.
    let end_ns = session.arrivals.last().map_or(0, |arrival| arrival.at_ns) + 5_000_000_000;
    handler.handle_timeout(end_ns, &mut sink);
    let last = sink.last.expect("packets came");
    assert_eq!(sink.delivered, session.arrived);
    let missing: BTreeSet<u64> = session.sent.range(..=last).map(|(seq_num, _)| *seq_num).collect();
    let missing: BTreeSet<u64> = missing.difference(&session.arrived).copied().collect();
    assert_eq!(sink.lost, missing);
    // Each message is checked once for each book that it changes, if the truth at that moment is
    // known.
    assert!(sink.books > 50, "{} books", sink.books);
    for truth in session.generator.truth().books() {
        let recovery = handler.recovery();
        let instrument = recovery.instruments().find(InstrumentKey::Number(truth.security.into()));
        let book = instrument.map(|instrument| recovery.book(instrument, BookKind::Outright));
        if truth.rpt_seq == 0 && book.is_none_or(|book| book.is_err()) {
            // No message concerned this security.
            continue;
        }
        let book = book.expect("a known instrument").expect("fresh at the end");
        assert!(truth.is(book), "{truth:?} {book:?}");
    }
    let counters = handler.recovery().counters();
    assert_eq!((counters.mismatches, counters.faulty_snapshots), (0, 0));
    (sink.lost.len(), handler)
}

fn dynamic(session: &Session) -> usize {
    let program = session.generator.program();
    let decoder = || Decoder::with_options(program.clone(), options());
    let engine = || Dynamic::new(decoder(), &SeqNumField::default());
    handle(session, program, engine).0
}

/// Runs a session with generated code, for templates that may have changed since it was generated.
/// Returns the number of messages of the incremental feed that were left to the dynamic engine.
fn generated<T: Templates>(session: &Session, program: &Arc<Program>) -> (usize, u64) {
    let decoder =
        || generated::ModuleDecoder::<T>::adopting(program.clone(), options()).expect("all fields");
    let engine = || Generated::new(decoder(), &SeqNumField::default());
    let (lost, handler) = handle(session, program, engine);
    (lost, handler.engine().decoder().left_over())
}

fn compile(xml: &str) -> Arc<Program> {
    let set = TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"));
    Arc::new(Program::compile(set).expect("compiles"))
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("TICKWIRE_SEED") {
        Ok(seed) => seed.parse().map(|seed| seed..seed + 1).expect("TICKWIRE_SEED is a number"),
        Err(_) => 0..count,
    }
}

#[test]
fn what_either_line_brings_is_delivered_and_snapshots_recover_the_rest() {
    let seeds = seeds(SEEDS);
    let mut lost = 0;
    for seed in seeds.clone() {
        println!("TICKWIRE_SEED={seed}");
        let session = Session::cme(seed);
        let of_dynamic = dynamic(&session);
        let program = session.generator.program();
        let of_generated = generated::<exchange_cme::Templates>(&session, program);
        assert_eq!(of_generated, (of_dynamic, 0), "lost, and left to the dynamic engine");
        lost += of_dynamic;
    }
    assert!(lost > 0 || seeds.end - seeds.start == 1, "no packet was lost on both lines");
}

#[test]
fn books_without_snapshots_are_the_same_by_every_engine() {
    for seed in seeds(SEEDS / 3) {
        println!("TICKWIRE_SEED={seed}");
        let session = Session::complex(seed);
        assert_eq!(dynamic(&session), 0);
        let program = session.generator.program();
        assert_eq!(generated::<exchange_complex::Templates>(&session, program), (0, 0));
    }
}

/// The exchange has changed templates since the module was generated, here only their names, so
/// that its packets remain valid: generated code decodes the templates that it knows, the dynamic
/// engine the rest.
#[test]
fn a_handler_of_generated_code_runs_on_when_templates_have_changed() {
    let snapshots = compile(&templates::CME.replace("\"MDSnapshotFullRefresh\"", "\"Renamed\""));
    let increments = compile(&templates::CME.replace("\"MDIncrementalRefresh\"", "\"Renamed\""));
    for seed in seeds(SEEDS / 6) {
        println!("TICKWIRE_SEED={seed}");
        let session = Session::cme(seed);
        let lost = dynamic(&session);
        let run = generated::<exchange_cme::Templates>;
        assert_eq!(run(&session, &snapshots), (lost, 0), "increments are as they were");
        let (lost_by_it, left_over) = run(&session, &increments);
        assert_eq!(lost_by_it, lost);
        assert!(left_over > 100, "{left_over} increments decoded dynamically");
        // A module of another feed: the dynamic engine decodes everything.
        assert_eq!(generated::<exchange_complex::Templates>(&session, &increments).0, lost);
    }
}
