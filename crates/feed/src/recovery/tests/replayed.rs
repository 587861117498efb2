//! Updates of lost packets that are replayed.

use super::*;

fn gap(recovery: &mut Recovery, first: u64, count: u64) -> Gap {
    let gap = Gap { first, count };
    recovery.handle_gap(gap);
    gap
}

#[test]
fn replayed_updates_and_those_held_after_the_gap_make_the_book_fresh() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    gap(&mut recovery, 11, 2);
    recovery.handle_update(&change(13, 8, 108));
    recovery.handle_update(&change(14, 9, 109));
    assert!(matches!(price(&recovery), Err(StaleReason::RptSeqGap { expected: 6, found: 8 })));
    recovery.handle_replayed(&change(11, 6, 106));
    assert!(matches!(price(&recovery), Err(StaleReason::RptSeqGap { expected: 7, found: 8 })));
    assert_eq!(recovery.handle_replayed(&change(12, 7, 107)), UpdateOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(109));
    assert_eq!((recovery.updates_held(), recovery.counters().replayed), (0, 2));
    // The chain continues.
    recovery.handle_update(&change(15, 10, 110));
    assert_eq!(price(&recovery), Ok(110));
}

#[test]
fn a_book_without_updates_in_the_gap_is_fresh_when_all_of_it_was_replayed() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        snapshot(&mut recovery, 10, 5, 100);
        let gap = gap(&mut recovery, 11, 2);
        assert_eq!(price(&recovery), Err(StaleReason::Gap));
        recovery.handle_gap_filled(gap);
        assert_eq!(price(&recovery), Ok(100));
        // A number that was filled once is lost again: the new gap is distinguished from the first.
        recovery.handle_gap(Gap { first: 13, count: 1 });
        assert_eq!(price(&recovery), Err(StaleReason::Gap));
    }
}

/// If one entry can empty several books, updates after a gap wait although their RptSeq follows.
#[test]
fn updates_that_waited_for_a_lost_clear_are_in_the_book_when_the_gap_was_replayed() {
    for has_update_in_gap in [false, true] {
        let mut recovery = by_rpt_seq();
        snapshot(&mut recovery, 10, 5, 100);
        let nobody = recovery.instrument(InstrumentKey::Number(99)).expect("room");
        assert_ne!(nobody.index(), 0);
        let scope = crate::market::ClearScope::Field { index: 0, text: b"none" };
        recovery.handle_clear(&crate::market::Clear { scope, seq_num: 10 });
        let gap = gap(&mut recovery, 11, 2);
        let first = 6 + u64::from(has_update_in_gap);
        recovery.handle_update(&change(13, first, 107));
        recovery.handle_update(&change(14, first + 1, 108));
        if has_update_in_gap {
            recovery.handle_replayed(&change(11, 6, 106));
        }
        recovery.handle_gap_filled(gap);
        assert_eq!(
            (price(&recovery), recovery.updates_held()),
            (Ok(108), 0),
            "{has_update_in_gap}"
        );
    }
}

/// The replayed update found no book to follow; the updates held before it find no room later.
#[test]
fn a_snapshot_from_before_a_replayed_update_that_is_in_no_book_is_too_old() {
    let mut recovery = by_seq_num();
    for n in [8, 9] {
        recovery.handle_update(&change(n, 0, 100 + n as i64));
    }
    let gap = gap(&mut recovery, 10, 1);
    recovery.handle_replayed(&change(10, 0, 110));
    recovery.handle_gap_filled(gap);
    for n in [11, 12] {
        recovery.handle_update(&change(n, 0, 100 + n as i64));
    }
    assert_eq!(recovery.counters().dropped, 1);
    assert_eq!(snapshot(&mut recovery, 9, 0, 109), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 10, 0, 110), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(112));
}

/// A channel in which one entry has emptied several books, with a fresh book at RptSeq 5.
fn with_scoped_clears() -> Recovery {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    let scope = ClearScope::Field { index: 0, text: b"none" };
    recovery.handle_clear(&Clear { scope, seq_num: 10 });
    recovery
}

