//! Packets far ahead of all others, whose numbers may be wrong.

use super::*;

/// A line misses much, of which it brings one packet alone, 300 numbers ahead, and goes on at `last`.
fn with_numbers_after_a_leap(first: u64, last: u64) -> Fed {
    let lines = [true, false];
    let mut arbiter = Fed::new(ArbiterOptions { lines, packets_held_max: 512, ..options() });
    packet(&mut arbiter, 0, Line::A, first);
    for (now_ns, seq_num) in
        [(1_000, first + 299), (50_000, last), (50_001, last + 1), (50_002, last + 2)]
    {
        assert_eq!(packet(&mut arbiter, now_ns, Line::A, seq_num), "");
    }
    arbiter.handle_timeout(60_000);
    arbiter
}

/// Packets that the line brings again say nothing of its leap.
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
    assert!(matches!(arbiter.poll_output(), Some(Output::Gap(Gap { first: 2, count: 298 }))));
    assert!(matches!(arbiter.poll_output(), Some(Output::Deliver { seq_num: 300, .. })));
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
    assert!(matches!(arbiter.poll_output(), Some(Output::Gap(Gap { first: 1_001, count: 298 }))));
    assert!(matches!(arbiter.poll_output(), Some(Output::Deliver { seq_num: 1_299, .. })));
    arbiter.reset(1);
    let mut told = poll_all(&mut arbiter);
    arbiter.handle_timeout(70_000);
    told += &poll_all(&mut arbiter);
    assert_eq!(told, "R1 G1+4 D5a D6a D7a");
}
