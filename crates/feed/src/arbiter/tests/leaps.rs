//! Packets far ahead of all others, whose numbers may be wrong.

use super::*;

/// A line loses many packets: it sends only one of them, 300 numbers ahead, and continues at `last`.
fn with_numbers_after_a_leap(first: u64, last: u64) -> Fed {
    with_numbers_after(first, first + 299, last)
}

/// A line begins at `first`, sends packet `alone` in the middle of a long silence, and continues at `last`.
fn with_numbers_after(first: u64, alone: u64, last: u64) -> Fed {
    let lines = [true, false];
    let held = ArbiterOptions { packets_held_max: 512, behind_max: 4_096, ..options() };
    let mut arbiter = Fed::new(ArbiterOptions { lines, ..held });
    packet(&mut arbiter, 0, Line::A, first);
    for (now_ns, seq_num) in
        [(1_000, alone), (50_000, last), (50_001, last + 1), (50_002, last + 2)]
    {
        assert_eq!(packet(&mut arbiter, now_ns, Line::A, seq_num), "");
    }
    arbiter.handle_timeout(60_000);
    arbiter
}

/// Packets that the line repeats neither confirm nor contradict its leap.
#[test]
fn copies_of_its_own_packets_do_not_contradict_a_leap() {
    let lines = [true, false];
    let mut arbiter = Fed::new(ArbiterOptions { lines, packets_held_max: 512, ..options() });
    for seq_num in 1..=5 {
        packet(&mut arbiter, 0, Line::A, seq_num);
    }
    for seq_num in [300, 4, 5, 3] {
        assert_eq!(packet(&mut arbiter, 10, Line::A, seq_num), "");
    }
    packet(&mut arbiter, 20, Line::A, 301);
    arbiter.handle_timeout(200);
    assert_eq!(poll_all(&mut arbiter), "G6+294 D300a D301a");
}

#[test]
fn a_leap_is_delivered_before_a_gap_to_numbers_beyond_reach() {
    let mut arbiter = with_numbers_after_a_leap(1, 50_000);
    assert_eq!(poll_all(&mut arbiter), "G2+298 D300a");
    arbiter.handle_timeout(60_001);
    assert_eq!(poll_all(&mut arbiter), "G301+49699 D50000a D50001a D50002a");
}

#[test]
fn a_leap_that_is_the_reset_begins_the_epoch_of_numbers_beyond_reach() {
    let mut arbiter = with_numbers_after_a_leap(1, 50_000);
    assert!(matches!(
        arbiter.poll_output(),
        Some(ArbiterOutput::Gap(Gap { first: 2, count: 298 }))
    ));
    assert!(matches!(arbiter.poll_output(), Some(ArbiterOutput::Deliver { seq_num: 300, .. })));
    arbiter.reset(50_000);
    assert_eq!(poll_all(&mut arbiter), "R50000 D50000a D50001a D50002a");
}

#[test]
fn a_leap_is_delivered_before_an_epoch_that_nothing_told() {
    let mut arbiter = with_numbers_after_a_leap(1_000, 5);
    assert_eq!(poll_all(&mut arbiter), "G1001+298 D1299a");
    arbiter.handle_timeout(60_001);
    assert_eq!(poll_all(&mut arbiter), "R5 D5a D6a D7a");
}

#[test]
fn a_leap_that_is_the_reset_begins_the_epoch_of_numbers_before() {
    let mut arbiter = with_numbers_after_a_leap(1_000, 5);
    assert!(matches!(
        arbiter.poll_output(),
        Some(ArbiterOutput::Gap(Gap { first: 1_001, count: 298 }))
    ));
    assert!(matches!(arbiter.poll_output(), Some(ArbiterOutput::Deliver { seq_num: 1_299, .. })));
    arbiter.reset(1);
    let mut told = poll_all(&mut arbiter);
    arbiter.handle_timeout(70_000);
    told += &poll_all(&mut arbiter);
    assert_eq!(told, "R1 G1+4 D5a D6a D7a");
}

