//! Packets that cannot be decoded or interpreted.

use super::*;

#[test]
fn what_cannot_be_decoded_is_a_gap_and_the_next_packet_goes_on() {
    let mut handler = handler_of(HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: ArbiterOptions { lines: [true, false], ..arbiter_options() },
        ..Default::default()
    });
    let mut words = Words::default();
    let from = FeedLine::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(0, 1, 50)), &mut words);
    words.take();
    let cut = &bid(2, 51)[..5];
    for (seq_num, body) in [(1, cut), (2, &[0xC0, 0xE3][..]), (3, &bid(2, 51))] {
        handler.handle_packet(u64::from(seq_num), A, &framed(seq_num, body), &mut words);
        if seq_num < 3 {
            assert_eq!(best_bid(&handler), Err(StaleReason::Gap));
        }
    }
    let text = words.take();
    assert!(text.starts_with("[packet 1: message at 0: "), "{text}");
    assert!(text.contains("G1+1") && text.contains("G2+1") && text.ends_with("1@3a"), "{text}");
    assert_eq!(best_bid(&handler), Ok(51), "its update follows: nothing was lost");
    let messages = handler.counters().messages;
    assert_eq!((messages.undecodable, messages.unknown_template, messages.decoded), (2, 1, 1));
}

#[test]
fn a_packet_cut_behind_its_first_message_makes_the_book_of_that_message_stale() {
    for continuity in [Continuity::RptSeq, Continuity::SeqNum] {
        let mut handler = handler_of(HandlerOptions {
            framing: Preset::Cme.framing(),
            arbiter: ArbiterOptions { lines: [true, false], ..arbiter_options() },
            recovery: RecoveryOptions { continuity, ..Default::default() },
            ..Default::default()
        });
        let mut words = Words::default();
        let from = FeedLine::Snapshot(Line::A);
        handler.handle_packet(0, from, &framed(1, &snapshot(1, 1, 50)), &mut words);
        let two = [bid(2, 51), bid(3, 52)].concat();
        handler.handle_packet(1, A, &framed(2, &two[..two.len() - 1]), &mut words);
        assert_eq!(handler.counters().messages.decoded, 1);
        assert_eq!(best_bid(&handler), Err(StaleReason::Gap));
        words.take();
        handler.handle_packet(2, from, &framed(2, &snapshot(2, 3, 52)), &mut words);
        assert_eq!((words.take().as_str(), best_bid(&handler)), ("Recovered", Ok(52)));
    }
}

#[test]
fn a_packet_that_is_bad_on_one_line_comes_from_the_other() {
    for (is_bad_first, bad_len) in [(true, 3), (true, 8), (true, 20), (false, 3)] {
        let (mut handler, mut words) = (cme(), Words::default());
        let from = FeedLine::Snapshot(Line::A);
        handler.handle_packet(0, from, &framed(1, &snapshot(1, 1, 50)), &mut words);
        for line in [A, B] {
            handler.handle_packet(0, line, &framed(1, &[0xC0, 0x85]), &mut words);
        }
        words.take();
        let good = [bid(2, 51), bid(3, 52)].concat();
        let [first, second] =
            if is_bad_first { [&good[..bad_len], &good] } else { [&good[..], &good[..bad_len]] };
        handler.handle_packet(10, A, &framed(2, first), &mut words);
        handler.handle_packet(20, A, &framed(3, &[0xC0, 0x85]), &mut words);
        handler.handle_packet(30, B, &framed(2, second), &mut words);
        handler.handle_packet(40, B, &framed(3, &[0xC0, 0x85]), &mut words);
        let text = words.take();
        let told: Vec<&str> = text.split(' ').filter(|word| word.contains('@')).collect();
        let lines: Vec<&str> = told.iter().map(|word| &word[..3]).collect();
        assert_eq!(lines, ["1@2", "1@2", "5@3"], "{text}");
        assert!(!text.contains('G'), "{text}");
        assert_eq!(best_bid(&handler), Ok(52), "nothing was lost");
        assert_eq!(handler.counters().messages.decoded, 4);
        assert_eq!(handler.counters().messages.undecodable, u64::from(is_bad_first));
        assert_eq!(handler.poll_timeout(), None);
    }
}

