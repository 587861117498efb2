//! All engines decode sequence entries alike at the limits of SIMD: lengths, ranges, previous
//! values, and the end of the bytes.

mod support;

use std::sync::Arc;
use support::{Absent, ENGINES, record_json};
use tickwire_fast::BufferedPacket;
use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Decimal, Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, MessageBuilder,
    Program, ResetPolicy, Storage, TemplateSet,
};
use tickwire_testing::Choices;

/// Fields of entries; each template has the first few of them.
const FIELDS: [&str; 26] = [
    r#"<uInt32 name="f0"><copy value="1"/></uInt32>"#,
    r#"<uInt32 name="f1" presence="optional"><default value="1"/></uInt32>"#,
    r#"<string name="f2"><copy value="0"/></string>"#,
    r#"<int32 name="f3" presence="optional"><delta/></int32>"#,
    r#"<uInt32 name="f4"><increment/></uInt32>"#,
    r#"<int64 name="f5"/>"#,
    r#"<decimal name="f6"><exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>"#,
    r#"<uInt64 name="f7"><delta/></uInt64>"#,
    r#"<uInt32 name="f8" presence="optional"><constant value="8"/></uInt32>"#,
    r#"<string name="f9" presence="optional"><default/></string>"#,
    r#"<uInt8 name="f10" presence="optional"><copy/></uInt8>"#,
    r#"<int16 name="f11"><copy value="-3"/></int16>"#,
    r#"<uInt64 name="f12" presence="optional"/>"#,
    r#"<decimal name="f13" presence="optional"><exponent><default/></exponent><mantissa><delta/></mantissa></decimal>"#,
    r#"<string name="f14" presence="optional"><default value="2"/></string>"#,
    r#"<int32 name="f15"><increment value="-5"/></int32>"#,
    r#"<uInt32 name="f16" presence="optional"><delta/></uInt32>"#,
    r#"<decimal name="f17" presence="optional"/>"#,
    r#"<int8 name="f18" presence="optional"><default value="-7"/></int8>"#,
    r#"<string name="f19"><default value="AB"/></string>"#,
    r#"<uInt16 name="f20"><delta value="9"/></uInt16>"#,
    r#"<string name="f21" presence="optional"><copy/></string>"#,
    r#"<int64 name="f22"><delta/></int64>"#,
    r#"<uInt32 name="f23"><increment value="0"/></uInt32>"#,
    r#"<uInt8 name="f24"><default value="0"/></uInt8>"#,
    r#"<int32 name="f25" presence="optional"/>"#,
];
/// Numbers of fields of the templates, whose records have one, two, three or four blocks of words.
const COUNTS: [usize; 5] = [5, 9, 13, 16, FIELDS.len()];

const NUMBERS: [u64; 24] = [
    0,
    62,
    63,
    64,
    65,
    126,
    127,
    128,
    (1 << 13) - 1,
    1 << 13,
    (1 << 14) - 1,
    1 << 14,
    (1 << 20) - 1,
    1 << 20,
    (1 << 21) - 1,
    1 << 21,
    (1 << 27) - 1,
    1 << 27,
    (1 << 28) - 1,
    1 << 28,
    1 << 30,
    1 << 31,
    1 << 35,
    u64::MAX,
];
const TEXTS: [&[u8]; 9] =
    [b"0", b"A", b"2", b"AB", b"ABC", b"", b"ABCD", b"ABCDEFG", b"ABCDEFGHIJ"];

fn template_set(reset: &str) -> String {
    let templates = COUNTS.iter().enumerate().map(|(index, &count)| {
        let fields = FIELDS[..count].concat();
        format!(
            r#"<template name="T{index}" id="{}" dictionary="{index}"{reset}><uInt32 name="Number"/>
            <sequence name="Entries"><length name="Count"/>{fields}</sequence></template>"#,
            index + 1
        )
    });
    format!("<templates>{}</templates>", templates.collect::<String>())
}

/// Returns a number that mostly fits SIMD lanes.
fn number(choices: &mut Choices) -> u64 {
    let most = if choices.once_in(12) { NUMBERS.len() } else { 16 };
    NUMBERS[choices.index(most)]
}

