//! Books built from decoded messages equal the exchange's books.

mod support;

use fastrand::Rng;
use std::collections::BTreeMap;
use support::{Receiver, feeds};
use tickwire_exchange::{CmeShape, FeedKind, GeneratedPacket, Generator, Options, TrueBook};
use tickwire_fast::{FieldValue, Message};
use tickwire_feed::arbiter::Gap;
use tickwire_feed::book::{Amount, Level, Side};
use tickwire_feed::framing::Preset;
use tickwire_feed::market::{
    Adapt, AdapterOptions, BookKind, Definition, Instrument, InstrumentKey, MarketDataAdapter,
    MarketEvent, MarketSink, Snapshot, Update,
};
use tickwire_feed::recovery::{Recovery, RecoveryOptions, SnapshotOutcome, UpdateOutcome};

/// Builds books of price levels like a feed handler.
struct Handler {
    receiver: Receiver,
    snapshots: Receiver,
    adapter: MarketDataAdapter,
    recovery: Recovery,
}

/// Applies messages to the books and records the outcomes.
struct Outcomes<'r> {
    recovery: &'r mut Recovery,
    updates: Vec<UpdateOutcome>,
    snapshots: Vec<SnapshotOutcome>,
}

impl<'r> Outcomes<'r> {
    fn new(recovery: &'r mut Recovery) -> Self {
        Self { recovery, updates: Vec::new(), snapshots: Vec::new() }
    }
}

impl MarketSink for Outcomes<'_> {
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        self.recovery.instrument(key)
    }

    fn update(&mut self, update: &Update) {
        self.updates.push(self.recovery.handle_update(update));
    }

    fn snapshot(&mut self, snapshot: &Snapshot<'_>) {
        self.snapshots.push(self.recovery.handle_snapshot(0, snapshot));
    }

    fn define(&mut self, instrument: Instrument, definition: &Definition) {
        self.recovery.define(instrument, definition);
    }

    fn event(&mut self, event: &MarketEvent<'_>) {
        if let MarketEvent::Status(status) = event {
            self.recovery.handle_status(status);
        }
    }

    fn sequence_reset(&mut self, next_seq_num: u64, _: Option<u64>) {
        panic!("the numbers begin anew at {next_seq_num}");
    }

    fn end_message(&mut self, continues: bool) {
        self.recovery.end_message(continues);
        while self.recovery.next_change().is_some() {}
    }
}

impl Handler {
    fn new(generator: &Generator, options: &Options) -> Self {
        let depth = if matches!(options.feed, FeedKind::Cme { .. }) { 10 } else { 5 };
        let program = generator.program().clone();
        Self {
            receiver: Receiver::new(generator, options.framing),
            snapshots: Receiver::new(generator, options.framing),
            adapter: MarketDataAdapter::new(program, &AdapterOptions::default()),
            recovery: Recovery::new(RecoveryOptions { depth: Some(depth), ..Default::default() }),
        }
    }

    fn packet(&mut self, packet: &GeneratedPacket, mut take: impl FnMut(UpdateOutcome)) {
        let Self { receiver, adapter, recovery, .. } = self;
        receiver.receive(&packet.bytes, |message| {
            let mut outcomes = Outcomes::new(recovery);
            let result = adapter.adapt(message, packet.seq_num, &mut outcomes);
            result.expect("a message that can be understood");
            assert_eq!(outcomes.snapshots, [], "no snapshots on the channel of updates");
            outcomes.updates.into_iter().for_each(&mut take);
        });
        recovery.handle_progress(packet.seq_num + 1);
    }

    fn snapshot(&mut self, packet: &GeneratedPacket) -> SnapshotOutcome {
        let Self { snapshots, adapter, recovery, .. } = self;
        let mut all = Vec::new();
        snapshots.receive(&packet.bytes, |message| {
            let mut outcomes = Outcomes::new(recovery);
            let result = adapter.adapt(message, packet.seq_num, &mut outcomes);
            result.expect("a message that can be understood");
            assert_eq!(outcomes.updates, [], "no updates on the channel of snapshots");
            all.extend(outcomes.snapshots);
        });
        let [outcome] = all[..] else { panic!("one snapshot: {all:?}") };
        outcome
    }

    /// True if a book is fresh; asserts that it then equals the true book.
    fn is_fresh(&self, truth: &TrueBook) -> bool {
        let key = InstrumentKey::Number(truth.security.into());
        let Some(instrument) = self.recovery.instruments().find(key) else { return false };
        let Ok(book) = self.recovery.book(instrument, BookKind::Outright) else { return false };
        assert!(truth.is(book), "{truth:?} {book:?}");
        assert_eq!(book.check(), None, "security {}", truth.security);
        assert_eq!(self.recovery.rpt_seq(instrument), Some(truth.rpt_seq));
        true
    }
}

