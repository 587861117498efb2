//! Empty-book entries (MDEntryType J).

use super::*;

fn empty(seq_num: u64, rpt_seq: Option<u64>) -> Update {
    Update { rpt_seq, change: BookUpdate::Clear, ..change(seq_num, 0, 0) }
}

#[test]
fn an_empty_book_is_the_next_update_of_a_fresh_one() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    assert_eq!(recovery.handle_update(&empty(11, Some(101))), UpdateOutcome::Applied);
    assert_eq!(price(&recovery), Ok(0));
    let new = bid(12, 102, 1, LevelAction::New(level(5)));
    assert_eq!(recovery.handle_update(&new), UpdateOutcome::Applied);
    assert_eq!(price(&recovery), Ok(5));
}

#[test]
fn an_empty_book_needs_no_snapshot() {
    let mut recovery = by_rpt_seq();
    recovery.handle_update(&change(10, 90, 5));
    assert_eq!(recovery.handle_update(&empty(11, Some(101))), UpdateOutcome::Recovered);
    assert_eq!((price(&recovery), recovery.updates_held()), (Ok(0), 0));
    let new = bid(12, 102, 1, LevelAction::New(level(5)));
    assert_eq!(recovery.handle_update(&new), UpdateOutcome::Applied);
}

/// An exchange that empties a book may restart its RptSeq.
#[test]
fn an_empty_book_may_count_anew() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    assert_eq!(recovery.handle_update(&empty(11, Some(0))), UpdateOutcome::Recovered);
    let new = bid(12, 1, 1, LevelAction::New(level(5)));
    assert_eq!(recovery.handle_update(&new), UpdateOutcome::Applied);
    assert_eq!(price(&recovery), Ok(5));
}

#[test]
fn without_the_count_that_is_relied_on_an_empty_book_proves_nothing() {
    let mut recovery = by_rpt_seq();
    snapshot(&mut recovery, 10, 100, 7);
    let outcome = recovery.handle_update(&empty(11, None));
    assert_eq!(outcome, UpdateOutcome::Held(StaleReason::NoRptSeq));
    assert!(price(&recovery).is_err());
}

#[test]
fn where_packets_are_counted_an_empty_book_is_known_at_once() {
    let mut recovery = by_seq_num();
    recovery.handle_update(&Update { rpt_seq: None, ..change(10, 0, 5) });
    assert_eq!(recovery.handle_update(&empty(11, None)), UpdateOutcome::Recovered);
    assert_eq!((price(&recovery), recovery.updates_held()), (Ok(0), 0));
    recovery.handle_gap(Gap { first: 12, count: 1 });
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
}

/// Three instruments, of which two belong to session S, each with one bid.
fn three(options: RecoveryOptions) -> (Recovery, [Id; 3]) {
    let mut recovery = Recovery::new(options);
    recovery.handle_progress(11);
    let keys: [&[u8]; 3] = [b"A\x1FS", b"B\x1FS", b"A\x1FX"];
    let ids = keys.map(|key| recovery.instrument(InstrumentKey::Text(key)).unwrap());
    let levels = both_sides(&[7], &[]);
    for instrument in ids {
        let snapshot = Snapshot { instrument, ..whole(10, 100, &levels) };
        assert_eq!(recovery.handle_snapshot(0, &snapshot), SnapshotOutcome::Recovered);
    }
    (recovery, ids)
}

fn is_empty(recovery: &Recovery, id: Id) -> Result<bool, StaleReason> {
    recovery.book(id, BookKind::Outright).map(Book::is_empty)
}

#[test]
fn a_session_or_the_whole_channel_may_be_emptied() {
    for continuity in [Continuity::RptSeq, Continuity::SeqNum] {
        let options = RecoveryOptions { continuity, ..Default::default() };
        let (mut recovery, ids) = three(options);
        let scope = ClearScope::Field { index: 1, text: b"S" };
        recovery.handle_clear(&Clear { scope, seq_num: 11 });
        assert_eq!(ids.map(|id| is_empty(&recovery, id)), [Ok(true), Ok(true), Ok(false)]);
        recovery.handle_clear(&Clear { scope: ClearScope::Channel, seq_num: 12 });
        assert_eq!(ids.map(|id| is_empty(&recovery, id)), [Ok(true); 3]);
    }
}