#[test]
fn a_packet_alone_beyond_reach_is_delivered_before_the_gap_behind_it() {
    let mut arbiter = with_numbers_after(1, 1_502, 50_000);
    assert_eq!(poll_all(&mut arbiter), "G2+1500 D1502a");
    arbiter.handle_timeout(60_001);
    assert_eq!(poll_all(&mut arbiter), "G1503+48497 D50000a D50001a D50002a");
}

#[test]
fn a_packet_alone_beyond_reach_is_delivered_before_an_epoch_that_nothing_told() {
    let mut arbiter = with_numbers_after(1_000, 2_501, 5);
    assert_eq!(poll_all(&mut arbiter), "G1001+1500 D2501a");
    arbiter.handle_timeout(60_001);
    assert_eq!(poll_all(&mut arbiter), "R5 D5a D6a D7a");
}

#[test]
fn a_packet_alone_beyond_reach_may_be_the_reset_of_the_numbers_behind_it() {
    let mut arbiter = with_numbers_after(1_000, 2_501, 5);
    assert!(matches!(
        arbiter.poll_output(),
        Some(ArbiterOutput::Gap(Gap { first: 1_001, count: 1_500 }))
    ));
    assert!(matches!(arbiter.poll_output(), Some(ArbiterOutput::Deliver { seq_num: 2_501, .. })));
    arbiter.reset(1);
    let mut told = poll_all(&mut arbiter);
    arbiter.handle_timeout(70_000);
    told += &poll_all(&mut arbiter);
    assert_eq!(told, "R1 G1+4 D5a D6a D7a");
}

/// Further ahead than the history reaches, the number is more likely damaged: no gap of millions is
/// declared for it.
#[test]
fn a_packet_alone_far_beyond_reach_is_dropped_where_an_epoch_begins() {
    let mut arbiter = with_numbers_after(1_000, 1_000_000, 5);
    assert_eq!(poll_all(&mut arbiter), "R5 D5a D6a D7a");
}

/// The number of packet 4 of line A was damaged. No packet of line B, and no later one of line A,
/// is declared lost.
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

/// A leap is delivered if the line continues from it, and also if nothing follows it.
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

/// Line A sends number 21 as `wrong`; both lines continue with pauses of many hold times.
fn with_a_damaged_number(wrong: u64) -> Fed {
    let held = ArbiterOptions { packets_held_max: 2_048, behind_max: 4_096, ..options() };
    let mut arbiter = Fed::new(ArbiterOptions { reorder_max: 1_024, ..held });
    for seq_num in 1..=20 {
        packet(&mut arbiter, seq_num, Line::A, seq_num);
        packet(&mut arbiter, seq_num, Line::B, seq_num);
    }
    copy(&mut arbiter, 21, Line::A, wrong, b"21");
    assert_eq!(packet(&mut arbiter, 21, Line::B, 21), "D21b");
    for (seq_num, at_ns) in [(22, 22), (23, 23), (24, 1_000), (25, 2_000)] {
        assert_eq!(packet(&mut arbiter, at_ns, Line::A, seq_num), format!("D{seq_num}a"));
        assert_eq!(packet(&mut arbiter, at_ns, Line::B, seq_num), "");
    }
    for at_ns in [2_100, 2_900] {
        arbiter.handle_timeout(at_ns);
        assert_eq!(poll_all(&mut arbiter), "");
    }
    arbiter
}

/// On feeds that number messages, packets may be out of order by many numbers.
#[test]
fn a_damaged_number_that_is_far_ahead_is_dropped_where_packets_have_many_numbers() {
    for wrong in [21 + 128, 21 + 160, 21 + 1_000] {
        let arbiter = with_a_damaged_number(wrong);
        assert_eq!((arbiter.packets_held(), arbiter.counters().gaps), (0, 0), "{wrong}");
    }
}

#[test]
fn a_damaged_number_that_is_near_opens_no_gap_while_its_line_goes_on_below() {
    let arbiter = with_a_damaged_number(21 + 16);
    assert_eq!((arbiter.packets_held(), arbiter.counters().gaps), (1, 0));
}
