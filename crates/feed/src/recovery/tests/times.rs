//! Snapshots that were sent later than anything on the lines.

use super::*;

const SKEW_NS: u64 = 1_000_000_000;

/// A channel that reads times, with lines at number 10, sent at 500.
fn at_500(mut recovery: Recovery) -> Recovery {
    recovery.set_line_times(true);
    recovery.handle_progress(10);
    recovery.note_sending_time(500);
    recovery.handle_update(&change(10, 100, 5));
    recovery.handle_progress(11);
    recovery
}

/// A snapshot with one bid, sent at `sent`.
fn sent_at(recovery: &mut Recovery, sent: u64, last: u64, rpt_seq: u64) -> SnapshotOutcome {
    let levels = both_sides(&[7], &[]);
    let snapshot = Snapshot { sending_time: Some(sent), ..whole(last, rpt_seq, &levels) };
    recovery.handle_snapshot(0, &snapshot)
}

/// Across a reset, lines that are behind the snapshots reach the number of a snapshot of the next
/// session long before they show that session.
#[test]
fn a_snapshot_of_the_next_session_waits_for_the_reset_and_goes_with_it() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = at_500(recovery);
        assert_eq!(sent_at(&mut recovery, 900, 10, 100), SnapshotOutcome::Ahead);
        assert!(price(&recovery).is_err());
        recovery.note_sending_time(800);
        recovery.note_sequence_reset(Some(800));
        recovery.handle_progress(12);
        assert!(price(&recovery).is_err());
        recovery.handle_reset();
        recovery.note_sending_time(901);
        recovery.handle_progress(12);
        assert_eq!(price(&recovery), Err(StaleReason::Reset));
        assert_eq!(sent_at(&mut recovery, 900, 11, 3), SnapshotOutcome::Recovered);
    }
}

#[test]
fn a_snapshot_is_used_when_the_lines_have_shown_a_later_time() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = at_500(recovery);
        assert!(!recovery.wants_times(), "nobody asks for times before a snapshot comes");
        assert_eq!(sent_at(&mut recovery, 500, 10, 100), SnapshotOutcome::Ahead, "not later");
        assert!(recovery.wants_times());
        recovery.note_sending_time(500);
        recovery.handle_progress(12);
        assert!(price(&recovery).is_err());
        recovery.note_sending_time(501);
        recovery.handle_update(&change(12, 101, 8));
        recovery.handle_progress(13);
        assert_eq!(price(&recovery), Ok(8));
    }
}

/// On quiet lines, no line is behind by more than the skew bound.
#[test]
fn on_quiet_lines_a_snapshot_is_used_after_the_skew() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = at_500(recovery);
        assert_eq!(sent_at(&mut recovery, 900, 10, 100), SnapshotOutcome::Ahead);
        recovery.set_time(SKEW_NS / 2);
        assert_eq!(sent_at(&mut recovery, 950, 10, 100), SnapshotOutcome::Ahead);
        assert_eq!(recovery.poll_timeout(), Some(SKEW_NS), "the first one waits no longer");
        recovery.handle_timeout(SKEW_NS);
        assert_eq!(price(&recovery), Ok(7));
        assert_eq!(recovery.poll_timeout(), None);
    }
}

#[test]
fn at_the_end_nothing_later_can_come() {
    let mut recovery = at_500(by_rpt_seq());
    assert_eq!(sent_at(&mut recovery, 900, 10, 100), SnapshotOutcome::Ahead);
    recovery.finish();
    assert_eq!(price(&recovery), Ok(7));
}

#[test]
fn a_fresh_book_that_a_later_snapshot_contradicts_is_stale_until_it_is_clear_which_is_right() {
    let fresh = || {
        let mut recovery = at_500(by_rpt_seq());
        assert_eq!(sent_at(&mut recovery, 499, 10, 100), SnapshotOutcome::Recovered);
        assert_eq!(sent_at(&mut recovery, 900, 10, 100), SnapshotOutcome::Verified);
        let other = both_sides(&[3], &[]);
        let snapshot = Snapshot { sending_time: Some(900), ..whole(10, 100, &other) };
        assert_eq!(recovery.handle_snapshot(0, &snapshot), SnapshotOutcome::Ahead);
        assert_eq!(price(&recovery), Err(StaleReason::Contradicted));
        recovery
    };
    let mut recovery = fresh();
    recovery.handle_reset();
    assert_eq!((price(&recovery), recovery.counters().mismatches), (Err(StaleReason::Reset), 0));
    let mut recovery = fresh();
    recovery.note_sending_time(901);
    recovery.handle_update(&change(11, 101, 9));
    recovery.handle_progress(12);
    assert_eq!((price(&recovery), recovery.counters().mismatches), (Ok(9), 1));
}

/// Without times on the lines, resets that they have not shown cannot be detected.
#[test]
fn without_times_on_the_lines_no_snapshot_waits_for_them() {
    let mut recovery = at_500(by_rpt_seq());
    recovery.set_line_times(false);
    assert_eq!(sent_at(&mut recovery, 900, 10, 100), SnapshotOutcome::Recovered);
}

/// Times of day restart, so times of the last session cannot be compared.
#[test]
fn a_snapshot_of_the_next_session_waits_where_times_begin_anew_or_one_was_wrong() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = at_500(recovery);
        recovery.note_sequence_reset(Some(20));
        recovery.handle_reset();
        recovery.note_sending_time(30);
        recovery.handle_progress(12);
        assert_eq!(sent_at(&mut recovery, 40, 11, 3), SnapshotOutcome::Ahead, "{recovery:?}");

        let mut recovery = at_500(by_rpt_seq());
        recovery.note_sending_time(1 << 60);
        recovery.note_sending_time(510);
        assert_eq!(sent_at(&mut recovery, 900, 10, 100), SnapshotOutcome::Ahead);
    }
}

#[test]
fn a_reset_with_a_time_later_than_all_that_follow_refuses_no_snapshot() {
    for recovery in [by_rpt_seq(), by_seq_num()] {
        let mut recovery = at_500(recovery);
        recovery.note_sequence_reset(Some(86_000));
        recovery.handle_reset();
        recovery.handle_progress(12);
        assert_eq!(sent_at(&mut recovery, 10, 11, 3), SnapshotOutcome::OldSession);
        assert!(recovery.wants_times());
        recovery.note_sending_time(20);
        recovery.note_sending_time(40);
        recovery.handle_progress(13);
        assert_eq!(sent_at(&mut recovery, 30, 12, 3), SnapshotOutcome::Recovered);
    }
}
