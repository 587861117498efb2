mod epochs;
mod leaps;

use super::*;

fn options() -> ArbiterOptions {
    ArbiterOptions {
        hold_ns: 100,
        packets_held_max: 8,
        packet_bytes_max: 16,
        ahead_max: 1000,
        behind_max: 20,
        ..Default::default()
    }
}

/// An arbiter whose packets, those handed back at once too, are polled.
struct Fed {
    arbiter: Arbiter,
    next: Option<(u64, Line, u64, Option<OutOfSequence>)>,
    bytes: Vec<u8>,
}

impl Fed {
    fn new(options: ArbiterOptions) -> Self {
        Self { arbiter: Arbiter::new(options), next: None, bytes: Vec::new() }
    }

    fn handle_packet(&mut self, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
        if let Some(output) = self.arbiter.handle_packet(now_ns, line, seq_num, bytes) {
            let Output::Deliver { seq_num, line, received_ns, out_of_sequence, packet } = output
            else {
                panic!("{output:?} is no packet");
            };
            assert_eq!(self.next, None, "the packet before was not polled");
            self.next = Some((seq_num, line, received_ns, out_of_sequence));
            self.bytes = packet.bytes().to_vec();
        }
    }

    fn poll_output(&mut self) -> Option<Output<'_>> {
        if let Some((seq_num, line, received_ns, out_of_sequence)) = self.next.take() {
            let packet = self.bytes.as_slice().into();
            return Some(Output::Deliver { seq_num, line, received_ns, out_of_sequence, packet });
        }
        self.arbiter.poll_output()
    }
}

impl std::ops::Deref for Fed {
    type Target = Arbiter;

    fn deref(&self) -> &Arbiter {
        &self.arbiter
    }
}

impl std::ops::DerefMut for Fed {
    fn deref_mut(&mut self) -> &mut Arbiter {
        &mut self.arbiter
    }
}

/// Everything there is to poll: `D7a` for packet 7 of line A, `G8+2` for a gap, `R1` for a reset.
fn poll_all(arbiter: &mut Fed) -> String {
    let mut text = Vec::new();
    while let Some(output) = arbiter.poll_output() {
        text.push(match output {
            Output::Deliver { seq_num, line, packet, .. } => {
                assert_eq!(packet.bytes(), seq_num.to_be_bytes());
                format!("D{seq_num}{}", if line == Line::A { 'a' } else { 'b' })
            }
            Output::Gap(gap) => format!("G{}+{}", gap.first, gap.count),
            Output::Reset { seq_num } => format!("R{seq_num}"),
        });
    }
    text.join(" ")
}

fn packet(arbiter: &mut Fed, now_ns: u64, line: Line, seq_num: u64) -> String {
    arbiter.handle_packet(now_ns, line, seq_num, &seq_num.to_be_bytes());
    poll_all(arbiter)
}

#[test]
fn the_first_arrival_is_delivered_and_the_second_is_a_duplicate() {
    let mut arbiter = Fed::new(options());
    assert_eq!(packet(&mut arbiter, 0, Line::B, 5), "D5b");
    assert_eq!(packet(&mut arbiter, 1, Line::A, 5), "");
    assert_eq!(packet(&mut arbiter, 2, Line::A, 6), "D6a");
    assert_eq!(packet(&mut arbiter, 3, Line::B, 6), "");
    let a = arbiter.line_counters(Line::A);
    assert_eq!((a.received, a.first, a.duplicate, a.lost), (2, 1, 1, 0));
}

#[test]
fn packets_ahead_wait_for_the_missing_one() {
    let mut arbiter = both_alive();
    assert_eq!(packet(&mut arbiter, 10, Line::A, 3), "");
    assert_eq!(packet(&mut arbiter, 20, Line::A, 4), "");
    assert_eq!(arbiter.packets_held(), 2);
    assert_eq!(packet(&mut arbiter, 30, Line::B, 2), "D2b D3a D4a");
    assert_eq!(arbiter.poll_timeout(), None);
    assert_eq!(arbiter.line_counters(Line::A).lost, 1);
    assert_eq!(arbiter.line_counters(Line::B).lost, 2);
}

