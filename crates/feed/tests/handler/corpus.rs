//! Real captures through the handler.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::{ArbiterOptions, Gap, Line};
use tickwire_feed::book::{Book, Side};
use tickwire_feed::framing::{Framing, Preset};
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerOptions, Peeked, SeqNumField, SeqNumPeek,
    SequenceSource, Sink,
};
use tickwire_feed::market::{
    Adapt, AdapterOptions, BookKind, Instrument, InstrumentKey, Instruments, MarketDataAdapter,
    MarketSink, Snapshot, Update,
};
use tickwire_feed::recovery::{BookChange, Recovery, RecoveryOptions, SnapshotOutcome};
use tickwire_testing::{packets, shared};

fn file(path: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(shared(&format!("corpus/{path}"))?).unwrap())
}

fn program(templates: &[u8]) -> Arc<Program> {
    let set = TemplateSet::parse_bytes(templates).unwrap();
    Arc::new(Program::compile(set).unwrap())
}

fn decoder(program: &Arc<Program>, framing: &Framing) -> Decoder {
    let reset = framing.reset_policy().into();
    Decoder::with_options(program.clone(), DecoderOptions::default().reset(reset))
}

type Forts = Handler<Dynamic, MarketDataAdapter>;

fn handler(program: &Arc<Program>, options: HandlerOptions) -> Forts {
    let framing = options.framing;
    let engine = || Dynamic::new(decoder(program, &framing), &SeqNumField::default());
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    Handler::new(options, engine, adapter).unwrap()
}

/// Content of messages other than books.
struct Watch {
    instruments: Instruments,
    /// Instruments with updates.
    updated: HashSet<Instrument>,
    /// LastMsgSeqNumProcessed of the last snapshot.
    last_seq_num: u64,
}

impl Watch {
    fn new() -> Self {
        Self { instruments: Instruments::new(1_000), updated: HashSet::new(), last_seq_num: 0 }
    }
}

impl MarketSink for Watch {
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        self.instruments.intern(key)
    }

    fn update(&mut self, update: &Update) {
        self.updated.insert(update.instrument);
    }

    fn snapshot(&mut self, snapshot: &Snapshot<'_>) {
        self.last_seq_num = snapshot.last_seq_num;
    }
}

/// Output of the handler. Fresh books must never be crossed or differ from snapshots.
struct Observed {
    adapter: MarketDataAdapter,
    watch: Watch,
    next: Option<u64>,
    gaps: u64,
    /// By instrument, the snapshots at the same update as the book; all were equal.
    equal: HashMap<String, usize>,
}

impl Observed {
    fn new(program: &Arc<Program>) -> Self {
        let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
        Self { adapter, watch: Watch::new(), next: None, gaps: 0, equal: HashMap::new() }
    }

    /// Equal snapshots of instruments with updates, and of those without.
    fn equal(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        for (name, count) in &self.equal {
            let instrument = self.watch.instruments.named(name);
            let is_updated = instrument.is_some_and(|id| self.watch.updated.contains(&id));
            *(if is_updated { &mut counts.0 } else { &mut counts.1 }) += count;
        }
        counts
    }

    fn follow(&mut self, first: u64, count: u64) {
        assert_eq!(first, self.next.unwrap_or(first), "numbers follow one another");
        self.next = Some(first + count);
    }
}

impl Sink<Message> for Observed {
    fn handle_message(&mut self, delivery: &Delivery, message: &Message) {
        if delivery.index == 0 {
            self.follow(delivery.seq_num.unwrap(), 1);
        }
        self.adapter.adapt(message, 0, &mut self.watch).unwrap();
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.gaps += 1;
        self.follow(gap.first, gap.count);
    }

    fn handle_reset(&mut self, _: u64) {
        panic!("the numbers of the captures go on");
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        let fault = recovery.book(change.instrument, change.kind).ok().and_then(Book::check);
        assert_eq!(fault, None, "{change:?}");
    }

    fn handle_snapshot(
        &mut self,
        snapshot: &Snapshot<'_>,
        outcome: SnapshotOutcome,
        recovery: &Recovery,
    ) {
        assert!(
            !matches!(outcome, SnapshotOutcome::Mismatch | SnapshotOutcome::Faulty(_)),
            "{outcome:?} {snapshot:?}"
        );
        let instrument = snapshot.instrument;
        let Ok(book) = recovery.book(instrument, BookKind::Outright) else { return };
        if recovery.rpt_seq(instrument) != snapshot.rpt_seq {
            return;
        }
        for side in Side::ALL {
            let levels = snapshot.levels.iter().filter(|entry| entry.side == side);
            assert!(book.levels(side).eq(levels.map(|entry| &entry.content)), "{snapshot:?}");
        }
        let name = recovery.instruments().name(instrument).to_owned();
        *self.equal.entry(name).or_default() += 1;
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        panic!("{fault}");
    }
}