#[test]
fn a_packet_of_a_preamble_alone_comes_from_the_other_line_or_is_a_gap() {
    let (mut handler, mut words) = (cme(), Words::default());
    handler.handle_packet(0, A, &framed(1, &bid(1, 50)), &mut words);
    handler.handle_packet(0, B, &framed(1, &bid(1, 50)), &mut words);
    handler.handle_packet(1, A, &framed(2, &[]), &mut words);
    assert_eq!(words.take(), "1@1a [line A: offset 5: the packet ends after its preamble]");
    handler.handle_packet(2, A, &framed(3, &bid(3, 52)), &mut words);
    handler.handle_packet(3, B, &framed(2, &bid(2, 51)), &mut words);
    assert_eq!(words.take(), "1@2b 1@3a");
    handler.handle_packet(4, A, &framed(4, &[]), &mut words);
    handler.handle_packet(5, B, &framed(4, &[]), &mut words);
    handler.handle_packet(6, A, &framed(5, &bid(5, 54)), &mut words);
    handler.handle_timeout(110, &mut words);
    assert!(words.take().ends_with("G4+1 1@5a"));
    assert!(matches!(best_bid(&handler), Err(StaleReason::RptSeqGap { .. })));
    assert_eq!(handler.counters().lines.map(|line| line.malformed), [2, 1]);
}

#[test]
fn a_packet_that_is_bad_on_both_lines_is_a_gap_at_once() {
    let (mut handler, mut words) = (cme(), Words::default());
    for line in [A, B] {
        handler.handle_packet(0, line, &framed(1, &[0xC0, 0x85]), &mut words);
    }
    for (now_ns, line) in [(10, A), (20, B)] {
        handler.handle_packet(now_ns, line, &framed(2, &[0xC0, 0xFF]), &mut words);
        handler.handle_packet(now_ns, line, &framed(3, &[0xC0, 0x85]), &mut words);
    }
    let text = words.take();
    assert!(text.starts_with("5@1a [packet 2") && text.ends_with("G2+1 5@3a"), "{text}");
    assert_eq!(handler.counters().messages.undecodable, 1, "the copy was known to be the same");
}

#[test]
fn messages_with_numbers_are_told_once_whatever_copy_they_come_from() {
    for copy_comes in [true, false] {
        let (mut handler, mut words) = (numbered_inside(), Words::default());
        for line in [A, B] {
            handler.handle_packet(0, line, &[0xE0, 0x84, 0x81], &mut words);
        }
        // Numbers 2 to 4; the copy of line A is truncated after 3.
        let good = [0xE0, 0x84, 0x82, 0x80, 0x80];
        let bad = [0xE0, 0x84, 0x82, 0x80, 0x00];
        handler.handle_packet(10, A, &bad, &mut words);
        handler.handle_packet(20, A, &[0xE0, 0x84, 0x85], &mut words);
        if copy_comes {
            handler.handle_packet(30, B, &good, &mut words);
        }
        handler.handle_timeout(200, &mut words);
        let text = words.take();
        let end = if copy_comes { "4:4@2b 4:5@5a" } else { "G2+1 G4+1 4:5@5a" };
        assert!(text.starts_with("4:1@1a 4:2@2a 4:3@2a [packet 2: "), "{text}");
        assert!(text.ends_with(&format!("] {end}")), "{text}");
        assert_eq!(handler.poll_timeout(), None);
    }
}

#[test]
fn foreign_numbers_and_random_bytes_are_counted_and_dropped() {
    let (mut handler, mut words) = (cme(), Words::default());
    handler.handle_packet(0, A, &framed(1, &bid(1, 50)), &mut words);
    handler.handle_packet(1, A, &framed(4_000_000_000, &bid(9, 99)), &mut words);
    handler.handle_packet(2, B, b"abc", &mut words);
    handler.handle_packet(3, A, &framed(2, &bid(2, 51)), &mut words);
    let text = words.take();
    assert_eq!(text.split(' ').next(), Some("1@1a"));
    assert!(
        text.contains("[line B: offset 0: expected a preamble") && text.ends_with("1@2a"),
        "{text}"
    );
    assert_eq!(handler.arbiter().line_counters(Line::A).unexpected, 1);
    assert_eq!(handler.counters().lines[1].malformed, 1);
}
