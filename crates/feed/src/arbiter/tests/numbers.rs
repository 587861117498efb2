//! Numbers in order, gaps, late packets, and the limits of held packets.

use super::*;

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

/// When the line pauses while packets wait for missing numbers, those arrive further out of order
/// than usual.
#[test]
fn a_number_that_is_waited_for_is_taken_however_far_its_line_is_ahead() {
    let held = ArbiterOptions { packets_held_max: 1024, behind_max: 256, ..options() };
    let mut arbiter = Fed::new(held);
    packet(&mut arbiter, 0, Line::A, 1);
    for seq_num in (2..100).chain(101..200).chain(201..400) {
        packet(&mut arbiter, seq_num / 10, Line::A, seq_num);
    }
    assert_eq!(packet(&mut arbiter, 50, Line::A, 200), "");
    let told = packet(&mut arbiter, 50, Line::A, 100);
    assert!(told.starts_with("D100a D101a") && told.ends_with("D399a"), "{told}");
    assert_eq!(arbiter.counters().gaps, 0);
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

/// Returns the least time, over several runs, to hand in 2,000 packets with `held` packets held
/// behind a missing one.
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
    // A scan of the window makes the ratio 80 or more; 20 leaves room for a busy machine.
    let (few, many) = (least_time(100), least_time(8_000));
    assert!(many < 20 * few, "{few:?} with 100 packets held, {many:?} with 8,000");
}

#[test]
fn a_packet_in_order_is_handed_back_without_a_copy_and_what_is_behind_it_stays_readable() {
    let mut arbiter = Arbiter::new(options());
    let buffer = *b"packet and more";
    let packet = BufferedPacket::new(&buffer, 6);
    let Some(ArbiterOutput::Deliver { packet: delivered, .. }) =
        arbiter.handle_packet(0, Line::A, 1, packet)
    else {
        panic!("the first packet is next in order");
    };
    assert_eq!(delivered.bytes().as_ptr(), buffer.as_ptr());
    assert_eq!(delivered.bytes(), b"packet");
    assert_eq!(arbiter.poll_output(), None);
    assert_eq!(arbiter.packets_held(), 0);
}

/// Packet 14 is parked when numbers far ahead are treated as a gap.
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
