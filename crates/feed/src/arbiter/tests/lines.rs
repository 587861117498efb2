//! Lines that are alone or silent, that carry another channel, or that differ; clocks that step.

use super::*;

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
    // Line B is back, so missing numbers are waited for again.
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

/// Sends packets 1 to 1,000 of a line that loses every hundredth, beside a line of another channel
/// with the same numbers. Returns how many packets of the first line were delivered.
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
            let ArbiterOutput::Deliver { packet, .. } = output else { continue };
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
        // The last packet may still be held until it can be compared.
        assert!(b.differing > 400 && b.first <= 1, "{b:?}");
        assert!(arbiter.is_excluded(Line::B) && !arbiter.is_excluded(Line::A));
        assert!(arbiter.counters().gap_seq_nums >= 9);
        let events: Vec<_> = std::iter::from_fn(|| arbiter.poll_event()).collect();
        assert!(
            matches!(events[..], [LineEvent::Differing { line: Line::B, .. }, ..]),
            "{events:?}"
        );
    }
}

#[test]
fn a_line_that_differs_too_often_is_excluded_until_it_agrees() {
    let mut arbiter = both_alive();
    let mut bring = |range: std::ops::Range<u64>, b: &[u8]| {
        for seq_num in range {
            arbiter.handle_packet(seq_num, Line::A, seq_num, b"right");
            while arbiter.poll_output().is_some() {}
            arbiter.handle_packet(seq_num, Line::B, seq_num, b);
            while arbiter.poll_output().is_some() {}
        }
        let events: Vec<_> = std::iter::from_fn(|| arbiter.poll_event()).collect();
        (arbiter.is_excluded(Line::B), events.last().copied())
    };
    assert!(!bring(2..4, b"wrong").0, "two of 16 are not enough");
    let excluded = LineEvent::Excluded { line: Line::B, reason: ExclusionReason::Second };
    assert_eq!(bring(4..5, b"wrong"), (true, Some(excluded)));
    assert_eq!(bring(5..18, b"right"), (true, None));
    assert_eq!(bring(18..19, b"right"), (false, Some(LineEvent::Resumed { line: Line::B })));
    // Packets that only line A sends are accepted again.
    arbiter.handle_packet(100, Line::A, 20, b"right");
    assert_eq!(arbiter.poll_output(), None);
    arbiter.handle_packet(101, Line::B, 19, b"right");
    assert_delivers(&mut arbiter, (19, Line::B, b"right"));
}

/// Line A sends nothing for longer than the hold time, as slow channels do.
#[test]
fn a_line_that_was_never_compared_does_not_stand_in_for_one_that_is_not_silent() {
    let slow = ArbiterOptions { silent_after_ns: 1_000, ..options() };
    let mut arbiter = Fed::new(slow);
    packet(&mut arbiter, 0, Line::A, 1);
    copy(&mut arbiter, 500, Line::B, 2, b"wrong");
    arbiter.handle_timeout(700);
    assert_eq!(poll_all(&mut arbiter), "");
    assert_eq!(packet(&mut arbiter, 800, Line::A, 2), "D2a");
    assert!(arbiter.is_excluded(Line::B));

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

/// A duplicate on line A does not count as agreement of line B, whose packet with that number
/// differed.
#[test]
fn packets_that_a_line_brings_twice_do_not_take_back_the_other_one() {
    let mut arbiter = both_alive();
    for seq_num in 2..40 {
        assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), format!("D{seq_num}a"));
        copy(&mut arbiter, seq_num, Line::B, seq_num, b"wrong");
        assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), "");
    }
    assert!(arbiter.is_excluded(Line::B));
    assert_eq!(arbiter.line_counters(Line::B).differing, 38);
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

/// A held packet whose line continues below it waits on, also if the wait itself is zero.
#[test]
fn a_packet_whose_line_continues_below_it_is_examined_later_if_the_wait_is_zero() {
    let mut arbiter = Fed::new(ArbiterOptions {
        reorder_ns: 0,
        silent_after_ns: 50,
        skew_ns: 100_000,
        ..options()
    });
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 0, Line::B, 1);
    assert_eq!(packet(&mut arbiter, 10, Line::A, 6), "");
    assert_eq!(packet(&mut arbiter, 40, Line::A, 2), "D2a");
    assert_eq!(packet(&mut arbiter, 45, Line::A, 3), "D3a");
    arbiter.handle_timeout(60);
    assert_eq!(poll_all(&mut arbiter), "", "line B is silent now");
    assert!(arbiter.poll_timeout().is_some_and(|at_ns| at_ns > 60));
    assert_eq!(packet(&mut arbiter, 70, Line::A, 4), "D4a");
    assert_eq!(packet(&mut arbiter, 80, Line::A, 5), "D5a D6a");
}

