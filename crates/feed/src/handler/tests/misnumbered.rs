//! Packets whose own number differs from that of their first message.

use super::*;

/// Packet 20 of line A claims to be packet 21; line B sends both.
#[test]
fn a_packet_whose_number_is_not_that_of_its_message_comes_from_the_other_line() {
    let (mut handler, mut words) = (cme(), Words::default());
    let numbered = |seq_num: u32, own: u8| framed(seq_num, &[0xE0, 0x84, 0x80 | own]);
    for seq_num in 1..=30 {
        let on_a = if seq_num == 20 { 21 } else { u32::from(seq_num) };
        handler.handle_packet(seq_num.into(), A, &numbered(on_a, seq_num), &mut words);
        handler.handle_packet(seq_num.into(), B, &numbered(seq_num.into(), seq_num), &mut words);
    }
    let told = words.take();
    let told: Vec<&str> = told.split(' ').filter(|word| word.starts_with("4:")).collect();
    let numbers: Vec<String> = (1..=30).map(|n| format!("4:{n}@{n}")).collect();
    assert_eq!(told.len(), 30, "{told:?}");
    assert!(told.iter().zip(&numbers).all(|(told, number)| told.starts_with(number)), "{told:?}");
    assert_eq!(handler.counters().messages.undecodable, 1);
}

/// Numbers of several consecutive packets restart or jump far ahead. Numbers of messages continue,
/// and no message is lost.
#[test]
fn packets_whose_numbers_part_from_those_of_messages_where_they_begin_anew_are_told() {
    for first in [1, 100_000] {
        let (mut handler, mut words) = (cme(), Words::default());
        for own in 60..100_u8 {
            let on_packet = if own < 80 { own.into() } else { first + u32::from(own - 80) };
            let packet = framed(on_packet, &[0xE0, 0x84, 0x80 | own]);
            let now_ns = 1_000 * u64::from(own);
            handler.handle_packet(now_ns, A, &packet, &mut words);
            handler.handle_packet(now_ns, B, &packet, &mut words);
            handler.handle_timeout(now_ns + 500, &mut words);
        }
        let told = words.take();
        let told: Vec<&str> = told.split(' ').filter(|word| word.starts_with("4:")).collect();
        assert_eq!(told.len(), 40, "{told:?}");
        assert_eq!(handler.counters().messages.undecodable, 0);
    }
}
