//! Updates, gaps, and snapshots of numbers that the lines have sent.

use super::*;
use crate::book::BookFault;

#[test]
fn updates_wait_for_the_snapshot_they_follow() {
    let mut recovery = by_rpt_seq();
    for (seq_num, rpt_seq) in [(10, 100), (11, 101), (12, 102)] {
        let outcome = recovery.handle_update(&change(seq_num, rpt_seq, rpt_seq as i64));
        assert_eq!(outcome, UpdateOutcome::Held(StaleReason::NoSnapshot));
    }
    assert_eq!(price(&recovery), Err(StaleReason::NoSnapshot));
    assert_eq!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(102));
    assert_eq!(recovery.updates_held(), 0);
    assert_eq!(recovery.handle_update(&change(13, 103, 5)), UpdateOutcome::Applied);
}

#[test]
fn a_snapshot_older_than_the_held_updates_leaves_the_book_stale() {
    let mut recovery = by_rpt_seq();
    recovery.handle_update(&change(10, 100, 3));
    let reason = StaleReason::RptSeqGap { expected: 99, found: 100 };
    assert_eq!(snapshot(&mut recovery, 8, 98, 7), SnapshotOutcome::Loaded(reason));
    assert_eq!(price(&recovery), Err(reason));
    assert_eq!(snapshot(&mut recovery, 9, 99, 7), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(3));
}

#[test]
fn a_snapshot_makes_updates_that_it_includes_old() {
    let mut recovery = by_rpt_seq();
    assert_eq!(snapshot(&mut recovery, 20, 110, 7), SnapshotOutcome::Recovered);
    assert_eq!(recovery.handle_update(&change(19, 110, 3)), UpdateOutcome::Old);
    assert_eq!(recovery.handle_update(&change(21, 111, 4)), UpdateOutcome::Applied);
    assert_eq!(price(&recovery), Ok(4));
}

#[test]
fn after_a_gap_the_next_update_shows_that_the_book_lacks_nothing() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_gap(Gap { first: 11, count: 3 });
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
    assert_eq!(recovery.handle_update(&change(14, 101, 8)), UpdateOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(8));
}

#[test]
fn after_a_gap_a_hole_in_the_numbers_needs_a_snapshot() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_gap(Gap { first: 11, count: 1 });
    let reason = StaleReason::RptSeqGap { expected: 101, found: 102 };
    let outcome = recovery.handle_update(&change(12, 102, 8));
    assert_eq!(outcome, UpdateOutcome::Held(reason));
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
        recovery.handle_update(&change(11, 101, 8));
        recovery.handle_gap(Gap { first: 11, count: 1 });
        assert_eq!(price(&recovery), Err(StaleReason::Gap));
        assert_ne!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Err(StaleReason::Gap));
        assert_eq!(snapshot(&mut recovery, 11, 102, 9), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(9));
    }
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_update(&change(11, 101, 8));
    recovery.handle_gap(Gap { first: 11, count: 1 });
    assert_eq!(recovery.handle_update(&change(12, 102, 6)), UpdateOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(6), "its count shows that nothing of it was lost");
}

#[test]
fn a_count_without_sense_does_not_keep_a_book_stale_for_ever() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_update(&change(11, 4_000_000_000, 1));
    assert!(price(&recovery).is_err());
    assert_eq!(snapshot(&mut recovery, 11, 100, 8), SnapshotOutcome::Recovered);
    assert_eq!((price(&recovery), recovery.updates_held()), (Ok(8), 0));
    assert_eq!(recovery.handle_update(&change(12, 101, 9)), UpdateOutcome::Applied);
}

#[test]
fn an_update_held_from_a_packet_partly_lost_proves_nothing() {
    let gap = SnapshotOutcome::Loaded(StaleReason::Gap);
    for (mut recovery, outcome) in [(by_rpt_seq(), gap), (by_seq_num(), SnapshotOutcome::TooOld)] {
        recovery.handle_update(&change(11, 101, 8));
        recovery.handle_gap(Gap { first: 11, count: 1 });
        assert_eq!(snapshot(&mut recovery, 10, 100, 7), outcome);
        assert!(price(&recovery).is_err());
    }
}

#[test]
fn without_counts_a_gap_makes_every_book_wait_for_a_later_snapshot() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 7);
    let plain = |seq_num, price| Update { rpt_seq: None, ..change(seq_num, 0, price) };
    assert_eq!(recovery.handle_update(&plain(10, 1)), UpdateOutcome::Old);
    assert_eq!(recovery.handle_update(&plain(11, 8)), UpdateOutcome::Applied);
    assert_eq!(recovery.handle_update(&plain(11, 9)), UpdateOutcome::Applied);
    recovery.handle_gap(Gap { first: 12, count: 1 });
    let held = UpdateOutcome::Held(StaleReason::Gap);
    assert_eq!(recovery.handle_update(&plain(13, 10)), held);
    assert_eq!(snapshot(&mut recovery, 11, 0, 9), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 12, 0, 9), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(10));
}

#[test]
fn an_update_that_does_not_fit_makes_the_book_stale_until_a_snapshot() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    let outcome = recovery.handle_update(&bid(11, 101, 3, LevelAction::Delete));
    assert!(matches!(outcome, UpdateOutcome::Held(StaleReason::Fault(_))));
    assert_eq!(recovery.counters().broken, 1);
    assert!(price(&recovery).is_err());
    assert_eq!(snapshot(&mut recovery, 11, 101, 9), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(9));
}