/// The three feeds of the Moscow derivatives market.
struct Feeds {
    program: Arc<Program>,
    peek: SeqNumPeek,
    a: Vec<u8>,
    b: Vec<u8>,
    snapshots: Vec<u8>,
}

/// A packet with its sequence number and line.
type Arrival = (u64, Line, Vec<u8>);

impl Feeds {
    fn load() -> Option<Self> {
        let stem = "moex_forts/moex_forts_2013";
        let program = program(&file("moex_forts/templates.xml")?);
        Some(Self {
            peek: SeqNumPeek::new(program.set(), &SeqNumField::default()),
            program,
            a: file(&format!("{stem}.increment_a.bin"))?,
            b: file(&format!("{stem}.increment_b.bin"))?,
            snapshots: file(&format!("{stem}.snapshot.bin"))?,
        })
    }

    /// The packets of the lines, in the order of their numbers, A before B.
    fn arrivals(&self, lines: &[Line]) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for &line in lines {
            for packet in packets(if line == Line::A { &self.a } else { &self.b }) {
                let Peeked::Number(seq_num) = self.peek.peek(packet) else { panic!("a number") };
                arrivals.push((seq_num, line, packet.to_vec()));
            }
        }
        arrivals.sort_by_key(|(seq_num, line, _)| (*seq_num, line.index()));
        arrivals
    }

    /// Snapshot packets with the last number that they include.
    fn snapshots(&self) -> Vec<(u64, &[u8])> {
        let mut decoder = decoder(&self.program, &Preset::MoexForts.framing());
        let mut adapter = MarketDataAdapter::new(self.program.clone(), &AdapterOptions::default());
        let mut last_seq_num_of = |packet: &[u8]| {
            let (mut rest, mut watch) = (packet, Watch::new());
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).unwrap();
                adapter.adapt(decoded.message, 0, &mut watch).unwrap();
                rest = &rest[decoded.len..];
            }
            watch.last_seq_num
        };
        packets(&self.snapshots)
            .into_iter()
            .map(|packet| (last_seq_num_of(packet), packet))
            .collect()
    }

    fn handler(&self, hold_ns: u64) -> Forts {
        let options = HandlerOptions {
            framing: Preset::MoexForts.framing(),
            sequence: SequenceSource::Message(self.peek.clone()),
            arbiter: ArbiterOptions { hold_ns, ..Default::default() },
            // The depth of the books must be learnt from the feed.
            recovery: RecoveryOptions::default(),
            // The end of the arrivals does not count as silence.
            heartbeat_ns: None,
        };
        handler(&self.program, options)
    }

    /// Handles the arrivals, one per microsecond, and every snapshot as soon as the packets that it
    /// includes have arrived.
    fn handle(&self, handler: &mut Forts, arrivals: &[Arrival]) -> Observed {
        let mut seen = Observed::new(&self.program);
        let mut snapshots = self.snapshots().into_iter().peekable();
        let from = FeedLine::Snapshot(Line::A);
        let mut now_ns = 0;
        for (_, line, packet) in arrivals {
            now_ns += 1_000;
            handler.handle_packet(now_ns, FeedLine::Incremental(*line), packet, &mut seen);
            let position = handler.arbiter().next_seq_num().unwrap();
            while let Some((_, packet)) = snapshots.next_if(|(last, _)| *last < position) {
                handler.handle_packet(now_ns, from, packet, &mut seen);
            }
        }
        handler.handle_timeout(u64::MAX, &mut seen);
        for (_, packet) in snapshots {
            handler.handle_packet(now_ns, from, packet, &mut seen);
        }
        seen
    }
}

/// Nine instruments are updated: 6367 of their snapshots, without the first of each, are at an
/// update of line A. Two more instruments never change. The first snapshot of each waits for the
/// next packet of the line, which has a later SendingTime.
#[test]
fn books_of_line_a_equal_every_later_snapshot() {
    let Some(feeds) = Feeds::load() else { return };
    let mut handler = feeds.handler(100_000);
    let seen = feeds.handle(&mut handler, &feeds.arrivals(&[Line::A]));
    let recovery = handler.recovery();
    let counters = recovery.counters();
    assert_eq!(seen.equal(), (6_367, 1_464));
    // The last 24 snapshots include numbers after the last one of line A, so they prove nothing,
    // although 18 of them are at the RptSeq of the book.
    assert_eq!((counters.verified, counters.recovered), (6_367 + 1_464 - 18, 11));
    assert_eq!(counters.ahead_snapshots, 24);
    assert_eq!((counters.broken, counters.gaps, counters.dropped), (0, 0, 0));
    assert_eq!(recovery.states().0, 11);
    println!("moex_forts, line A: {:?} snapshots equal", seen.equal());
}

