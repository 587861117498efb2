//! Arbitration, recovery and books against the truth of the exchange.

use std::collections::BTreeMap;

use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, Output};
use tickwire_feed::book::{Amount, Book, BookUpdate, Level, LevelAction, PriceAction, Side};
use tickwire_feed::recovery::{
    Continuity, Incremental, InstrumentId, Recovery, RecoveryOptions, Snapshot, SnapshotLevel,
    SnapshotOutcome,
};

use super::lines::{arrivals, drive};
use super::random::Random;

const PACKETS: u64 = 400;
const INSTRUMENTS: u64 = 4;
const DEPTH_MAX: u32 = 5;

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
    updates: Vec<Incremental>,
    after: Vec<Truth>,
}

fn content((price, size): (i64, i64)) -> Level {
    Level { price: Amount::integer(price), size: Amount::integer(size), orders: None }
}

/// How a seed's exchange names levels and numbers updates.
#[derive(Clone, Copy)]
struct Dialect {
    by_price: bool,
    by_rpt_seq: bool,
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
                let level_number = (!dialect.by_price).then_some(number);
                entries.push(SnapshotLevel { side, level: level_number, content: content(*level) });
            }
        }
        entries
    }

    fn is(&self, book: &Book) -> bool {
        Side::ALL.into_iter().zip(&self.sides).all(|(side, levels)| {
            let expected: Vec<Level> = levels.iter().copied().map(content).collect();
            book.levels(side) == expected
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
    for seq_num in 1..=PACKETS {
        let mut updates = Vec::new();
        for _ in 0..1 + random.below(3) {
            let id = random.below(INSTRUMENTS);
            let instrument = &mut truth[id as usize];
            let update = instrument.mutate(random, dialect);
            instrument.rpt_seq += 1;
            let rpt_seq = dialect.by_rpt_seq.then_some(instrument.rpt_seq);
            updates.push(Incremental { instrument: InstrumentId(id), seq_num, rpt_seq, update });
        }
        sent.push(Sent { updates, after: truth.clone() });
    }
    sent
}

/// The receiving side, with what is needed to know which truth each book should be.
struct Receiver<'a> {
    sent: &'a [Sent],
    dialect: Dialect,
    recovery: Recovery,
    /// The last number delivered or lost.
    position: u64,
    /// By instrument, the number that its last snapshot included.
    bases: BTreeMap<InstrumentId, u64>,
}

impl Receiver<'_> {
    fn poll(&mut self, arbiter: &mut Arbiter) {
        while let Some(output) = arbiter.poll_output() {
            match output {
                Output::Deliver { seq_num, .. } => {
                    self.position = seq_num;
                    for update in &self.sent[seq_num as usize].updates {
                        self.recovery.handle_incremental(update);
                    }
                }
                Output::Gap(gap) => {
                    self.position = gap.last();
                    self.recovery.handle_gap(gap);
                }
                Output::Reset { .. } => panic!("no number is foreign"),
            }
            self.check();
        }
    }

    fn snapshot(&mut self, last_seq_num: u64, id: u64) -> SnapshotOutcome {
        let truth = &self.sent[last_seq_num as usize].after[id as usize];
        let instrument = InstrumentId(id);
        let outcome = self.recovery.handle_snapshot(&Snapshot {
            instrument,
            last_seq_num,
            rpt_seq: self.dialect.by_rpt_seq.then_some(truth.rpt_seq),
            levels: &truth.snapshot_levels(self.dialect),
        });
        assert!(
            !matches!(outcome, SnapshotOutcome::Mismatch | SnapshotOutcome::Faulty(_)),
            "{outcome:?} of {id} at {last_seq_num}"
        );
        if matches!(outcome, SnapshotOutcome::Recovered | SnapshotOutcome::Loaded(_)) {
            self.bases.insert(instrument, last_seq_num);
        }
        self.check();
        outcome
    }

    /// Every book that may be believed is the truth at its update.
    fn check(&self) {
        for id in 0..INSTRUMENTS {
            let instrument = InstrumentId(id);
            let Ok(book) = self.recovery.book(instrument) else { continue };
            let base = self.bases.get(&instrument).copied().unwrap_or(0);
            let at = self.position.max(base) as usize;
            let truth = &self.sent[at].after[id as usize];
            assert!(truth.is(book), "instrument {id} after {at}: {truth:?} {book:?}");
            if self.dialect.by_rpt_seq {
                assert_eq!(self.recovery.rpt_seq(instrument), Some(truth.rpt_seq));
            }
        }
    }
}

pub fn run(seed: u64) {
    let mut random = Random::new(seed);
    let dialect = Dialect { by_price: random.chance(30), by_rpt_seq: random.chance(60) };
    let sent = exchange(&mut random, dialect);
    let arrivals = arrivals(&mut random, PACKETS);
    let hold_ns = random.below(100_000);
    let options = ArbiterOptions { hold_ns, first_seq_num: Some(1), ..Default::default() };
    let mut arbiter = Arbiter::new(options);
    let continuity = if dialect.by_rpt_seq { Continuity::RptSeq } else { Continuity::SeqNum };
    let recovery = Recovery::new(RecoveryOptions {
        continuity,
        depth_max: DEPTH_MAX,
        updates_held_max: 64,
        natural_refresh: !dialect.by_price && random.chance(30),
        ..Default::default()
    });
    let bases = BTreeMap::new();
    let mut receiver = Receiver { sent: &sent, dialect, recovery, position: 0, bases };
    let mut snapshots = random.next();
    drive(&mut arbiter, &arrivals, |arbiter, now_ns| {
        receiver.poll(arbiter);
        snapshots = snapshots.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(now_ns | 1);
        if snapshots >> 60 == 0 {
            let shift = (snapshots >> 32) % 20;
            let last = (now_ns / 10_000).saturating_sub(shift).min(PACKETS);
            receiver.snapshot(last, (snapshots >> 40) % INSTRUMENTS);
        }
    });
    receiver.poll(&mut arbiter);
    for id in 0..INSTRUMENTS {
        receiver.snapshot(PACKETS, id);
        let book = receiver.recovery.book(InstrumentId(id)).expect("fresh by the last snapshot");
        assert!(sent[PACKETS as usize].after[id as usize].is(book) || receiver.position < PACKETS);
    }
}