/// The first update of message 11 is in the book, the second one did not fit: a snapshot from
/// before the message would lose the first.
#[test]
fn without_counts_a_message_half_applied_needs_a_snapshot_that_includes_it() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 7);
    recovery.handle_update(&change(11, 0, 8));
    recovery.handle_update(&bid(11, 0, 3, LevelAction::Delete));
    assert_eq!(snapshot(&mut recovery, 10, 0, 7), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 11, 0, 9), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(9));
}

#[test]
fn a_fresh_book_is_compared_with_snapshots_at_the_same_update() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        snapshot(&mut recovery, 10, 100, 7);
        recovery.handle_update(&change(11, 101, 8));
        assert_eq!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::NotNeeded);
        assert_eq!(snapshot(&mut recovery, 11, 101, 8), SnapshotOutcome::Verified);
        assert_eq!(snapshot(&mut recovery, 11, 101, 9), SnapshotOutcome::Mismatch);
        assert_eq!(price(&recovery), Ok(9));
    }
}

#[test]
fn a_count_that_goes_back_while_packets_go_on_makes_the_book_stale() {
    for found in [1, 50, 100] {
        let mut recovery = by_rpt_seq();
        snapshot(&mut recovery, 10, 100, 7);
        let reason = StaleReason::RptSeqBack { last: 100, found };
        let outcome = recovery.handle_update(&change(11, found, 8));
        assert_eq!(outcome, UpdateOutcome::Held(reason));
        assert_eq!(price(&recovery), Err(reason));
        assert_eq!(snapshot(&mut recovery, 11, found, 8), SnapshotOutcome::Recovered);
        assert_eq!((price(&recovery), recovery.updates_held()), (Ok(8), 0));
    }
}

/// Updates held before RptSeq went back belong to the old count.
#[test]
fn updates_held_before_the_count_went_back_are_not_applied() {
    let mut recovery = by_rpt_seq();
    recovery.handle_update(&change(10, 100, 7));
    recovery.handle_update(&change(11, 101, 8));
    let back = StaleReason::RptSeqBack { last: 101, found: 6 };
    let outcome = recovery.handle_update(&change(12, 6, 9));
    assert_eq!((outcome, recovery.updates_held()), (UpdateOutcome::Held(back), 1));
    assert_eq!(snapshot(&mut recovery, 11, 5, 7), SnapshotOutcome::Recovered);
    assert_eq!((price(&recovery), recovery.updates_held()), (Ok(9), 0));
}

#[test]
fn an_update_without_the_count_that_is_relied_on_makes_the_book_stale() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    let update = Update { rpt_seq: None, ..change(11, 0, 8) };
    assert_eq!(recovery.handle_update(&update), UpdateOutcome::Held(StaleReason::NoRptSeq));
    assert_eq!(price(&recovery), Err(StaleReason::NoRptSeq));
    let levels = both_sides(&[7], &[]);
    let uncounted = Snapshot { rpt_seq: None, ..whole(11, 0, &levels) };
    assert_eq!(recovery.handle_snapshot(0, &uncounted), SnapshotOutcome::NoRptSeq);
    assert_eq!(snapshot(&mut recovery, 11, 101, 8), SnapshotOutcome::Recovered);
}

#[test]
fn the_first_update_of_all_begins_an_empty_book() {
    let mut recovery = by_rpt_seq();
    let first = bid(1, 1, 1, LevelAction::New(level(4)));
    assert_eq!(recovery.handle_update(&first), UpdateOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(4));
    recovery.handle_reset();
    assert_eq!(price(&recovery), Err(StaleReason::Reset));
    assert_eq!(recovery.handle_update(&first), UpdateOutcome::Recovered);
}

#[test]
fn a_book_may_become_fresh_by_updates_alone_where_that_is_allowed() {
    let options = RecoveryOptions { natural_refresh: true, depth: Some(1), ..Default::default() };
    let mut recovery = recovery(options);
    let offer =
        |seq_num, rpt_seq| update(seq_num, rpt_seq, Side::Offer, 1, LevelAction::Change(level(20)));
    assert!(matches!(recovery.handle_update(&change(5, 50, 9)), UpdateOutcome::Held(_)));
    assert!(matches!(recovery.handle_update(&offer(7, 52)), UpdateOutcome::Held(_)));
    assert_eq!(recovery.handle_update(&change(8, 53, 10)), UpdateOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(10));
    assert_eq!(recovery.updates_held(), 0);
    assert_eq!(recovery.handle_update(&change(9, 54, 11)), UpdateOutcome::Applied);
}

#[test]
fn a_snapshot_with_a_hole_is_refused() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(2);
    let mut levels = both_sides(&[7], &[]);
    levels[0].name = LevelName::Level(2);
    let outcome = recovery.handle_snapshot(0, &whole(1, 5, &levels));
    assert!(matches!(outcome, SnapshotOutcome::Faulty(BookFault::Hole { level: 2, .. })));
    assert_eq!(price(&recovery), Err(StaleReason::NoSnapshot));
}

#[test]
fn silence_makes_books_stale_until_something_comes() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.handle_silence(true);
    assert_eq!(price(&recovery), Err(StaleReason::Silence));
    assert_eq!(recovery.handle_update(&change(11, 101, 8)), UpdateOutcome::Applied);
    recovery.handle_silence(false);
    assert_eq!(price(&recovery), Ok(8));
}
