//! A line that begins to send when the other one has died.

use super::*;

const PACKETS: u64 = 20;
/// Repetitions of the 20 packets: pauses are known from 256 packets on.
const TIMES: u64 = 13;

/// Line A sends packets 1 to 20, one every 10 ns, and dies.
fn behind_a_dead_line() -> Fed {
    let held = ArbiterOptions { packets_held_max: 512, behind_max: 512, ..options() };
    let mut arbiter = Fed::new(held);
    for seq_num in 1..=PACKETS {
        assert_eq!(packet(&mut arbiter, seq_num * 10, Line::A, seq_num), format!("D{seq_num}a"));
        for _ in 1..TIMES {
            assert_eq!(packet(&mut arbiter, seq_num * 10, Line::A, seq_num), "");
        }
    }
    arbiter
}

/// Line B sends `count` packets from number `first` on, one every 10 ns.
fn line_b(arbiter: &mut Fed, start_ns: u64, first: u64, count: u64) -> String {
    let mut told = Vec::new();
    for index in 0..count {
        told.push(packet(arbiter, start_ns + index * 10, Line::B, first + index));
    }
    told.retain(|told| !told.is_empty());
    told.join(" ")
}

fn delivered_of_b(first: u64, count: u64) -> String {
    let told: Vec<String> = (first..first + count).map(|seq_num| format!("D{seq_num}b")).collect();
    told.join(" ")
}

#[test]
fn a_line_that_goes_on_where_the_other_one_stopped_stands_in_for_it() {
    let mut arbiter = behind_a_dead_line();
    assert_eq!(line_b(&mut arbiter, 1_000, 21, 7), "");
    assert_eq!(line_b(&mut arbiter, 1_070, 28, 10), delivered_of_b(21, 17));
    assert_eq!((arbiter.counters().gaps, arbiter.line_counters(Line::B).excluded), (0, 0));
}

#[test]
fn a_line_that_begins_soon_behind_the_awaited_number_stands_in_after_the_hold_time() {
    let mut arbiter = behind_a_dead_line();
    assert_eq!(line_b(&mut arbiter, 230, 23, 8), "");
    arbiter.handle_timeout(330);
    assert_eq!(poll_all(&mut arbiter), format!("G21+2 {}", delivered_of_b(23, 8)));
}

/// Number 27 is out of order: packets that arrived after it have not waited for the hold time when
/// line B takes over.
#[test]
fn a_number_that_the_line_which_takes_over_has_not_brought_yet_is_waited_for() {
    let mut arbiter = behind_a_dead_line();
    assert_eq!(line_b(&mut arbiter, 230, 21, 4), "");
    arbiter.handle_timeout(330);
    assert_eq!(poll_all(&mut arbiter), "", "four packets take nothing over");
    assert_eq!(line_b(&mut arbiter, 340, 25, 2), "");
    assert_eq!(line_b(&mut arbiter, 360, 28, 2), delivered_of_b(21, 6));
    assert_eq!(packet(&mut arbiter, 459, Line::B, 27), delivered_of_b(27, 3));

    assert_eq!(packet(&mut arbiter, 460, Line::B, 31), "");
    arbiter.handle_timeout(559);
    assert_eq!(poll_all(&mut arbiter), "");
    arbiter.handle_timeout(560);
    assert_eq!(poll_all(&mut arbiter), "G30+1 D31b");
}

/// The exchange pauses. Line B, which carries another channel, joins during this pause.
#[test]
fn a_line_that_begins_near_the_awaited_number_when_the_other_one_pauses_for_long_waits() {
    let mut arbiter = behind_a_dead_line();
    for seq_num in 23..=62 {
        copy(&mut arbiter, 1_000 + seq_num * 10, Line::B, seq_num, b"wrong");
        assert_eq!(poll_all(&mut arbiter), "", "{seq_num}");
    }
    assert_eq!(packet(&mut arbiter, 2_000, Line::A, 21), "D21a");
    assert_eq!(packet(&mut arbiter, 2_010, Line::A, 22), "D22a");
    assert_eq!(packet(&mut arbiter, 2_020, Line::A, 23), "D23a");
    assert_eq!(arbiter.counters().gaps, 0);
}

/// Line A lost number 21 and stopped at 100; the numbers after 21 are held.
#[test]
fn a_line_that_begins_where_the_other_one_stopped_stands_in_however_many_packets_wait() {
    let mut arbiter = behind_a_dead_line();
    for seq_num in 22..=100 {
        assert_eq!(packet(&mut arbiter, 200 + seq_num, Line::A, seq_num), "");
    }
    let told = line_b(&mut arbiter, 310, 101, 20);
    let of_a: Vec<String> = (22..=100).map(|seq_num| format!("D{seq_num}a")).collect();
    assert_eq!(told, format!("G21+1 {} {}", of_a.join(" "), delivered_of_b(101, 20)));
}

#[test]
fn a_line_that_begins_elsewhere_waits_until_the_other_one_is_silent() {
    for first in [1_000, 21 + 65] {
        let mut arbiter = behind_a_dead_line();
        assert_eq!(line_b(&mut arbiter, 1_000, first, 100), "", "{first}");
        arbiter.handle_timeout(10_000);
        assert_eq!(poll_all(&mut arbiter), "", "{first}");
    }
}

