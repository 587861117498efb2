//! Lines are merged, and books follow.

use super::*;

#[test]
fn lines_become_one_and_books_follow() {
    let (mut handler, mut words) = (cme(), Words::default());
    let from = FeedLine::Snapshot(Line::B);
    handler.handle_packet(0, from, &framed(1, &snapshot(9, 3, 50)), &mut words);
    assert_eq!(words.take(), "Ahead", "no line has brought anything yet");
    assert_eq!(best_bid(&handler), Err(StaleReason::Ahead));
    handler.handle_packet(10, A, &framed(10, &bid(4, 51)), &mut words);
    handler.handle_packet(20, A, &framed(12, &bid(6, 53)), &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("1@10a", Some(120)));
    assert_eq!(best_bid(&handler), Ok(51));
    handler.handle_packet(30, B, &framed(10, &bid(4, 51)), &mut words);
    handler.handle_packet(40, B, &framed(11, &bid(5, 52)), &mut words);
    assert_eq!(words.take(), "1@11b 1@12a");
    assert_eq!(best_bid(&handler), Ok(53));
    handler.handle_packet(50, from, &framed(2, &snapshot(12, 6, 53)), &mut words);
    assert_eq!(words.take(), "Mismatch", "two levels are in the book, one in the snapshot");
    let counters = handler.counters();
    assert_eq!((counters.messages.decoded, counters.snapshots.decoded), (3, 2));
    assert_eq!((counters.lines[0].packets, counters.lines[1].packets), (2, 2));
}

#[test]
fn lost_packets_make_books_stale_until_a_snapshot() {
    let (mut handler, mut words) = (cme(), Words::default());
    let from = FeedLine::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(1, 1, 50)), &mut words);
    handler.handle_packet(1, A, &framed(2, &bid(2, 51)), &mut words);
    handler.handle_packet(2, A, &framed(4, &bid(4, 53)), &mut words);
    words.take();
    handler.handle_timeout(102, &mut words);
    assert_eq!(words.take(), "G3+1 1@4a");
    assert!(best_bid(&handler).is_err());
    handler.handle_packet(103, from, &framed(2, &snapshot(3, 3, 52)), &mut words);
    assert_eq!((words.take().as_str(), best_bid(&handler)), ("Recovered", Ok(53)));
}
