//! Decoding, encoding and decoding again returns the same values; counts how often the bytes are
//! the same.

mod support;

use std::sync::Arc;
use support::{CORPORA, Corpus, packets};
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, FieldValue,
    Message, MessageBuilder, PacketEncoder, Program, Record, ResetPolicy, TemplateSet,
};
use tickwire_testing::{FastCase, fast_cases};

/// True if two records of one segment have the same fields with the same values.
fn same_record(a: Record<'_>, b: Record<'_>) -> bool {
    a.segment() == b.segment()
        && a.fields().zip(b.fields()).all(|((_, a), (_, b))| same_value(a, b))
}

fn same_value(a: FieldValue<'_>, b: FieldValue<'_>) -> bool {
    use FieldValue::*;
    match (a, b) {
        (Absent, Absent) | (Discarded, Discarded) => true,
        (UInt(a), UInt(b)) => a == b,
        (Int(a), Int(b)) => a == b,
        (Decimal(a), Decimal(b)) => a == b,
        (Ascii(a), Ascii(b)) | (Unicode(a), Unicode(b)) | (Bytes(a), Bytes(b)) => a == b,
        (Group(a), Group(b)) => same_record(a, b),
        (Sequence(a), Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_record(a, b))
        }
        (Dynamic(a, of_a), Dynamic(b, of_b)) => a == b && same_record(of_a, of_b),
        _ => false,
    }
}

fn same_message(a: &Message, b: &Message) -> bool {
    a.template_index() == b.template_index() && same_record(a.root(), b.root())
}

/// Rebuilds `record` field by field.
fn rebuild(
    builder: &mut MessageBuilder,
    record: Record<'_>,
) -> Result<(), tickwire_fast::FastError> {
    for (index, (layout, value)) in record.fields().enumerate() {
        match value {
            FieldValue::Absent | FieldValue::Discarded => {}
            FieldValue::UInt(value) => builder.set_u64(index, value)?,
            FieldValue::Int(value) => builder.set_i64(index, value)?,
            FieldValue::Decimal(value) => builder.set_decimal(index, value)?,
            FieldValue::Ascii(value) | FieldValue::Unicode(value) | FieldValue::Bytes(value) => {
                builder.set_bytes(index, value)?;
            }
            FieldValue::Group(group) => {
                builder.begin_group(index)?;
                rebuild(builder, group)?;
                builder.end()?;
            }
            FieldValue::Sequence(entries) => {
                builder.begin_sequence(index, entries.len())?;
                for entry in entries.iter() {
                    builder.begin_entry()?;
                    rebuild(builder, entry)?;
                    builder.end()?;
                }
                builder.end()?;
            }
            FieldValue::Dynamic(template, inner) => {
                assert_eq!(&*layout.name.local, "#dyn");
                builder.begin_dynamic(index, template)?;
                rebuild(builder, inner)?;
                builder.end()?;
            }
        }
    }
    Ok(())
}

/// Creates a decoder that accepts only canonical bytes.
fn canonical_decoder(program: &Arc<Program>, reset: ResetPolicy) -> Decoder {
    let options = DecoderOptions::default().conformance(Conformance::Canonical).reset(reset);
    Decoder::with_options(program.clone(), options)
}

#[derive(Default)]
struct Share {
    messages: usize,
    identical: usize,
    bytes_before: usize,
    bytes_after: usize,
}

/// Decodes a capture, then builds, encodes and decodes each message again. The second encoder and
/// decoder reset their dictionaries by `reset`.
fn reencode(corpus: &Corpus, program: &Arc<Program>, file: &[u8], reset: ResetPolicy) -> Share {
    let mut decoder = corpus.decoder(program, EngineUnderTest::Automatic);
    let mut again = canonical_decoder(program, reset);
    let options = EncoderOptions::default().reset(reset);
    let mut encoder = Encoder::with_options(program.clone(), options);
    let mut builder = MessageBuilder::new(program.clone());
    let mut share = Share::default();
    let mut out = Vec::new();
    for (index, packet) in packets(file).into_iter().enumerate() {
        decoder.begin_packet();
        encoder.begin_packet();
        again.begin_packet();
        let mut offset = corpus.preamble;
        while offset < packet.len() {
            let decoded = decoder.decode(&packet[offset..]).expect("decodes");
            let place = || format!("{} packet {index} byte {offset}", corpus.name);
            let fail = |error: tickwire_fast::FastError| -> ! {
                panic!("{}: {}", place(), error.describe(program))
            };
            builder.begin(decoded.message.template_index()).unwrap_or_else(|e| fail(e));
            rebuild(&mut builder, decoded.message.root()).unwrap_or_else(|e| fail(e));
            let built = builder.finish().unwrap_or_else(|e| fail(e));
            assert!(same_message(decoded.message, built), "{}: built", place());

            out.clear();
            let len = encoder.encode(built, &mut out).unwrap_or_else(|e| fail(e));
            assert_eq!(len, out.len());
            let back = again.decode(&out).unwrap_or_else(|e| fail(e));
            assert_eq!(back.len, out.len(), "{}", place());
            assert!(same_message(decoded.message, back.message), "{}: encoded {out:02x?}", place());

            share.messages += 1;
            share.identical += usize::from(out == packet[offset..offset + decoded.len]);
            share.bytes_before += decoded.len;
            share.bytes_after += out.len();
            offset += decoded.len;
        }
    }
    share
}

