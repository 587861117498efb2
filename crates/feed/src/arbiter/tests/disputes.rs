//! A line that suddenly carries another channel.

use super::*;

/// Both lines send 20 packets, line B first.
fn agreeing() -> Fed {
    agreeing_behind(Line::B)
}

/// Both lines send 20 packets, `leader` first.
fn agreeing_behind(leader: Line) -> Fed {
    let held = ArbiterOptions { packets_held_max: 1024, behind_max: 512, ..options() };
    let mut arbiter = Fed::new(ArbiterOptions { reorder_ns: 10, ..held });
    for seq_num in 1..=20 {
        assert!(!packet(&mut arbiter, seq_num, leader, seq_num).is_empty());
        assert_eq!(packet(&mut arbiter, seq_num, leader.other(), seq_num), "");
    }
    arbiter
}

/// Line A sends packets, one per nanosecond; each is delivered.
fn line_a_goes_on(arbiter: &mut Fed, numbers: std::ops::RangeInclusive<u64>) {
    for seq_num in numbers {
        assert_eq!(packet(arbiter, seq_num, Line::A, seq_num), format!("D{seq_num}a"));
    }
}

#[test]
fn a_line_that_leads_with_another_channel_brings_nothing() {
    let mut arbiter = agreeing();
    for seq_num in 30..=35 {
        copy(&mut arbiter, 20, Line::B, seq_num, b"another");
        assert_eq!(poll_all(&mut arbiter), "");
    }
    line_a_goes_on(&mut arbiter, 21..=60);
    assert!(arbiter.is_excluded(Line::B) && !arbiter.is_excluded(Line::A));
    assert_eq!(arbiter.out_of_sequence(), None, "nothing of it was delivered");
    assert_eq!((arbiter.counters().gaps, arbiter.packets_held()), (0, 0));
    let events: Vec<_> = std::iter::from_fn(|| arbiter.poll_event()).collect();
    let excluded = LineEvent::Excluded { line: Line::B, reason: ExclusionReason::LeavesOut };
    assert_eq!(events, [LineEvent::Differing { line: Line::B, seq_num: 30 }, excluded]);
    // Line B is back.
    assert_eq!(packet(&mut arbiter, 61, Line::B, 60), "");
    assert_eq!(packet(&mut arbiter, 62, Line::B, 61), "D61b");
    assert_eq!(arbiter.poll_event(), Some(LineEvent::Resumed { line: Line::B }));
}

#[test]
fn a_line_that_brings_another_channel_behind_the_other_one_is_excluded_at_once() {
    let mut arbiter = agreeing();
    line_a_goes_on(&mut arbiter, 21..=60);
    copy(&mut arbiter, 61, Line::B, 25, b"another");
    assert_eq!(poll_all(&mut arbiter), "");
    assert!(arbiter.is_excluded(Line::B));
    assert_eq!(arbiter.out_of_sequence(), None);
}

#[test]
fn what_a_wrong_line_brought_before_the_other_one_is_said_to_be_unknown() {
    let mut arbiter = agreeing();
    line_a_goes_on(&mut arbiter, 21..=29);
    copy(&mut arbiter, 30, Line::B, 30, b"another");
    assert_eq!(poll_all(&mut arbiter), "", "line A may bring it");
    arbiter.handle_timeout(130);
    assert_delivers(&mut arbiter, (30, Line::B, b"another"));
    copy(&mut arbiter, 131, Line::B, 31, b"another");
    assert_delivers(&mut arbiter, (31, Line::B, b"another"));
    assert_eq!(arbiter.out_of_sequence(), None, "nothing has shown it yet");
    assert_eq!(packet(&mut arbiter, 140, Line::A, 30), "");
    assert!(arbiter.is_excluded(Line::B) && !arbiter.is_excluded(Line::A));
    assert_eq!(arbiter.out_of_sequence(), Some(OutOfSequence { may_hide_updates: true }));
    assert_eq!(packet(&mut arbiter, 141, Line::A, 31), "");
    copy(&mut arbiter, 142, Line::B, 32, b"another");
    assert_eq!(packet(&mut arbiter, 143, Line::A, 32), "D32a");
    assert_eq!(arbiter.out_of_sequence(), None);
}

/// Line B sends the very next number: nothing tells which line is wrong.
#[test]
fn lines_that_differ_without_a_sign_of_which_is_wrong_are_out_of_sequence_until_they_agree() {
    let mut arbiter = agreeing_behind(Line::A);
    for seq_num in 21..=30 {
        assert_eq!(packet(&mut arbiter, seq_num, Line::A, seq_num), format!("D{seq_num}a"));
        copy(&mut arbiter, seq_num, Line::B, seq_num, b"another");
        assert_eq!(poll_all(&mut arbiter), "");
        // A single differing copy was damaged in transit.
        assert_eq!(arbiter.out_of_sequence().is_some(), seq_num > 21, "{seq_num}");
    }
    assert_eq!(packet(&mut arbiter, 31, Line::A, 31), "D31a");
    assert!(arbiter.out_of_sequence().is_some());
    assert_eq!(packet(&mut arbiter, 31, Line::B, 31), "");
    assert!(arbiter.out_of_sequence().is_none(), "also if none comes any more");
    assert_eq!(packet(&mut arbiter, 32, Line::A, 32), "D32a");
    assert!(arbiter.out_of_sequence().is_none());
}

