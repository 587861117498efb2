//! Recorded captures: every message equals the output of two independent decoders.

mod support;

use serde_json::json;
use support::{Absent, CORPORA, ENGINES, packets, record_json, to_hex};
use tickwire_fast::{Decoder, EngineUnderTest, Step};

#[test]
fn every_message_of_every_capture_has_its_expected_values() {
    for corpus in &CORPORA {
        let (Some((program, file)), Some(mut expected)) = (corpus.load(), corpus.expected()) else {
            continue;
        };
        let mut decoders = ENGINES.map(|engine| corpus.decoder(&program, engine));
        let mut count = 0;
        for (index, packet) in packets(&file).into_iter().enumerate() {
            decoders.iter_mut().for_each(Decoder::begin_packet);
            let mut offset = corpus.preamble;
            while offset < packet.len() {
                let expected = expected.next();
                let mut len = 0;
                for (decoder, engine) in decoders.iter_mut().zip(ENGINES) {
                    let place = || format!("{} packet {index} by {engine:?}", corpus.name);
                    let decoded = decoder.decode(&packet[offset..]).unwrap_or_else(|error| {
                        panic!("{}: {}", place(), error.shifted(offset).describe(&program))
                    });
                    let message = decoded.message;
                    let got = json!({
                        "pkt": index,
                        "pre": to_hex(&packet[..corpus.preamble]),
                        "off": offset,
                        "len": decoded.len,
                        "t": message.template_id().map(|id| id.0),
                        "n": message.template_name(),
                        "msg": record_json(message.root(), Absent::Null),
                    });
                    assert_eq!(Some(&got), expected.as_ref(), "{}", place());
                    len = decoded.len;
                }
                offset += len;
                count += 1;
            }
        }
        assert_eq!(expected.next(), None, "{}: messages missing", corpus.name);
        println!("{}: {count} messages equal by every engine", corpus.name);
    }
}

/// A stream that arrives a few bytes at a time decodes to the same messages as whole packets.
#[test]
fn a_stream_cut_anywhere_gives_the_same_messages() {
    for corpus in CORPORA.iter().filter(|corpus| corpus.preamble == 0) {
        let Some((program, file)) = corpus.load() else { continue };
        let mut whole = corpus.decoder(&program, EngineUnderTest::Portable);
        let mut cut = corpus.decoder(&program, EngineUnderTest::Automatic);
        for (index, packet) in packets(&file).into_iter().take(200).enumerate() {
            whole.begin_packet();
            cut.begin_packet();
            let mut offset = 0;
            while offset < packet.len() {
                let decoded = whole.decode(&packet[offset..]).expect("decodes");
                let len = decoded.len;
                let values = record_json(decoded.message.root(), Absent::Null);
                for end in offset..offset + len {
                    let step = cut.decode_stream(&packet[offset..end]).expect("only short");
                    assert!(
                        matches!(step, Step::NeedMore(_)),
                        "{} packet {index} at {end}",
                        corpus.name
                    );
                }
                let Step::Message(decoded) = cut.decode_stream(&packet[offset..]).expect("decodes")
                else {
                    panic!("{} packet {index}: more bytes wanted than there are", corpus.name);
                };
                assert_eq!(values, record_json(decoded.message.root(), Absent::Null));
                assert_eq!(len, decoded.len);
                offset += len;
            }
        }
    }
}
