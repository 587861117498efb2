//! Limits, findings and shapes at their edges, by every engine: each pass and each failure is one number away
//! from the other.

use std::fmt::Write as _;
use std::sync::Arc;
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, Engine, Error, ErrorKind, Limits, Program,
    ResetPolicy, TemplateId, TemplateSet,
};

const ENGINES: [Engine; 4] = [Engine::Scalar, Engine::Wide, Engine::Compiled, Engine::Automatic];

/// Flat; one with a sequence of plain entries; one that is not plain, which only the operations decode.
const XML: &str = r#"<templates>
    <template name="Flat" id="1"><uInt32 name="a"><copy/></uInt32><uInt32 name="b"><increment/></uInt32></template>
    <template name="Plain" id="2"><uInt32 name="a"><copy/></uInt32><string name="t"><copy/></string>
        <sequence name="s"><uInt32 name="c"><delta/></uInt32><uInt32 name="d"><copy/></uInt32></sequence></template>
    <template name="Other" id="3"><uInt32 name="a"><copy/></uInt32>
        <sequence name="s"><byteVector name="v"/></sequence></template>
    </templates>"#;

/// A message of each template: of `Plain` and `Other` with three entries; the text has two characters.
const MESSAGES: [&[u8]; 3] = [
    &[0xf0, 0x81, 0x85, 0x86],
    &[0xf0, 0x82, 0x85, b'A', b'B' | 0x80, 0x83, 0xc0, 0x81, 0x82, 0xc0, 0x81, 0x83, 0x80, 0x81],
    &[0xe0, 0x83, 0x85, 0x83, 0x81, 0x01, 0x81, 0x02, 0x81, 0x03],
];

fn program(xml: &str) -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap())
}

/// What an engine makes of a message that it has decoded before, so that nothing is new to it: its text, or the
/// kind of its error.
fn outcome(
    program: &Arc<Program>,
    engine: Engine,
    limits: Limits,
    message: &[u8],
) -> Result<String, ErrorKind> {
    let options =
        DecoderOptions { engine, limits, reset: ResetPolicy::Packet, ..DecoderOptions::default() };
    let mut decoder = Decoder::with_options(program.clone(), options);
    let mut last = Err(ErrorKind::NeedsReset);
    for _ in 0..3 {
        decoder.begin_packet();
        let decoded = decoder.decode(message);
        last =
            decoded.map(|decoded| decoded.message.to_string()).map_err(|error: Error| error.kind());
    }
    last
}

#[test]
fn each_limit_lets_pass_what_just_reaches_it_and_nothing_more() {
    let program = program(XML);
    for engine in ENGINES {
        for limit in 0..6 {
            let passes = |limits: Limits, message: &[u8]| {
                outcome(&program, engine, limits, message).map(drop)
            };
            let at_least =
                |needed: u32, kind: ErrorKind| if limit >= needed { Ok(()) } else { Err(kind) };
            let entries = Limits { entries_max: limit, ..Limits::default() };
            let total = Limits { entries_total_max: limit, ..Limits::default() };
            let strings = Limits { string_max: limit, ..Limits::default() };
            for (limits, needed, kind) in [
                (entries, [0, 3, 3], ErrorKind::TooManyEntries),
                (total, [0, 3, 3], ErrorKind::TooManyEntries),
                (strings, [0, 2, 1], ErrorKind::StringTooLong),
            ] {
                for (message, needed) in MESSAGES.into_iter().zip(needed) {
                    let expected = at_least(needed, kind);
                    assert_eq!(
                        passes(limits, message),
                        expected,
                        "{engine:?} {limits:?} {message:02x?}"
                    );
                }
            }
        }
    }
}

#[test]
fn all_engines_need_the_same_memory_for_a_message() {
    let program = program(XML);
    for message in MESSAGES {
        let needed = |engine| {
            let passes = |limit: &usize| {
                let limits = Limits { message_bytes_max: *limit, ..Limits::default() };
                outcome(&program, engine, limits, message).is_ok()
            };
            (0..4096).find(passes).expect("some memory is enough")
        };
        let scalar = needed(Engine::Scalar);
        assert!(scalar > 0, "{message:02x?}");
        for engine in ENGINES {
            assert_eq!(needed(engine), scalar, "{engine:?} {message:02x?}");
        }
    }
}

#[test]
fn all_engines_count_the_same_findings() {
    let program = program(XML);
    // An integer longer than needed; in an entry; a presence map longer than needed; a bit that the template
    // does not use; in an entry.
    let odd: [(&[u8], [u64; 3]); 5] = [
        (&[0xf0, 0x81, 0x00, 0x85, 0x86], [1, 0, 0]),
        (&[0xf0, 0x82, 0x85, b'A' | 0x80, 0x82, 0xc0, 0x00, 0x81, 0x82, 0x80, 0x81], [1, 0, 0]),
        (&[0x70, 0x80, 0x81, 0x85, 0x86], [0, 1, 0]),
        (&[0xf8, 0x81, 0x85, 0x86], [0, 0, 1]),
        (&[0xf0, 0x82, 0x85, b'A' | 0x80, 0x81, 0xe0, 0x81, 0x82], [0, 0, 1]),
    ];
    for engine in ENGINES {
        for (bytes, counts) in odd {
            let options =
                DecoderOptions { engine, reset: ResetPolicy::Packet, ..DecoderOptions::default() };
            let mut decoder = Decoder::with_options(program.clone(), options);
            for round in 1..=3 {
                decoder.begin_packet();
                assert_eq!(
                    decoder.decode(bytes).map(|decoded| decoded.len),
                    Ok(bytes.len()),
                    "{engine:?}"
                );
                let found = decoder.findings();
                let found =
                    [found.overlong_integer, found.overlong_presence_map, found.presence_map_bits];
                assert_eq!(found, counts.map(|count| count * round), "{engine:?} {bytes:02x?}");
            }
        }
    }
}

