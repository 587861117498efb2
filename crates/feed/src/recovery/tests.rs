use super::*;
use crate::book::{Amount, Level, Side};

const ONE: InstrumentId = InstrumentId(1);

fn level(price: i64) -> Level {
    Level { price: Amount::integer(price), size: Amount::integer(1), orders: None }
}

fn incremental(seq_num: u64, rpt_seq: u64, level_index: u32, action: LevelAction) -> Incremental {
    let update = BookUpdate::ByLevel { side: Side::Bid, level: level_index, action };
    Incremental { instrument: ONE, seq_num, rpt_seq: Some(rpt_seq), update }
}

/// Changes the only level to `price`.
fn change(seq_num: u64, rpt_seq: u64, price: i64) -> Incremental {
    incremental(seq_num, rpt_seq, 1, LevelAction::Change(level(price)))
}

fn levels(price: i64) -> [SnapshotLevel; 1] {
    [SnapshotLevel { side: Side::Bid, level: Some(1), content: level(price) }]
}

fn snapshot(recovery: &mut Recovery, last: u64, rpt_seq: u64, price: i64) -> SnapshotOutcome {
    recovery.handle_snapshot(&Snapshot {
        instrument: ONE,
        last_seq_num: last,
        rpt_seq: Some(rpt_seq),
        levels: &levels(price),
    })
}

fn price(recovery: &Recovery) -> Result<i64, StaleReason> {
    recovery.book(ONE).map(|book| book.best(Side::Bid).map_or(0, |level| level.price.mantissa))
}

fn by_rpt_seq() -> Recovery {
    Recovery::new(RecoveryOptions { updates_held_max: 3, ..Default::default() })
}

fn by_seq_num() -> Recovery {
    let continuity = Continuity::SeqNum;
    Recovery::new(RecoveryOptions { continuity, updates_held_max: 3, ..Default::default() })
}

#[test]
fn updates_wait_for_the_snapshot_they_follow() {
    let mut recovery = by_rpt_seq();
    for (seq_num, rpt_seq) in [(10, 100), (11, 101), (12, 102)] {
        let outcome = recovery.handle_incremental(&change(seq_num, rpt_seq, rpt_seq as i64));
        assert_eq!(outcome, IncrementalOutcome::Held(StaleReason::NoSnapshot));
    }
    assert_eq!(price(&recovery), Err(StaleReason::NoSnapshot));
    assert_eq!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(102));
    assert_eq!(recovery.updates_held(), 0);
    assert_eq!(recovery.handle_incremental(&change(13, 103, 5)), IncrementalOutcome::Applied);
}

#[test]
fn a_snapshot_older_than_the_held_updates_leaves_the_book_stale() {
    let mut recovery = by_rpt_seq();
    recovery.handle_incremental(&change(10, 100, 3));
    let reason = StaleReason::RptSeqGap { expected: 99, found: 100 };
    assert_eq!(snapshot(&mut recovery, 8, 98, 7), SnapshotOutcome::Loaded(reason));
    assert_eq!(price(&recovery), Err(reason));
    assert_eq!(snapshot(&mut recovery, 9, 99, 7), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(3));
}

#[test]
fn a_snapshot_ahead_of_the_updates_makes_them_old() {
    let mut recovery = by_rpt_seq();
    assert_eq!(snapshot(&mut recovery, 20, 110, 7), SnapshotOutcome::Recovered);
    assert_eq!(recovery.handle_incremental(&change(19, 110, 3)), IncrementalOutcome::Old);
    assert_eq!(recovery.handle_incremental(&change(21, 111, 4)), IncrementalOutcome::Applied);
    assert_eq!(price(&recovery), Ok(4));
}

#[test]
fn after_a_gap_the_next_update_shows_that_the_book_lacks_nothing() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_gap(Gap { first: 11, count: 3 });
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
    assert_eq!(recovery.handle_incremental(&change(14, 101, 8)), IncrementalOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(8));
}

#[test]
fn after_a_gap_a_hole_in_the_numbers_needs_a_snapshot() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_gap(Gap { first: 11, count: 1 });
    let reason = StaleReason::RptSeqGap { expected: 101, found: 102 };
    let outcome = recovery.handle_incremental(&change(12, 102, 8));
    assert_eq!(outcome, IncrementalOutcome::Held(reason));
    assert_eq!(snapshot(&mut recovery, 9, 99, 7), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 11, 101, 6), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(8));
}

#[test]
fn a_snapshot_from_before_the_gap_proves_nothing_and_one_after_it_does() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_gap(Gap { first: 11, count: 2 });
    let outcome = snapshot(&mut recovery, 11, 100, 7);
    assert_eq!(outcome, SnapshotOutcome::Loaded(StaleReason::Gap));
    assert_eq!(snapshot(&mut recovery, 12, 100, 7), SnapshotOutcome::Recovered);
}

