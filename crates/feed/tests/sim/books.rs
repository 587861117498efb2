//! Arbitration, recovery and books against the truth of the exchange.

use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, Gap, Output};
use tickwire_feed::book::{Amount, Book, BookUpdate, Level, LevelAction, PriceAction, Side};
use tickwire_feed::market::{
    BookKind, Fragment, Instrument, InstrumentKey, LevelName, Snapshot, SnapshotLevel, Update,
};
use tickwire_feed::recovery::{Continuity, Recovery, RecoveryOptions, SnapshotOutcome};

use super::lines::{arrivals, drive};
use super::random::Random;

const PACKETS: u64 = 400;
const INSTRUMENTS: u64 = 4;
const DEPTH_MAX: u32 = 5;
/// The recovery's number of packet 0: the feed has sent packets before, so that books are not empty.
const OFFSET: u64 = 1_000;

/// Price and size of each level, best first.
type Levels = Vec<(i64, i64)>;

/// What the exchange knows of an instrument.
#[derive(Clone, Debug, Default, PartialEq)]
struct Truth {
    rpt_seq: u64,
    sides: [Levels; 2],
}

/// A message of the exchange, and the truth once it was sent.
struct Sent {
    /// Index of the instrument, its count and the change.
    updates: Vec<(u64, Option<u64>, BookUpdate)>,
    after: Vec<Truth>,
}

fn content((price, size): (i64, i64)) -> Level {
    Level { price: Amount::integer(price), size: Amount::integer(size), orders: None }
}

/// How the receiver of a seed knows the depth of the books.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Depth {
    /// By its options.
    Set,
    /// By MarketDepth in updates and snapshots.
    Told,
    /// Not at all: it shows the levels that it is sure of.
    Unknown,
}

/// How a seed's exchange names levels and numbers updates.
#[derive(Clone, Copy)]
struct Dialect {
    by_price: bool,
    by_rpt_seq: bool,
    depth: Depth,
}

impl Dialect {
    /// MarketDepth beside updates and snapshots.
    fn told_depth(self) -> Option<u32> {
        (self.depth == Depth::Told).then_some(DEPTH_MAX)
    }
}

impl Truth {
    /// Changes a side at random and says so in the feed's words.
    fn mutate(&mut self, random: &mut Random, dialect: Dialect) -> BookUpdate {
        let at = random.below(2) as usize;
        let side = Side::ALL[at];
        let levels = &mut self.sides[at];
        let size = 1 + random.below(50) as i64;
        let step = 1 + random.below(30) as i64;
        let price = if side == Side::Bid { 1000 - step } else { 1000 + step };
        let place = levels.iter().position(|level| level.0 == price);
        let is_better =
            |level: &(i64, i64)| side.is_better(content(*level).price, Amount::integer(price));
        let rank = levels.iter().filter(|level| is_better(level)).count();
        let is_full = levels.len() == DEPTH_MAX as usize;
        let (index, action) = match place {
            Some(index) if random.chance(50) => {
                levels[index].1 = size;
                (index, 1)
            }
            Some(index) => {
                levels.remove(index);
                (index, 2)
            }
            None if is_full && (dialect.by_price || rank == levels.len()) => {
                let index = levels.len() - 1;
                let removed = levels.remove(index);
                return update(dialect, side, index, 2, removed);
            }
            None => {
                levels.insert(rank, (price, size));
                levels.truncate(DEPTH_MAX as usize);
                (rank, 0)
            }
        };
        update(dialect, side, index, action, (price, size))
    }

    fn snapshot_levels(&self, dialect: Dialect) -> Vec<SnapshotLevel> {
        let mut entries = Vec::new();
        for (side, levels) in Side::ALL.into_iter().zip(&self.sides) {
            for (number, level) in (1..).zip(levels) {
                let name = match dialect.by_price {
                    true => LevelName::Price,
                    false => LevelName::Level(number),
                };
                let (kind, content) = (BookKind::Outright, content(*level));
                entries.push(SnapshotLevel { kind, side, name, content });
            }
        }
        entries
    }

    fn is(&self, book: &Book, dialect: Dialect) -> bool {
        Side::ALL.into_iter().zip(&self.sides).all(|(side, levels)| {
            let is_whole = dialect.by_price || dialect.depth != Depth::Unknown;
            let len = if is_whole { levels.len() } else { book.len(side) };
            book.len(side) == len
                && book.levels(side).copied().eq(levels.iter().take(len).copied().map(content))
        })
    }
}

fn update(dialect: Dialect, side: Side, index: usize, action: u8, level: (i64, i64)) -> BookUpdate {
    let level = content(level);
    if dialect.by_price {
        let action = [PriceAction::New, PriceAction::Change, PriceAction::Delete][action as usize];
        return BookUpdate::ByPrice { side, action, level };
    }
    let action = match action {
        0 => LevelAction::New(level),
        1 => LevelAction::Change(level),
        _ => LevelAction::Delete,
    };
    BookUpdate::ByLevel { side, level: index as u32 + 1, action }
}

/// Messages 1 to `PACKETS`; index 0 is the state before them.
fn exchange(random: &mut Random, dialect: Dialect) -> Vec<Sent> {
    let mut truth = vec![Truth::default(); INSTRUMENTS as usize];
    let before = if random.chance(50) { 0 } else { 30 };
    for _ in 0..before {
        for instrument in &mut truth {
            instrument.mutate(random, dialect);
            instrument.rpt_seq += 1;
        }
    }
    let mut sent = vec![Sent { updates: Vec::new(), after: truth.clone() }];
    for _ in 1..=PACKETS {
        let mut updates = Vec::new();
        for _ in 0..1 + random.below(3) {
            let id = random.below(INSTRUMENTS);
            let instrument = &mut truth[id as usize];
            let update = instrument.mutate(random, dialect);
            instrument.rpt_seq += 1;
            let rpt_seq = dialect.by_rpt_seq.then_some(instrument.rpt_seq);
            updates.push((id, rpt_seq, update));
        }
        sent.push(Sent { updates, after: truth.clone() });
    }
    sent
}

