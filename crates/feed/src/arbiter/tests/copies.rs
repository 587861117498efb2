//! Packets that cannot be decoded, and copies of them.

use super::*;

#[test]
fn the_other_lines_copy_takes_the_place_of_a_rejected_packet() {
    let mut arbiter = both_alive();
    copy(&mut arbiter, 10, Line::A, 2, b"bad");
    assert_delivers(&mut arbiter, (2, Line::A, b"bad"));
    assert!(arbiter.reject());
    assert_eq!(packet(&mut arbiter, 20, Line::A, 3), "", "what follows waits");
    assert_eq!(arbiter.poll_timeout(), Some(110));
    assert_eq!(packet(&mut arbiter, 30, Line::B, 2), "D2b D3a");
    assert_eq!(packet(&mut arbiter, 40, Line::B, 3), "");
    assert_eq!((arbiter.poll_timeout(), arbiter.packets_held()), (None, 0));
    let (a, b) = (arbiter.line_counters(Line::A), arbiter.line_counters(Line::B));
    assert_eq!((a.received, a.first, a.duplicate, a.lost), (3, 3, 0, 0));
    assert_eq!((b.received, b.replacement, b.duplicate, b.lost), (3, 1, 2, 0));
    assert_eq!((arbiter.counters().delivered, arbiter.counters().gaps), (3, 0));
}

#[test]
fn a_rejected_packet_is_a_gap_of_its_own_when_its_time_is_over() {
    let mut arbiter = both_alive();
    copy(&mut arbiter, 10, Line::A, 2, b"bad");
    assert_delivers(&mut arbiter, (2, Line::A, b"bad"));
    assert!(arbiter.reject());
    assert_eq!(packet(&mut arbiter, 20, Line::A, 4), "");
    arbiter.handle_timeout(109);
    assert_eq!(poll_all(&mut arbiter), "");
    arbiter.handle_timeout(110);
    assert_eq!(poll_all(&mut arbiter), "G2+1", "3 has its own time");
    arbiter.handle_timeout(120);
    assert_eq!(poll_all(&mut arbiter), "G3+1 D4a");
    let counters = arbiter.counters();
    assert_eq!((counters.delivered, counters.gaps, counters.gap_seq_nums), (3, 1, 1));
    assert_eq!(arbiter.line_counters(Line::B).lost, 3);
    assert_eq!(packet(&mut arbiter, 121, Line::B, 2), "");
    assert_eq!(arbiter.line_counters(Line::B).lost, 2);
}

#[test]
fn an_equal_copy_of_the_other_line_ends_the_wait_and_one_of_the_same_line_does_not() {
    let mut arbiter = both_alive();
    copy(&mut arbiter, 10, Line::A, 2, b"bad");
    assert_delivers(&mut arbiter, (2, Line::A, b"bad"));
    assert!(arbiter.reject());
    copy(&mut arbiter, 11, Line::A, 2, b"bad");
    assert_eq!(arbiter.poll_output(), None);
    copy(&mut arbiter, 12, Line::B, 2, b"bad");
    assert_eq!(poll_all(&mut arbiter), "G2+1");
    assert_eq!(packet(&mut arbiter, 13, Line::A, 3), "D3a");
    assert_eq!(arbiter.line_counters(Line::A).duplicate, 1);
    assert_eq!(arbiter.line_counters(Line::B).duplicate, 2);
}

#[test]
fn a_copy_is_waited_for_once_and_only_where_one_can_come() {
    let mut arbiter = both_alive();
    assert!(!arbiter.reject(), "nothing was delivered since");
    copy(&mut arbiter, 10, Line::A, 2, b"bad");
    assert_delivers(&mut arbiter, (2, Line::A, b"bad"));
    assert!(arbiter.reject());
    copy(&mut arbiter, 11, Line::B, 2, b"bad too");
    assert_delivers(&mut arbiter, (2, Line::B, b"bad too"));
    assert!(!arbiter.reject(), "both were bad");
    assert_eq!(arbiter.next_seq_num(), Some(3));

    let mut arbiter = Fed::new(ArbiterOptions { lines: [true, false], ..options() });
    copy(&mut arbiter, 0, Line::A, 1, b"bad");
    assert_delivers(&mut arbiter, (1, Line::A, b"bad"));
    assert!(!arbiter.reject(), "there is no other line");

    let mut arbiter = Fed::new(options());
    copy(&mut arbiter, 0, Line::A, 1, b"bad");
    assert_delivers(&mut arbiter, (1, Line::A, b"bad"));
    assert!(arbiter.reject(), "the other line may begin with it");
    copy(&mut arbiter, 1, Line::B, 1, b"good");
    assert_eq!(arbiter.poll_output(), None, "nobody knows the line yet");
    arbiter.handle_timeout(100);
    assert_delivers(&mut arbiter, (1, Line::B, b"good"));
    assert_eq!(arbiter.poll_output(), None);
    assert_eq!(arbiter.poll_timeout(), None);
    let b = arbiter.line_counters(Line::B);
    assert_eq!((b.received, b.first, b.replacement), (1, 0, 1));

    let mut arbiter = both_alive();
    copy(&mut arbiter, 10, Line::A, 2, b"bad");
    arbiter.handle_timeout(110);
    assert_delivers(&mut arbiter, (2, Line::A, b"bad"));
    assert!(!arbiter.reject(), "its time was over when it was polled");
}

