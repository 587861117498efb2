//! The shared trace: field sums, and every decoder and the encoder over all its packets.

mod support;

use std::collections::BTreeMap;

use support::{Any, outcome, trace, trace_stats};
use tickwire_opra::bottom_up::BottomUpEngine;
use tickwire_opra::{
    Decode, Field, OpraEncoder, OpraMessage, OpraMessageDraft, OpraVersion, reference,
};

/// Returns the number after `'name':` in the last line of the statistics.
fn expected_sum(stats: &str, name: &str) -> Option<u64> {
    let (_, rest) = stats.lines().last()?.split_once(&format!("'{name}': "))?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[test]
fn sums_of_every_field_are_those_of_the_trace() {
    let (Some(packets), Some(stats)) = (trace(), trace_stats()) else { return };
    for (name, mut decoder) in Any::all() {
        let mut sums: BTreeMap<Field, u64> = BTreeMap::new();
        let mut messages = 0;
        for packet in &packets {
            let summary = decoder
                .decode_packet(packet, |message| {
                    for field in Field::ALL.into_iter().filter(|field| message.has(*field)) {
                        let value = match field {
                            Field::SeqNum => message.seq_num(),
                            _ => message.number(field).map(u64::from),
                        };
                        *sums.entry(field).or_default() += value.unwrap_or_default();
                    }
                })
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(summary.warnings().count(), 0);
            messages += summary.messages;
        }
        assert_eq!(messages, 200_000, "{name}");
        let mut compared = 0;
        for (field, sum) in sums {
            if let Some(expected) = expected_sum(&stats, field.name()) {
                assert_eq!(sum, expected, "{name} {field:?}");
                compared += 1;
            }
        }
        assert!(compared >= 38, "{name}: {compared} fields compared");
    }
}

#[test]
fn every_decoder_gives_the_messages_of_the_reference() {
    let Some(packets) = trace() else { return };
    let mut reference = reference::ReferenceDecoder::new();
    let mut others = Any::all();
    for (index, packet) in packets.iter().enumerate().filter(|(index, _)| index % 8 == 0) {
        let expected = outcome(&mut reference, packet);
        for (name, decoder) in &mut others {
            assert_eq!(outcome(decoder, packet), expected, "{name} packet {index}");
        }
    }
}

#[test]
fn the_encoder_gives_back_the_bytes_of_the_trace() {
    let Some(packets) = trace() else { return };
    let mut decoder = reference::ReferenceDecoder::new();
    for engine in BottomUpEngine::available() {
        let mut encoder = OpraEncoder::with_engine(OpraVersion::V2, engine).expect("available");
        for (index, packet) in packets.iter().enumerate() {
            let seq_num = std::str::from_utf8(&packet[2..12]).expect("ASCII").parse();
            encoder.begin(seq_num.expect("number"));
            decoder
                .decode_packet(packet, |message| encoder.push(&message).expect("encodes"))
                .expect("decodes");
            assert_eq!(encoder.finish().expect("finishes"), packet, "packet {index} {engine:?}");
        }
    }
}

/// Messages drafted singly leave arbitrary values in the lanes of fields that they do not have.
#[test]
fn drafts_of_single_messages_encode_to_the_same_bytes() {
    let Some(packets) = trace() else { return };
    let mut decoder = reference::ReferenceDecoder::new();
    let mut encoder = OpraEncoder::new(OpraVersion::V2);
    for (index, packet) in packets.iter().enumerate().step_by(8) {
        encoder.begin(std::str::from_utf8(&packet[2..12]).expect("ASCII").parse().expect("number"));
        let encode = |message: OpraMessage<'_>| {
            let mut draft = OpraMessageDraft::new(OpraVersion::V2);
            for field in Field::ALL.into_iter().filter(|field| message.has(*field)) {
                draft.set_number(field, message.number(field).unwrap_or_default());
            }
            draft.set_seq_num(message.seq_num().unwrap_or_default());
            draft.set_symbol(message.symbol().unwrap_or_default());
            draft.set_entries(message.entries());
            let text = message.text().unwrap_or_default().to_string();
            for field in [Field::Text, Field::DefaultMessage] {
                draft.set_text(field, &text).expect("short");
            }
            encoder.push(&draft.message().expect("complete")).expect("encodes");
        };
        decoder.decode_packet(packet, encode).expect("decodes");
        assert_eq!(encoder.finish().expect("finishes"), packet, "packet {index}");
    }
}
