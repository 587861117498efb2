//! Lines A and B of a simulated exchange, each with faults, through the handler. Every message that
//! arrived on either line is delivered once and in order, the rest is declared lost, and books
//! equal the true ones.

use std::collections::{BTreeMap, BTreeSet};

use tickwire_exchange::{Generator, MessageDraft, Options, TrueBook};
use tickwire_fast::{Decoder, DecoderOptions, Message};
use tickwire_feed::arbiter::{ArbiterOptions, Gap, Line};
use tickwire_feed::book::Side;
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerOptions, SeqNumField, Sink,
};
use tickwire_feed::market::{
    AdapterOptions, BookKind, InstrumentKey, LevelName, MarketDataAdapter, Snapshot,
    SnapshotFragment, SnapshotLevel,
};
use tickwire_feed::recovery::{BookChange, Recovery, RecoveryOptions, SnapshotOutcome};
use tickwire_net::inject::{Faults, Injector, line_seed};

/// Time between packets, in nanoseconds: reordering of the lines stays within the hold time.
const GAP_NS: u64 = 20_000;
/// After every this many packets, one snapshot of one book is sent.
const SNAPSHOT_EVERY: usize = 5;

/// A packet, and the true books after it was sent.
struct Sent {
    bytes: Vec<u8>,
    messages: Vec<MessageDraft>,
    changed: BTreeMap<u32, TrueBook>,
}

/// The exchange's packets, from number 1 on, and the books before them.
struct Feed {
    generator: Generator,
    before: BTreeMap<u32, TrueBook>,
    sent: Vec<Sent>,
    /// Books by security and the number of its last update.
    by_rpt_seq: BTreeMap<(u32, u64), TrueBook>,
}

impl Feed {
    fn new(seed: u64, messages: u64) -> Self {
        let framing = Some(Preset::Cme.framing());
        let options = Options { seed, messages, securities: 20, framing, ..Options::complex() };
        let mut generator = Generator::new(&options).unwrap();
        let books = generator.truth().books();
        let before: BTreeMap<u32, TrueBook> =
            books.map(|book| (book.security, book.clone())).collect();
        let mut sent = Vec::new();
        while let Some(packet) = generator.next_packet().unwrap() {
            let book =
                |security: &u32| (*security, generator.truth().book(*security).unwrap().clone());
            let changed = packet.changed.iter().map(book).collect();
            sent.push(Sent { bytes: packet.bytes, messages: packet.messages, changed });
        }
        let books = sent.iter().flat_map(|sent| sent.changed.values()).chain(before.values());
        let by_rpt_seq = books.map(|book| ((book.security, book.rpt_seq), book.clone())).collect();
        Self { generator, by_rpt_seq, before, sent }
    }

    /// The book of a security after packet `seq_num`.
    fn book(&self, security: u32, seq_num: u64) -> &TrueBook {
        let sent = self.sent[..seq_num as usize].iter().rev();
        let changed = sent.filter_map(|sent| sent.changed.get(&security)).next();
        changed.unwrap_or(&self.before[&security])
    }
}

/// Checks the output.
struct Checked<'f> {
    feed: &'f Feed,
    next: u64,
    delivered: BTreeSet<u64>,
    gaps: u64,
    books_checked: u64,
}

impl Sink<Message> for Checked<'_> {
    fn handle_message(&mut self, delivery: &Delivery, message: &Message) {
        let seq_num = delivery.seq_num.unwrap();
        let sent = &self.feed.sent[seq_num as usize - 1];
        let draft = &sent.messages[delivery.index as usize];
        assert_eq!(self.feed.generator.binding().difference(message, draft), None);
        if delivery.index == 0 {
            assert_eq!(seq_num, self.next, "in order, each once");
            self.next += 1;
            self.delivered.insert(seq_num);
        }
    }

    fn handle_gap(&mut self, gap: Gap) {
        assert_eq!(gap.first, self.next);
        self.next += gap.count;
        self.gaps += gap.count;
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        let instrument = change.instrument;
        let Ok(book) = recovery.book(instrument, change.kind) else { return };
        let rpt_seq = recovery.rpt_seq(instrument).unwrap();
        let security = recovery.instruments().name(instrument).parse().unwrap();
        let truth = &self.feed.by_rpt_seq[&(security, rpt_seq)];
        assert!(truth.is(book), "{security} at {}: {truth:?} {book:?}", self.next);
        self.books_checked += 1;
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        panic!("{fault}");
    }
}

fn tell_snapshot(recovery: &mut Recovery, book: &TrueBook, last_seq_num: u64) {
    let levels: Vec<SnapshotLevel> = Side::ALL
        .into_iter()
        .flat_map(|side| {
            let levels = (1..).zip(book.levels(side));
            levels.map(move |(level, content)| SnapshotLevel {
                kind: BookKind::Outright,
                side,
                name: LevelName::Level(level),
                content: *content,
            })
        })
        .collect();
    let instrument = recovery.instrument(InstrumentKey::Number(book.security.into())).unwrap();
    let outcome = recovery.handle_snapshot(
        0,
        &Snapshot {
            instrument,
            last_seq_num,
            rpt_seq: Some(book.rpt_seq),
            sending_time: None,
            seq_num: None,
            fragment: SnapshotFragment::Whole,
            depth: None,
            levels: &levels,
        },
    );
    assert!(
        !matches!(outcome, SnapshotOutcome::Mismatch | SnapshotOutcome::Faulty(_)),
        "{outcome:?}"
    );
}