#[test]
fn a_line_that_lost_several_packets_waits_for_the_hold_time_at_most() {
    let mut arbiter = agreeing();
    line_a_goes_on(&mut arbiter, 21..=24);
    assert_eq!(packet(&mut arbiter, 25, Line::B, 25), "");
    assert_eq!(packet(&mut arbiter, 26, Line::B, 26), "");
    assert_eq!(packet(&mut arbiter, 27, Line::A, 25), "D25b D26b", "the copy agrees");
    assert_eq!(packet(&mut arbiter, 28, Line::B, 27), "D27b");
    line_a_goes_on(&mut arbiter, 28..=31);
    assert_eq!(packet(&mut arbiter, 32, Line::B, 32), "");
    assert_eq!(arbiter.poll_timeout(), Some(132));
    arbiter.handle_timeout(132);
    assert_eq!(poll_all(&mut arbiter), "D32b");
    assert_eq!(arbiter.counters().gaps, 0);
}

/// Ordinary losses delay nothing.
#[test]
fn a_line_that_lost_one_packet_does_not_wait() {
    let mut arbiter = agreeing();
    line_a_goes_on(&mut arbiter, 21..=23);
    assert_eq!(packet(&mut arbiter, 24, Line::B, 24), "D24b");
}

/// Line B delivered packets of another channel; line A sends each of its own twice.
#[test]
fn packets_that_a_line_repeats_begin_no_epoch_where_the_other_line_differs() {
    let mut arbiter = agreeing_behind(Line::A);
    for seq_num in 21..=24 {
        copy(&mut arbiter, 30, Line::B, seq_num, b"another");
        assert_delivers(&mut arbiter, (seq_num, Line::B, b"another"));
    }
    for now_ns in [31, 32] {
        for seq_num in 21..=24 {
            assert_eq!(packet(&mut arbiter, now_ns, Line::A, seq_num), "");
        }
    }
    let differing: u64 = Line::ALL.map(|line| arbiter.line_counters(line).differing).iter().sum();
    arbiter.handle_timeout(1_000_000);
    assert_eq!((poll_all(&mut arbiter), differing), (String::new(), 4));
    assert_eq!(arbiter.counters().resets, 0);
}

/// Line B delivered packets of another channel. Line A is excluded, because nothing shows which of
/// them is wrong.
#[test]
fn a_line_that_comes_back_begins_no_epoch_while_the_one_excluded_goes_on() {
    let mut arbiter = agreeing_behind(Line::B);
    for seq_num in 21..=40 {
        copy(&mut arbiter, seq_num, Line::B, seq_num, b"another");
        assert_delivers(&mut arbiter, (seq_num, Line::B, b"another"));
    }
    for seq_num in 21..=25 {
        assert_eq!(packet(&mut arbiter, 41, Line::A, seq_num), "");
    }
    assert!(arbiter.is_excluded(Line::A));
    // Numbers below the last ones, as in a new session.
    for seq_num in 26..=40 {
        let now_ns = seq_num * 1_000;
        assert_eq!(packet(&mut arbiter, now_ns, Line::B, seq_num), "", "{seq_num}");
        assert_eq!(packet(&mut arbiter, now_ns + 50, Line::A, seq_num), "", "{seq_num}");
    }
    assert_eq!(packet(&mut arbiter, 41_000, Line::B, 41), "D41b");
    assert_eq!(packet(&mut arbiter, 41_000, Line::A, 41), "");
    arbiter.handle_timeout(2_000_000_000);
    assert_eq!((poll_all(&mut arbiter), arbiter.counters().resets), (String::new(), 0));
}

/// Line B is further ahead than `reorder_max`, and line A is always first with the numbers at which
/// it returns.
#[test]
fn a_line_that_comes_back_to_where_the_other_one_stands_begins_no_epoch() {
    let mut arbiter = agreeing_behind(Line::B);
    for seq_num in 21..=120 {
        copy(&mut arbiter, seq_num, Line::B, seq_num, b"another");
        assert_delivers(&mut arbiter, (seq_num, Line::B, b"another"));
    }
    for seq_num in 21..=29 {
        assert_eq!(packet(&mut arbiter, 121, Line::A, seq_num), "");
    }
    for seq_num in 30..=120 {
        let now_ns = seq_num * 1_000;
        assert_eq!(packet(&mut arbiter, now_ns, Line::A, seq_num), "", "{seq_num}");
        assert_eq!(packet(&mut arbiter, now_ns + 50, Line::B, seq_num), "", "{seq_num}");
        arbiter.handle_timeout(now_ns + 900);
        assert_eq!(poll_all(&mut arbiter), "", "{seq_num}");
    }
    assert_eq!(packet(&mut arbiter, 121_000, Line::B, 121), "D121b");
    assert_eq!(packet(&mut arbiter, 121_000, Line::A, 121), "");
    arbiter.handle_timeout(2_000_000_000);
    assert_eq!((poll_all(&mut arbiter), arbiter.counters().resets), (String::new(), 0));
    assert_eq!(arbiter.packets_held(), 0);
}