#[test]
fn what_waited_behind_a_later_gap_waits_on_when_an_earlier_one_was_replayed() {
    let mut recovery = with_scoped_clears();
    let first = gap(&mut recovery, 11, 2);
    recovery.handle_update(&change(13, 6, 106));
    let second = gap(&mut recovery, 14, 1);
    recovery.handle_update(&change(15, 7, 107));
    recovery.handle_gap_filled(first);
    assert_eq!((price(&recovery), recovery.updates_held()), (Err(StaleReason::Gap), 1));
    assert_eq!(recovery.last_known_book(ONE, BookKind::Outright).map(best), Some(106));
    recovery.handle_gap_filled(second);
    assert_eq!((price(&recovery), recovery.updates_held()), (Ok(107), 0));
}

#[test]
fn a_lost_update_behind_which_a_clear_may_be_missing_makes_no_book_fresh() {
    let mut recovery = with_scoped_clears();
    let both = gap(&mut recovery, 11, 2);
    recovery.handle_update(&change(13, 7, 107));
    let outcome = recovery.handle_replayed(&change(11, 6, 106));
    assert_eq!(outcome, UpdateOutcome::Held(StaleReason::Gap));
    assert_eq!((price(&recovery), recovery.updates_held()), (Err(StaleReason::Gap), 1));
    let mut emptied = with_scoped_clears();
    gap(&mut emptied, 11, 2);
    emptied.handle_update(&change(13, 7, 107));
    emptied.handle_replayed(&change(11, 6, 106));
    emptied.handle_replayed_clear(&Clear { scope: ClearScope::Channel, seq_num: 12 });
    emptied.handle_gap_filled(both);
    assert!(price(&emptied).is_err());
    assert_eq!(snapshot(&mut emptied, 12, 6, 99), SnapshotOutcome::Recovered);
    assert_eq!(price(&emptied), Ok(107));
    recovery.handle_gap_filled(both);
    assert_eq!((price(&recovery), recovery.updates_held()), (Ok(107), 0));
}

#[test]
fn an_update_that_found_no_room_while_a_clear_was_lost_keeps_the_book_stale() {
    let mut recovery = recovery(RecoveryOptions { updates_held_max: 0, ..Default::default() });
    snapshot(&mut recovery, 10, 5, 100);
    let scope = ClearScope::Field { index: 0, text: b"none" };
    recovery.handle_clear(&Clear { scope, seq_num: 10 });
    let gap = gap(&mut recovery, 11, 2);
    recovery.handle_update(&change(13, 6, 106));
    recovery.handle_gap_filled(gap);
    assert!(price(&recovery).is_err());
}

/// Packet 12 was not replayed; it had the update with RptSeq 7.
#[test]
fn a_hole_before_what_waited_for_a_clear_keeps_the_book_stale() {
    let mut recovery = with_scoped_clears();
    let both = gap(&mut recovery, 11, 2);
    recovery.handle_update(&change(13, 8, 108));
    recovery.handle_replayed(&change(11, 6, 106));
    assert!(price(&recovery).is_err());
    recovery.handle_gap_filled(both);
    assert_eq!(price(&recovery), Err(StaleReason::RptSeqGap { expected: 7, found: 8 }));
    assert_eq!(snapshot(&mut recovery, 12, 7, 107), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(108));
}

#[test]
fn a_hole_in_what_was_replayed_keeps_the_book_stale() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    gap(&mut recovery, 11, 3);
    recovery.handle_replayed(&change(11, 6, 106));
    // Packet 12 with RptSeq 7 was not available.
    recovery.handle_replayed(&change(13, 8, 108));
    recovery.handle_update(&change(14, 9, 109));
    assert!(price(&recovery).is_err());
    // A snapshot from before the unused update does not help; one that includes it does.
    assert_eq!(snapshot(&mut recovery, 12, 7, 107), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 13, 8, 108), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(109));
}

#[test]
fn replayed_updates_that_a_snapshot_included_are_old() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    gap(&mut recovery, 11, 3);
    assert_eq!(snapshot(&mut recovery, 13, 8, 108), SnapshotOutcome::Recovered);
    assert_eq!(recovery.handle_replayed(&change(12, 7, 107)), UpdateOutcome::Old);
    assert_eq!(price(&recovery), Ok(108));
}

