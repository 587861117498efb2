//! A channel without packets.

use super::*;

#[test]
fn a_channel_on_which_nothing_comes_is_silent_until_a_packet_is_delivered() {
    #[derive(Default)]
    struct Silences(Vec<(bool, u64)>);
    impl Sink<Message> for Silences {
        fn handle_message(&mut self, _: &Delivery, _: &Message) {}
        fn handle_silence(&mut self, is_silent: bool, since_ns: u64) {
            self.0.push((is_silent, since_ns));
        }
    }
    let mut handler = silent_handler_of(HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: arbiter_options(),
        heartbeat_ns: Some(500),
        ..Default::default()
    });
    let mut sink = Silences::default();
    let from = FeedLine::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(0, 1, 50)), &mut sink);
    handler.handle_packet(10, A, &framed(1, &bid(2, 51)), &mut sink);
    assert_eq!(best_bid(&handler), Ok(51));
    assert_eq!(handler.poll_timeout(), Some(1_010));
    handler.handle_timeout(1_009, &mut sink);
    assert_eq!(best_bid(&handler), Ok(51));
    handler.handle_timeout(1_010, &mut sink);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    assert_eq!((handler.poll_timeout(), &sink.0[..]), (None, &[(true, 10)][..]));
    // A packet after a gap does not end the silence; the next one in order does.
    handler.handle_packet(5_000, A, &framed(3, &bid(4, 53)), &mut sink);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    handler.handle_packet(5_010, A, &framed(2, &bid(3, 52)), &mut sink);
    assert_eq!((best_bid(&handler), sink.0.last()), (Ok(53), Some(&(false, 5_010))));
    // A line that sends nothing new does not end it either.
    handler.handle_packet(5_400, B, &framed(2, &bid(3, 52)), &mut sink);
    assert_eq!(handler.poll_timeout(), Some(6_010));
    handler.handle_timeout(6_010, &mut sink);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
}

/// The sender restarts with the packets of this session, at once or after a silence.
#[test]
fn lines_that_only_repeat_old_packets_are_out_of_sequence_and_not_silent() {
    #[derive(Default)]
    struct States(Vec<(&'static str, bool)>);
    impl Sink<Message> for States {
        fn handle_message(&mut self, _: &Delivery, _: &Message) {}
        fn handle_silence(&mut self, is_silent: bool, _: u64) {
            self.0.push(("silent", is_silent));
        }
        fn handle_out_of_sequence(&mut self, is_out_of_sequence: bool) {
            self.0.push(("out of sequence", is_out_of_sequence));
        }
    }
    for pause_ns in [10, 20_000] {
        let mut handler = silent_handler_of(HandlerOptions {
            framing: Preset::Cme.framing(),
            arbiter: ArbiterOptions { silent_after_ns: 500, ..arbiter_options() },
            heartbeat_ns: Some(500),
            ..Default::default()
        });
        let mut sink = States::default();
        let mut now_ns = 10;
        let mut send = |handler: &mut Tested, sink: &mut States, lines: &[FeedLine], from, to| {
            for seq_num in from..to {
                now_ns += 50;
                handler.fire_due(0, now_ns, sink);
                for line in lines {
                    let packet = framed(seq_num, &bid(seq_num as u8, 51));
                    handler.handle_packet(now_ns, *line, &packet, sink);
                }
            }
            now_ns
        };
        send(&mut handler, &mut sink, &[A, B], 1, 101);
        assert_eq!((best_bid(&handler), &sink.0[..]), (Ok(51), &[][..]));
        // A single line that repeats disturbs nothing while the other one continues.
        send(&mut handler, &mut sink, &[A], 1, 6);
        let now_ns = send(&mut handler, &mut sink, &[A, B], 101, 103);
        assert_eq!((best_bid(&handler), &sink.0[..]), (Ok(51), &[][..]));
        handler.fire_due(0, now_ns + pause_ns, &mut sink);
        let is_silent = pause_ns > 1_000;
        let silences = [("silent", true)];
        assert_eq!(sink.0[..], silences[..usize::from(is_silent)]);
        send(&mut handler, &mut sink, &[A, B], 1, 31);
        assert_eq!(best_bid(&handler), Err(StaleReason::OutOfSequence));
        let mut expected = vec![("out of sequence", true)];
        if is_silent {
            expected = vec![("silent", true), expected[0], ("silent", false)];
        }
        assert_eq!(sink.0, expected);
        // After that, nothing arrives for a while, and then the numbers continue.
        let now_ns = send(&mut handler, &mut sink, &[], 0, 40);
        assert_eq!((sink.0.pop(), handler.poll_timeout()), (Some(("silent", true)), None));
        assert_eq!(sink.0, expected, "{now_ns}");
        send(&mut handler, &mut sink, &[A, B], 103, 104);
        assert_eq!(best_bid(&handler), Ok(51));
        assert_eq!(sink.0[expected.len()..], [("out of sequence", false), ("silent", false)]);
    }
}

/// A feed whose heartbeat is a bare preamble.
#[test]
fn a_channel_on_which_preambles_come_is_not_silent() {
    let mut handler = silent_handler_of(HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: arbiter_options(),
        heartbeat_ns: Some(500),
        ..Default::default()
    });
    let mut words = Words::default();
    let from = FeedLine::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(0, 1, 50)), &mut words);
    handler.handle_packet(10, A, &framed(1, &bid(2, 51)), &mut words);
    for now_ns in [900, 1_800, 2_700] {
        handler.handle_packet(now_ns, A, &framed(1, &[]), &mut words);
        handler.handle_timeout(now_ns, &mut words);
        assert_eq!((best_bid(&handler), handler.poll_timeout()), (Ok(51), Some(now_ns + 1_000)));
    }
    assert_eq!(handler.counters().lines[0].malformed, 3);
    // Packets of the snapshot feed are no sign of life of the lines, and do not end a silence.
    handler.handle_packet(3_600, from, &framed(2, &[]), &mut words);
    handler.handle_timeout(3_700, &mut words);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    handler.handle_packet(3_800, A, &framed(1, &[]), &mut words);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    handler.handle_packet(3_900, A, &framed(2, &bid(3, 52)), &mut words);
    assert_eq!((best_bid(&handler), handler.poll_timeout()), (Ok(52), Some(4_900)));
}