#[test]
fn what_one_line_lacks_the_other_fills() {
    let Some(feeds) = Feeds::load() else { return };
    let mut arrivals = feeds.arrivals(&Line::ALL);
    let (first_b, last_a) = (482_751, 490_827);
    arrivals.retain(|(seq_num, line, _)| {
        let is_on_both = (first_b..=last_a).contains(seq_num);
        !is_on_both || seq_num % 10 != 3 + 4 * line.index() as u64
    });
    let mut handler = feeds.handler(100_000);
    let seen = feeds.handle(&mut handler, &arrivals);
    let (updated, silent) = seen.equal();
    assert!(updated >= 6_367 && silent == 1_464, "{updated} {silent}");
    assert_eq!(handler.recovery().counters().broken, 0);
    let arbiter = handler.arbiter();
    assert_eq!((arbiter.counters().gaps, seen.gaps), (0, 0));
    assert_eq!(arbiter.counters().delivered, 490_838 - 482_727 + 1);
    let [a, b] = Line::ALL.map(|line| arbiter.line_counters(line));
    assert_eq!((a.first + b.first, a.late + b.late), (arbiter.counters().delivered, 0));
    assert_eq!((a.lost, b.lost), (808 + 11, 808 + 24));
    println!("moex_forts, lines A and B: {updated} + {silent} snapshots equal");
}

/// Packets lost on both lines: books are stale until a snapshot, never wrong.
#[test]
fn what_both_lines_lack_a_snapshot_recovers() {
    let Some(feeds) = Feeds::load() else { return };
    let mut arrivals = feeds.arrivals(&[Line::A]);
    arrivals.retain(|(seq_num, ..)| seq_num % 97 != 0);
    let mut handler = feeds.handler(2_000);
    let seen = feeds.handle(&mut handler, &arrivals);
    // The last snapshots are ahead of line A and wait for it, but nothing more arrives.
    handler.recovery_mut().handle_progress(u64::MAX);
    handler.recovery_mut().finish();
    let counters = handler.recovery().counters();
    println!("moex_forts with losses: {:?} snapshots equal, {counters:?}", seen.equal());
    assert_eq!((counters.gaps, seen.gaps), (84, 84));
    assert!(counters.broken > 50 && counters.mismatches == 0);
    assert!(seen.equal().0 > 5_900);
    assert_eq!(handler.recovery().updates_held(), 0);
}

fn cme(hold_ns: u64, natural_refresh: bool) -> Option<(Forts, Observed)> {
    let program = program(&file("cme_2012/templates.xml")?);
    let capture = file("cme_2012/cme_2012_sampleMD.bin")?;
    let options = HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: ArbiterOptions { hold_ns, ..Default::default() },
        recovery: RecoveryOptions { natural_refresh, depth: Some(10), ..Default::default() },
        // The end of the capture does not count as silence.
        heartbeat_ns: None,
        ..Default::default()
    };
    let mut handler = handler(&program, options);
    let mut seen = Observed::new(&program);
    for (index, packet) in packets(&capture).into_iter().enumerate() {
        let now_ns = index as u64 * 1_000;
        handler.handle_packet(now_ns, FeedLine::Incremental(Line::A), packet, &mut seen);
    }
    handler.handle_timeout(u64::MAX, &mut seen);
    Some((handler, seen))
}

#[test]
fn cme_duplicates_disorder_and_gaps_are_counted() {
    for (hold_ns, late) in [(100_000, 0), (0, 1)] {
        let Some((handler, seen)) = cme(hold_ns, false) else { return };
        let line = handler.arbiter().line_counters(Line::A);
        let counters = handler.arbiter().counters();
        assert_eq!(seen.next, Some(3_584_344));
        assert_eq!((line.received, line.duplicate, line.late), (10_000, 1_625, late));
        assert_eq!((line.out_of_order, line.out_of_order_by_max), (1_129, 8));
        assert_eq!((counters.delivered, line.first), (8_375 - late, 8_375 - late));
        assert_eq!(counters.gap_seq_nums, 1_567 + late);
        assert_eq!(line.lost, 1_567);
        assert_eq!(seen.gaps, counters.gaps);
    }
}

#[test]
fn cme_books_come_back_by_updates_alone() {
    let Some((handler, _)) = cme(10_000, true) else { return };
    let counters = handler.recovery().counters();
    println!("cme_2012 by updates alone: {counters:?}");
    assert!(counters.recovered > 0 && counters.applied > 9_000);
    assert_eq!(counters.mismatches, 0);
}
