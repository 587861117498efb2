//! Messages in chunks.

use super::*;

#[test]
fn chunks_are_put_together_by_number_from_both_lines() {
    let chunk = |seq_num: u32, count: u16, number: u16, bytes: &[u8]| {
        let mut packet = seq_num.to_be_bytes().to_vec();
        let fields = [count, number, bytes.len() as u16];
        packet.extend(fields.into_iter().flat_map(u16::to_be_bytes));
        packet.extend(bytes);
        packet
    };
    let mut handler = handler_of(HandlerOptions {
        framing: Preset::B3Umdf.framing(),
        arbiter: arbiter_options(),
        ..Default::default()
    });
    let mut words = Words::default();
    let mut feed = |now_ns, source, packet: &[u8]| {
        handler.handle_packet(now_ns, source, packet, &mut words);
        words.take()
    };
    // A message of template 4 with number 5, in three chunks of one byte each.
    let message = [0xe0, 0x84, 0x85];
    let of =
        |seq_num, number: u16| chunk(seq_num, 3, number, &message[usize::from(number) - 1..][..1]);
    assert_eq!(feed(0, A, &chunk(1, 1, 1, &message)), "4:5@1a");
    assert_eq!(feed(0, B, &chunk(1, 1, 1, &message)), "", "it agrees");
    // Line A lacks the first chunk and B the last.
    assert_eq!(feed(1, A, &of(2, 2)), "");
    assert_eq!(feed(2, A, &of(2, 3)), "");
    assert_eq!(feed(3, B, &of(2, 1)), "4:5@2b");
    assert_eq!(feed(4, B, &of(2, 2)), "");
    // One line sends them in another order.
    assert_eq!(feed(5, A, &of(3, 3)), "");
    assert_eq!(feed(6, A, &of(3, 1)), "");
    assert_eq!(feed(7, A, &of(3, 2)), "4:5@3a");
    // In order as before; the other line's copy is not delivered again.
    for (number, expected) in [(1, ""), (2, ""), (3, "4:5@4a")] {
        assert_eq!(feed(8, A, &of(4, number)), expected);
    }
    assert!((1..=3).all(|number| feed(9, B, &of(4, number)).is_empty()));
}

/// A packet of B3 with one chunk of a message.
fn b3_chunk(seq_num: u32, count: u16, number: u16, bytes: &[u8]) -> Vec<u8> {
    let mut packet = seq_num.to_be_bytes().to_vec();
    let fields = [count, number, bytes.len() as u16];
    packet.extend(fields.into_iter().flat_map(u16::to_be_bytes));
    packet.extend(bytes);
    packet
}

fn b3() -> Tested {
    handler_of(HandlerOptions {
        framing: Preset::B3Umdf.framing(),
        arbiter: arbiter_options(),
        ..Default::default()
    })
}

/// Line B carries another channel, in which message 30 has other bytes.
#[test]
fn chunks_of_a_line_that_is_excluded_are_joined_with_none_of_the_other() {
    let (mut handler, mut words) = (b3(), Words::default());
    let number = |n: u8| [0xe0, 0x84, 0x80 | n];
    for seq_num in 1..30 {
        handler.handle_packet(0, A, &b3_chunk(seq_num, 1, 1, &number(5)), &mut words);
        let on_b = number(if seq_num < 10 { 5 } else { 6 });
        handler.handle_packet(0, B, &b3_chunk(seq_num, 1, 1, &on_b), &mut words);
    }
    assert!(handler.arbiter().is_excluded(Line::B));
    words.take();
    handler.handle_packet(1, B, &b3_chunk(30, 2, 1, &number(6)[..2]), &mut words);
    handler.handle_packet(1, A, &b3_chunk(30, 2, 2, &number(5)[2..]), &mut words);
    assert_eq!(words.take(), "");
    // Chunks that one line sends out of order are still joined.
    handler.handle_packet(1, A, &b3_chunk(30, 2, 1, &number(5)[..2]), &mut words);
    assert_eq!(words.take(), "4:5@30a");
}

/// Line B is still in the old epoch: its chunk of message 2 does not belong to the new message 2.
#[test]
fn chunks_of_two_epochs_are_not_joined() {
    let (mut handler, mut words) = (b3(), Words::default());
    let number = |n: u8| [0xe0, 0x84, 0x80 | n];
    for source in [A, B] {
        handler.handle_packet(0, source, &b3_chunk(1, 1, 1, &number(5)), &mut words);
    }
    handler.handle_packet(1, B, &b3_chunk(2, 2, 2, &number(9)[2..]), &mut words);
    let two = b3_chunk(2, 1, 1, &number(6));
    handler.handle_packet(1, A, &two, &mut words);
    handler.handle_packet(2, A, &b3_chunk(3, 1, 1, &[0xC0, 0x83, 0x81]), &mut words);
    handler.handle_packet(3, A, &b3_chunk(1, 1, 1, &number(7)), &mut words);
    assert_eq!(words.take(), "4:5@1a 4:6@2a 3@3a R1 4:7@1a");
    handler.handle_packet(4, A, &b3_chunk(2, 2, 1, &number(8)[..2]), &mut words);
    assert_eq!(words.take(), "");
}

proptest! {
    #[test]
    fn nothing_that_comes_in_stops_it(
        packets in proptest::collection::vec(
            (0_u8..4, any::<bool>(), 0_u8..40, proptest::collection::vec(any::<u8>(), 0..30)),
            0..60,
        ),
    ) {
        for mut handler in [cme(), numbered_inside()] {
            let mut words = Words::default();
            for (index, (source, is_framed, number, bytes)) in packets.iter().enumerate() {
                let line = if source % 2 == 0 { Line::A } else { Line::B };
                let source = if *source < 2 { FeedLine::Incremental(line) } else { FeedLine::Snapshot(line) };
                let good = bid(*number, 50);
                let packet = match is_framed {
                    true => framed(u32::from(*number), if bytes.len() % 2 == 0 { &good } else { bytes }),
                    false => bytes.clone(),
                };
                handler.handle_packet(index as u64 * 20, source, &packet, &mut words);
            }
            handler.handle_timeout(u64::MAX, &mut words);
            prop_assert_eq!(handler.arbiter().packets_held(), 0);
            prop_assert_eq!(handler.poll_timeout(), None);
        }
    }
}
