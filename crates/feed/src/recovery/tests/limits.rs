//! Tests of the memory limits of a recovery.

use super::*;

#[test]
fn updates_that_were_dropped_make_older_snapshots_useless() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        for n in 0..5 {
            recovery.handle_update(&change(10 + n, 100 + n, 50 + n as i64));
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
    for number in 0..10 {
        let instrument = recovery.instrument(InstrumentKey::Number(number)).unwrap();
        recovery.handle_update(&Update { instrument, ..change(10, 100, 1) });
        recovery.handle_update(&Update { instrument, ..change(11, 101, 1) });
        assert!(recovery.updates_held() <= 2);
    }
    assert_eq!(recovery.updates_held(), 2);
}

/// No update of the instrument is held: only the record of the dropped update shows that the
/// snapshot is too old.
#[test]
fn an_update_that_found_no_room_makes_older_snapshots_useless() {
    for continuity in [Continuity::RptSeq, Continuity::SeqNum] {
        let options =
            RecoveryOptions { continuity, updates_held_total_max: 0, ..Default::default() };
        let mut recovery = recovery(options);
        recovery.handle_update(&change(10, 100, 1));
        assert_eq!(recovery.updates_held(), 0);
        assert_eq!(snapshot(&mut recovery, 9, 99, 7), SnapshotOutcome::TooOld);
        assert_eq!(snapshot(&mut recovery, 10, 100, 8), SnapshotOutcome::Recovered);
        assert_eq!(price(&recovery), Ok(8));
    }
}

#[test]
fn instruments_above_the_limit_are_refused_and_counted() {
    let mut recovery = Recovery::new(RecoveryOptions { instruments_max: 1, ..Default::default() });
    assert_eq!(recovery.instrument(InstrumentKey::Number(1)), Some(ONE));
    assert_eq!(recovery.instrument(InstrumentKey::Number(1)), Some(ONE));
    assert_eq!(recovery.instrument(InstrumentKey::Number(2)), None);
    assert_eq!(recovery.instrument(InstrumentKey::Text(b"X")), None);
    assert_eq!(recovery.counters().too_many_instruments, 2);
    assert_eq!(recovery.instruments().len(), 1);
}

/// An index of another channel names no instrument of this one.
#[test]
fn an_instrument_of_another_channel_changes_nothing() {
    let mut recovery = by_rpt_seq();
    let other = Id(7);
    let update = Update { instrument: other, ..change(1, 1, 1) };
    assert_eq!(recovery.handle_update(&update), UpdateOutcome::Held(StaleReason::NoSnapshot));
    let levels = both_sides(&[1], &[]);
    let snapshot = Snapshot { instrument: other, ..whole(1, 1, &levels) };
    assert_eq!(recovery.handle_snapshot(0, &snapshot), SnapshotOutcome::TooOld);
    assert_eq!(recovery.state(other), Err(StaleReason::NoSnapshot));
    assert_eq!((recovery.updates_held(), recovery.states().0), (0, 0));
}
