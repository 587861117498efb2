//! Implied books.

use super::*;

fn implied(seq_num: u64, rpt_seq: u64, price: i64) -> Update {
    let update = bid(seq_num, rpt_seq, 1, LevelAction::New(level(price)));
    Update { kind: BookKind::Implied, ..update }
}

#[test]
fn implied_levels_are_kept_out_of_the_outright_book() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    let mut levels = both_sides(&[100], &[]);
    levels.extend(levels_of(BookKind::Implied, Side::Bid, &[101]));
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Recovered);
    assert_eq!(recovery.handle_update(&implied(11, 101, 102)), UpdateOutcome::Applied);
    assert_eq!(recovery.handle_update(&change(12, 102, 99)), UpdateOutcome::Applied, "it counts");
    assert_eq!(price(&recovery), Ok(99));
    assert_eq!(recovery.book(ONE, BookKind::Implied), Err(StaleReason::NoSnapshot));
    assert_eq!(recovery.consolidated(ONE), Err(StaleReason::NoSnapshot));
}

#[test]
fn implied_levels_have_a_book_of_their_own_and_add_up() {
    let kinds = BookKinds::OutrightAndImplied;
    let mut recovery = recovery(RecoveryOptions { kinds, ..Default::default() });
    recovery.handle_progress(11);
    let mut levels = both_sides(&[100, 98], &[104]);
    levels.extend(levels_of(BookKind::Implied, Side::Bid, &[100, 99]));
    levels.extend(levels_of(BookKind::Implied, Side::Offer, &[103]));
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Recovered);
    assert_eq!(recovery.handle_update(&implied(11, 101, 101)), UpdateOutcome::Applied);
    recovery.end_message(false);
    assert_eq!(prices(&recovery, BookKind::Outright, Side::Bid), [100, 98]);
    assert_eq!(prices(&recovery, BookKind::Implied, Side::Bid), [101, 100]);
    let book = recovery.consolidated(ONE).unwrap();
    let of = |level: &Level| (level.price.mantissa, level.size.mantissa);
    let bids: Vec<_> = book.levels(Side::Bid).map(of).collect();
    assert_eq!(bids, [(101, 1), (100, 2), (98, 1)]);
    let offers: Vec<_> = book.levels(Side::Offer).map(of).collect();
    assert_eq!(offers, [(103, 1), (104, 1)]);
    recovery.handle_gap(Gap { first: 12, count: 1 });
    assert_eq!(recovery.consolidated(ONE), Err(StaleReason::Gap));
}

#[test]
fn a_snapshot_shows_an_implied_book_to_be_wrong() {
    let kinds = BookKinds::OutrightAndImplied;
    let mut recovery = recovery(RecoveryOptions { kinds, ..Default::default() });
    recovery.handle_progress(11);
    let mut levels = both_sides(&[100], &[]);
    levels.extend(levels_of(BookKind::Implied, Side::Bid, &[99]));
    recovery.handle_snapshot(0, &whole(10, 100, &levels));
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Verified);
    levels[1].content = level(98);
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Mismatch);
    assert_eq!(prices(&recovery, BookKind::Implied, Side::Bid), [98]);
}