#[test]
fn a_line_that_falls_silent_while_the_other_sends_is_reported_and_its_return_too() {
    #[derive(Default)]
    struct Lines(Vec<LineEvent>);
    impl Sink<Message> for Lines {
        fn handle_message(&mut self, _: &Delivery, _: &Message) {}
        fn handle_line(&mut self, event: &LineEvent) {
            self.0.push(*event);
        }
    }
    let of_lines = |lines| {
        silent_handler_of(HandlerOptions {
            framing: Preset::Cme.framing(),
            arbiter: ArbiterOptions { silent_after_ns: 500, lines, ..arbiter_options() },
            heartbeat_ns: Some(500),
            ..Default::default()
        })
    };
    let mut handler = of_lines([true; 2]);
    let mut sink = Lines::default();
    let mut seq_num = 0;
    let mut packet = |handler: &mut Tested, ns, source, sink: &mut Lines| {
        seq_num += 1;
        handler.fire_due(0, ns, sink);
        handler.handle_packet(ns, source, &framed(seq_num, &bid(2, 51)), sink);
    };
    for ns in [10, 400, 800, 1_005] {
        packet(&mut handler, ns, A, &mut sink);
    }
    assert_eq!((handler.poll_timeout(), &sink.0[..]), (Some(1_010), &[][..]));
    packet(&mut handler, 1_020, A, &mut sink);
    assert_eq!(sink.0, [LineEvent::Silent { line: Line::B, since_ns: None, at_ns: 1_010 }]);
    for ns in [1_030, 1_400, 1_540] {
        packet(&mut handler, ns, B, &mut sink);
    }
    assert_eq!(sink.0[1..], [LineEvent::Heard { line: Line::B, at_ns: 1_030 }]);
    packet(&mut handler, 2_030, B, &mut sink);
    let silent = LineEvent::Silent { line: Line::A, since_ns: Some(1_020), at_ns: 2_020 };
    assert_eq!(sink.0[2..], [silent]);
    packet(&mut handler, 2_040, A, &mut sink);
    assert_eq!(sink.0[3..], [LineEvent::Heard { line: Line::A, at_ns: 2_040 }]);

    // Packets of an idle channel come a little later than its heartbeat interval.
    let mut idle = of_lines([true; 2]);
    let mut sink = Lines::default();
    for ns in (10..6_000).step_by(505) {
        packet(&mut idle, ns, A, &mut sink);
        packet(&mut idle, ns + 3, B, &mut sink);
    }
    assert_eq!(sink.0, []);

    // Both lines return from a common silence, one a moment earlier. A line that does not return is reported.
    let mut both = of_lines([true; 2]);
    let mut sink = Lines::default();
    for ns in [10, 5_000, 9_000] {
        packet(&mut both, ns, A, &mut sink);
        packet(&mut both, ns + 3, B, &mut sink);
    }
    packet(&mut both, 15_000, A, &mut sink);
    assert_eq!((&sink.0[..], both.poll_timeout()), (&[][..], Some(15_500)));
    packet(&mut both, 15_600, A, &mut sink);
    let silent = LineEvent::Silent { line: Line::B, since_ns: Some(9_003), at_ns: 15_500 };
    assert_eq!(sink.0, [silent]);

    // The silence of a single line is that of its channel.
    let mut single = of_lines([true, false]);
    let mut sink = Lines::default();
    packet(&mut single, 10, A, &mut sink);
    packet(&mut single, 900, A, &mut sink);
    assert_eq!(sink.0, []);
}