#[test]
fn the_hold_time_runs_from_the_first_packet_behind_the_missing_one() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 10, Line::A, 5);
    packet(&mut arbiter, 60, Line::A, 3);
    assert_eq!(arbiter.poll_timeout(), Some(110));
    arbiter.handle_timeout(109);
    assert_eq!(poll_all(&mut arbiter), "");
    arbiter.handle_timeout(110);
    assert_eq!(poll_all(&mut arbiter), "G2+1 D3a G4+1 D5a");
    assert_eq!(arbiter.counters().gap_seq_nums, 2);
}

#[test]
fn a_later_gap_keeps_its_own_time() {
    let mut arbiter = both_alive();
    packet(&mut arbiter, 10, Line::A, 3);
    packet(&mut arbiter, 60, Line::A, 5);
    arbiter.handle_timeout(110);
    assert_eq!(poll_all(&mut arbiter), "G2+1 D3a");
    assert_eq!(arbiter.poll_timeout(), Some(160));
    assert_eq!(packet(&mut arbiter, 150, Line::B, 4), "D4b D5a");
}

#[test]
fn a_packet_after_its_gap_is_late_and_its_copy_too() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 0, Line::A, 3);
    arbiter.handle_timeout(100);
    assert_eq!(poll_all(&mut arbiter), "G2+1 D3a");
    assert_eq!(arbiter.line_counters(Line::A).lost, 1);
    assert_eq!(packet(&mut arbiter, 101, Line::A, 2), "");
    assert_eq!(packet(&mut arbiter, 102, Line::B, 2), "");
    assert_eq!(arbiter.line_counters(Line::A).late, 1);
    assert_eq!(arbiter.line_counters(Line::A).lost, 0);
    assert_eq!(arbiter.line_counters(Line::B).late, 1);
    assert_eq!(arbiter.line_counters(Line::B).lost, 2);
}

#[test]
fn more_than_the_window_declares_the_oldest_numbers_lost() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 1);
    assert_eq!(packet(&mut arbiter, 1, Line::A, 3), "");
    assert_eq!(packet(&mut arbiter, 2, Line::A, 12), "G2+1 D3a G4+1");
    assert_eq!(arbiter.next_seq_num(), Some(5));
    assert_eq!(packet(&mut arbiter, 3, Line::A, 5), "D5a");
    arbiter.handle_timeout(102);
    assert_eq!(poll_all(&mut arbiter), "G6+6 D12a");
}

#[test]
fn a_stream_that_overflows_the_window_is_not_unexpected() {
    let mut arbiter = Fed::new(ArbiterOptions { ahead_max: 0, ..options() });
    packet(&mut arbiter, 0, Line::A, 1);
    for seq_num in 3..10 {
        assert_eq!(packet(&mut arbiter, 1, Line::A, seq_num), "");
    }
    let text = packet(&mut arbiter, 1, Line::A, 10);
    assert_eq!(text, "G2+1 D3a D4a D5a D6a D7a D8a D9a D10a");
}

#[test]
fn holding_nothing_declares_gaps_at_once() {
    let mut arbiter = Fed::new(ArbiterOptions { packets_held_max: 0, ..options() });
    assert_eq!(packet(&mut arbiter, 0, Line::A, 1), "D1a");
    assert_eq!(packet(&mut arbiter, 0, Line::A, 4), "G2+2 D4a");
    assert_eq!(packet(&mut arbiter, 0, Line::A, 3), "");
    assert_eq!(arbiter.line_counters(Line::A).late, 1);
}

#[test]
fn numbers_before_the_first_are_late() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 10);
    assert_eq!(packet(&mut arbiter, 0, Line::B, 9), "");
    assert_eq!(arbiter.line_counters(Line::B).late, 1);
    assert_eq!(arbiter.line_counters(Line::B).lost, 1);
}

#[test]
fn a_known_first_number_is_waited_for() {
    let mut arbiter = Fed::new(ArbiterOptions { first_seq_num: Some(1), ..options() });
    assert_eq!(packet(&mut arbiter, 0, Line::A, 2), "");
    assert_eq!(packet(&mut arbiter, 1, Line::B, 2), "");
    assert_eq!(packet(&mut arbiter, 1, Line::B, 1), "D1b D2a");
}

#[test]
fn one_unexpected_number_changes_nothing() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 5000);
    for unexpected in [u64::MAX, 6001, 1, 0] {
        assert_eq!(packet(&mut arbiter, 1, Line::A, unexpected), "");
    }
    assert_eq!(packet(&mut arbiter, 2, Line::A, 5001), "D5001a");
    assert_eq!(arbiter.line_counters(Line::A).unexpected, 4);
}