#[test]
fn numbers_of_no_gap_are_not_replayed() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    assert_eq!(recovery.handle_replayed(&change(11, 6, 106)), UpdateOutcome::Old);
    assert_eq!(price(&recovery), Ok(100));
}

#[test]
fn two_gaps_are_filled_in_order_where_packets_alone_are_numbered() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 100);
    let first = gap(&mut recovery, 11, 1);
    recovery.handle_update(&change(12, 0, 112));
    let second = gap(&mut recovery, 13, 1);
    recovery.handle_update(&change(14, 0, 114));
    recovery.handle_replayed(&change(11, 0, 111));
    recovery.handle_gap_filled(first);
    assert!(price(&recovery).is_err());
    assert_eq!(recovery.last_known_book(ONE, BookKind::Outright).map(best), Some(112));
    recovery.handle_replayed(&change(13, 0, 113));
    assert_eq!(recovery.last_known_book(ONE, BookKind::Outright).map(best), Some(113));
    recovery.handle_gap_filled(second);
    assert_eq!(price(&recovery), Ok(114));
    assert_eq!(recovery.updates_held(), 0);
}

#[test]
fn a_later_gap_is_of_no_use_while_an_earlier_one_is_open() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 100);
    gap(&mut recovery, 11, 1);
    let second = gap(&mut recovery, 13, 1);
    recovery.handle_update(&change(14, 0, 114));
    recovery.handle_replayed(&change(13, 0, 113));
    recovery.handle_gap_filled(second);
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
    // The unused update is in no book: a snapshot from before it is refused.
    assert_eq!(snapshot(&mut recovery, 12, 0, 112), SnapshotOutcome::TooOld);
    assert_eq!(snapshot(&mut recovery, 13, 0, 113), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(114));
}

#[test]
fn an_instrument_that_began_in_the_gap_is_built_from_its_first_update() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(10);
    gap(&mut recovery, 11, 2);
    let new = |seq_num, rpt_seq, at: i64| bid(seq_num, rpt_seq, 1, LevelAction::New(level(at)));
    recovery.handle_update(&new(13, 3, 103));
    recovery.handle_replayed(&new(11, 1, 101));
    recovery.handle_replayed(&new(12, 2, 102));
    assert_eq!(price(&recovery), Ok(103));
}

#[test]
fn a_book_that_holds_more_is_not_built_from_a_replayed_first_update() {
    let mut recovery = recovery(RecoveryOptions { carries_over: true, ..Default::default() });
    recovery.handle_progress(10);
    gap(&mut recovery, 11, 1);
    recovery.handle_replayed(&bid(11, 1, 1, LevelAction::New(level(101))));
    assert_eq!(price(&recovery), Err(StaleReason::NoSnapshot));
}

#[test]
fn an_emptied_book_of_a_lost_packet_waits_for_a_snapshot() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    let gap = gap(&mut recovery, 11, 1);
    recovery.handle_replayed_clear(&Clear { scope: ClearScope::Channel, seq_num: 11 });
    recovery.handle_gap_filled(gap);
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
    assert_eq!(snapshot(&mut recovery, 11, 5, 99), SnapshotOutcome::Recovered);
}

/// The books were emptied after the gap: updates from before that are in none of them.
#[test]
fn lost_updates_from_before_a_clear_do_not_change_the_emptied_book() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        snapshot(&mut recovery, 10, 5, 100);
        let gap = gap(&mut recovery, 11, 2);
        recovery.handle_clear(&Clear { scope: ClearScope::Channel, seq_num: 13 });
        assert_eq!(price(&recovery), Ok(0));
        let new = |seq_num, rpt_seq, at| bid(seq_num, rpt_seq, 1, LevelAction::New(level(at)));
        recovery.handle_replayed(&new(11, 6, 106));
        assert_eq!(price(&recovery), Ok(0));
        // With RptSeq, a missing update is detected, and the count continues.
        recovery.handle_update(&new(14, 8, 108));
        recovery.handle_replayed(&new(12, 7, 107));
        assert_eq!(price(&recovery), Ok(108));
        recovery.handle_gap_filled(gap);
        assert_eq!(price(&recovery), Ok(108));
    }
}

