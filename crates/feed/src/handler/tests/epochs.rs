//! Resets, and unexpected numbers.

use super::*;

#[test]
fn a_new_numbering_forgets_the_books() {
    let (mut handler, mut words) = (cme(), Words::default());
    let from = FeedLine::Snapshot(Line::A);
    handler.handle_packet(0, A, &framed(40, &[0xC0, 0x85]), &mut words);
    handler.handle_packet(0, from, &framed(1, &snapshot(40, 1, 50)), &mut words);
    assert_eq!((words.take().as_str(), best_bid(&handler)), ("5@40a Recovered", Ok(50)));
    handler.handle_packet(1, A, &framed(41, &[0xC0, 0x83, 0x81]), &mut words);
    assert_eq!(words.take(), "3@41a R1");
    assert_eq!(best_bid(&handler), Err(StaleReason::Reset));
    handler.handle_packet(2, B, &framed(41, &[0xC0, 0x83, 0x81]), &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("", None), "its copy");
    handler.handle_packet(2, A, &framed(1, &[0xC0, 0x85]), &mut words);
    assert_eq!(words.take(), "5@1a");
    handler.handle_packet(3, A, &framed(2, &[0xC0, 0x83, 0x83]), &mut words);
    assert_eq!(words.take(), "3@2a R3", "the numbers go on");
}

/// The content of each packet never reaches the books.
#[test]
fn books_are_stale_while_packets_come_whose_numbers_follow_nothing() {
    for (mut handler, number) in [(cme(), 120), (cme_that_keeps_numbers(), 7)] {
        let mut words = Words::default();
        handler.handle_packet(0, A, &framed(120, &bid(1, 50)), &mut words);
        assert_eq!(best_bid(&handler), Ok(50));
        for step in 0..3 {
            assert_eq!(best_bid(&handler), Ok(50), "{step} strays");
            handler.handle_packet(1, A, &framed(number, &bid(2 + step, 51)), &mut words);
        }
        assert_eq!(best_bid(&handler), Err(StaleReason::OutOfSequence));
        handler.handle_packet(
            2,
            FeedLine::Snapshot(Line::A),
            &framed(1, &snapshot(120, 4, 60)),
            &mut words,
        );
        assert_eq!(best_bid(&handler), Err(StaleReason::OutOfSequence));
        handler.handle_packet(3, A, &framed(121, &[0xC0, 0x85]), &mut words);
        assert_eq!(best_bid(&handler), Err(StaleReason::Gap), "the snapshot may lack some of them");
        handler.handle_packet(4, A, &framed(122, &bid(5, 61)), &mut words);
        assert_eq!(best_bid(&handler), Ok(61), "the next one follows");
    }
}

/// Freshness of the book at each report.
#[derive(Default)]
struct Freshness(Vec<bool>);

impl Sink<Message> for Freshness {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_book(&mut self, change: &crate::recovery::BookChange, recovery: &Recovery) {
        self.0.push(recovery.state(change.instrument).is_ok());
    }
}

/// 103 arrived before an unexpected packet, and is delivered after it.
#[test]
fn an_older_packet_makes_no_book_fresh_while_later_ones_follow_nothing() {
    let (mut handler, mut told) = (cme(), Freshness::default());
    for (now_ns, seq_num, rpt_seq) in [(0, 100, 1), (0, 103, 2), (10, 400, 3)] {
        let packet = framed(seq_num, &bid(rpt_seq, 50 + rpt_seq));
        handler.handle_packet(now_ns, A, &packet, &mut told);
    }
    assert_eq!(std::mem::take(&mut told.0), [true]);
    handler.handle_timeout(150, &mut told);
    assert!(!told.0.is_empty() && !told.0.contains(&true), "{:?}", told.0);
    assert_eq!(best_bid(&handler), Err(StaleReason::OutOfSequence));
}