#[test]
fn one_stray_number_costs_nothing_where_messages_are_numbered() {
    for ahead in [8192, 131_071] {
        let mut arbiter =
            Fed::new(ArbiterOptions { hold_ns: 100, ..ArbiterOptions::for_messages() });
        assert_eq!(packet(&mut arbiter, 0, Line::A, 10), "D10a");
        assert_eq!(packet(&mut arbiter, 1, Line::B, 11 + ahead), "");
        assert_eq!(packet(&mut arbiter, 2, Line::A, 12), "");
        assert_eq!(packet(&mut arbiter, 3, Line::A, 11), "D11a D12a");
        arbiter.handle_timeout(1_000);
        assert_eq!(poll_all(&mut arbiter), "");
        assert_eq!(packet(&mut arbiter, 1_001, Line::A, 13), "D13a");
        assert_eq!(arbiter.counters().gaps, 0);
        assert_eq!(arbiter.line_counters(Line::B).unexpected, 1);
    }
}

#[test]
fn unexpected_numbers_in_a_row_are_a_reset_after_what_is_held() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 5000);
    packet(&mut arbiter, 0, Line::A, 5002);
    assert_eq!(packet(&mut arbiter, 1, Line::A, 1), "");
    assert_eq!(packet(&mut arbiter, 2, Line::A, 2), "");
    assert_eq!(arbiter.line_counters(Line::A).unexpected, 2);
    assert_eq!(packet(&mut arbiter, 3, Line::A, 3), "");
    assert_eq!(arbiter.poll_timeout(), Some(100));
    arbiter.handle_timeout(103);
    assert_eq!(poll_all(&mut arbiter), "G5001+1 D5002a R1 D1a D2a D3a");
    assert_eq!(packet(&mut arbiter, 4, Line::B, 1), "");
    assert_eq!(arbiter.line_counters(Line::A).unexpected, 0);
    assert_eq!(arbiter.counters().resets, 1);
}

#[test]
fn unexpected_numbers_ahead_are_a_gap_once_they_are_followed() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 5);
    packet(&mut arbiter, 0, Line::A, 7);
    assert_eq!(packet(&mut arbiter, 1, Line::A, 9000), "");
    assert_eq!(packet(&mut arbiter, 2, Line::A, 9001), "");
    assert_eq!(packet(&mut arbiter, 3, Line::A, 9003), "");
    arbiter.handle_timeout(103);
    assert_eq!(poll_all(&mut arbiter), "G6+1 D7a G8+8992 D9000a D9001a G9002+1 D9003a");
    assert_eq!(packet(&mut arbiter, 104, Line::B, 9000), "");
    assert_eq!(arbiter.counters().resets, 0);
}

#[test]
fn unexpected_numbers_never_reset_where_the_policy_says_so() {
    let policy = ArbiterOptions { unexpected: UnexpectedPolicy::Drop, ..options() };
    let mut arbiter = Fed::new(policy);
    packet(&mut arbiter, 0, Line::A, 5000);
    for seq_num in 1..100 {
        assert_eq!(packet(&mut arbiter, 1, Line::A, seq_num), "");
    }
    assert_eq!(arbiter.line_counters(Line::A).unexpected, 99);
}

#[test]
fn a_reset_by_the_caller_delivers_what_is_held_first() {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 5);
    packet(&mut arbiter, 0, Line::A, 7);
    arbiter.reset(1);
    assert_eq!(poll_all(&mut arbiter), "G6+1 D7a R1");
    assert_eq!(packet(&mut arbiter, 1, Line::A, 1), "D1a");
}

#[test]
fn a_reset_before_the_first_packet_sets_the_first_number() {
    let mut arbiter = Fed::new(options());
    arbiter.reset(4);
    assert_eq!(poll_all(&mut arbiter), "R4");
    assert_eq!(packet(&mut arbiter, 1, Line::A, 5), "");
    assert_eq!(packet(&mut arbiter, 1, Line::B, 5), "");
    assert_eq!(packet(&mut arbiter, 1, Line::B, 4), "D4b D5a");
}

#[test]
fn a_packet_above_the_length_limit_is_counted_and_missing() {
    let mut arbiter = both_alive();
    arbiter.handle_packet(1, Line::A, 2, &[0; 17]);
    assert_eq!(packet(&mut arbiter, 2, Line::A, 3), "");
    assert_eq!(arbiter.line_counters(Line::A).too_long, 1);
    assert_eq!(packet(&mut arbiter, 3, Line::B, 2), "D2b D3a");
}

