//! Version 1.03 with its reserved fields: every decoder returns the messages, and the encoder their
//! bytes.

mod support;

use std::collections::BTreeMap;

use serde_json::Value;
use support::{Any, from_hex, packets, shared};
use tickwire_opra::{
    Chars, Decode, Field, OpraEncodeErrorKind, OpraEncoder, OpraMessageDraft, OpraVersion, json,
    reference,
};

/// A packet with every category that has reserved fields, and every appendage. The reserved fields
/// have one or two characters, change, and are copied from the previous message.
const PACKET: &str = "01\
    213f7f0400e6e1a0d0a08706259358595a20a020a0c5b4d1c30360bc8cc202d9a0a0\
    0a20000000a8e407d12dad\
    1a2001500005ffe685c302b602e802ac02d9ab8fc22efa02d402de\
    1030002a0fa0ebc19ea8c3d7c302dd88a0\
    0a000003f0cdcec302d589\
    0900000202a0cf02def8\
    04000082c1\
    0c20400000c8c64555d201ccf8\
    34300000004000ecd9c9825158c120a030313230302e31b030313230302e34b0\
    5158c22da030303032302e31b030303032302e34b0\
    14100000000000f0a0815158c330303039392e30b1\
    03";

/// The packet's messages, one a line.
const MESSAGES: &str = include_str!("data/version_1.jsonl");

fn encode_again(packet: &[u8]) -> Vec<u8> {
    let mut encoder = OpraEncoder::new(OpraVersion::V1);
    let encode = |message: tickwire_opra::OpraMessage<'_>| encoder.push(&message).expect("encodes");
    reference::ReferenceDecoder::new().decode_packet(packet, encode).expect("decodes");
    encoder.finish().expect("finishes").to_vec()
}

#[test]
fn reserved_fields_are_decoded_and_encoded_again() {
    let packet = from_hex(PACKET);
    for (name, mut decoder) in Any::all() {
        let mut messages = Vec::new();
        let decoded =
            decoder.decode_packet(&packet, |message| messages.push(json::to_string(&message)));
        assert_eq!(decoded.map(|summary| summary.version), Ok(OpraVersion::V1), "{name}");
        assert!(messages.iter().eq(MESSAGES.lines()), "{name}: {messages:?}");
    }
    assert_eq!(encode_again(&packet), packet);
}

/// Returns a message of `category` whose numbers are all 32, without strings.
fn draft_of(category: u8) -> OpraMessageDraft {
    let mut draft = OpraMessageDraft::new(OpraVersion::V1);
    Field::ALL.into_iter().for_each(|field| draft.set_number(field, 32));
    draft.set_number(Field::Category, category.into());
    draft.set_seq_num(7);
    draft
}

/// Two quotes of a sender that does not use reserved fields.
#[test]
fn reserved_fields_that_are_never_sent_are_absent() {
    let mut draft = draft_of(b'k');
    draft.set_number(Field::Bbo, u32::from(b'C'));
    let mut encoder = OpraEncoder::new(OpraVersion::V1);
    encoder.begin(0);
    encoder.push(&draft.message().expect("complete")).expect("encodes");
    encoder.push(&draft.message().expect("complete")).expect("encodes");
    let packet = encoder.finish().expect("finishes").to_vec();
    for (name, mut decoder) in Any::all() {
        let decoded = decoder.decode_packet(&packet, |message| {
            assert!(!message.has(Field::Reserved1) && !message.has(Field::Reserved2), "{name}");
        });
        assert_eq!(decoded.map(|summary| summary.messages), Ok(2), "{name}");
    }
    assert_eq!(encode_again(&packet), packet);
}

#[test]
fn a_reserved_field_cannot_become_absent_within_a_packet() {
    let mut draft = draft_of(b'd');
    let mut with = draft.clone();
    with.set_chars(Field::Reserved2, Chars::new(b"  ").expect("short"));
    let mut encoder = OpraEncoder::new(OpraVersion::V1);
    encoder.begin(0);
    encoder.push(&with.message().expect("complete")).expect("encodes");
    let refused = encoder.push(&draft.message().expect("complete")).expect_err("cannot be said");
    assert_eq!(
        (refused.kind, refused.field),
        (OpraEncodeErrorKind::EmptyString, Some(Field::Reserved2))
    );
}

/// The vendor's version 1 test set, from the shared files.
#[test]
fn every_message_of_the_vendors_test_set_is_decoded_and_encoded_again() {
    let (Some(bytes), Some(expected)) =
        (shared("corpus/opra_v1/messages.bin"), shared("corpus/opra_v1/expected.jsonl"))
    else {
        return;
    };
    let packets = packets(&std::fs::read(bytes).expect("readable"));
    let expected = std::fs::read_to_string(expected).expect("readable");
    let expected: Vec<BTreeMap<String, Value>> = expected.lines().map(expected_message).collect();
    for (name, mut decoder) in Any::all() {
        let mut messages: Vec<BTreeMap<String, Value>> = Vec::new();
        for packet in &packets {
            let keep = |message: tickwire_opra::OpraMessage<'_>| {
                messages.push(serde_json::from_str(&json::to_string(&message)).expect("JSON"));
            };
            decoder.decode_packet(packet, keep).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(messages.len(), 63, "{name}");
        assert_eq!(messages, expected, "{name}");
    }
    for packet in &packets {
        assert_eq!(&encode_again(packet), packet);
    }
}

/// Returns the members of an expected message, without its packet and the copies of its last entry.
fn expected_message(line: &str) -> BTreeMap<String, Value> {
    let mut message: BTreeMap<String, Value> = serde_json::from_str(line).expect("JSON");
    message.remove("pkt");
    if message.contains_key("groups") {
        for name in ["index_sym", "res1", "index_val", "bid_index", "offer_index"] {
            message.remove(name);
        }
    }
    message
}