#[test]
fn emptying_a_channel_makes_stale_books_known_where_packets_are_counted() {
    let clear = Clear { scope: ClearScope::Channel, seq_num: 14 };
    let gap = Gap { first: 11, count: 2 };
    let options = RecoveryOptions { continuity: Continuity::SeqNum, ..Default::default() };
    let (mut recovery, ids) = three(options);
    recovery.handle_gap(gap);
    recovery.handle_clear(&clear);
    assert_eq!(ids.map(|id| is_empty(&recovery, id)), [Ok(true); 3]);
    // With RptSeq the instrument's next update must still follow.
    let (mut recovery, [id, ..]) = three(RecoveryOptions::default());
    recovery.handle_gap(gap);
    recovery.handle_update(&Update { instrument: id, ..change(13, 105, 1) });
    recovery.handle_clear(&clear);
    let reason = StaleReason::RptSeqGap { expected: 101, found: 105 };
    assert_eq!(is_empty(&recovery, id), Err(reason));
}

/// Emptying a channel has no RptSeq: a late snapshot from before it has the same RptSeq as the
/// empty book.
#[test]
fn a_snapshot_from_before_a_channel_was_emptied_is_not_used() {
    let (mut recovery, [id, ..]) = three(RecoveryOptions::default());
    recovery.handle_clear(&Clear { scope: ClearScope::Channel, seq_num: 14 });
    recovery.handle_progress(15);
    let levels = both_sides(&[7], &[]);
    let old = Snapshot { instrument: id, ..whole(13, 100, &levels) };
    assert_eq!(recovery.handle_snapshot(0, &old), SnapshotOutcome::NotNeeded);
    assert_eq!(is_empty(&recovery, id), Ok(true));
    // The snapshot is not used either if the book is stale or the instrument was unknown.
    recovery.handle_gap(Gap { first: 15, count: 1 });
    recovery.handle_update(&Update { instrument: id, ..change(16, 105, 1) });
    recovery.handle_progress(17);
    let late = Snapshot { rpt_seq: Some(104), ..old };
    assert_eq!(recovery.handle_snapshot(0, &late), SnapshotOutcome::TooOld);
    let new = recovery.instrument(InstrumentKey::Text(b"C\x1FS")).unwrap();
    let unknown = Snapshot { instrument: new, ..old };
    assert_eq!(recovery.handle_snapshot(0, &unknown), SnapshotOutcome::TooOld);
    let right = Snapshot { instrument: new, ..whole(16, 100, &[]) };
    assert_eq!(recovery.handle_snapshot(0, &right), SnapshotOutcome::Recovered);
}

/// The RptSeq of an instrument does not reveal that an entry for all instruments was lost.
#[test]
fn where_one_entry_empties_several_books_a_gap_needs_a_snapshot() {
    let (mut recovery, [one, ..]) = three(RecoveryOptions::default());
    let next =
        |seq_num, rpt_seq, price| Update { instrument: one, ..change(seq_num, rpt_seq, price) };
    recovery.handle_gap(Gap { first: 11, count: 1 });
    assert_eq!(recovery.handle_update(&next(12, 101, 8)), UpdateOutcome::Recovered);
    recovery.handle_clear(&Clear { scope: ClearScope::Channel, seq_num: 13 });
    let first = Update {
        change: BookUpdate::ByLevel {
            side: Side::Bid,
            level: 1,
            action: LevelAction::New(level(9)),
        },
        ..next(14, 102, 9)
    };
    assert_eq!(recovery.handle_update(&first), UpdateOutcome::Applied);
    recovery.handle_gap(Gap { first: 15, count: 1 });
    let outcome = recovery.handle_update(&next(16, 103, 10));
    assert_eq!(outcome, UpdateOutcome::Held(StaleReason::Gap));
    let levels = both_sides(&[10], &[]);
    let before = Snapshot { instrument: one, ..whole(14, 102, &levels) };
    recovery.handle_snapshot(0, &before);
    assert!(recovery.book(one, BookKind::Outright).is_err(), "from before the gap");
    let empty = both_sides(&[], &[]);
    let after = Snapshot { instrument: one, ..whole(15, 102, &empty) };
    recovery.handle_snapshot(0, &after);
    // Update 103 changes a level that does not exist in the snapshot.
    assert!(recovery.book(one, BookKind::Outright).is_err());
    recovery.handle_progress(17);
    let last = Snapshot { instrument: one, ..whole(16, 103, &levels) };
    assert_eq!(recovery.handle_snapshot(0, &last), SnapshotOutcome::Recovered);
    assert!(recovery.book(one, BookKind::Outright).is_ok());
}
