//! Snapshots in several messages.

use super::*;

fn fragment(
    recovery: &mut Recovery,
    line: usize,
    seq_num: u64,
    of: SnapshotFragment,
    price: i64,
) -> SnapshotOutcome {
    let mut levels = both_sides(&[price], &[]);
    levels[0].name = LevelName::Level((101 - price) as u32);
    let snapshot = whole(10, 100, &levels);
    recovery.handle_snapshot(line, &Snapshot { fragment: of, seq_num: Some(seq_num), ..snapshot })
}

fn begun() -> Recovery {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    recovery
}

#[test]
fn fragments_are_one_snapshot() {
    let mut recovery = begun();
    assert_eq!(
        fragment(&mut recovery, 0, 1, SnapshotFragment::Middle, 100),
        SnapshotOutcome::Partial
    );
    assert_eq!(
        fragment(&mut recovery, 0, 2, SnapshotFragment::Middle, 99),
        SnapshotOutcome::Partial
    );
    assert_eq!(price(&recovery), Err(StaleReason::NoSnapshot));
    assert_eq!(
        fragment(&mut recovery, 0, 3, SnapshotFragment::Last, 98),
        SnapshotOutcome::Recovered
    );
    assert_eq!(prices(&recovery, BookKind::Outright, Side::Bid), [100, 99, 98]);
}

#[test]
fn a_book_of_which_a_fragment_was_lost_stays_stale_until_the_next_round() {
    let mut recovery = begun();
    assert_eq!(
        fragment(&mut recovery, 0, 1, SnapshotFragment::Middle, 100),
        SnapshotOutcome::Partial
    );
    assert_eq!(
        fragment(&mut recovery, 0, 3, SnapshotFragment::Last, 98),
        SnapshotOutcome::Incomplete
    );
    assert_eq!(price(&recovery), Err(StaleReason::NoSnapshot));
    assert_eq!(recovery.counters().incomplete_snapshots, 1);
    assert_eq!(
        fragment(&mut recovery, 0, 4, SnapshotFragment::Middle, 100),
        SnapshotOutcome::Partial
    );
    assert_eq!(
        fragment(&mut recovery, 0, 5, SnapshotFragment::Last, 99),
        SnapshotOutcome::Recovered
    );
}

#[test]
fn the_last_fragment_alone_is_not_a_snapshot() {
    let mut recovery = begun();
    assert_eq!(
        fragment(&mut recovery, 0, 7, SnapshotFragment::Last, 100),
        SnapshotOutcome::Incomplete
    );
    assert!(price(&recovery).is_err());
}

#[test]
fn lines_are_put_together_each_on_its_own() {
    let mut recovery = begun();
    assert_eq!(
        fragment(&mut recovery, 0, 1, SnapshotFragment::Middle, 100),
        SnapshotOutcome::Partial
    );
    assert_eq!(
        fragment(&mut recovery, 1, 2, SnapshotFragment::Last, 99),
        SnapshotOutcome::Incomplete
    );
    assert!(price(&recovery).is_err());
    assert_eq!(
        fragment(&mut recovery, 0, 2, SnapshotFragment::Last, 99),
        SnapshotOutcome::Recovered
    );
}

#[test]
fn what_could_not_be_decoded_breaks_a_snapshot_and_other_messages_may_come_between_two() {
    let mut recovery = begun();
    assert_eq!(
        fragment(&mut recovery, 0, 1, SnapshotFragment::Middle, 100),
        SnapshotOutcome::Partial
    );
    recovery.note_loss_on_snapshot_feed(0);
    assert_eq!(
        fragment(&mut recovery, 0, 2, SnapshotFragment::Last, 99),
        SnapshotOutcome::Incomplete
    );
    recovery.note_other_on_snapshot_feed(0, Some(3));
    assert_eq!(
        fragment(&mut recovery, 0, 4, SnapshotFragment::Middle, 100),
        SnapshotOutcome::Partial
    );
    recovery.note_other_on_snapshot_feed(0, Some(5));
    assert_eq!(
        fragment(&mut recovery, 0, 6, SnapshotFragment::Last, 99),
        SnapshotOutcome::Incomplete
    );
    recovery.note_other_on_snapshot_feed(0, Some(7));
    assert_eq!(
        fragment(&mut recovery, 0, 8, SnapshotFragment::Last, 100),
        SnapshotOutcome::Recovered
    );
}