#[test]
fn a_packet_lost_behind_an_update_of_it_makes_that_book_stale_too() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        snapshot(&mut recovery, 10, 100, 7);
        recovery.handle_incremental(&change(11, 101, 8));
        recovery.handle_gap(Gap { first: 11, count: 1 });
        assert_eq!(price(&recovery), Err(StaleReason::Gap));
        assert_ne!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Err(StaleReason::Gap));
        assert_eq!(snapshot(&mut recovery, 11, 102, 9), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(9));
    }
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_incremental(&change(11, 101, 8));
    recovery.handle_gap(Gap { first: 11, count: 1 });
    assert_eq!(recovery.handle_incremental(&change(12, 102, 6)), IncrementalOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(6), "its count shows that nothing of it was lost");
}

#[test]
fn a_count_without_sense_does_not_keep_a_book_stale_for_ever() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_incremental(&change(11, 4_000_000_000, 1));
    assert!(price(&recovery).is_err());
    assert_eq!(snapshot(&mut recovery, 11, 100, 8), SnapshotOutcome::Recovered);
    assert_eq!((price(&recovery), recovery.updates_held()), (Ok(8), 0));
    assert_eq!(recovery.handle_incremental(&change(12, 101, 9)), IncrementalOutcome::Applied);
}

#[test]
fn a_snapshot_of_another_numbering_does_not_freeze_a_book() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        assert_eq!(snapshot(&mut recovery, 900_000, 5_000, 1), SnapshotOutcome::Recovered);
        assert_eq!(recovery.handle_incremental(&change(10, 3, 2)), IncrementalOutcome::Old);
        assert_eq!(snapshot(&mut recovery, 10, 3, 2), SnapshotOutcome::TooOld);
        assert_eq!(price(&recovery), Err(StaleReason::Reset));
        recovery.handle_incremental(&change(11, 4, 3));
        assert_eq!(snapshot(&mut recovery, 10, 3, 2), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(3));
    }
}

#[test]
fn an_update_held_from_a_packet_partly_lost_proves_nothing() {
    let gap = SnapshotOutcome::Loaded(StaleReason::Gap);
    for (mut recovery, outcome) in [(by_rpt_seq(), gap), (by_seq_num(), SnapshotOutcome::TooOld)] {
        recovery.handle_incremental(&change(11, 101, 8));
        recovery.handle_gap(Gap { first: 11, count: 1 });
        assert_eq!(snapshot(&mut recovery, 10, 100, 7), outcome);
        assert!(price(&recovery).is_err());
    }
}

#[test]
fn without_counts_a_gap_makes_every_book_wait_for_a_later_snapshot() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 7);
    let plain = |seq_num, price| Incremental { rpt_seq: None, ..change(seq_num, 0, price) };
    assert_eq!(recovery.handle_incremental(&plain(10, 1)), IncrementalOutcome::Old);
    assert_eq!(recovery.handle_incremental(&plain(11, 8)), IncrementalOutcome::Applied);
    assert_eq!(recovery.handle_incremental(&plain(11, 9)), IncrementalOutcome::Applied);
    recovery.handle_gap(Gap { first: 12, count: 1 });
    let held = IncrementalOutcome::Held(StaleReason::Gap);
    assert_eq!(recovery.handle_incremental(&plain(13, 10)), held);
    assert_eq!(snapshot(&mut recovery, 11, 0, 9), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 12, 0, 9), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(10));
}

#[test]
fn updates_that_were_dropped_make_older_snapshots_useless() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        for n in 0..5 {
            recovery.handle_incremental(&change(10 + n, 100 + n, 50 + n as i64));
        }
        assert_eq!(recovery.updates_held(), 3);
        assert_eq!(recovery.counters().dropped, 2);
        assert_eq!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::TooOld);
        assert_eq!(snapshot(&mut recovery, 11, 101, 7), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(54));
    }
}

#[test]
fn all_books_together_hold_no_more_than_they_may() {
    let options = RecoveryOptions { updates_held_total_max: 2, ..Default::default() };
    let mut recovery = Recovery::new(options);
    for n in 0..10 {
        let instrument = InstrumentId(n);
        recovery.handle_incremental(&Incremental { instrument, ..change(10, 100, 1) });
        recovery.handle_incremental(&Incremental { instrument, ..change(11, 101, 1) });
        assert!(recovery.updates_held() <= 2);
    }
}

/// Nothing of the instrument is held, so that only what is remembered of the lost update shows that
/// the snapshot is too old.
#[test]
fn an_update_that_found_no_room_makes_older_snapshots_useless() {
    for continuity in [Continuity::RptSeq, Continuity::SeqNum] {
        let options =
            RecoveryOptions { continuity, updates_held_total_max: 0, ..Default::default() };
        let mut recovery = Recovery::new(options);
        recovery.handle_incremental(&change(10, 100, 1));
        assert_eq!(recovery.updates_held(), 0);
        assert_eq!(snapshot(&mut recovery, 9, 99, 7), SnapshotOutcome::TooOld);
        assert_eq!(snapshot(&mut recovery, 10, 100, 8), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(8));
    }
}