#[test]
fn a_line_that_lags_in_the_old_numbering_does_not_disturb_the_new_one() {
    let (mut handler, mut words) = (cme(), Words::default());
    let reset = [0xC0, 0x83, 0x81];
    let other = [0xC0, 0x85];
    for (seq_num, line) in [(39, A), (39, B), (40, A)] {
        handler.handle_packet(0, line, &framed(seq_num, &other), &mut words);
    }
    handler.handle_packet(1, A, &framed(41, &reset), &mut words);
    handler.handle_packet(2, A, &framed(1, &other), &mut words);
    handler.handle_packet(3, B, &framed(40, &other), &mut words);
    handler.handle_packet(4, B, &framed(41, &reset), &mut words);
    handler.handle_packet(5, B, &framed(1, &other), &mut words);
    handler.handle_packet(6, B, &framed(2, &other), &mut words);
    handler.handle_timeout(500, &mut words);
    assert_eq!(words.take(), "5@39a 5@40a 3@41a R1 5@1a 5@2b");
    let old_epoch = Line::ALL.map(|line| handler.arbiter().line_counters(line).old_epoch);
    assert_eq!(old_epoch, [0, 2]);
    for (now_ns, line, seq_num) in [(600, B, 4), (900, A, 6)] {
        handler.handle_packet(now_ns, line, &framed(seq_num, &other), &mut words);
        handler.handle_timeout(now_ns + 100, &mut words);
    }
    assert_eq!(words.take(), "G3+1 5@4b G5+1 5@6a", "both lines are in the new numbering");
}

#[test]
fn a_line_whose_first_packets_of_a_new_numbering_are_lost_goes_on_alone() {
    for is_reset_on_b in [false, true] {
        let (mut handler, mut words) = (cme(), Words::default());
        let (reset, other) = ([0xC0, 0x83, 0x81], [0xC0, 0x85]);
        handler.handle_packet(1, A, &framed(41, &reset), &mut words);
        // A line B that never agreed on a packet is used once line A has been silent for long.
        let mut wait_ns = ArbiterOptions::default().silent_after_ns;
        if is_reset_on_b {
            handler.handle_packet(2, B, &framed(41, &reset), &mut words);
            wait_ns = 100;
        }
        handler.handle_packet(3, B, &framed(3, &other), &mut words);
        handler.handle_timeout(wait_ns - 1, &mut words);
        assert_eq!(words.take(), "3@41a R1");
        handler.handle_timeout(wait_ns + 200, &mut words);
        assert_eq!(words.take(), "G1+2 5@3b");
    }
}

/// Packets of a line around a reset: numbers 1 to `last`, the last being a SequenceReset to 1, then
/// 1 to 200 of the new session.
fn around_a_reset(last: u32) -> Vec<Vec<u8>> {
    let body = [0xC0, 0x85];
    let old = (1..last).map(move |number| framed(number, &body));
    let reset = framed(last, &[0xC0, 0x83, 0x81]);
    let new = (1..=200).map(|number| framed(number, &[body, body].concat()));
    old.chain([reset]).chain(new).collect()
}

#[test]
fn nothing_is_lost_or_doubled_around_a_reset_while_line_b_is_behind() {
    for (last, lag_ns) in [(11, 3_000_000), (11, 900_000_000), (50_000, 3_000_000)] {
        let mut handler = handler_of(HandlerOptions {
            framing: Preset::Cme.framing(),
            arbiter: ArbiterOptions::default(),
            ..Default::default()
        });
        let packets = around_a_reset(last);
        let arrivals = |lag_ns: u64, source| {
            let times = (0..).map(move |slot| slot * 50_000 + lag_ns);
            times.zip(&packets).map(move |(at_ns, packet)| (at_ns, source, packet))
        };
        let mut all: Vec<_> = arrivals(0, A).chain(arrivals(lag_ns, B)).collect();
        all.sort_by_key(|(at_ns, ..)| *at_ns);
        let mut delivered = Vec::new();
        let mut sink = |delivery: &Delivery, _: &Message| {
            delivered.extend(delivery.seq_num.filter(|_| delivery.index == 0));
        };
        for (at_ns, source, packet) in all {
            handler.handle_packet(at_ns, source, packet, &mut sink);
        }
        let expected: Vec<u64> = (1..=u64::from(last)).chain(1..=200).collect();
        assert_eq!(delivered, expected, "{last} old numbers, {lag_ns} ns behind");
        let lines = Line::ALL.map(|line| handler.arbiter().line_counters(line));
        assert_eq!(lines.map(|line| (line.late, line.unexpected, line.differing)), [(0, 0, 0); 2]);
        let counters = handler.arbiter().counters();
        assert_eq!((counters.resets, counters.gaps), (1, 0));
        assert_eq!(handler.counters().messages.undecodable, 0);
    }
}

