//! Books that other threads read.

use super::*;

#[test]
fn readers_see_the_books_and_their_states() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    assert_eq!(
        recovery.handle_snapshot(0, &whole(10, 100, &both_sides(&[50], &[60]))),
        SnapshotOutcome::Recovered
    );
    let reader = recovery.reader();
    let top = reader.book(ONE, BookKind::Outright).expect("published when readers begin");
    assert_eq!(top.levels(Side::Bid), [level(50)]);
    assert!(top.is_fresh());
    recovery.handle_update(&change(11, 101, 51));
    assert_eq!(reader.book(ONE, BookKind::Outright).unwrap().levels(Side::Bid), [level(50)]);
    recovery.end_message(false);
    assert_eq!(reader.book(ONE, BookKind::Outright).unwrap().levels(Side::Bid), [level(51)]);
    recovery.handle_gap(Gap { first: 12, count: 1 });
    recovery.end_message(false);
    let top = reader.book(ONE, BookKind::Outright).unwrap();
    assert!(!top.is_fresh() && top.levels(Side::Offer) == [level(60)]);
}