#[test]
fn output_that_is_not_polled_costs_packets_and_not_memory() {
    let mut arbiter = Fed::new(options());
    for seq_num in [1, 50, 100, 150, 200] {
        arbiter.handle_packet(0, Line::A, seq_num, &u64::to_be_bytes(seq_num));
    }
    assert_eq!(arbiter.line_counters(Line::A).not_polled, 3);
    arbiter.handle_timeout(100);
    assert_eq!(poll_all(&mut arbiter), "D1a G2+41 G43+7 D50a");
}

/// Polls everything where each packet carries three numbers.
fn poll_triples(arbiter: &mut Fed) -> String {
    let mut text = Vec::new();
    while let Some(output) = arbiter.poll_output() {
        match output {
            Output::Deliver { seq_num, .. } => {
                text.push(format!("D{seq_num}"));
                arbiter.advance_to(seq_num + 3);
            }
            Output::Gap(gap) => text.push(format!("G{}+{}", gap.first, gap.count)),
            Output::Reset { seq_num } => text.push(format!("R{seq_num}")),
        }
    }
    text.join(" ")
}

#[test]
fn packets_of_several_numbers_follow_one_another() {
    let mut arbiter = Fed::new(options());
    let mut packet = |now_ns, line, seq_num| {
        arbiter.handle_packet(now_ns, line, seq_num, b"three");
        poll_triples(&mut arbiter)
    };
    assert_eq!(packet(0, Line::A, 1), "D1");
    assert_eq!(packet(1, Line::B, 1), "");
    assert_eq!(packet(2, Line::A, 7), "");
    assert_eq!(packet(3, Line::B, 4), "D4 D7");
    assert_eq!(packet(4, Line::B, 7), "");
    assert_eq!(packet(5, Line::A, 13), "");
    assert_eq!(packet(105, Line::A, 16), "G10+3 D13 D16");
    assert_eq!(packet(106, Line::B, 10), "");
    let [a, b] = Line::ALL.map(|line| arbiter.line_counters(line));
    assert_eq!((a.first, b.first, b.duplicate, b.late), (4, 1, 2, 1));
    assert_eq!(arbiter.counters().gap_seq_nums, 3);
    assert_eq!(arbiter.packets_held(), 0);
}

#[test]
fn a_packet_may_carry_more_numbers_than_are_held() {
    let mut arbiter = Fed::new(options());
    for (line, first) in [(Line::A, 1), (Line::B, 1), (Line::A, 13), (Line::B, 13), (Line::B, 25)] {
        arbiter.handle_packet(0, line, first, b"twelve");
        while let Some(output) = arbiter.poll_output() {
            assert!(matches!(output, Output::Deliver { .. }), "{output:?}");
            arbiter.advance_to(first + 12);
        }
    }
    assert_eq!(arbiter.next_seq_num(), Some(37));
    assert_eq!((arbiter.counters().delivered, arbiter.counters().gaps), (3, 0));
    let b = arbiter.line_counters(Line::B);
    assert_eq!((b.first, b.duplicate, b.late, b.unexpected), (1, 2, 0, 0));
}

#[test]
fn a_packet_that_begins_inside_another_brings_nothing_new() {
    let mut arbiter = Fed::new(options());
    for seq_num in [1, 3, 5, 6] {
        arbiter.handle_packet(0, Line::A, seq_num, b"x");
        if seq_num == 1 {
            assert!(matches!(arbiter.poll_output(), Some(Output::Deliver { seq_num: 1, .. })));
        }
    }
    arbiter.advance_to(6);
    assert!(matches!(arbiter.poll_output(), Some(Output::Deliver { seq_num: 6, .. })));
    arbiter.advance_to(5);
    arbiter.advance_to(u64::MAX);
    assert_eq!(arbiter.next_seq_num(), Some(7));
    let a = arbiter.line_counters(Line::A);
    assert_eq!((a.received, a.first, a.duplicate), (4, 2, 2));
    assert_eq!((arbiter.packets_held(), arbiter.poll_output()), (0, None));
}

/// An arbiter whose lines have both brought packet 1.
fn both_alive() -> Fed {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 0, Line::B, 1);
    arbiter
}