fn depth_feeds() -> impl Iterator<Item = Options> {
    let has_levels = |options: &Options| {
        !matches!(options.feed, FeedKind::Simple | FeedKind::RandomCme | FeedKind::Shaped(_))
    };
    feeds().into_iter().filter(has_levels)
}

fn starts_full(options: &Options) -> bool {
    matches!(options.feed, FeedKind::Cme { mid_session: true, .. })
}

#[test]
fn books_of_price_levels_are_the_true_ones_after_every_packet() {
    for options in depth_feeds() {
        let mut generator = Generator::new(&options).expect("options");
        let mut handler = Handler::new(&generator, &options);
        if starts_full(&options) {
            let first = options.first_seq_num;
            handler.recovery.handle_progress(first);
            for security in securities(&generator) {
                let packet = generator.snapshot(security).expect("a snapshot");
                assert_eq!(handler.snapshot(&packet), SnapshotOutcome::Recovered);
            }
        }
        let mut levels = 0;
        while let Some(packet) = generator.next_packet().expect("a packet") {
            handler.packet(&packet, |outcome| {
                // The first update of a book that begins empty makes it fresh.
                use UpdateOutcome::{Applied, Recovered};
                assert!(matches!(outcome, Applied | Recovered), "{outcome:?}");
            });
            for security in &packet.changed {
                let truth = generator.truth().book(*security).expect("a book");
                assert!(handler.is_fresh(truth));
                levels = levels.max(truth.bids.len()).max(truth.offers.len());
            }
        }
        let depth = if matches!(options.feed, FeedKind::Cme { .. }) { 10 } else { 5 };
        assert_eq!(levels, depth, "books become as deep as they are shown");
    }
}

fn securities(generator: &Generator) -> Vec<u32> {
    generator.truth().books().map(|book| book.security).collect()
}

#[test]
fn only_what_a_packet_says_changes_is_changed() {
    for options in feeds() {
        let mut generator = Generator::new(&Options { messages: 300, ..options }).expect("options");
        let mut before = generator.truth().clone();
        while let Some(packet) = generator.next_packet().expect("a packet") {
            let truth = generator.truth();
            assert_eq!(truth.seq_num(), Some(packet.seq_num));
            for (old, new) in before.books().zip(truth.books()) {
                assert!(old == new || packet.changed.contains(&new.security));
            }
            before = truth.clone();
        }
    }
}

/// Drops packets permanently and sends a snapshot occasionally. No fresh book is wrong, and after
/// one more round of snapshots all books are fresh.
fn lose_and_recover(options: &Options, seed: u64, loss_percent: u8) {
    let mut random = Rng::with_seed(seed);
    let mut generator = Generator::new(options).expect("options");
    let mut handler = Handler::new(&generator, options);
    let securities = securities(&generator);
    let mut turns = securities.iter().copied().cycle();
    let (mut lost, mut stale) = (0, 0);
    while let Some(packet) = generator.next_packet().expect("a packet") {
        if random.u8(0..100) < loss_percent {
            handler.recovery.handle_gap(Gap { first: packet.seq_num, count: 1 });
            lost += 1;
        } else {
            handler.packet(&packet, |_| {});
        }
        if random.u8(0..5) == 0 {
            let security = turns.next().expect("securities without end");
            let snapshot = generator.snapshot(security).expect("a snapshot");
            let outcome = handler.snapshot(&snapshot);
            assert!(!matches!(outcome, SnapshotOutcome::Mismatch | SnapshotOutcome::Faulty(_)));
        }
        let truths = generator.truth().books();
        stale += truths.filter(|truth| !handler.is_fresh(truth)).count();
    }
    assert!(lost > 0 && stale > 0, "{lost} packets lost, {stale} books stale meanwhile");
    for security in securities {
        let snapshot = generator.snapshot(security).expect("a snapshot");
        handler.snapshot(&snapshot);
        assert!(handler.is_fresh(generator.truth().book(security).expect("a book")));
    }
    assert_eq!(handler.recovery.counters().mismatches, 0);
}