#[test]
fn a_copy_that_differs_is_kept_while_a_packet_is_held() {
    let mut arbiter = both_alive();
    copy(&mut arbiter, 10, Line::A, 3, b"bad");
    copy(&mut arbiter, 11, Line::B, 3, b"good");
    assert_eq!(arbiter.line_counters(Line::B).duplicate, 2);
    copy(&mut arbiter, 12, Line::B, 2, b"two");
    assert_delivers(&mut arbiter, (2, Line::B, b"two"));
    assert_delivers(&mut arbiter, (3, Line::A, b"bad"));
    assert!(arbiter.reject());
    assert_delivers(&mut arbiter, (3, Line::B, b"good"));
    assert_eq!(arbiter.poll_output(), None);
    let b = arbiter.line_counters(Line::B);
    assert_eq!((b.received, b.first, b.duplicate, b.replacement), (3, 1, 1, 1));
    assert_eq!((arbiter.counters().delivered, arbiter.poll_timeout()), (3, None));
}

#[test]
fn a_reset_ends_the_wait_for_a_copy() {
    let mut arbiter = both_alive();
    copy(&mut arbiter, 10, Line::A, 2, b"bad");
    assert_delivers(&mut arbiter, (2, Line::A, b"bad"));
    assert!(arbiter.reject());
    arbiter.reset(70);
    assert_eq!(poll_all(&mut arbiter), "G2+1 R70");
    assert_eq!(packet(&mut arbiter, 20, Line::B, 70), "D70b");
    assert_eq!(arbiter.poll_timeout(), None);
}

#[test]
fn a_copy_that_is_advanced_over_is_a_duplicate() {
    let mut arbiter = both_alive();
    copy(&mut arbiter, 10, Line::A, 3, b"bad");
    copy(&mut arbiter, 11, Line::B, 3, b"good");
    copy(&mut arbiter, 12, Line::B, 2, b"two");
    assert_delivers(&mut arbiter, (2, Line::B, b"two"));
    assert_delivers(&mut arbiter, (3, Line::A, b"bad"));
    assert!(arbiter.reject());
    arbiter.advance_to(5);
    assert_eq!(packet(&mut arbiter, 12, Line::A, 5), "D5a");
    let b = arbiter.line_counters(Line::B);
    assert_eq!((b.received, b.first, b.duplicate, b.replacement), (3, 1, 2, 0));
    assert_eq!((arbiter.packets_held(), arbiter.poll_timeout()), (0, None));
}

/// A wrong packet of a line that was never compared waits. A later packet with the same number
/// replaces it and starts its own wait.
#[test]
fn the_wait_of_a_packet_that_was_replaced_is_not_that_of_the_one_in_its_place() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 1);
    copy(&mut arbiter, 10, Line::B, 4, b"wrong");
    assert_eq!(packet(&mut arbiter, 90, Line::A, 4), "");
    arbiter.handle_timeout(110);
    assert_eq!(poll_all(&mut arbiter), "");
    assert_eq!(packet(&mut arbiter, 120, Line::A, 2), "D2a");
    assert_eq!(packet(&mut arbiter, 130, Line::A, 3), "D3a D4a");
}

#[test]
fn a_copy_that_is_not_confirmed_and_lies_inside_another_packet_is_counted_once() {
    let mut arbiter = Arbiter::new(options());
    assert!(arbiter.handle_packet(0, Line::A, 5, b"bad".as_slice()).is_some());
    assert!(arbiter.reject());
    assert_eq!(arbiter.handle_packet(0, Line::B, 5, b"copy".as_slice()), None);
    arbiter.advance_to(6);
    let b = arbiter.line_counters(Line::B);
    assert_eq!((b.received, b.first, b.replacement, b.duplicate), (1, 0, 0, 1));
}

/// An arbiter that has rejected packet 5 of line A and holds a copy of line B, which it has never
/// compared.
fn with_unconfirmed_copy() -> Arbiter {
    let mut arbiter = Arbiter::new(options());
    assert!(arbiter.handle_packet(0, Line::A, 5, b"bad".as_slice()).is_some());
    assert!(arbiter.reject());
    assert_eq!(arbiter.handle_packet(0, Line::B, 5, b"copy".as_slice()), None);
    arbiter
}

fn taken_of(arbiter: &Arbiter, line: Line) -> (u64, u64, u64) {
    let counters = arbiter.line_counters(line);
    (counters.first, counters.replacement, counters.duplicate)
}

#[test]
fn an_unconfirmed_copy_is_a_replacement_once_the_other_line_is_silent() {
    let silent_ns = options().silent_after_ns;
    let mut arbiter = with_unconfirmed_copy();
    arbiter.handle_timeout(silent_ns);
    assert_eq!(taken_of(&arbiter, Line::B), (0, 1, 0));
    assert!(matches!(arbiter.poll_output(), Some(ArbiterOutput::Deliver { seq_num: 5, .. })));
    assert_eq!((arbiter.counters().delivered, taken_of(&arbiter, Line::B)), (1, (0, 1, 0)));

    let mut arbiter = with_unconfirmed_copy();
    arbiter.handle_timeout(silent_ns);
    arbiter.advance_to(6);
    assert_eq!(taken_of(&arbiter, Line::B), (0, 0, 1));
}
