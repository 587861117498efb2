//! Snapshots of the session before a reset.

use super::*;

const SKEW_NS: u64 = 1_000_000_000;

/// A channel in which numbers 9 to 11 were seen, reset at `SKEW_NS`.
fn after_reset(mut recovery: Recovery, sending_time: Option<u64>) -> Recovery {
    recovery.set_time(SKEW_NS);
    recovery.handle_update(&change(9, 99, 6));
    assert_eq!(snapshot(&mut recovery, 10, 100, 7), SnapshotOutcome::Recovered);
    assert_eq!(recovery.handle_update(&change(11, 101, 8)), UpdateOutcome::Applied);
    recovery.handle_progress(12);
    recovery.note_sequence_reset(sending_time);
    recovery.handle_reset();
    assert_eq!(price(&recovery), Err(StaleReason::Reset));
    recovery
}

#[test]
fn a_late_snapshot_of_the_old_session_is_refused_by_its_number() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = after_reset(recovery, None);
        for last in [9, 10, 11] {
            let outcome = early_snapshot(&mut recovery, last, 101, 8);
            assert_eq!(outcome, SnapshotOutcome::OldSession);
        }
        recovery.handle_progress(2);
        assert_eq!(early_snapshot(&mut recovery, 11, 101, 8), SnapshotOutcome::OldSession);
        assert_eq!(price(&recovery), Err(StaleReason::Reset));
        assert_eq!(recovery.counters().old_session_snapshots, 4);
        assert_eq!(early_snapshot(&mut recovery, 1, 1, 20), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(20));
    }
}

#[test]
fn numbers_of_the_old_session_are_those_of_the_new_one_once_nothing_old_can_come() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = after_reset(recovery, None);
        recovery.handle_progress(11);
        recovery.set_time(2 * SKEW_NS - 1);
        assert_eq!(early_snapshot(&mut recovery, 10, 3, 20), SnapshotOutcome::OldSession);
        recovery.set_time(2 * SKEW_NS);
        assert_eq!(early_snapshot(&mut recovery, 10, 3, 20), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(20));
    }
}

#[test]
fn sending_time_tells_the_sessions_apart() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = after_reset(recovery, Some(5_000));
        recovery.handle_progress(11);
        let levels = both_sides(&[20], &[]);
        let mut sent = |last_seq_num, sending_time| {
            let sending_time = Some(sending_time);
            let snapshot = Snapshot { sending_time, ..whole(last_seq_num, 3, &levels) };
            recovery.handle_snapshot(0, &snapshot)
        };
        assert_eq!(sent(10, 4_999), SnapshotOutcome::OldSession);
        assert_eq!(sent(1, 4_999), SnapshotOutcome::OldSession, "whatever its number");
        assert_eq!(sent(10, 5_000), SnapshotOutcome::OldSession, "its number may be of both");
        assert_eq!(sent(10, 5_001), SnapshotOutcome::Recovered);
        recovery.set_time(100 * SKEW_NS);
        let late = Snapshot { sending_time: Some(4_999), ..whole(10, 3, &levels) };
        assert_eq!(recovery.handle_snapshot(0, &late), SnapshotOutcome::OldSession);
    }
}

#[test]
fn two_resets_in_a_row_do_not_forget_the_session_before_both() {
    let mut recovery = after_reset(by_rpt_seq(), None);
    recovery.handle_reset();
    recovery.handle_progress(12);
    assert_eq!(early_snapshot(&mut recovery, 11, 101, 8), SnapshotOutcome::OldSession);
    assert_eq!(price(&recovery), Err(StaleReason::Reset));
}

/// Held updates belong to the old session: none may follow a snapshot of the new one.
#[test]
fn a_reset_forgets_what_was_held() {
    let mut recovery = by_rpt_seq();
    recovery.handle_update(&change(10, 3, 9));
    assert_eq!(recovery.updates_held(), 1);
    recovery.handle_reset();
    assert_eq!(recovery.updates_held(), 0);
    assert_eq!(snapshot(&mut recovery, 1, 2, 5), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(5));
}

/// A snapshot that waits at a reset belongs to the old session.
#[test]
fn a_reset_forgets_what_was_pending() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(5);
    assert_eq!(early_snapshot(&mut recovery, 8, 2, 5), SnapshotOutcome::Ahead);
    recovery.handle_reset();
    recovery.handle_progress(20);
    assert_eq!(price(&recovery), Err(StaleReason::Reset));
}