/// A pause as long as earlier ones is no sign of a dead line.
#[test]
fn a_line_that_only_pauses_as_before_is_waited_for() {
    let paused = || {
        let mut arbiter = behind_a_dead_line();
        assert_eq!(packet(&mut arbiter, 50_000, Line::A, 21), "D21a");
        assert_eq!(line_b(&mut arbiter, 60_000, 22, 10), "");
        arbiter
    };
    let mut arbiter = paused();
    arbiter.handle_timeout(130_000);
    assert_eq!(poll_all(&mut arbiter), "");
    let told = format!("D22a {}", delivered_of_b(23, 9));
    assert_eq!(packet(&mut arbiter, 140_000, Line::A, 22), told);

    let mut arbiter = paused();
    let long_ns = 50_000 + 2 * 49_800 + 1;
    while let Some(due_ns) = arbiter.poll_timeout().filter(|due_ns| *due_ns < long_ns) {
        arbiter.handle_timeout(due_ns);
        assert_eq!(poll_all(&mut arbiter), "");
    }
    assert_eq!(arbiter.poll_timeout(), Some(long_ns));
    arbiter.handle_timeout(long_ns);
    assert_eq!(poll_all(&mut arbiter), delivered_of_b(22, 10));
}

/// Line B may have been ahead of its channel's numbers for a long time, without a copy to compare.
#[test]
fn a_line_that_was_there_before_the_other_one_stopped_waits_until_that_is_silent() {
    let mut arbiter = behind_a_dead_line();
    assert_eq!(line_b(&mut arbiter, 1_000, 30, 2), "");
    assert_eq!(packet(&mut arbiter, 1_200, Line::A, 21), "D21a");
    assert_eq!(line_b(&mut arbiter, 1_210, 32, 100), "");
    arbiter.handle_timeout(50_000);
    assert_eq!(poll_all(&mut arbiter), "");
}

#[test]
fn the_last_packets_of_the_other_line_may_come_out_of_order_with_the_first_ones() {
    let mut arbiter = behind_a_dead_line();
    assert_eq!(line_b(&mut arbiter, 220, 22, 5), "");
    assert_eq!(packet(&mut arbiter, 275, Line::A, 21), "D21a");
    assert_eq!(line_b(&mut arbiter, 280, 27, 11), "");
    assert_eq!(packet(&mut arbiter, 430, Line::B, 38), delivered_of_b(22, 17));
}

/// The numbers of that line may then continue anywhere, even in a new session.
#[test]
fn a_line_that_took_over_stands_in_until_the_other_one_is_back() {
    let mut arbiter = behind_a_dead_line();
    assert_eq!(line_b(&mut arbiter, 1_000, 21, 8), delivered_of_b(21, 8));
    assert_eq!(line_b(&mut arbiter, 1_100, 2_000_000, 3), "");
    arbiter.handle_timeout(1_300);
    assert_eq!(poll_all(&mut arbiter), format!("G29+1999971 {}", delivered_of_b(2_000_000, 3)));
    assert_eq!(packet(&mut arbiter, 1_400, Line::A, 2_000_003), "D2000003a");
    copy(&mut arbiter, 1_410, Line::B, 2_000_004, b"wrong");
    arbiter.handle_timeout(3_000);
    assert_eq!(poll_all(&mut arbiter), "");
}

/// The other line continues up to the first number of this one.
#[test]
fn a_line_is_not_just_the_awaited_one_while_the_other_one_goes_on() {
    let mut arbiter = behind_a_dead_line();
    for index in 0..64 {
        assert_eq!(packet(&mut arbiter, 210 + index, Line::B, 31 + index), "");
        if index % 10 == 0 {
            let seq_num = 21 + index / 10;
            assert_eq!(packet(&mut arbiter, 210 + index, Line::A, seq_num), format!("D{seq_num}a"));
        }
    }
    for seq_num in 28..=30 {
        assert_eq!(packet(&mut arbiter, 275, Line::A, seq_num), format!("D{seq_num}a"));
    }
}

#[test]
fn a_line_beside_one_that_goes_on_does_not_take_over() {
    let mut arbiter = behind_a_dead_line();
    for seq_num in 21..=60 {
        copy(&mut arbiter, seq_num * 10, Line::B, seq_num, b"wrong");
        assert_eq!(poll_all(&mut arbiter), "");
        assert_eq!(
            packet(&mut arbiter, seq_num * 10 + 5, Line::A, seq_num),
            format!("D{seq_num}a")
        );
    }
    assert!(arbiter.is_excluded(Line::B));
}

/// The numbers of two channels are closest when a day begins, and a day begins with bursts.
#[test]
fn a_line_whose_pauses_are_not_known_is_waited_for() {
    let held = ArbiterOptions { packets_held_max: 512, behind_max: 512, ..options() };
    let mut arbiter = Fed::new(held);
    for seq_num in 1..=PACKETS {
        assert_eq!(packet(&mut arbiter, seq_num * 10, Line::A, seq_num), format!("D{seq_num}a"));
    }
    assert_eq!(line_b(&mut arbiter, 1_000, 21, 100), "");
    arbiter.handle_timeout(10_000);
    assert_eq!(poll_all(&mut arbiter), "");
}

/// All packets of one burst count, however many there are.
#[test]
fn a_line_that_took_over_brings_all_that_follows() {
    let mut arbiter = behind_a_dead_line();
    assert_eq!(line_b(&mut arbiter, 1_000, 21, 200), delivered_of_b(21, 200));
    assert_eq!(line_b(&mut arbiter, 3_001, 221, 100), delivered_of_b(221, 100));
}