fn print_share(name: &str, share: &Share) {
    let Share { messages, identical, bytes_before, bytes_after } = share;
    println!(
        "{name}: {identical} of {messages} messages come back as the same bytes; \
         {bytes_before} bytes are {bytes_after} encoded"
    );
}

#[test]
fn every_message_of_every_capture_survives_encoding() {
    for corpus in &CORPORA {
        let Some((program, file)) = corpus.load() else { continue };
        let share = reencode(corpus, &program, &file, corpus.reset);
        print_share(corpus.name, &share);
        assert!(share.bytes_after <= share.bytes_before, "{}: not the shortest", corpus.name);
    }
}

/// The sender of this capture sends the template id in every message, as after a reset.
#[test]
fn a_capture_of_single_messages_comes_back_byte_for_byte() {
    let corpus = CORPORA.iter().find(|corpus| corpus.name.starts_with("oci_complex"));
    let corpus = corpus.expect("one of the captures");
    let Some((program, file)) = corpus.load() else { return };
    let share = reencode(corpus, &program, &file, ResetPolicy::Message);
    print_share(&format!("{} with a reset before every message", corpus.name), &share);
    assert_eq!(share.identical, share.messages);
}

#[test]
fn packed_captures_decode_packet_by_packet() {
    for corpus in &CORPORA {
        let Some((program, file)) = corpus.load() else { continue };
        let mut decoder = corpus.decoder(&program, EngineUnderTest::Automatic);
        let packet_bytes_max = 1_024;
        let options =
            EncoderOptions::default().reset(corpus.reset).packet_bytes_max(packet_bytes_max);
        let mut packer = PacketEncoder::new(program.clone(), options);
        let mut packed: Vec<Vec<u8>> = Vec::new();
        let mut expected = Vec::new();
        for packet in packets(&file).into_iter().take(500) {
            decoder.begin_packet();
            let mut offset = corpus.preamble;
            while offset < packet.len() {
                let decoded = decoder.decode(&packet[offset..]).expect("decodes");
                if let Some(full) = packer.push(decoded.message).expect("fits") {
                    packed.push(full.to_vec());
                }
                expected.push(decoded.message.clone());
                offset += decoded.len;
            }
        }
        packed.extend(packer.finish().map(<[u8]>::to_vec));
        assert_eq!(packer.finish(), None);

        let mut again = canonical_decoder(&program, corpus.reset);
        let mut expected = expected.iter();
        for packet in &packed {
            assert!(packet.len() <= packet_bytes_max);
            again.begin_packet();
            let mut offset = 0;
            while offset < packet.len() {
                let decoded = again.decode(&packet[offset..]).expect("decodes");
                assert!(same_message(decoded.message, expected.next().expect("not too many")));
                offset += decoded.len;
            }
        }
        assert!(expected.next().is_none(), "{}", corpus.name);
        println!("{}: {} packets", corpus.name, packed.len());
    }
}

/// Decodes a case, encodes each message in the same order, and decodes the result. Returns the
/// number of messages, and of messages whose bytes are the same.
fn reencode_case(case: &FastCase) -> (usize, usize) {
    let name = &case.name;
    let set = TemplateSet::parse(&case.template_xml).expect("a valid template");
    let program = Arc::new(Program::compile(set).unwrap());
    let mut decoder = Decoder::new(program.clone());
    let mut again = canonical_decoder(&program, ResetPolicy::Template);
    let mut encoder = Encoder::new(program.clone());
    let mut builder = MessageBuilder::new(program.clone());
    let (mut messages, mut identical) = (0, 0);
    for buffer in &case.buffers {
        if buffer.has_reset {
            decoder.reset();
            encoder.reset();
            again.reset();
        }
        let mut rest = &buffer.bytes[..];
        while !rest.is_empty() {
            let decoded = decoder.decode(rest).expect("decodes");
            let describe =
                |error: tickwire_fast::FastError| panic!("{name}: {}", error.describe(&program));
            builder.begin(decoded.message.template_index()).unwrap_or_else(describe);
            rebuild(&mut builder, decoded.message.root()).unwrap_or_else(describe);
            let built = builder.finish().cloned().unwrap_or_else(|e| panic!("{name}: {e}"));
            let mut out = Vec::new();
            encoder
                .encode(&built, &mut out)
                .unwrap_or_else(|error| panic!("{name}: {}", error.describe(&program)));
            let back = again
                .decode(&out)
                .unwrap_or_else(|error| panic!("{name}: {out:02x?}: {}", error.describe(&program)));
            assert_eq!(back.len, out.len(), "{name}: {out:02x?}");
            assert!(same_message(decoded.message, back.message), "{name}: {out:02x?}");
            messages += 1;
            identical += usize::from(out == rest[..decoded.len]);
            if out.len() > decoded.len {
                println!("{name}: {} bytes are {} encoded", decoded.len, out.len());
            }
            rest = &rest[decoded.len..];
        }
    }
    (messages, identical)
}

#[test]
fn every_message_of_the_cases_survives_encoding() {
    let (mut cases, mut messages, mut identical) = (0, 0, 0);
    for case in fast_cases().iter().filter(|case| case.error.is_null()) {
        let counts = reencode_case(case);
        cases += 1;
        messages += counts.0;
        identical += counts.1;
    }
    println!("{cases} cases: {identical} of {messages} messages come back as the same bytes");
}
