//! Snapshots that include numbers which no line has sent.

use super::*;

const SKEW_NS: u64 = 1_000_000_000;

#[test]
fn a_snapshot_ahead_waits_until_the_lines_come_up() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        recovery.handle_update(&change(10, 100, 5));
        assert_eq!(early_snapshot(&mut recovery, 12, 102, 7), SnapshotOutcome::Ahead);
        assert_eq!(price(&recovery), Err(StaleReason::Ahead));
        recovery.handle_update(&change(11, 101, 6));
        recovery.handle_progress(12);
        assert_eq!(price(&recovery), Err(StaleReason::Ahead));
        recovery.handle_update(&change(12, 102, 7));
        recovery.handle_progress(13);
        assert_eq!((price(&recovery), recovery.updates_held()), (Ok(7), 0));
        let counters = recovery.counters();
        assert_eq!((counters.ahead_snapshots, counters.recovered_by_snapshot), (1, 1));
        assert_eq!(recovery.handle_update(&change(13, 103, 9)), UpdateOutcome::Applied);
    }
}

#[test]
fn a_gap_brings_the_lines_up_to_a_snapshot_that_includes_it() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        recovery.handle_update(&change(10, 100, 5));
        assert_eq!(early_snapshot(&mut recovery, 12, 102, 7), SnapshotOutcome::Ahead);
        recovery.handle_gap(Gap { first: 11, count: 2 });
        assert_eq!(price(&recovery), Ok(7));
    }
}

/// Before the first packet it is unknown how far ahead a snapshot is: it waits without a limit.
#[test]
fn a_snapshot_before_the_first_number_waits_for_it() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        assert_eq!(early_snapshot(&mut recovery, 12, 102, 7), SnapshotOutcome::Ahead);
        assert_eq!(price(&recovery), Err(StaleReason::Ahead));
        recovery.set_time(3_600 * SKEW_NS);
        recovery.handle_progress(13);
        assert_eq!(price(&recovery), Ok(7));
    }
}

#[test]
fn a_snapshot_that_the_lines_do_not_come_up_with_in_time_is_not_used() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        recovery.handle_progress(11);
        assert_eq!(early_snapshot(&mut recovery, 12, 102, 7), SnapshotOutcome::Ahead);
        recovery.set_time(SKEW_NS);
        recovery.handle_progress(13);
        assert!(price(&recovery).is_err());
    }
}

/// The first numbers may be those of updates.
#[test]
fn a_snapshot_before_the_first_number_waits_no_longer_than_others_from_then_on() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        assert_eq!(early_snapshot(&mut recovery, 900, 102, 7), SnapshotOutcome::Ahead);
        recovery.handle_update(&Update { instrument: TWO, ..change(10, 5, 1) });
        recovery.handle_progress(11);
        recovery.set_time(SKEW_NS);
        recovery.handle_progress(901);
        assert!(price(&recovery).is_err());
    }
}

#[test]
fn a_snapshot_of_another_sequence_is_refused_as_ahead_and_the_right_one_recovers() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        recovery.handle_progress(10);
        assert_eq!(early_snapshot(&mut recovery, 900_000, 5_000, 1), SnapshotOutcome::Ahead);
        let held = UpdateOutcome::Held(StaleReason::Ahead);
        assert_eq!(recovery.handle_update(&change(10, 3, 2)), held);
        recovery.handle_progress(11);
        assert_eq!(price(&recovery), Err(StaleReason::Ahead));
        assert_eq!(early_snapshot(&mut recovery, 10, 3, 2), SnapshotOutcome::Recovered);
        assert_eq!(recovery.handle_update(&change(11, 4, 3)), UpdateOutcome::Applied);
        assert_eq!(early_snapshot(&mut recovery, 900_000, 5_000, 1), SnapshotOutcome::NotNeeded);
        assert_eq!(price(&recovery), Ok(3), "a fresh book stays as it is");
        recovery.handle_progress(900_001);
        assert_eq!(price(&recovery), Ok(3));
    }
}

#[test]
fn of_two_snapshots_ahead_the_later_one_waits() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(10);
    assert_eq!(early_snapshot(&mut recovery, 11, 101, 5), SnapshotOutcome::Ahead);
    assert_eq!(early_snapshot(&mut recovery, 12, 102, 6), SnapshotOutcome::Ahead);
    recovery.handle_progress(12);
    assert_eq!(price(&recovery), Err(StaleReason::Ahead));
    recovery.handle_progress(13);
    assert_eq!(price(&recovery), Ok(6));
}

#[test]
fn without_numbers_no_snapshot_is_ahead() {
    let options = RecoveryOptions { is_numbered: false, ..Default::default() };
    let mut recovery = recovery(options);
    assert_eq!(early_snapshot(&mut recovery, 12, 102, 7), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(7));
}

/// The levels of waiting snapshots have a common limit: 1,048,576, here reached by three snapshots.
#[test]
fn snapshots_that_wait_hold_a_bounded_number_of_levels() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(10);
    // Levels of a book that is not kept, so any number of them is valid.
    let half = vec![levels_of(BookKind::Implied, Side::Bid, &[1])[0]; 1 << 19];
    for number in 0..3 {
        let instrument = recovery.instrument(InstrumentKey::Number(number)).unwrap();
        let snapshot = Snapshot { instrument, ..whole(20, 5, &half) };
        assert_eq!(recovery.handle_snapshot(0, &snapshot), SnapshotOutcome::Ahead);
    }
    assert_eq!((recovery.pending.len(), recovery.pending_levels), (2, 1 << 20));
}

/// Both lines die, and snapshots include updates that never arrive.
#[test]
fn books_are_stale_once_the_lines_are_behind_a_snapshot_for_too_long() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.set_time(1_000);
    let levels = both_sides(&[9], &[]);
    assert_eq!(recovery.handle_snapshot(0, &whole(13, 102, &levels)), SnapshotOutcome::NotNeeded);
    let due_ns = 1_000 + RecoveryOptions::default().skew_ns;
    assert_eq!(recovery.poll_timeout(), Some(due_ns));
    recovery.handle_timeout(due_ns - 1);
    assert_eq!(price(&recovery), Ok(7));
    recovery.handle_timeout(due_ns);
    recovery.settle();
    assert_eq!(price(&recovery), Err(StaleReason::Ahead));
    let told = recovery.next_change().expect("told");
    assert!(told.is_new_state && told.state == Err(StaleReason::Ahead));
    assert_eq!(recovery.poll_timeout(), None);
    // The lines continue after all.
    recovery.handle_update(&change(11, 101, 8));
    recovery.handle_progress(12);
    assert_eq!(price(&recovery), Err(StaleReason::Ahead));
    recovery.handle_update(&change(13, 102, 9));
    recovery.handle_progress(14);
    assert_eq!(price(&recovery), Ok(9));
}

#[test]
fn a_snapshot_with_a_number_that_is_none_is_forgotten_with_the_next() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    recovery.set_time(1_000);
    let levels = both_sides(&[7], &[]);
    recovery.handle_snapshot(0, &whole(1 << 40, 100, &levels));
    recovery.handle_snapshot(0, &whole(10, 100, &levels));
    recovery.handle_timeout(u64::MAX);
    assert_eq!(price(&recovery), Ok(7));
}
