//! Books that are inconsistent after a message.

use super::*;
use crate::book::BookFault;
use crate::market::{Status, StatusScope};

fn offer(seq_num: u64, rpt_seq: u64, price: i64) -> Update {
    update(seq_num, rpt_seq, Side::Offer, 1, LevelAction::Change(level(price)))
}

/// Best bid 100, best offer 102, at packet 10 and RptSeq 100.
fn two_sided(options: RecoveryOptions) -> Recovery {
    let mut recovery = recovery(options);
    recovery.handle_progress(11);
    let levels = both_sides(&[100, 99], &[102, 120]);
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Recovered);
    recovery.end_message(false);
    recovery
}

const CROSSED: StaleReason = StaleReason::Inconsistent(BookFault::Crossed {
    bid: Amount::integer(104),
    offer: Amount::integer(102),
});

#[test]
fn a_book_crossed_at_the_end_of_a_message_is_stale_until_a_snapshot() {
    let mut recovery = two_sided(RecoveryOptions::default());
    assert_eq!(recovery.handle_update(&change(11, 101, 104)), UpdateOutcome::Applied);
    recovery.end_message(false);
    assert_eq!(price(&recovery), Err(CROSSED));
    assert_eq!(recovery.counters().inconsistent, 1);
    assert_eq!(recovery.handle_update(&offer(12, 102, 105)), UpdateOutcome::Held(CROSSED));
    recovery.end_message(false);
    assert_eq!(price(&recovery), Err(CROSSED), "what was applied before was wrong");
    recovery.handle_progress(13);
    let levels = both_sides(&[100], &[105]);
    assert_eq!(recovery.handle_snapshot(0, &whole(12, 102, &levels)), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(100));
}

#[test]
fn a_book_may_be_crossed_within_a_message_and_a_transaction() {
    let mut recovery = two_sided(RecoveryOptions::default());
    recovery.handle_update(&change(11, 101, 104));
    recovery.handle_update(&offer(11, 102, 105));
    recovery.end_message(false);
    assert_eq!(price(&recovery), Ok(104));
    recovery.handle_update(&change(12, 103, 106));
    recovery.end_message(true);
    assert_eq!(price(&recovery), Err(StaleReason::Unfinished), "the transaction goes on");
    recovery.handle_update(&offer(13, 104, 107));
    recovery.end_message(false);
    assert_eq!((price(&recovery), recovery.counters().inconsistent), (Ok(106), 0));
}

#[test]
fn what_else_changes_waits_for_the_end_of_a_transaction_and_a_gap_ends_it() {
    let mut recovery = two_sided(RecoveryOptions::default());
    recovery.handle_update(&change(11, 101, 104));
    recovery.end_message(true);
    recovery.settle();
    let unfinished = Err(StaleReason::Unfinished);
    assert_eq!((price(&recovery), recovery.counters().inconsistent), (unfinished, 0));
    recovery.handle_gap(Gap { first: 12, count: 1 });
    recovery.settle();
    assert_eq!(price(&recovery), Err(StaleReason::Gap));
    assert!(recovery.next_change().is_some_and(|change| change.is_new_state));
}

#[test]
fn a_status_ends_with_its_session() {
    let mut recovery = two_sided(RecoveryOptions::default());
    let status = Status { scope: StatusScope::Instrument(ONE), code: 2 };
    recovery.handle_status(&status);
    recovery.handle_reset();
    let bid_and_offer = [change(1, 1, 104), offer(1, 2, 103)];
    for (update, action) in bid_and_offer.into_iter().zip([104, 103]) {
        let BookUpdate::ByLevel { side, level: at, .. } = update.change else { unreachable!() };
        let change =
            BookUpdate::ByLevel { side, level: at, action: LevelAction::New(level(action)) };
        recovery.handle_update(&Update { change, ..update });
    }
    recovery.end_message(false);
    assert!(
        matches!(price(&recovery), Err(StaleReason::Inconsistent(_))),
        "{:?}",
        price(&recovery)
    );
}

#[test]
fn a_transaction_that_ends_crossed_makes_the_book_stale() {
    let mut recovery = two_sided(RecoveryOptions::default());
    recovery.handle_update(&change(11, 101, 104));
    recovery.end_message(true);
    recovery.handle_update(&Update { instrument: TWO, ..change(12, 5, 1) });
    recovery.end_message(false);
    assert_eq!(price(&recovery), Err(CROSSED));
}

#[test]
fn a_locked_book_is_not_crossed() {
    let mut recovery = two_sided(RecoveryOptions::default());
    recovery.handle_update(&change(11, 101, 102));
    recovery.end_message(false);
    assert_eq!((price(&recovery), recovery.counters().inconsistent), (Ok(102), 0));
}

#[test]
fn a_disordered_book_is_stale() {
    let mut recovery = two_sided(RecoveryOptions::default());
    recovery.handle_update(&bid(11, 101, 2, LevelAction::Change(level(101))));
    recovery.end_message(false);
    let fault = BookFault::Disordered { side: Side::Bid, level: 2 };
    assert_eq!(price(&recovery), Err(StaleReason::Inconsistent(fault)));
}