fn build(choices: &mut Choices, builder: &mut MessageBuilder, template: usize) {
    let program = builder.program().clone();
    builder.begin(template).unwrap();
    builder.set_u64("Number", number(choices) & u64::from(u32::MAX)).unwrap();
    let fields = program.fields_of(program.templates()[template].segment);
    let entries = fields.iter().find_map(|field| match field.storage {
        Storage::Sequence { segment, .. } => Some(segment),
        _ => None,
    });
    let fields = program.fields_of(entries.expect("a sequence"));
    let count = choices.of(&[0, 1, 1, 2, 3, 4, 20]);
    builder.begin_sequence("Entries", count).unwrap();
    for _ in 0..count {
        builder.begin_entry().unwrap();
        for (index, field) in fields.iter().enumerate() {
            let is_left_out = field.optional && choices.once_in(3);
            match field.field_type.as_ref() {
                _ if is_left_out => {}
                Some(_) if matches!(field.storage, Storage::OptionalConstant(_)) => {
                    builder.set_constant(index).unwrap();
                }
                Some(FieldType::UInt(width)) => {
                    let value = number(choices) & u64::MAX >> (64 - *width as u32);
                    builder.set_u64(index, value).unwrap();
                }
                Some(FieldType::Int(width)) => {
                    let value = (number(choices) & i64::MAX as u64 >> (64 - *width as u32)) as i64;
                    builder
                        .set_i64(index, if choices.once_in(2) { value } else { !value })
                        .unwrap();
                }
                Some(FieldType::Decimal) => {
                    let mantissa = (number(choices) >> 1) as i64 * choices.of(&[1, -1]);
                    let exponent = choices.of(&[-2, -2, 0, 1, 31, 32, -63]);
                    builder.set_decimal(index, Decimal { mantissa, exponent }).unwrap();
                }
                _ => {
                    let most = if choices.once_in(12) { TEXTS.len() } else { 5 };
                    builder.set_bytes(index, TEXTS[choices.index(most)]).unwrap();
                }
            }
        }
        builder.end().unwrap();
    }
    builder.end().unwrap();
}

/// Decodes packets with all engines, with and without bytes after them; returns the number of
/// messages.
fn agree(attributes: &str, reset: ResetPolicy, packets: u64) -> usize {
    let set = TemplateSet::parse(&template_set(attributes)).expect("valid");
    let program = Arc::new(Program::compile(set).expect("compiles"));
    let engines = ENGINES.iter().copied().chain([EngineUnderTest::Automatic]);
    let mut decoders: Vec<_> = engines
        .map(|engine| {
            let options = DecoderOptions::default().reset(reset).engine_under_test(engine);
            Decoder::with_options(program.clone(), options)
        })
        .collect();
    let mut encoder =
        Encoder::with_options(program.clone(), EncoderOptions::default().reset(reset));
    let mut builder = MessageBuilder::new(program.clone());
    let mut whole = 0;
    for seed in 0..packets {
        let mut choices = Choices::seeded(seed);
        let mut packet = Vec::new();
        encoder.begin_packet();
        for _ in 0..1 + choices.index(4) {
            let template = choices.index(COUNTS.len());
            build(&mut choices, &mut builder, template);
            if let Ok(message) = builder.finish() {
                _ = encoder.encode(message, &mut packet);
            }
        }
        if choices.once_in(3) && !packet.is_empty() {
            let at = choices.index(packet.len());
            match choices.index(4) {
                0 => packet.truncate(at),
                1 => packet.insert(at, choices.of(&[0x00, 0x80, 0x7f, 0xff, 0x40, 0xc0])),
                _ => packet[at] ^= 1 << choices.index(8),
            }
        }
        let behind = choices.index(100);
        let buffer: Vec<u8> =
            packet.iter().copied().chain((0..=255).cycle().take(behind)).collect();
        decoders.iter_mut().for_each(Decoder::begin_packet);
        let mut at = 0;
        while at < packet.len() {
            let rest = BufferedPacket::new(&buffer[at..], packet.len() - at);
            let mut outcomes = decoders.iter_mut().map(|decoder| {
                let decoded = decoder.decode_packet(rest)?;
                let root = decoded.message.root();
                Ok::<_, tickwire_fast::FastError>((decoded.len, record_json(root, Absent::Null)))
            });
            let first = outcomes.next().expect("an engine");
            for (index, outcome) in outcomes.enumerate() {
                assert_eq!(
                    outcome,
                    first,
                    "engine {}, seed {seed}, {at} of {packet:02x?}",
                    index + 1
                );
            }
            let Ok((len, _)) = first else {
                decoders.iter_mut().for_each(Decoder::reset);
                encoder.reset();
                break;
            };
            at += len;
            whole += 1;
        }
    }
    whole
}