#[test]
fn an_update_that_does_not_fit_makes_the_book_stale_until_a_snapshot() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    let outcome = recovery.handle_incremental(&incremental(11, 101, 3, LevelAction::Delete));
    assert!(matches!(outcome, IncrementalOutcome::Held(StaleReason::Fault(_))));
    assert_eq!(recovery.counters().broken, 1);
    assert!(recovery.book(ONE).is_err());
    assert_eq!(snapshot(&mut recovery, 11, 101, 9), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(9));
}

/// The first update of message 11 is in the book, the second did not fit: a snapshot from before the
/// message would lose the first.
#[test]
fn without_counts_a_message_half_applied_needs_a_snapshot_that_includes_it() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 7);
    recovery.handle_incremental(&change(11, 0, 8));
    recovery.handle_incremental(&incremental(11, 0, 3, LevelAction::Delete));
    assert_eq!(snapshot(&mut recovery, 10, 0, 7), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 11, 0, 9), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(9));
}

#[test]
fn a_fresh_book_is_compared_with_snapshots_at_the_same_update() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        snapshot(&mut recovery, 10, 100, 7);
        recovery.handle_incremental(&change(11, 101, 8));
        assert_eq!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::NotNeeded);
        assert_eq!(snapshot(&mut recovery, 11, 101, 8), SnapshotOutcome::Verified);
        assert_eq!(snapshot(&mut recovery, 11, 101, 9), SnapshotOutcome::Mismatch);
        assert_eq!(price(&recovery), Ok(9));
    }
}

#[test]
fn a_count_that_goes_back_while_packets_go_on_is_not_believed() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    let reason = StaleReason::RptSeqGap { expected: 101, found: 1 };
    let outcome = recovery.handle_incremental(&change(11, 1, 8));
    assert_eq!(outcome, IncrementalOutcome::Held(reason));
    assert_eq!(snapshot(&mut recovery, 11, 1, 8), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(8));
}

#[test]
fn the_first_update_of_all_begins_an_empty_book() {
    let mut recovery = by_rpt_seq();
    let first = incremental(1, 1, 1, LevelAction::New(level(4)));
    assert_eq!(recovery.handle_incremental(&first), IncrementalOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(4));
    recovery.handle_reset();
    assert_eq!(price(&recovery), Err(StaleReason::Reset));
    assert_eq!(recovery.handle_incremental(&first), IncrementalOutcome::Recovered);
}

#[test]
fn a_book_may_become_fresh_by_updates_alone_where_that_is_allowed() {
    let options =
        RecoveryOptions { natural_refresh: true, depth_max: 1, ..RecoveryOptions::default() };
    let mut recovery = Recovery::new(options);
    let offer = |seq_num, rpt_seq| {
        let action = LevelAction::Change(level(20));
        let update = BookUpdate::ByLevel { side: Side::Offer, level: 1, action };
        Incremental { instrument: ONE, seq_num, rpt_seq: Some(rpt_seq), update }
    };
    assert!(matches!(recovery.handle_incremental(&change(5, 50, 9)), IncrementalOutcome::Held(_)));
    assert!(matches!(recovery.handle_incremental(&offer(7, 52)), IncrementalOutcome::Held(_)));
    assert_eq!(recovery.handle_incremental(&change(8, 53, 10)), IncrementalOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(10));
    assert_eq!(recovery.updates_held(), 0);
    assert_eq!(recovery.handle_incremental(&change(9, 54, 11)), IncrementalOutcome::Applied);
}

#[test]
fn instruments_above_the_limit_are_refused() {
    let mut recovery = Recovery::new(RecoveryOptions { instruments_max: 1, ..Default::default() });
    assert!(recovery.add_instrument(ONE, 5));
    assert!(!recovery.add_instrument(ONE, 6));
    let other = Incremental { instrument: InstrumentId(2), ..change(1, 1, 1) };
    assert_eq!(recovery.handle_incremental(&other), IncrementalOutcome::TooManyInstruments);
}

#[test]
fn a_snapshot_with_a_hole_is_refused() {
    let mut recovery = by_rpt_seq();
    let mut levels = levels(7);
    levels[0].level = Some(2);
    let snapshot = Snapshot { instrument: ONE, last_seq_num: 1, rpt_seq: Some(5), levels: &levels };
    let outcome = recovery.handle_snapshot(&snapshot);
    assert!(matches!(outcome, SnapshotOutcome::Faulty(BookFault::Hole { level: 2, .. })));
    assert_eq!(price(&recovery), Err(StaleReason::NoSnapshot));
}
