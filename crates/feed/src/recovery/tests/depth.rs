//! Depth of books.

use super::*;

/// A channel with a book of five bids, 105 to 101, at packet 10 and RptSeq 100.
fn five_deep(options: RecoveryOptions, depth: Option<u32>) -> Recovery {
    let mut recovery = recovery(options);
    recovery.handle_progress(11);
    let levels = both_sides(&[105, 104, 103, 102, 101], &[]);
    let snapshot = Snapshot { depth, ..whole(10, 100, &levels) };
    assert_eq!(recovery.handle_snapshot(0, &snapshot), SnapshotOutcome::Recovered);
    recovery
}

fn bids(recovery: &Recovery) -> Vec<i64> {
    prices(recovery, BookKind::Outright, Side::Bid)
}

fn new(seq_num: u64, price: i64) -> Update {
    bid(seq_num, seq_num + 90, 1, LevelAction::New(level(price)))
}

/// The exchange publishes five levels and drops the sixth without a message.
#[test]
fn levels_that_the_exchange_may_have_dropped_are_not_shown() {
    let mut recovery = five_deep(RecoveryOptions::default(), None);
    for seq_num in 11..16 {
        let update = new(seq_num, 95 + seq_num as i64);
        assert_eq!(recovery.handle_update(&update), UpdateOutcome::Applied);
        assert_eq!(bids(&recovery).len(), 5);
    }
    assert_eq!(bids(&recovery), [110, 109, 108, 107, 106]);
    // Two levels are deleted, and the exchange publishes the new levels 4 and 5.
    for (seq_num, position, price) in
        [(16, 1, None), (17, 1, None), (18, 4, Some(90)), (19, 5, Some(89))]
    {
        let action = match price {
            Some(price) => LevelAction::New(level(price)),
            None => LevelAction::Delete,
        };
        recovery.handle_update(&bid(seq_num, seq_num + 90, position, action));
    }
    assert_eq!(bids(&recovery), [108, 107, 106, 90, 89]);
    let levels = both_sides(&[108, 107, 106, 90, 89], &[]);
    recovery.handle_progress(20);
    assert_eq!(recovery.handle_snapshot(0, &whole(19, 109, &levels)), SnapshotOutcome::Verified);
    assert_eq!(recovery.counters().mismatches, 0);
}

#[test]
fn depth_is_learnt_from_snapshots_and_updates_the_deepest_counts() {
    let mut recovery = five_deep(RecoveryOptions::default(), Some(5));
    let depth = |recovery: &Recovery| recovery.book(ONE, BookKind::Outright).unwrap().depth();
    assert_eq!(depth(&recovery), Some(5));
    recovery.handle_update(&Update { depth: Some(3), ..new(11, 106) });
    assert_eq!((depth(&recovery), bids(&recovery).len()), (Some(5), 5));
    recovery.handle_update(&Update { depth: Some(6), ..new(12, 107) });
    assert_eq!((depth(&recovery), bids(&recovery).len()), (Some(6), 6));
}

#[test]
fn a_depth_that_is_set_is_kept_whatever_messages_tell() {
    let options = RecoveryOptions { depth: Some(5), ..Default::default() };
    let mut recovery = five_deep(options, Some(10));
    recovery.handle_update(&Update { depth: Some(10), ..new(11, 106) });
    let definition = Definition { depth: [Some(10), None], ..Default::default() };
    recovery.define(ONE, &definition);
    let book = recovery.book(ONE, BookKind::Outright).unwrap();
    assert_eq!((book.depth(), bids(&recovery)), (Some(5), vec![106, 105, 104, 103, 102]));
}

#[test]
fn definitions_set_the_depth_by_kind() {
    let kinds = BookKinds::OutrightAndImplied;
    let mut recovery = five_deep(RecoveryOptions { kinds, ..Default::default() }, None);
    let definition = Definition { depth: [Some(10), Some(2)], ..Default::default() };
    assert!(recovery.define(ONE, &definition));
    assert!(!recovery.define(ONE, &definition));
    for (kind, depth) in [(BookKind::Outright, 10), (BookKind::Implied, 2)] {
        assert_eq!(recovery.book(ONE, kind).unwrap().depth(), Some(depth));
    }
    recovery.handle_update(&new(11, 106));
    assert_eq!(bids(&recovery).len(), 6);
    for rpt_seq in 102..105 {
        let update = new(rpt_seq - 90, rpt_seq as i64);
        recovery.handle_update(&Update { kind: BookKind::Implied, ..update });
    }
    assert_eq!(prices(&recovery, BookKind::Implied, Side::Bid), [104, 103]);
}