/// A sequence whose entries have so many copied fields.
fn many_lanes(count: usize) -> String {
    let mut fields = String::new();
    for index in 0..count {
        write!(fields, r#"<uInt32 name="f{index}"><copy/></uInt32>"#).unwrap();
    }
    format!(r#"<template name="T" id="1"><sequence name="s">{fields}</sequence></template>"#)
}

/// A presence map of `count` fields of which those in `sent` are set.
fn map(count: usize, sent: &[usize]) -> Vec<u8> {
    let mut map = vec![0_u8; count.div_ceil(7)];
    for &field in sent {
        map[field / 7] |= 0x40 >> (field % 7);
    }
    while map.len() > 1 && map.last() == Some(&0) {
        map.pop();
    }
    *map.last_mut().unwrap() |= 0x80;
    map
}

#[test]
fn each_lane_is_read_where_it_is_the_only_one_sent() {
    for count in [15, 16, 17, 25, 28, 31] {
        let program = program(&many_lanes(count));
        let mut decoders = ENGINES.map(|engine| {
            let options =
                DecoderOptions { engine, reset: ResetPolicy::Packet, ..DecoderOptions::default() };
            Decoder::with_options(program.clone(), options)
        });
        let all: Vec<usize> = (0..count).collect();
        for from in 0..count {
            for until in [from + 1, count] {
                // All fields in the first entry; in the second those of a range; none in the third.
                let sent: Vec<usize> = (from..until).collect();
                let mut bytes = vec![0xc0, 0x81, 0x83];
                bytes.extend(map(count, &all));
                bytes.extend(all.iter().map(|field| 0x80 | *field as u8));
                bytes.extend(map(count, &sent));
                bytes.extend(sent.iter().map(|field| 0x80 | (*field as u8 + 40)));
                bytes.push(0x80);
                for decoder in &mut decoders {
                    decoder.begin_packet();
                    let engine = decoder.engine();
                    let decoded = decoder.decode(&bytes).unwrap();
                    let entries = decoded.message.root().value(0).as_entries().unwrap();
                    for (index, entry) in entries.iter().enumerate() {
                        for field in 0..count {
                            let is_new = index > 0 && sent.contains(&field);
                            let expected = field as u64 + if is_new { 40 } else { 0 };
                            let found = entry.value(field).as_u64();
                            assert_eq!(
                                found,
                                Some(expected),
                                "{engine:?} {count} {sent:?} {index} {field}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn siblings_are_no_deeper_than_one() {
    // One more than references, and than groups, may be nested.
    const REFERENCES: usize = Limits::DEPTH_MAX as usize + 1;
    let references = "<templateRef/>".repeat(REFERENCES);
    let mut groups = String::new();
    for index in 0..REFERENCES {
        write!(groups, r#"<group name="g{index}" presence="optional"><uInt32 name="x"><copy/></uInt32></group>"#)
            .unwrap();
    }
    let xml = format!(
        r#"<templates><template name="Outer" id="1">{references}</template>
        <template name="Inner" id="2"><uInt32 name="a"/></template>
        <template name="Groups" id="3">{groups}</template></templates>"#
    );
    let program = program(&xml);
    let mut bytes = vec![0xc0, 0x81];
    (0..REFERENCES).for_each(|index| bytes.extend([0xc0, 0x82, 0x80 | index as u8]));
    // The template id's bit and one a group.
    let mut in_groups = map(REFERENCES + 1, &(0..=REFERENCES).collect::<Vec<_>>());
    in_groups.push(0x83);
    (0..REFERENCES).for_each(|index| in_groups.extend([0xc0, 0x80 | index as u8]));

    let mut decoder = Decoder::new(program.clone());
    let mut encoder = Encoder::with_options(program.clone(), EncoderOptions::default());
    for (id, bytes) in [(1, &bytes), (3, &in_groups)] {
        let decoded = decoder.decode(bytes).unwrap();
        assert_eq!(decoded.message.template_id(), Some(TemplateId(id)));
        let root = decoded.message.root();
        let values = (0..REFERENCES).map(|index| root.value(index).as_record()?.value(0).as_u64());
        let expected: Vec<_> = (0..REFERENCES as u64).map(Some).collect();
        assert_eq!(values.collect::<Vec<_>>(), expected);
        let mut encoded = Vec::new();
        encoder.encode(decoded.message, &mut encoded).unwrap();
        let mut again = Decoder::new(program.clone());
        assert_eq!(
            again.decode(&encoded).unwrap().message.to_string(),
            decoded.message.to_string()
        );
        encoder.reset();
        decoder.reset();
    }
}