#[test]
fn lost_packets_make_books_stale_not_wrong_and_snapshots_recover_them() {
    for seed in 0..6 {
        for mid_session in [false, true] {
            let feed = FeedKind::Cme { shape: CmeShape::Average, mid_session };
            let framing = Some(Preset::Cme.framing());
            let options = Options::cme(CmeShape::Average);
            let options = Options { feed, framing, seed, messages: 400, securities: 20, ..options };
            lose_and_recover(&options, seed, 5);
            let packet_bytes_max = 700;
            let messages_per_packet_max = 4;
            let packed = Options { packet_bytes_max, messages_per_packet_max, ..options };
            lose_and_recover(&packed, seed, 5);
        }
    }
}

#[test]
fn snapshots_need_a_feed_that_has_them_a_security_and_room() {
    let mut generator = Generator::new(&Options::complex()).expect("options");
    let error = generator.snapshot(1).expect_err("no snapshots").to_string();
    assert!(error.contains("only the cme feed"), "{error}");
    let cme = Options::cme(CmeShape::Average);
    let mut generator = Generator::new(&cme).expect("options");
    let error = generator.snapshot(1).expect_err("no such security").to_string();
    assert!(error.contains("no security 1"), "{error}");
    let small = Options { packet_bytes_max: 120, ..cme };
    let mut generator = Generator::new(&small).expect("options");
    let error = generator.snapshot(20_000).expect_err("no room").to_string();
    assert!(error.contains("packets of 120 bytes are too small"), "{error}");
}

/// Orders by id, from Simple messages alone.
#[derive(Default)]
struct Orders {
    /// Security, side, price and size.
    orders: BTreeMap<u64, (u64, u64, i64, i64)>,
}

impl Orders {
    fn message(&mut self, message: &Message) {
        let number = |name: &str| match message.root().field(name) {
            Some(FieldValue::UInt(number)) => number,
            other => panic!("{name} of {}: {other:?}", message.template_name()),
        };
        let order = || {
            let (price, size) = (number("Price") as i64, number("Volume") as i64);
            (number("SecurityId"), number("Side"), price, size)
        };
        match message.template_name() {
            "New" => {
                let before = self.orders.insert(number("OrderId"), order());
                assert_eq!(before, None, "an order is new once");
            }
            "Change" => {
                let (id, order) = (number("OrderId"), order());
                let before = self.orders.insert(id, order).expect("an order that is there");
                let same = |order: (u64, u64, i64, i64)| (order.0, order.1, order.2);
                assert_eq!(same(before), same(order));
                assert!(order.3 < before.3, "orders grow smaller");
            }
            "Remove" => {
                let order = self.orders.remove(&number("OrderId")).expect("an order that is there");
                assert_eq!((order.0, order.1), (number("SecurityId"), number("Side")));
            }
            "Quote" => {
                let order = self.orders[&number("OrderId")];
                assert_eq!(order.0, number("SecurityId"));
                assert_eq!(order.2, number("Price") as i64);
                assert_eq!(order.3, number("Volume") as i64);
            }
            _ => {}
        }
    }

    /// Returns the price levels of a side, best first.
    fn levels(&self, security: u32, side: Side) -> Vec<Level> {
        let wanted = if side == Side::Bid { b'B' } else { b'S' };
        let mut levels: BTreeMap<i64, (i64, u32)> = BTreeMap::new();
        for (of, side, price, size) in self.orders.values() {
            if *of == u64::from(security) && *side == u64::from(wanted) {
                let level = levels.entry(*price).or_default();
                *level = (level.0 + size, level.1 + 1);
            }
        }
        let content = |(price, (size, orders)): (i64, (i64, u32))| Level {
            price: Amount::integer(price),
            size: Amount::integer(size),
            orders: Some(orders),
        };
        match side {
            Side::Bid => levels.into_iter().rev().map(content).collect(),
            Side::Offer => levels.into_iter().map(content).collect(),
        }
    }
}

#[test]
fn books_of_orders_are_the_true_ones_after_every_packet() {
    let options = Options { messages: 5_000, securities: 10, ..Options::simple() };
    let mut generator = Generator::new(&options).expect("options");
    let mut receiver = Receiver::new(&generator, None);
    let mut orders = Orders::default();
    while let Some(packet) = generator.next_packet().expect("a packet") {
        receiver.receive(&packet.bytes, |message| orders.message(message));
        for truth in generator.truth().books() {
            for side in Side::ALL {
                assert_eq!(orders.levels(truth.security, side), truth.levels(side));
            }
            if let (Some(bid), Some(offer)) = (truth.bids.first(), truth.offers.first()) {
                assert!(bid.price < offer.price, "security {}", truth.security);
            }
        }
    }
    assert!(orders.orders.len() > 100);
}
