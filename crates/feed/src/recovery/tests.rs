//! Tests of the freshness of books after updates, gaps and snapshots.

mod ahead;
mod changes;
mod checks;
mod clears;
mod depth;
mod fragments;
mod kinds;
mod limits;
mod plain;
mod readers;
mod replayed;
mod sessions;
mod starts;
mod times;
mod updates;

use super::*;
use crate::book::{Amount, Level, LevelAction, Side};
use crate::market::{LevelName, Snapshot, SnapshotFragment, SnapshotLevel};

const ONE: Id = Id(0);
const TWO: Id = Id(1);

/// A channel that knows instruments [`ONE`] and [`TWO`].
fn recovery(options: RecoveryOptions) -> Recovery {
    let mut recovery = Recovery::new(options);
    for (number, id) in [(1, ONE), (2, TWO)] {
        assert_eq!(recovery.instrument(InstrumentKey::Number(number)), Some(id));
    }
    recovery
}

fn by_rpt_seq() -> Recovery {
    recovery(RecoveryOptions { updates_held_max: 3, ..Default::default() })
}

fn by_seq_num() -> Recovery {
    let continuity = Continuity::SeqNum;
    recovery(RecoveryOptions { continuity, updates_held_max: 3, ..Default::default() })
}

fn level(price: i64) -> Level {
    Level { price: Amount::integer(price), size: Amount::integer(1), orders: None }
}

fn update(seq_num: u64, rpt_seq: u64, side: Side, level: u32, action: LevelAction) -> Update {
    Update {
        instrument: ONE,
        kind: BookKind::Outright,
        seq_num,
        rpt_seq: Some(rpt_seq),
        depth: None,
        change: BookUpdate::ByLevel { side, level, action },
    }
}

fn bid(seq_num: u64, rpt_seq: u64, level: u32, action: LevelAction) -> Update {
    update(seq_num, rpt_seq, Side::Bid, level, action)
}

/// Changes the best bid to `price`.
fn change(seq_num: u64, rpt_seq: u64, price: i64) -> Update {
    bid(seq_num, rpt_seq, 1, LevelAction::Change(level(price)))
}

/// Levels of a snapshot, by position.
fn levels_of(kind: BookKind, side: Side, prices: &[i64]) -> Vec<SnapshotLevel> {
    let of = |(at, price): (u32, &i64)| {
        let (name, content) = (LevelName::Level(at), level(*price));
        SnapshotLevel { kind, side, name, content }
    };
    (1..).zip(prices).map(of).collect()
}

/// Outright levels of a snapshot.
fn both_sides(bids: &[i64], offers: &[i64]) -> Vec<SnapshotLevel> {
    let mut levels = levels_of(BookKind::Outright, Side::Bid, bids);
    levels.extend(levels_of(BookKind::Outright, Side::Offer, offers));
    levels
}

/// A whole snapshot of [`ONE`].
fn whole(last_seq_num: u64, rpt_seq: u64, levels: &[SnapshotLevel]) -> Snapshot<'_> {
    Snapshot {
        instrument: ONE,
        last_seq_num,
        rpt_seq: Some(rpt_seq),
        sending_time: None,
        seq_num: None,
        fragment: SnapshotFragment::Whole,
        depth: None,
        levels,
    }
}

/// A snapshot with one bid, after the lines have sent everything that it includes.
fn snapshot(recovery: &mut Recovery, last: u64, rpt_seq: u64, price: i64) -> SnapshotOutcome {
    recovery.handle_progress(last + 1);
    early_snapshot(recovery, last, rpt_seq, price)
}

/// A snapshot with one bid, whatever the lines have sent.
fn early_snapshot(recovery: &mut Recovery, last: u64, rpt_seq: u64, price: i64) -> SnapshotOutcome {
    recovery.handle_snapshot(0, &whole(last, rpt_seq, &both_sides(&[price], &[])))
}

/// The best bid of the outright book.
fn price(recovery: &Recovery) -> Result<i64, StaleReason> {
    let book = recovery.book(ONE, BookKind::Outright)?;
    Ok(book.best(Side::Bid).map_or(0, |level| level.price.mantissa))
}

/// The prices of a side of a book, fresh or stale.
fn prices(recovery: &Recovery, kind: BookKind, side: Side) -> Vec<i64> {
    let book = recovery.last_known_book(ONE, kind).expect("a book that is kept");
    book.levels(side).map(|level| level.price.mantissa).collect()
}