/// The first wait of the packet is over while its line is unknown; then the clock is set back, and
/// the line is compared.
#[test]
fn a_packet_whose_wait_was_over_is_not_forgotten_when_the_clock_is_set_back() {
    let mut arbiter = Fed::new(ArbiterOptions { hold_ns: 12, ..options() });
    packet(&mut arbiter, 100, Line::A, 1);
    packet(&mut arbiter, 120, Line::B, 4);
    arbiter.handle_timeout(132);
    assert_eq!(poll_all(&mut arbiter), "", "line B was never compared");
    assert_eq!(packet(&mut arbiter, 10, Line::A, 2), "D2a");
    assert_eq!(packet(&mut arbiter, 12, Line::B, 2), "G3+1 D4b");
    assert_eq!((arbiter.packets_held(), arbiter.poll_timeout()), (0, None));
}

/// Lines that have sent 1 at a time from which the clock is set back.
fn before_the_clock_is_set_back() -> Fed {
    let mut arbiter = Fed::new(options());
    packet(&mut arbiter, 1_000_000, Line::A, 1);
    packet(&mut arbiter, 1_000_000, Line::B, 1);
    arbiter
}

#[test]
fn a_packet_that_waits_for_a_copy_waits_no_longer_when_the_clock_is_set_back() {
    let mut arbiter = before_the_clock_is_set_back();
    for seq_num in 2..=5 {
        packet(&mut arbiter, 1_000_000, Line::A, seq_num);
    }
    assert_eq!(packet(&mut arbiter, 1_000_000, Line::B, 6), "", "it left out four numbers");
    arbiter.handle_timeout(10);
    assert_eq!(poll_all(&mut arbiter), "");
    assert_eq!(arbiter.poll_timeout(), Some(110));
    arbiter.handle_timeout(110);
    assert_eq!(poll_all(&mut arbiter), "D6b");
}

#[test]
fn a_rejected_packet_waits_no_longer_when_the_clock_is_set_back() {
    let mut arbiter = before_the_clock_is_set_back();
    copy(&mut arbiter, 1_000_000, Line::A, 3, b"bad");
    copy(&mut arbiter, 0, Line::B, 2, b"two");
    assert_delivers(&mut arbiter, (2, Line::B, b"two"));
    assert_delivers(&mut arbiter, (3, Line::A, b"bad"));
    assert!(arbiter.reject());
    assert_eq!(arbiter.poll_timeout(), Some(100));
}

#[test]
fn a_kept_copy_delays_no_later_packet_when_the_clock_is_set_back() {
    let mut arbiter = before_the_clock_is_set_back();
    copy(&mut arbiter, 1_000_000, Line::A, 3, b"bad");
    copy(&mut arbiter, 1_000_000, Line::B, 3, b"good");
    assert_eq!(packet(&mut arbiter, 0, Line::A, 5), "");
    copy(&mut arbiter, 0, Line::A, 2, b"two");
    assert_delivers(&mut arbiter, (2, Line::A, b"two"));
    assert_delivers(&mut arbiter, (3, Line::A, b"bad"));
    assert!(arbiter.reject());
    assert_delivers(&mut arbiter, (3, Line::B, b"good"));
    assert_eq!(packet(&mut arbiter, 10, Line::A, 7), "");
    arbiter.handle_timeout(100);
    assert_eq!(poll_all(&mut arbiter), "G4+1 D5a");
    arbiter.handle_timeout(110);
    assert_eq!(poll_all(&mut arbiter), "G6+1 D7a");
}

#[test]
fn a_line_that_continues_below_a_packet_does_so_when_the_clock_is_set_back() {
    let mut arbiter = before_the_clock_is_set_back();
    assert_eq!(packet(&mut arbiter, 1_000_000, Line::A, 8), "");
    assert_eq!(packet(&mut arbiter, 0, Line::A, 2), "D2a");
    assert_eq!(packet(&mut arbiter, 10, Line::A, 3), "D3a");
    arbiter.handle_timeout(100);
    assert_eq!(poll_all(&mut arbiter), "");
}