/// The receiving side.
struct Receiver<'a> {
    sent: &'a [Sent],
    dialect: Dialect,
    recovery: Recovery,
    instruments: Vec<Instrument>,
    /// The last number delivered or lost.
    position: u64,
}

impl Receiver<'_> {
    fn take(&mut self, output: Output<'_>) {
        match output {
            Output::Deliver { seq_num, .. } => self.deliver(seq_num),
            Output::Gap(gap) => self.lose(gap),
            Output::Reset { .. } => panic!("no number is unexpected"),
        }
        self.check();
    }

    fn deliver(&mut self, seq_num: u64) {
        self.position = seq_num;
        for (id, rpt_seq, change) in &self.sent[seq_num as usize].updates {
            self.recovery.handle_update(&Update {
                instrument: self.instruments[*id as usize],
                kind: BookKind::Outright,
                seq_num: OFFSET + seq_num,
                rpt_seq: *rpt_seq,
                depth: self.dialect.told_depth(),
                change: *change,
            });
        }
        self.recovery.handle_progress(OFFSET + seq_num + 1);
        self.end();
    }

    fn lose(&mut self, gap: Gap) {
        self.position = gap.last();
        self.recovery.handle_gap(Gap { first: OFFSET + gap.first, ..gap });
        self.end();
    }

    fn end(&mut self) {
        self.recovery.end_message(false);
        while let Some(change) = self.recovery.next_change() {
            assert_eq!(change.state, self.recovery.state(change.instrument));
        }
        self.check();
    }

    fn snapshot(&mut self, last_seq_num: u64, id: u64) -> SnapshotOutcome {
        let truth = &self.sent[last_seq_num as usize].after[id as usize];
        let outcome = self.recovery.handle_snapshot(
            0,
            &Snapshot {
                instrument: self.instruments[id as usize],
                last_seq_num: OFFSET + last_seq_num,
                rpt_seq: self.dialect.by_rpt_seq.then_some(truth.rpt_seq),
                sending_time: None,
                seq_num: None,
                fragment: Fragment::Whole,
                depth: self.dialect.told_depth(),
                levels: &truth.snapshot_levels(self.dialect),
            },
        );
        assert!(
            !matches!(outcome, SnapshotOutcome::Mismatch | SnapshotOutcome::Faulty(_)),
            "{outcome:?} of {id} at {last_seq_num}"
        );
        let is_ahead = last_seq_num > self.position;
        assert!(
            !is_ahead || matches!(outcome, SnapshotOutcome::Ahead | SnapshotOutcome::NotNeeded)
        );
        self.end();
        outcome
    }

    /// Every fresh book is the truth after the last number delivered or lost.
    fn check(&self) {
        for (id, instrument) in (0..).zip(&self.instruments) {
            let Ok(book) = self.recovery.book(*instrument, BookKind::Outright) else { continue };
            let at = self.position as usize;
            let truth: &Truth = &self.sent[at].after[id];
            let is_true = truth.is(book, self.dialect);
            assert!(is_true, "instrument {id} after {at}: {truth:?} {book:?}");
            if self.dialect.by_rpt_seq {
                assert_eq!(self.recovery.rpt_seq(*instrument), Some(truth.rpt_seq));
            }
        }
    }
}

pub fn run(seed: u64) {
    let mut random = Random::new(seed);
    let depth = [Depth::Set, Depth::Told, Depth::Unknown][random.below(3) as usize];
    let dialect = Dialect { by_price: random.chance(30), by_rpt_seq: random.chance(60), depth };
    let sent = exchange(&mut random, dialect);
    let arrivals = arrivals(&mut random, PACKETS);
    let hold_ns = random.below(100_000);
    let options = ArbiterOptions { hold_ns, first_seq_num: Some(1), ..Default::default() };
    let mut arbiter = Arbiter::new(options);
    let continuity = if dialect.by_rpt_seq { Continuity::RptSeq } else { Continuity::SeqNum };
    let mut recovery = Recovery::new(RecoveryOptions {
        continuity,
        depth: (depth == Depth::Set).then_some(DEPTH_MAX),
        updates_held_max: 64,
        natural_refresh: !dialect.by_price && random.chance(30),
        ..Default::default()
    });
    let keys = (0..INSTRUMENTS).map(InstrumentKey::Number);
    let instruments = keys.map(|key| recovery.instrument(key).expect("room")).collect();
    let mut receiver = Receiver { sent: &sent, dialect, recovery, instruments, position: 0 };
    let mut snapshots = random.next();
    drive(&mut arbiter, &arrivals, |now_ns, output| {
        receiver.recovery.set_time(now_ns);
        receiver.take(output);
        snapshots = snapshots.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(now_ns | 1);
        if snapshots >> 60 == 0 {
            let shift = (snapshots >> 32) % 20;
            let last = (now_ns / 10_000).saturating_sub(shift).min(PACKETS);
            receiver.snapshot(last, (snapshots >> 40) % INSTRUMENTS);
        }
    });
    if receiver.position < PACKETS {
        let first = receiver.position + 1;
        receiver.lose(Gap { first, count: PACKETS - receiver.position });
    }
    for id in 0..INSTRUMENTS {
        receiver.snapshot(PACKETS, id);
        let state = receiver.recovery.state(receiver.instruments[id as usize]);
        assert_eq!(state, Ok(()), "fresh by the last snapshot");
    }
}