/// A feed with numbers in the preamble that never resets its dictionaries.
fn persistent() -> Tested {
    let framing = Preset::Cme.framing().reset(FramingResetPolicy::Never);
    handler_of(HandlerOptions { framing, arbiter: arbiter_options(), ..Default::default() })
}

#[test]
fn a_session_that_is_announced_begins_with_empty_dictionaries() {
    // The number of a message is that of the one before plus 1, unless it is sent.
    let sent = |seq_num: u32, n: u8| framed(seq_num, &[0xE0, 0x84, 0x80 | n]);
    let next = |seq_num: u32| framed(seq_num, &[0x80]);
    let (mut handler, mut words) = (persistent(), Words::default());
    handler.handle_packet(0, A, &sent(60, 10), &mut words);
    handler.handle_packet(1, A, &next(61), &mut words);
    assert_eq!(words.take(), "4:10@60a 4:11@61a");
    // One packet waits behind a gap.
    handler.handle_packet(2, A, &sent(63, 20), &mut words);
    handler.begin_session(&mut words);
    assert_eq!(words.take(), "", "the number of the session is not known yet");
    handler.handle_packet(3, A, &sent(1, 3), &mut words);
    handler.handle_packet(4, A, &next(2), &mut words);
    let session = "R1 4:3@1a 4:4@2a";
    let of_both = words.take();
    assert!(of_both.starts_with("G62+1 [packet 63: message at 0: byte 0: "), "{of_both}");
    assert!(of_both.ends_with(&format!("G63+1 {session}")), "{of_both}");
    handler.begin_session(&mut words);
    handler.handle_packet(5, A, &sent(1, 3), &mut words);
    handler.handle_packet(5, A, &next(2), &mut words);
    assert_eq!(words.take(), session, "a session may repeat the packets of another");
}

#[test]
fn a_session_of_packets_without_numbers_begins_at_once() {
    let mut handler = handler_of(HandlerOptions {
        framing: Framing::new().reset(FramingResetPolicy::Never),
        sequence: SequenceSource::None,
        ..Default::default()
    });
    let mut words = Words::default();
    handler.handle_packet(0, A, &[0xE0, 0x84, 0x8A], &mut words);
    handler.begin_session(&mut words);
    handler.handle_packet(1, A, &[0x80], &mut words);
    handler.begin_session(&mut words);
    handler.handle_packet(2, A, &[0xE0, 0x84, 0x83], &mut words);
    let words = words.take();
    assert!(words.starts_with("4:10@-a [") && words.ends_with("] 4:3@-a"), "{words}");
}

#[test]
fn a_waiting_packet_without_a_number_is_delivered_before_the_next_session() {
    let (mut handler, mut words) = (numbered_inside(), Words::default());
    let one = |number: u8| [0xE0, 0x84, 0x80 | number];
    handler.handle_packet(0, A, &one(60), &mut words);
    handler.handle_packet(1, A, &[0xC0, 0x85], &mut words);
    assert_eq!(words.take(), "4:60@60a");
    handler.begin_session(&mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("5@-a", None));
    handler.handle_packet(2, A, &one(1), &mut words);
    handler.handle_timeout(200, &mut words);
    assert_eq!(words.take(), "R1 4:1@1a");
}