/// Sends the feed on two lines. Returns how many packets were lost on both, and how many books were
/// compared.
fn run(seed: u64, faults: Faults, messages: u64) -> (u64, u64) {
    let feed = Feed::new(seed, messages);
    let framing = Preset::Cme.framing();
    let program = feed.generator.program();
    let engine = || {
        let reset = framing.reset_policy().into();
        let options = DecoderOptions::default().reset(reset);
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let recovery = RecoveryOptions { depth: Some(5), ..Default::default() };
    let arbiter = ArbiterOptions { first_seq_num: Some(1), ..Default::default() };
    let options = HandlerOptions { framing, arbiter, recovery, ..Default::default() };
    let mut handler = Handler::new(options, engine, adapter).unwrap();
    // The first number is 1, so a snapshot that includes no packet is not ahead of the lines.
    handler.recovery_mut().handle_progress(1);
    for book in feed.before.values() {
        tell_snapshot(handler.recovery_mut(), book, 0);
    }
    let mut lines = [0, 1].map(|line| Injector::new(faults, line_seed(seed, line)));
    let mut sink =
        Checked { feed: &feed, next: 1, delivered: BTreeSet::new(), gaps: 0, books_checked: 0 };
    let mut arrived = BTreeSet::new();
    let mut snapshots = feed.before.keys().cycle();
    for (index, sent) in feed.sent.iter().enumerate() {
        let now_ns = index as u64 * GAP_NS;
        for (line, injector) in Line::ALL.into_iter().zip(&mut lines) {
            injector.handle_packet(now_ns, &sent.bytes);
            while let Some(packet) = injector.poll_packet(now_ns) {
                arrived.insert(u32::from_be_bytes(*packet.first_chunk().unwrap()).into());
                handler.handle_packet(now_ns, FeedLine::Incremental(line), packet, &mut sink);
            }
        }
        if index % SNAPSHOT_EVERY == 0 {
            let book = feed.book(*snapshots.next().unwrap(), index as u64);
            tell_snapshot(handler.recovery_mut(), book, index as u64);
        }
    }
    let end_ns = u64::MAX / 2;
    for (line, injector) in Line::ALL.into_iter().zip(&mut lines) {
        while let Some(packet) = injector.poll_packet(end_ns) {
            arrived.insert(u32::from_be_bytes(*packet.first_chunk().unwrap()).into());
            // The time of the feed continues, so the last overtaken packets are not late.
            let now_ns = feed.sent.len() as u64 * GAP_NS;
            handler.handle_packet(now_ns, FeedLine::Incremental(line), packet, &mut sink);
        }
    }
    // Long enough for every gap, but short enough that the feed does not count as silent.
    handler.handle_timeout(feed.sent.len() as u64 * GAP_NS + 5_000_000_000, &mut sink);
    let last = sink.next - 1;
    for security in feed.before.keys() {
        tell_snapshot(handler.recovery_mut(), feed.book(*security, last), last);
        let recovery = handler.recovery();
        let key = InstrumentKey::Number((*security).into());
        let instrument = recovery.instruments().find(key).unwrap();
        let book = recovery.book(instrument, BookKind::Outright).unwrap();
        assert!(feed.book(*security, last).is(book));
    }
    assert_eq!(sink.delivered, arrived, "whatever came on either line, and nothing else");
    assert_eq!(sink.gaps, last - arrived.len() as u64);
    let counters = handler.recovery().counters();
    assert_eq!((counters.mismatches, counters.faulty_snapshots), (0, 0));
    (sink.gaps, sink.books_checked)
}

fn faults(loss: f64) -> Faults {
    Faults { loss, duplicate: 0.05, reorder: 0.1, reorder_max: 8, ..Faults::default() }
}

#[test]
fn one_percent_lost_on_each_line() {
    let mut lost = 0;
    for seed in 0..20 {
        let (gaps, checked) = run(seed, faults(0.01), 2_000);
        assert!(checked > 2_000, "one a message and book: {checked}");
        lost += gaps;
    }
    println!("20 seeds of 2,000 packets, 1 % lost on each line: {lost} lost on both");
}

#[test]
fn lines_that_lose_a_third_each() {
    for seed in 100..110 {
        let (gaps, checked) = run(seed, faults(0.3), 1_000);
        assert!(gaps > 30 && checked > 100, "{gaps} {checked}");
    }
}

#[test]
fn a_line_that_is_late_and_one_that_is_dead() {
    let late = Faults { delay_ns: 500_000, jitter_ns: 300_000, ..faults(0.02) };
    run(7, late, 1_000);
    let (gaps, _) = run(8, Faults { loss: 1.0, ..Faults::default() }, 100);
    assert_eq!(gaps, 0, "nothing came at all, so nothing is known to be lost");
}
