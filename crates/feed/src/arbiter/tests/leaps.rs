//! Packets far ahead of all others, whose numbers may be wrong.

use super::*;

/// A line misses much, of which it brings one packet alone, and goes on at numbers beyond reach.
fn with_numbers_beyond_a_leap() -> Fed {
    let lines = [true, false];
    let mut arbiter = Fed::new(ArbiterOptions { lines, packets_held_max: 512, ..options() });
    packet(&mut arbiter, 0, Line::A, 1);
    for (now_ns, seq_num) in [(1_000, 300), (50_000, 50_000), (50_001, 50_001), (50_002, 50_002)] {
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
    let mut arbiter = with_numbers_beyond_a_leap();
    assert_eq!(poll_all(&mut arbiter), "G2+298 D300a");
    arbiter.handle_timeout(60_001);
    assert_eq!(poll_all(&mut arbiter), "G301+49699 D50000a D50001a D50002a");
}

#[test]
fn a_leap_that_is_the_reset_begins_the_epoch_of_numbers_beyond_reach() {
    let mut arbiter = with_numbers_beyond_a_leap();
    assert!(matches!(arbiter.poll_output(), Some(Output::Gap(Gap { first: 2, count: 298 }))));
    assert!(matches!(arbiter.poll_output(), Some(Output::Deliver { seq_num: 300, .. })));
    arbiter.reset(50_000);
    assert_eq!(poll_all(&mut arbiter), "R50000 D50000a D50001a D50002a");
}