#[test]
fn books_are_not_checked_where_that_is_off() {
    let mut recovery = two_sided(RecoveryOptions { checks: false, ..Default::default() });
    recovery.handle_update(&change(11, 101, 104));
    recovery.end_message(false);
    assert_eq!(price(&recovery), Ok(104));
}

/// SecurityTradingStatus 21 is pre-open, 17 ready to trade; TradSesStatus 4 pre-open, 2 open.
#[test]
fn books_may_be_crossed_where_the_status_says_that_orders_rest_unmatched() {
    let instrument = StatusScope::Instrument(ONE);
    let other = StatusScope::Instrument(TWO);
    let cases = [
        (&[(instrument, 21)][..], true),
        (&[(instrument, 17)], false),
        (&[(instrument, 21), (instrument, 17)], false),
        (&[(StatusScope::Channel, 4)], true),
        (&[(StatusScope::Channel, 4), (StatusScope::Channel, 2)], false),
        (&[(StatusScope::Channel, 4), (instrument, 17)], false),
        (&[(StatusScope::Channel, 2), (instrument, 21)], true),
        (&[(other, 21)], false),
    ];
    for (statuses, may_cross) in cases {
        let mut recovery = two_sided(RecoveryOptions::default());
        for (scope, code) in statuses {
            recovery.handle_status(&Status { scope: *scope, code: *code });
        }
        recovery.handle_update(&change(11, 101, 104));
        recovery.end_message(false);
        let expected = if may_cross { Ok(104) } else { Err(CROSSED) };
        assert_eq!(price(&recovery), expected, "{statuses:?}");
    }
}

#[test]
fn a_status_is_new_if_it_changes_whether_books_may_be_crossed() {
    let mut recovery = by_rpt_seq();
    let auction = Status { scope: StatusScope::Channel, code: 4 };
    assert!(recovery.handle_status(&auction));
    assert!(!recovery.handle_status(&auction));
}

#[test]
fn a_crossed_snapshot_is_refused_unless_the_book_may_be_crossed() {
    let levels = both_sides(&[104], &[102]);
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    let outcome = recovery.handle_snapshot(0, &whole(10, 100, &levels));
    assert!(matches!(outcome, SnapshotOutcome::Faulty(BookFault::Crossed { .. })), "{outcome:?}");
    assert_eq!(recovery.counters().faulty_snapshots, 1);
    recovery.handle_status(&Status { scope: StatusScope::Channel, code: 4 });
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Recovered);
    assert_eq!(price(&recovery), Ok(104));
}

/// A book that is crossed in an auction, by the status of the instrument or of all.
fn crossed_in_auction(scope: StatusScope, code: u64) -> Recovery {
    let mut recovery = two_sided(RecoveryOptions::default());
    recovery.handle_status(&Status { scope, code });
    recovery.handle_update(&change(11, 101, 104));
    recovery.end_message(false);
    assert_eq!(price(&recovery), Ok(104));
    recovery
}

#[test]
fn a_crossed_book_is_stale_when_the_auction_ends_without_a_change_of_it() {
    let of_one = StatusScope::Instrument(ONE);
    for (scope, auction, continuous) in [(of_one, 21, 17), (StatusScope::Channel, 5, 2)] {
        let mut recovery = crossed_in_auction(scope, auction);
        while recovery.next_change().is_some() {}
        recovery.handle_status(&Status { scope, code: continuous });
        recovery.settle();
        assert_eq!(price(&recovery), Err(CROSSED));
        let told = recovery.next_change().expect("a change");
        assert_eq!((told.state, told.is_new_state), (Err(CROSSED), true));
    }
}

#[test]
fn a_session_that_opens_ends_the_auctions_of_its_instruments() {
    let mut recovery = crossed_in_auction(StatusScope::Instrument(ONE), 21);
    let scope = StatusScope::Channel;
    recovery.handle_status(&Status { scope, code: 4 });
    recovery.handle_status(&Status { scope, code: 2 });
    recovery.settle();
    assert_eq!(price(&recovery), Err(CROSSED));
}

#[test]
fn a_status_tells_nothing_of_a_book_that_is_not_crossed() {
    let mut recovery = two_sided(RecoveryOptions::default());
    while recovery.next_change().is_some() {}
    for code in [21, 17] {
        recovery.handle_status(&Status { scope: StatusScope::Instrument(ONE), code });
        recovery.settle();
        assert!(recovery.next_change().is_none());
    }
}

#[test]
fn a_book_that_a_transaction_changed_is_fresh_when_it_ends() {
    use crate::market::MarketSink;
    let mut recovery = two_sided(RecoveryOptions::default());
    recovery.handle_update(&change(11, 101, 104));
    recovery.end_message(true);
    assert_eq!(price(&recovery), Err(StaleReason::Unfinished), "crossed for the moment");
    // For example a Heartbeat, or the status of another instrument.
    MarketSink::end_other_message(&mut recovery);
    assert_eq!(price(&recovery), Err(StaleReason::Unfinished));
    recovery.finish();
    assert_eq!(price(&recovery), Err(StaleReason::Unfinished), "the rest never came");
    recovery.handle_update(&offer(12, 102, 105));
    recovery.end_message(false);
    assert_eq!(price(&recovery), Ok(104));
}