/// Hands in a packet with bytes of its own.
fn copy(arbiter: &mut Fed, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
    arbiter.handle_packet(now_ns, line, seq_num, bytes);
}

fn assert_delivers(arbiter: &mut Fed, expected: (u64, Line, &[u8])) {
    match arbiter.poll_output() {
        Some(Output::Deliver { seq_num, line, packet, .. }) => {
            assert_eq!((seq_num, line, packet.bytes()), expected);
        }
        other => panic!("{expected:?} expected, found {other:?}"),
    }
}

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

/// Least time of several runs to hand in 2,000 packets, with `held` packets held behind a missing one.
fn least_time(held: u64) -> std::time::Duration {
    let run = |_| {
        let options = ArbiterOptions {
            hold_ns: u64::MAX / 4,
            packets_held_max: 1 << 15,
            ahead_max: 1 << 15,
            ..Default::default()
        };
        let mut arbiter = Fed::new(options);
        packet(&mut arbiter, 0, Line::A, 1);
        for seq_num in (3..).take(held as usize) {
            assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), "");
        }
        let start = std::time::Instant::now();
        for seq_num in (3 + held..).take(2_000) {
            assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), "");
        }
        start.elapsed()
    };
    (0..5).map(run).min().expect("five runs")
}

#[test]
fn a_packet_costs_the_same_however_many_are_held() {
    // A scan of the window makes the ratio 80 and more; 20 leaves room for a busy machine.
    let (few, many) = (least_time(100), least_time(8_000));
    assert!(many < 20 * few, "{few:?} with 100 packets held, {many:?} with 8,000");
}

#[test]
fn a_packet_in_order_is_handed_back_without_a_copy_and_what_is_behind_it_stays_readable() {
    let mut arbiter = Arbiter::new(options());
    let buffer = *b"packet and more";
    let packet = Packet::new(&buffer, 6);
    let Some(Output::Deliver { packet: delivered, .. }) =
        arbiter.handle_packet(0, Line::A, 1, packet)
    else {
        panic!("the first packet is next in order");
    };
    assert_eq!(delivered.bytes().as_ptr(), buffer.as_ptr());
    assert_eq!(delivered.bytes(), b"packet");
    assert_eq!(arbiter.poll_output(), None);
    assert_eq!(arbiter.packets_held(), 0);
}

#[test]
fn a_line_that_is_alone_waits_for_reordering_only() {
    let alone = ArbiterOptions { lines: [true, false], reorder_ns: 10, ..options() };
    let mut arbiter = Fed::new(alone);
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 1, Line::A, 3);
    assert_eq!(arbiter.poll_timeout(), Some(11));
    assert_eq!(packet(&mut arbiter, 10, Line::A, 2), "D2a D3a", "out of order");
    packet(&mut arbiter, 20, Line::A, 5);
    arbiter.handle_timeout(30);
    assert_eq!(poll_all(&mut arbiter), "G4+1 D5a");
}

#[test]
fn a_line_that_falls_silent_is_not_waited_for() {
    let silent = ArbiterOptions { silent_after_ns: 1_000, reorder_ns: 10, ..options() };
    let mut arbiter = Fed::new(silent);
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 0, Line::B, 1);
    packet(&mut arbiter, 950, Line::A, 3);
    assert_eq!(arbiter.poll_timeout(), Some(1_000), "line B falls silent before the hold is over");
    arbiter.handle_timeout(1_000);
    assert_eq!(poll_all(&mut arbiter), "G2+1 D3a");
    packet(&mut arbiter, 1_100, Line::A, 5);
    assert_eq!(arbiter.poll_timeout(), Some(1_110));
    assert_eq!(arbiter.last_received_ns(Line::A), Some(1_100));
    assert_eq!(arbiter.last_received_ns(Line::B), Some(0));
    // It is back, and waited for again.
    packet(&mut arbiter, 1_105, Line::B, 3);
    assert_eq!(arbiter.poll_timeout(), Some(1_200));
}

