//! The conformance cases, with every decoder and the encoder.

mod support;

use serde_json::Value;
use support::{Any, from_hex, vectors};
use tickwire_opra::{
    Chars, Decode, Field, OpraEncoder, OpraEntry, OpraFieldKind, OpraMessageDraft, OpraVersion,
    ascii, json, reference,
};

fn name(case: &Value) -> &str {
    case["name"].as_str().expect("name")
}

fn wire(case: &Value) -> Vec<u8> {
    from_hex(case["hex"].as_str().expect("hex"))
}

#[test]
fn every_decoder_gives_the_messages_and_errors_of_the_cases() {
    let cases = vectors();
    for (decoder_name, mut decoder) in Any::all() {
        for case in &cases {
            let mut messages: Vec<Value> = Vec::new();
            let result = decoder.decode_packet(&wire(case), |message| {
                messages.push(serde_json::from_str(&json::to_string(&message)).expect("JSON"));
            });
            let cause = result.map_err(|error| error.cause().to_string()).err();
            assert_eq!(cause.as_deref(), case["error"].as_str(), "{decoder_name} {}", name(case));
            if let Value::Array(expected) = &case["messages"] {
                assert_eq!(&messages, expected, "{decoder_name} {}", name(case));
            }
            if let Ok(summary) = result {
                assert_eq!(summary.version.as_str(), case["version"], "{}", name(case));
                let text = |digits: &[u8]| String::from_utf8(digits.to_vec()).expect("ASCII");
                let seq_num = summary.header.map(|header| text(&header.seq_num_digits));
                assert_eq!(seq_num.as_deref(), case["header"]["seq"].as_str(), "{}", name(case));
                let count = summary.header.map(|header| text(&header.count_digits));
                assert_eq!(count.as_deref(), case["header"]["n"].as_str(), "{}", name(case));
            }
        }
        println!("{decoder_name}: {} cases", cases.len());
    }
}

#[test]
fn the_ascii_form_is_that_of_the_cases() {
    let cases = vectors();
    let mut decoder = reference::ReferenceDecoder::new();
    let mut compared = 0;
    for case in cases.iter().filter(|case| case["ascii"].is_array()) {
        let mut printed = Vec::new();
        ascii::print_packet(&mut decoder, &wire(case), &mut printed).expect("decodes");
        let inner = &printed[1..printed.len() - 1];
        let messages: Vec<_> = inner
            .split(|byte| *byte == ascii::UNIT_SEPARATOR)
            .map(|message| Value::from(String::from_utf8(message.to_vec()).expect("ASCII")))
            .collect();
        assert_eq!(Value::from(messages), case["ascii"], "{}", name(case));
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn what_was_decoded_encodes_to_the_same_bytes() {
    let cases = vectors();
    let mut decoder = reference::ReferenceDecoder::new();
    let mut compared = 0;
    for case in cases.iter().filter(|case| case["reencodes_identically"] == true) {
        let packet = wire(case);
        let version = if case["version"] == "2.0" { OpraVersion::V2 } else { OpraVersion::V1 };
        let mut encoder = OpraEncoder::new(version);
        encoder.begin(case["header"]["seq"].as_str().map_or(0, |seq| seq.parse().expect("number")));
        decoder
            .decode_packet(&packet, |message| encoder.push(&message).expect("encodes"))
            .expect("decodes");
        assert_eq!(encoder.finish().expect("finishes"), packet, "{}", name(case));
        compared += 1;
    }
    assert!(compared > 30);
}

#[test]
fn drafts_of_the_expected_values_encode_to_the_same_bytes() {
    let cases = vectors();
    for case in cases.iter().filter(|case| case["reencodes_identically"] == true) {
        let version = if case["version"] == "2.0" { OpraVersion::V2 } else { OpraVersion::V1 };
        let mut encoder = OpraEncoder::new(version);
        encoder.begin(case["header"]["seq"].as_str().map_or(0, |seq| seq.parse().expect("number")));
        for message in case["messages"].as_array().expect("messages") {
            let mut draft = draft(version, message);
            encoder.push(&draft.message().expect("complete")).expect("encodes");
        }
        assert_eq!(encoder.finish().expect("finishes"), wire(case), "{}", name(case));
    }
}

fn draft(version: OpraVersion, message: &Value) -> OpraMessageDraft {
    let mut draft = OpraMessageDraft::new(version);
    for (key, value) in message.as_object().expect("object") {
        let Some(field) = Field::from_name(key) else {
            assert_eq!(key, "groups");
            let entries: Vec<_> = value.as_array().expect("list").iter().map(entry).collect();
            draft.set_entries(&entries);
            continue;
        };
        match (field, field.kind(version)) {
            (Field::Category, _) => {
                draft.set_number(
                    field,
                    value.as_str().expect("code").bytes().next().unwrap().into(),
                );
            }
            (_, OpraFieldKind::SeqNum(_)) => draft.set_seq_num(value.as_u64().expect("number")),
            (_, OpraFieldKind::Chars(_)) => draft.set_chars(field, chars(value)),
            (_, OpraFieldKind::Text) => {
                draft.set_text(field, value.as_str().expect("text")).expect("short")
            }
            _ => draft.set_number(field, value.as_u64().expect("number") as u32),
        }
    }
    draft
}

fn chars(value: &Value) -> Chars {
    Chars::new(value.as_str().unwrap_or_default().as_bytes()).expect("short")
}

fn entry(value: &Value) -> OpraEntry {
    let symbol = if value["fco_sym"].is_string() { &value["fco_sym"] } else { &value["index_sym"] };
    OpraEntry {
        symbol: chars(symbol),
        reserved: chars(&value["res1"]),
        value: chars(&value["index_val"]),
        bid: chars(&value["bid_index"]),
        offer: chars(&value["offer_index"]),
        decimal_placement: value["decimal"].as_u64().unwrap_or_default() as u32,
        spot: value["spot"].as_u64().unwrap_or_default() as u32,
    }
}
