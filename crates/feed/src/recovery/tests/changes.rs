//! Tests of the reports after each message.

use super::*;
use crate::book::BookFault;

fn ended(recovery: &mut Recovery, continues: bool) -> Vec<BookChange> {
    recovery.end_message(continues);
    if !continues {
        let codes: Vec<u8> = recovery
            .ids
            .iter()
            .map(|id| recovery.state(id).map_or_else(StaleReason::code, |()| 0))
            .collect();
        assert_eq!(recovery.state_codes(), codes);
    }
    std::iter::from_fn(|| recovery.next_change()).collect()
}

fn told(instrument: Id, state: Result<(), StaleReason>, is_new_state: bool) -> BookChange {
    BookChange { instrument, kind: BookKind::Outright, state, is_new_state }
}

fn of_two(update: Update) -> Update {
    Update { instrument: TWO, ..update }
}

/// Both books fresh, at packet 10 and RptSeq 100.
fn fresh() -> Recovery {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    let levels = both_sides(&[100, 99], &[]);
    for instrument in [ONE, TWO] {
        let snapshot = Snapshot { instrument, ..whole(10, 100, &levels) };
        assert_eq!(recovery.handle_snapshot(0, &snapshot), SnapshotOutcome::Recovered);
        assert_eq!(ended(&mut recovery, false), [told(instrument, Ok(()), true)]);
    }
    recovery
}

#[test]
fn a_message_tells_each_book_that_it_changes_once() {
    let mut recovery = fresh();
    recovery.handle_update(&change(11, 101, 101));
    recovery.handle_update(&of_two(change(11, 101, 102)));
    recovery.handle_update(&change(11, 102, 103));
    let changes = ended(&mut recovery, false);
    assert_eq!(changes, [told(ONE, Ok(()), false), told(TWO, Ok(()), false)]);
    assert_eq!(ended(&mut recovery, false), []);
}

#[test]
fn an_update_that_changes_no_level_is_not_told() {
    let mut recovery = fresh();
    recovery.handle_update(&Update { change: BookUpdate::Other, ..change(11, 101, 0) });
    assert_eq!(ended(&mut recovery, false), []);
}

#[test]
fn a_transaction_is_told_at_its_end() {
    let mut recovery = fresh();
    recovery.handle_update(&change(11, 101, 101));
    assert_eq!(ended(&mut recovery, true), []);
    recovery.handle_update(&of_two(change(12, 101, 102)));
    let changes = ended(&mut recovery, false);
    assert_eq!(changes, [told(ONE, Ok(()), false), told(TWO, Ok(()), false)]);
}

#[test]
fn books_that_become_stale_or_fresh_are_told_once() {
    let mut recovery = fresh();
    recovery.handle_gap(Gap { first: 11, count: 1 });
    let gap = Err(StaleReason::Gap);
    assert_eq!(ended(&mut recovery, false), [told(ONE, gap, true), told(TWO, gap, true)]);
    recovery.handle_gap(Gap { first: 12, count: 1 });
    assert_eq!(ended(&mut recovery, false), [], "stale for the same reason");
    recovery.handle_update(&change(13, 101, 101));
    recovery.handle_update(&of_two(change(13, 102, 101)));
    let lost = Err(StaleReason::RptSeqGap { expected: 101, found: 102 });
    assert_eq!(ended(&mut recovery, false), [told(ONE, Ok(()), true), told(TWO, lost, true)]);
    recovery.handle_update(&of_two(change(14, 103, 101)));
    assert_eq!(ended(&mut recovery, false), [], "held");
    recovery.handle_reset();
    let reset = Err(StaleReason::Reset);
    assert_eq!(ended(&mut recovery, false), [told(ONE, reset, true), told(TWO, reset, true)]);
}

#[test]
fn silence_is_told_to_every_book_at_its_begin_and_end() {
    let mut recovery = fresh();
    recovery.handle_silence(true);
    let silence = Err(StaleReason::Silence);
    assert_eq!(ended(&mut recovery, false), [told(ONE, silence, true), told(TWO, silence, true)]);
    recovery.handle_silence(true);
    assert_eq!(ended(&mut recovery, false), []);
    recovery.handle_silence(false);
    assert_eq!(ended(&mut recovery, false), [told(ONE, Ok(()), true), told(TWO, Ok(()), true)]);
}

#[test]
fn a_check_that_fails_is_told_with_the_message_that_made_it_fail() {
    let mut recovery = fresh();
    recovery.handle_update(&bid(11, 101, 2, LevelAction::Change(level(101))));
    let fault = BookFault::Disordered { side: Side::Bid, level: 2 };
    let inconsistent = Err(StaleReason::Inconsistent(fault));
    assert_eq!(ended(&mut recovery, false), [told(ONE, inconsistent, true)]);
}

#[test]
fn kinds_are_told_apart() {
    let kinds = BookKinds::OutrightAndImplied;
    let mut recovery = recovery(RecoveryOptions { kinds, ..Default::default() });
    snapshot(&mut recovery, 10, 100, 100);
    let both = ended(&mut recovery, false);
    assert_eq!(both.iter().map(|change| change.kind).collect::<Vec<_>>(), BookKind::ALL);
    let update = bid(11, 101, 1, LevelAction::New(level(101)));
    recovery.handle_update(&Update { kind: BookKind::Implied, ..update });
    let kind = BookKind::Implied;
    let change = BookChange { kind, ..told(ONE, Ok(()), false) };
    assert_eq!(ended(&mut recovery, false), [change]);
}

/// A caller that never requests changes must not make a recovery grow.
#[test]
fn changes_that_nobody_asks_for_do_not_pile_up() {
    let mut recovery = fresh();
    for n in 1..1_000 {
        recovery.handle_update(&change(10 + n, 100 + n, 100));
        recovery.end_message(false);
    }
    assert!(std::iter::from_fn(|| recovery.next_change()).count() <= 2);
}