#[test]
fn a_clock_that_is_set_back_makes_no_gap_and_no_wait_without_end() {
    for back_ns in [50, 1_000_000] {
        let mut arbiter = Fed::new(options());
        let start = 2_000_000;
        packet(&mut arbiter, start, Line::A, 1);
        packet(&mut arbiter, start, Line::B, 1);
        packet(&mut arbiter, start + 10, Line::A, 3);
        let set_back = start + 10 - back_ns;
        arbiter.handle_timeout(set_back);
        assert_eq!(packet(&mut arbiter, set_back + 20, Line::A, 4), "", "{back_ns}");
        assert_eq!(packet(&mut arbiter, set_back + 60, Line::B, 2), "D2b D3a D4a", "{back_ns}");
        packet(&mut arbiter, set_back + 70, Line::A, 6);
        let due_ns = arbiter.poll_timeout().expect("6 is held");
        assert!(due_ns <= start + 10 + 100 + 70, "{back_ns}: {due_ns}");
        arbiter.handle_timeout(due_ns);
        assert_eq!(poll_all(&mut arbiter), "G5+1 D6a", "{back_ns}");
    }
}

/// Packets 1 to 1,000 of a line that loses every hundredth, beside a line of another channel with the same
/// numbers. Returns how many packets of that line were delivered.
fn beside_a_wrong_line(lead_ns: u64, lag_ns: u64, from: u64) -> (u64, Fed) {
    let mut arbiter = Fed::new(ArbiterOptions { hold_ns: 2_000, ..options() });
    let mut arrivals: Vec<(u64, Line, u64)> = Vec::new();
    for seq_num in 1..=1_000_u64 {
        let at_ns = seq_num * 100 + 10_000;
        if seq_num % 100 != 0 {
            arrivals.push((at_ns, Line::A, seq_num));
        }
        if seq_num >= from {
            arrivals.push((at_ns + lag_ns - lead_ns, Line::B, seq_num));
        }
    }
    arrivals.sort_by_key(|(at_ns, ..)| *at_ns);
    let mut wrong = 0;
    for (at_ns, line, seq_num) in arrivals {
        let bytes = [&[line.index() as u8][..], &seq_num.to_be_bytes()[..]].concat();
        arbiter.handle_packet(at_ns, line, seq_num, &bytes);
        while let Some(output) = arbiter.poll_output() {
            let Output::Deliver { packet, .. } = output else { continue };
            wrong += u64::from(packet.bytes()[0] == 1);
        }
    }
    (wrong, arbiter)
}

#[test]
fn nothing_is_delivered_of_a_line_of_another_channel() {
    for (lead_ns, lag_ns, from) in
        [(0, 50, 1), (0, 1_500, 1), (150, 0, 20), (50, 0, 500), (0, 50, 100)]
    {
        let (wrong, mut arbiter) = beside_a_wrong_line(lead_ns, lag_ns, from);
        assert_eq!(wrong, 0, "{lead_ns} {lag_ns} {from}");
        let b = arbiter.line_counters(Line::B);
        // The last packet may still be held, to be compared.
        assert!(b.differing > 400 && b.first <= 1, "{b:?}");
        assert!(arbiter.is_put_aside(Line::B) && !arbiter.is_put_aside(Line::A));
        assert!(arbiter.counters().gap_seq_nums >= 9);
        let events: Vec<_> = std::iter::from_fn(|| arbiter.poll_event()).collect();
        assert!(
            matches!(events[..], [LineEvent::Differing { line: Line::B, .. }, ..]),
            "{events:?}"
        );
    }
}

#[test]
fn a_line_that_differs_too_often_is_put_aside_until_it_agrees() {
    let mut arbiter = both_alive();
    let mut bring = |range: std::ops::Range<u64>, b: &[u8]| {
        for seq_num in range {
            arbiter.handle_packet(seq_num, Line::A, seq_num, b"right");
            while arbiter.poll_output().is_some() {}
            arbiter.handle_packet(seq_num, Line::B, seq_num, b);
            while arbiter.poll_output().is_some() {}
        }
        let events: Vec<_> = std::iter::from_fn(|| arbiter.poll_event()).collect();
        (arbiter.is_put_aside(Line::B), events.last().copied())
    };
    assert!(!bring(2..4, b"wrong").0, "two of 16 are not enough");
    let put_aside = LineEvent::PutAside { line: Line::B, is_by_order: true };
    assert_eq!(bring(4..5, b"wrong"), (true, Some(put_aside)));
    assert_eq!(bring(5..18, b"right"), (true, None));
    assert_eq!(bring(18..19, b"right"), (false, Some(LineEvent::Resumed { line: Line::B })));
    // What only it brings counts again.
    arbiter.handle_packet(100, Line::A, 20, b"right");
    assert_eq!(arbiter.poll_output(), None);
    arbiter.handle_packet(101, Line::B, 19, b"right");
    assert_delivers(&mut arbiter, (19, Line::B, b"right"));
}

