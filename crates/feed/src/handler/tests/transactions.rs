//! Transactions in several messages.

use super::*;

/// One entry of instrument 9 as update `rpt_seq`: an action and a side's code, a price; and LastFragment.
fn part(action: u8, side: u8, rpt_seq: u8, price: u8, is_last: bool) -> Vec<u8> {
    let entry = [0x80 | action, side | 0x80, 0x89, 0x80 | rpt_seq, 0x81, 0x80, 0x80 | price, 0x81];
    [&[0xC0, 0x87, 0x81], &entry[..], &[0x80 | u8::from(is_last)]].concat()
}

/// A transaction of the exchange that crosses the book temporarily, in two packets.
#[test]
fn a_transaction_may_go_on_in_the_next_packet() {
    let mut handler = cme();
    let mut words = Words::default();
    handler.handle_packet(0, A, &framed(1, &part(0, b'0', 1, 50, true)), &mut words);
    handler.handle_packet(1, A, &framed(2, &part(0, b'1', 2, 52, true)), &mut words);
    handler.handle_packet(2, A, &framed(3, &part(1, b'0', 3, 54, false)), &mut words);
    // A snapshot in between does not end it.
    handler.handle_packet(
        3,
        FeedLine::Snapshot(Line::A),
        &framed(1, &snapshot(2, 2, 50)),
        &mut words,
    );
    assert_eq!(handler.recovery().counters().inconsistent, 0);
    handler.handle_packet(4, A, &framed(4, &part(1, b'1', 4, 56, true)), &mut words);
    assert_eq!((best_bid(&handler), handler.recovery().counters().inconsistent), (Ok(54), 0));
    handler.handle_packet(5, A, &framed(5, &part(1, b'0', 5, 58, true)), &mut words);
    assert!(matches!(best_bid(&handler), Err(StaleReason::Inconsistent(_))), "it ends crossed");
}
