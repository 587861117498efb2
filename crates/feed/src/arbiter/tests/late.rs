//! Late packets, and the hold time that would have waited for them.

use super::*;

#[test]
fn the_hold_time_that_late_packets_needed_is_known() {
    let mut arbiter = both_alive();
    packet(&mut arbiter, 10, Line::A, 4);
    packet(&mut arbiter, 12, Line::A, 5);
    arbiter.handle_timeout(200);
    assert_eq!(poll_all(&mut arbiter), "G2+2 D4a D5a");
    assert_eq!(arbiter.hold_needed(), HoldNeeded::default());
    // The wait for 2 and 3 began with packet 4 at 10.
    packet(&mut arbiter, 260, Line::B, 2);
    packet(&mut arbiter, 255, Line::B, 3);
    let needed = HoldNeeded { two_lines_ns: Some(251), single_line_ns: None };
    assert_eq!(arbiter.hold_needed(), needed);
    assert_eq!(arbiter.line_counters(Line::B).late, 2);

    // An arbiter that holds packets for this long delivers them.
    let mut patient = Fed::new(ArbiterOptions { hold_ns: 251, ..options() });
    for line in Line::ALL {
        packet(&mut patient, 0, line, 1);
    }
    packet(&mut patient, 10, Line::A, 4);
    patient.handle_timeout(260);
    assert_eq!(packet(&mut patient, 260, Line::B, 2), "D2b");
}

#[test]
fn a_single_line_waits_for_another_time() {
    let lines = [true, false];
    let mut arbiter = Fed::new(ArbiterOptions { reorder_ns: 20, lines, ..options() });
    packet(&mut arbiter, 0, Line::A, 1);
    packet(&mut arbiter, 10, Line::A, 3);
    arbiter.handle_timeout(30);
    assert_eq!(poll_all(&mut arbiter), "G2+1 D3a");
    packet(&mut arbiter, 70, Line::A, 2);
    let needed = HoldNeeded { two_lines_ns: None, single_line_ns: Some(61) };
    assert_eq!(arbiter.hold_needed(), needed);
}

#[test]
fn numbers_lost_for_want_of_room_and_numbers_before_the_first_are_no_matter_of_time() {
    let mut arbiter = both_alive();
    // The eight packets that may be held do not reach from 2 to 12.
    for seq_num in [3, 12] {
        packet(&mut arbiter, 10, Line::A, seq_num);
    }
    assert_eq!(arbiter.counters().gap_seq_nums, 2);
    packet(&mut arbiter, 50, Line::B, 2);
    packet(&mut arbiter, 50, Line::B, 0);
    assert_eq!(arbiter.line_counters(Line::B).late, 2);
    assert_eq!(arbiter.hold_needed(), HoldNeeded::default());
}

#[test]
fn a_packet_of_the_next_epoch_is_not_late() {
    let mut arbiter = both_alive();
    packet(&mut arbiter, 10, Line::A, 3);
    arbiter.handle_timeout(200);
    assert_eq!(poll_all(&mut arbiter), "G2+1 D3a");
    arbiter.reset(1);
    assert_eq!(poll_all(&mut arbiter), "R1");
    for seq_num in [1, 2] {
        packet(&mut arbiter, 500, Line::A, seq_num);
    }
    assert_eq!(arbiter.hold_needed(), HoldNeeded::default());
}