/// As the test above, but the entry that empties the book is a separate update.
#[test]
fn lost_updates_from_before_an_empty_book_are_old() {
    let empty = |rpt_seq| Update { change: BookUpdate::Clear, ..change(12, rpt_seq, 0) };
    for (mut recovery, rpt_seq) in [(by_rpt_seq(), 7), (by_rpt_seq(), 0), (by_seq_num(), 0)] {
        snapshot(&mut recovery, 10, 5, 100);
        gap(&mut recovery, 11, 1);
        recovery.handle_update(&empty(rpt_seq));
        let outcome = recovery.handle_replayed(&bid(11, 6, 1, LevelAction::New(level(106))));
        assert_eq!((outcome, price(&recovery)), (UpdateOutcome::Old, Ok(0)));
    }
}

/// On a side with one level, the update that sets this level makes the whole side known.
#[test]
fn lost_updates_from_before_a_natural_refresh_are_old() {
    let mut recovery = recovery(RecoveryOptions {
        continuity: Continuity::SeqNum,
        natural_refresh: true,
        depth: Some(1),
        ..Default::default()
    });
    let uncounted = |update| Update { rpt_seq: None, ..update };
    snapshot(&mut recovery, 10, 0, 100);
    gap(&mut recovery, 11, 1);
    recovery.handle_update(&uncounted(change(12, 0, 112)));
    let offer = update(13, 0, Side::Offer, 1, LevelAction::Change(level(120)));
    assert_eq!(recovery.handle_update(&uncounted(offer)), UpdateOutcome::Recovered);
    let outcome = recovery.handle_replayed(&uncounted(change(11, 0, 111)));
    assert_eq!(outcome, UpdateOutcome::Old);
    assert_eq!(price(&recovery), Ok(112));
}

#[test]
fn a_lost_clear_leaves_a_book_that_a_snapshot_has_proven_behind_it() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    gap(&mut recovery, 11, 1);
    assert_eq!(snapshot(&mut recovery, 11, 5, 99), SnapshotOutcome::Recovered);
    recovery.handle_replayed_clear(&Clear { scope: ClearScope::Channel, seq_num: 11 });
    assert_eq!(price(&recovery), Ok(99));
}

/// The first such entry, lost or not, shows that entries can empty the books of several
/// instruments.
#[test]
fn behind_a_replayed_clear_updates_wait_until_gaps_are_filled() {
    let mut recovery = by_rpt_seq();
    gap(&mut recovery, 8, 1);
    recovery.handle_replayed_clear(&Clear { scope: ClearScope::Channel, seq_num: 8 });
    snapshot(&mut recovery, 10, 5, 100);
    gap(&mut recovery, 11, 1);
    recovery.handle_update(&change(12, 6, 106));
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
}

/// Two of three updates after the gap are held.
#[test]
fn a_held_update_that_found_no_room_keeps_the_book_stale_where_packets_are_numbered() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 100);
    let gap = gap(&mut recovery, 11, 1);
    for seq_num in 12..16 {
        recovery.handle_update(&change(seq_num, 0, 100 + seq_num as i64));
    }
    recovery.handle_gap_filled(gap);
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
    assert_eq!(snapshot(&mut recovery, 12, 0, 112), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(115));
}

/// An update that is replayed before an earlier gap was filled is in no book.
#[test]
fn an_update_that_was_replayed_too_early_keeps_the_book_stale() {
    let mut recovery = by_seq_num();
    snapshot(&mut recovery, 10, 0, 100);
    let first = gap(&mut recovery, 11, 1);
    let second = gap(&mut recovery, 13, 1);
    recovery.handle_replayed(&change(13, 0, 113));
    recovery.handle_gap_filled(second);
    recovery.handle_gap_filled(first);
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
    assert_eq!(snapshot(&mut recovery, 13, 0, 113), SnapshotOutcome::Recovered);
}

#[test]
fn a_reset_forgets_open_gaps() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 5, 100);
    let gap = gap(&mut recovery, 11, 1);
    recovery.handle_reset();
    recovery.handle_gap_filled(gap);
    assert_eq!(recovery.handle_replayed(&change(11, 6, 106)), UpdateOutcome::Old);
    assert_eq!(price(&recovery), Err(StaleReason::Reset));
}

fn best(book: &Book) -> i64 {
    book.best(Side::Bid).map_or(0, |level| level.price.mantissa)
}
