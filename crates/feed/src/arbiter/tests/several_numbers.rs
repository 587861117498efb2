//! Packets that carry several numbers.

use super::*;

/// Polls everything; each packet carries three numbers.
fn poll_triples(arbiter: &mut Fed) -> String {
    let mut text = Vec::new();
    while let Some(output) = arbiter.poll_output() {
        match output {
            ArbiterOutput::Deliver { seq_num, .. } => {
                text.push(format!("D{seq_num}"));
                arbiter.advance_to(seq_num + 3);
            }
            ArbiterOutput::Gap(gap) => text.push(format!("G{}+{}", gap.first, gap.count)),
            ArbiterOutput::Reset { seq_num } => text.push(format!("R{seq_num}")),
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
            assert!(matches!(output, ArbiterOutput::Deliver { .. }), "{output:?}");
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
            assert!(matches!(
                arbiter.poll_output(),
                Some(ArbiterOutput::Deliver { seq_num: 1, .. })
            ));
        }
    }
    arbiter.advance_to(6);
    assert!(matches!(arbiter.poll_output(), Some(ArbiterOutput::Deliver { seq_num: 6, .. })));
    arbiter.advance_to(5);
    arbiter.advance_to(u64::MAX);
    assert_eq!(arbiter.next_seq_num(), Some(7));
    let a = arbiter.line_counters(Line::A);
    assert_eq!((a.received, a.first, a.duplicate), (4, 2, 2));
    assert_eq!((arbiter.packets_held(), arbiter.poll_output()), (0, None));
}