#[test]
fn entries_are_decoded_alike_where_dictionaries_are_kept() {
    let whole = agree("", ResetPolicy::Never, 3000);
    assert!(whole > 3000, "only {whole} whole messages");
}

#[test]
fn entries_are_decoded_alike_where_packets_or_templates_reset() {
    let by_packet = agree("", ResetPolicy::Packet, 3000);
    let by_template = agree(r#" reset="Y""#, ResetPolicy::Template, 3000);
    assert!(by_packet > 3000 && by_template > 3000, "only {by_packet} and {by_template} messages");
}

#[test]
fn sums_that_leave_their_type_are_errors_by_every_engine() {
    // The stream is written with wider types than those that read it.
    let program = |bits: u32| {
        let fields = format!(
            r#"<uInt32 name="a"><copy value="1"/></uInt32><int{bits} name="signed"><delta/></int{bits}>
            <uInt32 name="b"><copy value="1"/></uInt32><uInt{bits} name="unsigned"><delta/></uInt{bits}>
            <uInt32 name="c"><copy value="1"/></uInt32>"#
        );
        let set = format!(
            r#"<template name="T" id="1"><sequence name="Entries"><length name="Count"/>{fields}</sequence></template>"#
        );
        Arc::new(Program::compile(TemplateSet::parse(&set).expect("valid")).expect("compiles"))
    };
    let (wide, narrow) = (program(64), program(32));
    let (most, least) = (i64::from(i32::MAX), i64::from(i32::MIN));
    for (signed, unsigned, fits) in [
        (most, 5, true),
        (least, 5, true),
        (0, u32::MAX.into(), true),
        (most + 1, 5, false),
        (least - 1, 5, false),
        (0, u64::from(u32::MAX) + 1, false),
    ] {
        let mut builder = MessageBuilder::new(wide.clone());
        builder.begin(0).unwrap();
        builder.begin_sequence("Entries", 12).unwrap();
        for entry in 0..12 {
            builder.begin_entry().unwrap();
            for name in ["a", "b", "c"] {
                builder.set_u64(name, 1).unwrap();
            }
            // Steps that are themselves in range.
            builder.set_i64("signed", signed / 11 * entry + signed % 11 * (entry / 11)).unwrap();
            let step = unsigned / 11 * entry as u64 + unsigned % 11 * (entry as u64 / 11);
            builder.set_u64("unsigned", step).unwrap();
            builder.end().unwrap();
        }
        builder.end().unwrap();
        let mut packet = Vec::new();
        Encoder::new(wide.clone()).encode(builder.finish().unwrap(), &mut packet).unwrap();
        // SIMD only decodes records that are not near the end of the bytes.
        packet.extend_from_slice(&[0x80; 256]);
        for engine in ENGINES.iter().copied().chain([EngineUnderTest::Automatic]) {
            let options = DecoderOptions::default().engine_under_test(engine);
            let mut decoder = Decoder::with_options(narrow.clone(), options);
            let decoded = decoder
                .decode(&packet)
                .map(|decoded| record_json(decoded.message.root(), Absent::Null));
            assert_eq!(decoded.is_ok(), fits, "{engine:?} {signed} {unsigned}: {decoded:?}");
            if let Ok(text) = decoded {
                let value = if signed == 0 { unsigned.to_string() } else { signed.to_string() };
                assert!(format!("{text:?}").contains(&value), "{engine:?}: {text:?}");
            }
        }
    }
}
