//! Unexpected numbers, and resets.

use super::*;

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

/// Packets that arrived before the unexpected ones do not end the out-of-sequence state, though
/// they are delivered later.
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

/// Line A has died silently. Line B was never compared with it and begins elsewhere: more packets
/// arrive than can be held.
#[test]
fn what_comes_behind_what_can_be_held_is_out_of_sequence() {
    let mut arbiter = Fed::new(ArbiterOptions { silent_after_ns: 5_000, ..options() });
    packet(&mut arbiter, 0, Line::A, 1);
    for seq_num in 3..=1_030 {
        assert_eq!(packet(&mut arbiter, seq_num, Line::B, seq_num), "");
    }
    assert!(arbiter.out_of_sequence().is_some());
    arbiter.handle_timeout(10_000);
    assert!(poll_all(&mut arbiter).ends_with("D9b"));
    assert!(arbiter.out_of_sequence().is_some(), "what came behind is not known");
}

/// Both lines continue at numbers beyond reach. A has sent one of them when B's are treated as a
/// gap.
#[test]
fn a_line_that_follows_to_numbers_beyond_reach_begins_no_epoch() {
    let mut arbiter = Fed::new(options());
    assert_eq!(packet(&mut arbiter, 0, Line::A, 1), "D1a");
    assert_eq!(packet(&mut arbiter, 0, Line::B, 1), "");
    for (now_ns, line, seq_num) in
        [(10_000, Line::B, 50_000), (10_001, Line::B, 50_001), (10_002, Line::A, 50_000)]
    {
        assert_eq!(packet(&mut arbiter, now_ns, line, seq_num), "");
    }
    assert_eq!(packet(&mut arbiter, 10_003, Line::B, 50_002), "");
    arbiter.handle_timeout(10_200);
    assert_eq!(poll_all(&mut arbiter), "G2+49998 D50000a D50001b D50002b");
    assert_eq!(packet(&mut arbiter, 10_210, Line::A, 50_001), "");
    assert_eq!(packet(&mut arbiter, 10_220, Line::A, 50_002), "");
    arbiter.handle_timeout(20_000);
    assert_eq!(poll_all(&mut arbiter), "");
    assert_eq!(packet(&mut arbiter, 20_010, Line::A, 50_003), "D50003a");
    assert_eq!(arbiter.line_counters(Line::A).duplicate, 2);
}

/// Line A lost the first packets of the new epoch, the SequenceReset among them; line B, which is behind, sends them.
#[test]
fn the_first_numbers_of_an_epoch_that_began_without_them_begin_no_other_one() {
    let mut arbiter = Fed::new(options());
    for seq_num in 500..=510 {
        assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), format!("D{seq_num}a"));
        assert_eq!(packet(&mut arbiter, seq_num, Line::B, seq_num), "");
    }
    for seq_num in 4..=9 {
        assert_eq!(packet(&mut arbiter, 600 + seq_num, Line::A, seq_num), "");
    }
    arbiter.handle_timeout(800);
    assert_eq!(poll_all(&mut arbiter), "R4 D4a D5a D6a D7a D8a D9a");
    for seq_num in 1..=9 {
        assert_eq!(packet(&mut arbiter, 800 + seq_num, Line::B, seq_num), "", "{seq_num}");
    }
    arbiter.handle_timeout(2_000);
    assert_eq!(poll_all(&mut arbiter), "");
    assert_eq!(packet(&mut arbiter, 2_001, Line::B, 10), "D10b");
    assert_eq!(arbiter.counters().resets, 1);
}
