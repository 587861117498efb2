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

#[test]
fn an_observer_gets_the_books_that_it_asks_for_when_it_asks() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    let levels = both_sides(&[50], &[60]);
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Recovered);
    let mut board = Board::new();
    let reader = board.reader();
    reader.reserve(ONE);
    assert!(reader.book(ONE, BookKind::Outright).is_none());
    let mut bids = |recovery: &Recovery| {
        let is_published = recovery.publish_to(&mut board, ONE, 7);
        let top = reader.book(ONE, BookKind::Outright).unwrap();
        (top.levels(Side::Bid).to_vec(), top.is_fresh(), is_published)
    };
    assert_eq!(bids(&recovery), (vec![level(50)], true, true));
    recovery.handle_update(&change(11, 101, 51));
    recovery.end_message(true);
    assert_eq!(bids(&recovery), (vec![level(50)], true, false), "the transaction continues");
    recovery.end_message(false);
    assert_eq!(bids(&recovery), (vec![level(51)], true, true));
    recovery.handle_gap(Gap { first: 12, count: 1 });
    recovery.end_message(false);
    assert_eq!(bids(&recovery), (vec![level(51)], false, true));
    assert!(reader.book(ONE, BookKind::Implied).is_none());
}

#[test]
fn a_mark_of_books_differs_after_each_change_of_levels_or_state() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    let levels = both_sides(&[50], &[60]);
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Recovered);
    recovery.settle();
    let mut marks = vec![recovery.book_mark(ONE).expect("settled")];
    recovery.handle_update(&change(11, 101, 51));
    assert_eq!(recovery.book_mark(ONE), None, "the message has not ended");
    recovery.end_message(false);
    marks.extend(recovery.book_mark(ONE));
    // A second message of the same packet.
    recovery.handle_update(&change(11, 102, 52));
    recovery.end_message(false);
    marks.extend(recovery.book_mark(ONE));
    recovery.end_message(false);
    assert_eq!(recovery.book_mark(ONE), marks.last().copied(), "nothing changed");
    recovery.handle_gap(Gap { first: 12, count: 1 });
    assert_eq!(recovery.book_mark(ONE), None, "its state is not settled");
    recovery.end_message(false);
    marks.extend(recovery.book_mark(ONE));
    recovery.handle_silence(true);
    recovery.settle();
    marks.extend(recovery.book_mark(ONE));
    recovery.handle_silence(false);
    recovery.settle();
    marks.extend(recovery.book_mark(ONE));
    assert_eq!(marks.len(), 6);
    for (at, mark) in marks.iter().enumerate() {
        assert!(!marks[..at].contains(mark), "{at}");
    }
}

#[test]
fn a_definition_that_cuts_a_book_changes_its_mark() {
    let mut recovery = by_rpt_seq();
    recovery.handle_progress(11);
    let levels = both_sides(&[50, 49], &[60, 61]);
    assert_eq!(recovery.handle_snapshot(0, &whole(10, 100, &levels)), SnapshotOutcome::Recovered);
    recovery.settle();
    let before = recovery.book_mark(ONE).expect("settled");
    let definition = Definition { depth: [Some(1), None], ..Definition::default() };
    recovery.define(ONE, &definition);
    recovery.settle();
    let cut = recovery.book_mark(ONE).expect("settled");
    assert_ne!(cut, before);
    let mut board = Board::new();
    let reader = board.reader();
    reader.reserve(ONE);
    assert!(recovery.publish_to(&mut board, ONE, 7));
    let book = reader.book(ONE, BookKind::Outright).unwrap();
    assert_eq!(book.levels(Side::Bid), [level(50)]);
    // Definitions are sent again and again, and a greater depth adds no level.
    let definition = Definition { depth: [Some(9), None], ..Definition::default() };
    recovery.define(ONE, &definition);
    recovery.settle();
    assert_eq!(recovery.book_mark(ONE), Some(cut));
}