/// A wrong packet of a line that was never compared waits with the number of one that comes later.
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

/// Line A brings nothing for longer than the hold time, as slow channels do.
#[test]
fn a_line_that_was_never_compared_does_not_stand_in_for_one_that_is_not_silent() {
    let slow = ArbiterOptions { silent_after_ns: 1_000, ..options() };
    let mut arbiter = Fed::new(slow);
    packet(&mut arbiter, 0, Line::A, 1);
    copy(&mut arbiter, 500, Line::B, 2, b"wrong");
    arbiter.handle_timeout(700);
    assert_eq!(poll_all(&mut arbiter), "");
    assert_eq!(packet(&mut arbiter, 800, Line::A, 2), "D2a");
    assert!(arbiter.is_put_aside(Line::B));

    let mut arbiter = Fed::new(slow);
    packet(&mut arbiter, 0, Line::A, 1);
    assert_eq!(packet(&mut arbiter, 500, Line::B, 2), "");
    while let Some(due_ns) = arbiter.poll_timeout().filter(|due_ns| *due_ns <= 1_200) {
        arbiter.handle_timeout(due_ns);
        if due_ns < 1_000 {
            assert_eq!(poll_all(&mut arbiter), "");
        }
    }
    assert_eq!(poll_all(&mut arbiter), "D2b");
}

/// A duplicate of line A is no agreement of line B, whose packet with that number differed.
#[test]
fn packets_that_a_line_brings_twice_do_not_take_back_the_other_one() {
    let mut arbiter = both_alive();
    for seq_num in 2..40 {
        assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), format!("D{seq_num}a"));
        copy(&mut arbiter, seq_num, Line::B, seq_num, b"wrong");
        assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), "");
    }
    assert!(arbiter.is_put_aside(Line::B));
    assert_eq!(arbiter.line_counters(Line::B).differing, 38);
}

/// The number of packet 4 of line A was damaged: line B and what follows on line A are nothing to declare lost.
#[test]
fn a_damaged_number_ahead_loses_nothing() {
    for damaged in [20, 200] {
        let options = ArbiterOptions { packets_held_max: 1024, behind_max: 256, ..options() };
        let mut arbiter = Fed::new(options);
        let mut told = Vec::new();
        for seq_num in 1..=40 {
            let now_ns = 60 * seq_num;
            let on_a = if seq_num == 4 { damaged } else { seq_num };
            told.push(packet(&mut arbiter, now_ns, Line::A, on_a));
            arbiter.handle_timeout(now_ns + 5);
            told.push(poll_all(&mut arbiter));
            if seq_num != damaged {
                told.push(packet(&mut arbiter, now_ns + 10, Line::B, seq_num));
            }
        }
        told.retain(|told| !told.is_empty());
        let delivered = |n: u64| if n == 4 { "D4b".to_owned() } else { format!("D{n}a") };
        let expected: Vec<String> = (1..=40).map(delivered).collect();
        assert_eq!(told.join(" "), expected.join(" "), "{damaged}");
        assert_eq!(arbiter.counters().gaps, 0);
    }
}

/// So is a leap that the line goes on from, and one that nothing follows.
#[test]
fn a_leap_is_delivered_when_its_line_goes_on_behind_it_or_time_is_over() {
    let options = ArbiterOptions { packets_held_max: 1024, skew_ns: 1_000, ..options() };
    let mut arbiter = Fed::new(options);
    packet(&mut arbiter, 0, Line::A, 1);
    assert_eq!(packet(&mut arbiter, 10, Line::A, 300), "");
    assert_eq!(packet(&mut arbiter, 20, Line::A, 301), "");
    arbiter.handle_timeout(110);
    assert_eq!(poll_all(&mut arbiter), "G2+298 D300a D301a");
    assert_eq!(packet(&mut arbiter, 120, Line::A, 600), "");
    assert_eq!(arbiter.poll_timeout(), Some(220));
    arbiter.handle_timeout(220);
    assert_eq!(poll_all(&mut arbiter), "");
    assert!(arbiter.out_of_sequence().is_some());
    arbiter.handle_timeout(1_120);
    assert_eq!(poll_all(&mut arbiter), "G302+298 D600a");
    assert!(arbiter.out_of_sequence().is_none());
    let counters = arbiter.line_counters(Line::A);
    assert_eq!((counters.received, counters.first, counters.unexpected), (4, 4, 0));
}

