//! Invalid packets: every decoder returns the same messages and the same error, and none panics.

mod support;

use std::cell::RefCell;

use proptest::prelude::*;
use support::{Any, outcome, vectors};
use tickwire_opra::{OpraVersion, generate, reference};

/// Compares all decoders on `packet` and returns true if it decodes.
fn same_outcome(decoders: &mut [(String, Any)], packet: &[u8]) -> bool {
    let expected = outcome(&mut reference::ReferenceDecoder::new(), packet);
    for (name, decoder) in decoders {
        assert_eq!(outcome(decoder, packet), expected, "{name} on {packet:02x?}");
    }
    expected.result.is_ok()
}

#[test]
fn every_single_byte_change_gives_one_verdict() {
    let mut decoders = Any::all();
    let mut packets = generate::trace(OpraVersion::V2, 3, 40).expect("generates");
    packets.extend(generate::trace(OpraVersion::V1, 3, 10).expect("generates"));
    let cases = vectors();
    packets.extend(cases.iter().map(|case| support::from_hex(case["hex"].as_str().unwrap())));
    let (mut whole, mut refused) = (0, 0);
    for mut packet in packets {
        for offset in 0..packet.len() {
            let byte = packet[offset];
            for change in [0x80, 0x01, 0x48] {
                packet[offset] = byte ^ change;
                match same_outcome(&mut decoders, &packet) {
                    true => whole += 1,
                    false => refused += 1,
                }
            }
            packet[offset] = byte;
        }
    }
    println!("{whole} changed packets decode, {refused} do not");
    assert!(whole > 100 && refused > 100);
}

#[test]
fn every_cut_packet_gives_one_verdict() {
    let mut decoders = Any::all();
    for packet in generate::trace(OpraVersion::V2, 4, 30).expect("generates") {
        for len in 0..packet.len() {
            same_outcome(&mut decoders, &packet[..len]);
        }
    }
}

#[test]
fn packets_at_and_above_the_limit_give_one_verdict() {
    let mut decoders = Any::all();
    for len in [65_534, 65_535, 65_536, 70_000] {
        let mut packet = b"\x01\x020000000001001".to_vec();
        packet.resize(len, 0x80);
        packet.push(3);
        same_outcome(&mut decoders, &packet);
        // Messages of one byte, as many as a packet can hold.
        packet[15..].iter_mut().step_by(2).for_each(|len| *len = 1);
        same_outcome(&mut decoders, &packet);
    }
}

thread_local! {
    /// Created once, because one of them compiles a grammar.
    static DECODERS: RefCell<Vec<(String, Any)>> = RefCell::new(Any::all());
}

/// Returns typical message bytes: mostly small, with stop bits.
fn wire_byte() -> impl Strategy<Value = u8> {
    prop_oneof![3 => 0x80u8.., 2 => 0..0x80u8, 1 => Just(0xEB), 1 => Just(0x80)]
}

/// Returns a message with random presence map, fields and category that often fit together.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        Just(vec![0x7F, 0x7E, 0x20, 0x07, 0xF0, 0xEB]),
        Just(vec![0x7F, 0x7F, 0x30, 0x00, 0xA0, 0xE1]),
        Just(vec![0x7E, 0, 0, 0, 0, 0x05, 0xC0, 0xD9]),
        prop::collection::vec(wire_byte(), 0..9),
    ];
    (start, prop::collection::vec(wire_byte(), 0..70)).prop_map(|(mut start, rest)| {
        start.extend(rest);
        start
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_messages_give_one_verdict(messages in prop::collection::vec(message(), 0..6), v1: bool) {
        let mut packet = if v1 { vec![1] } else { b"\x01\x020000000001001".to_vec() };
        for message in messages {
            packet.push(u8::try_from(message.len()).unwrap());
            packet.extend(message);
        }
        packet.push(3);
        DECODERS.with_borrow_mut(|decoders| same_outcome(decoders, &packet));
    }

    #[test]
    fn random_bytes_give_one_verdict(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        DECODERS.with_borrow_mut(|decoders| same_outcome(decoders, &bytes));
    }
}