/// Packets that came before those that follow nothing say nothing of them, though they are delivered later.
#[test]
fn what_was_held_before_ends_no_time_out_of_sequence() {
    let options = ArbiterOptions { packets_held_max: 1024, skew_ns: 1_000, ..options() };
    let of_leap: &[_] = &[(Line::A, 400)];
    let of_probation: &[_] = &[(Line::B, 105), (Line::B, 106), (Line::B, 107)];
    for later in [of_leap, of_probation] {
        let mut arbiter = Fed::new(options);
        assert_eq!(packet(&mut arbiter, 0, Line::A, 100), "D100a");
        assert_eq!(packet(&mut arbiter, 0, Line::A, 103), "");
        for (line, seq_num) in later {
            assert_eq!(packet(&mut arbiter, 10, *line, *seq_num), "");
        }
        arbiter.handle_timeout(150);
        assert_eq!(poll_all(&mut arbiter), "G101+2 D103a");
        assert!(arbiter.out_of_sequence().is_some(), "{later:?}");
        assert_eq!(packet(&mut arbiter, 160, Line::A, 104).split(' ').next(), Some("D104a"));
        assert!(arbiter.out_of_sequence().is_none(), "{later:?}");
    }
}

#[test]
fn a_leap_behind_a_leap_loses_neither() {
    let options = ArbiterOptions { packets_held_max: 1024, skew_ns: 1_000, ..options() };
    let mut arbiter = Fed::new(options);
    packet(&mut arbiter, 0, Line::A, 1);
    assert_eq!(packet(&mut arbiter, 10, Line::A, 200), "");
    assert_eq!(packet(&mut arbiter, 120, Line::A, 400), "G2+198 D200a");
    assert_eq!(packet(&mut arbiter, 130, Line::A, 401), "");
    arbiter.handle_timeout(230);
    assert_eq!(poll_all(&mut arbiter), "G201+199 D400a D401a");
}

/// Line A has died without a word, and line B was never compared with it: more comes than can be held.
#[test]
fn what_comes_behind_what_can_be_held_is_out_of_sequence() {
    let mut arbiter = Fed::new(ArbiterOptions { silent_after_ns: 5_000, ..options() });
    packet(&mut arbiter, 0, Line::A, 1);
    for seq_num in 2..=1_030 {
        assert_eq!(packet(&mut arbiter, seq_num, Line::B, seq_num), "");
    }
    assert!(arbiter.out_of_sequence().is_some());
    arbiter.handle_timeout(10_000);
    assert!(poll_all(&mut arbiter).ends_with("D9b"));
    assert!(arbiter.out_of_sequence().is_some(), "what came behind is not known");
}

#[test]
fn probation_without_a_hold_time_lasts_until_the_other_line_is_silent() {
    let options = ArbiterOptions { hold_ns: 0, silent_after_ns: 500, ..options() };
    let mut arbiter = Fed::new(options);
    packet(&mut arbiter, 10, Line::A, 1);
    assert_eq!(packet(&mut arbiter, 20, Line::B, 3), "");
    assert_eq!(arbiter.poll_timeout(), Some(510));
    arbiter.handle_timeout(510);
    assert_eq!(poll_all(&mut arbiter), "G2+1 D3b");
    assert_eq!(arbiter.poll_timeout(), None);
}

/// Packet 14 is parked when numbers far ahead are taken for a gap.
#[test]
fn a_parked_packet_is_delivered_before_a_gap_far_ahead() {
    let unexpected = UnexpectedPolicy::Follow { packets_min: 1 };
    let options = ArbiterOptions { packets_held_max: 4, ahead_max: 20, unexpected, ..options() };
    let mut arbiter = Fed::new(options);
    packet(&mut arbiter, 0, Line::A, 1);
    let mut arrive = |now_ns, seq_num| {
        let bytes = u64::to_be_bytes(seq_num);
        assert_eq!(arbiter.arbiter.handle_packet(now_ns, Line::A, seq_num, &bytes[..]), None);
    };
    arrive(10, 500);
    arrive(200, 14);
    assert_eq!(poll_all(&mut arbiter), "G2+12 D14a G15+485 D500a");
    assert_eq!(arbiter.packets_held(), 0);
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
