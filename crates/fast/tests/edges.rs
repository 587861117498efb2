//! Limits, findings and shapes at their boundaries, with every engine: each case that succeeds
//! differs by one from a case that fails.

use std::fmt::Write as _;
use std::sync::Arc;
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, FastError, FastErrorKind,
    Limits, Program, ResetPolicy, TemplateId, TemplateSet,
};

const ENGINES: [EngineUnderTest; 4] = [
    EngineUnderTest::Portable,
    EngineUnderTest::Vectors,
    EngineUnderTest::MachineCode,
    EngineUnderTest::Automatic,
];

/// Three templates: flat; with a sequence of plain entries; and not plain, so that only the operations
/// decode it.
const XML: &str = r#"<templates>
    <template name="Flat" id="1"><uInt32 name="a"><copy/></uInt32><uInt32 name="b"><increment/></uInt32></template>
    <template name="Plain" id="2"><uInt32 name="a"><copy/></uInt32><string name="t"><copy/></string>
        <sequence name="s"><uInt32 name="c"><delta/></uInt32><uInt32 name="d"><copy/></uInt32></sequence></template>
    <template name="Other" id="3"><uInt32 name="a"><copy/></uInt32>
        <sequence name="s"><byteVector name="v"/></sequence></template>
    </templates>"#;

/// A message of each template, with three entries in `Plain` and `Other`; the text has two
/// characters.
const MESSAGES: [&[u8]; 3] = [
    &[0xf0, 0x81, 0x85, 0x86],
    &[0xf0, 0x82, 0x85, b'A', b'B' | 0x80, 0x83, 0xc0, 0x81, 0x82, 0xc0, 0x81, 0x83, 0x80, 0x81],
    &[0xe0, 0x83, 0x85, 0x83, 0x81, 0x01, 0x81, 0x02, 0x81, 0x03],
];

fn program(xml: &str) -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap())
}

/// Returns the result of an engine for a message that it has decoded before (so that it is warm):
/// its text, or the kind of its error.
fn outcome(
    program: &Arc<Program>,
    engine: EngineUnderTest,
    limits: Limits,
    message: &[u8],
) -> Result<String, FastErrorKind> {
    let options = DecoderOptions::default()
        .engine_under_test(engine)
        .limits(limits)
        .reset(ResetPolicy::Packet);
    let mut decoder = Decoder::with_options(program.clone(), options);
    let bytes = with_more(message);
    let mut last = Err(FastErrorKind::NeedsReset);
    for _ in 0..3 {
        decoder.begin_packet();
        let decoded = decoder.decode(&bytes);
        last = decoded
            .map(|decoded| decoded.message.to_string())
            .map_err(|error: FastError| error.kind());
    }
    last
}

/// Returns a message followed by other bytes: fast engines read ahead, and leave messages near the
/// end of the bytes to slower engines.
fn with_more(message: &[u8]) -> Vec<u8> {
    [message, &[0x80; 256]].concat()
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
                |needed: u32, kind: FastErrorKind| if limit >= needed { Ok(()) } else { Err(kind) };
            let entries = Limits::default().entries_max(limit);
            let total = Limits::default().entries_total_max(limit);
            let strings = Limits::default().string_max(limit);
            for (limits, needed, kind) in [
                (entries, [0, 3, 3], FastErrorKind::TooManyEntries),
                (total, [0, 3, 3], FastErrorKind::TooManyEntries),
                (strings, [0, 2, 1], FastErrorKind::StringTooLong),
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
                let limits = Limits::default().message_bytes_max(*limit);
                outcome(&program, engine, limits, message).is_ok()
            };
            (0..4096).find(passes).expect("some memory is enough")
        };
        let scalar = needed(EngineUnderTest::Portable);
        assert!(scalar > 0, "{message:02x?}");
        for engine in ENGINES {
            assert_eq!(needed(engine), scalar, "{engine:?} {message:02x?}");
        }
    }
}

#[test]
fn all_engines_count_the_same_findings() {
    let program = program(XML);
    // An overlong integer; the same in an entry; an overlong presence map; an unused presence-map
    // bit; the same in an entry.
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
                DecoderOptions::default().engine_under_test(engine).reset(ResetPolicy::Packet);
            let mut decoder = Decoder::with_options(program.clone(), options);
            for round in 1..=3 {
                decoder.begin_packet();
                assert_eq!(
                    decoder.decode(&with_more(bytes)).map(|decoded| decoded.len),
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

/// Presence-map bits of an entry that the SIMD engine looks up: three bytes of seven bits.
const MAP_BITS: usize = 21;

/// A sequence whose entries have `count` fields: the last ones are copied, as many as SIMD looks
/// up; those before are always sent.
fn many_lanes(count: usize) -> String {
    let mut fields = String::new();
    for index in 0..count {
        let operator = if is_copied(index, count) { "<copy/>" } else { "" };
        write!(fields, r#"<uInt32 name="f{index}">{operator}</uInt32>"#).unwrap();
    }
    format!(r#"<template name="T" id="1"><sequence name="s">{fields}</sequence></template>"#)
}

fn is_copied(field: usize, count: usize) -> bool {
    field >= count.saturating_sub(MAP_BITS)
}

/// Returns a presence map of `count` fields with the bits of those in `sent` set.
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

/// Returns an entry of [`many_lanes`] in which these copied fields are sent; values are the field's
/// number plus `more`.
fn entry_of(count: usize, sent: &[usize], more: u8) -> Vec<u8> {
    let first = count.saturating_sub(MAP_BITS);
    let bits: Vec<usize> = sent.iter().map(|field| field - first).collect();
    let mut bytes = map(count - first, &bits);
    let always = (0..first).chain(sent.iter().copied());
    bytes.extend(always.map(|field| 0x80 | (field as u8 + more)));
    bytes
}

#[test]
fn each_lane_is_read_where_it_is_the_only_one_sent() {
    for count in [15, 16, 17, 21, 25, 26, 28, 31] {
        let program = program(&many_lanes(count));
        let mut decoders = ENGINES.map(|engine| {
            let options =
                DecoderOptions::default().engine_under_test(engine).reset(ResetPolicy::Packet);
            Decoder::with_options(program.clone(), options)
        });
        let copied: Vec<usize> = (0..count).filter(|&field| is_copied(field, count)).collect();
        for from in copied.clone() {
            for until in [from + 1, count] {
                // The first entry sends all fields, the second a range of the copied ones, the
                // third none of them.
                let sent: Vec<usize> = (from..until).collect();
                let entries = [(&copied, 0), (&sent, 40), (&Vec::new(), 80)];
                let mut bytes = vec![0xc0, 0x81, 0x83];
                for (sent, more) in entries {
                    bytes.extend(entry_of(count, sent, more));
                }
                for decoder in &mut decoders {
                    decoder.begin_packet();
                    let engine = decoder.engine_under_test();
                    let decoded = decoder.decode(&with_more(&bytes)).unwrap();
                    let found = decoded.message.root().value(0).as_entries().unwrap();
                    let mut expected: Vec<u64> = vec![0; count];
                    for (entry, (sent, more)) in found.iter().zip(entries) {
                        for (field, expected) in expected.iter_mut().enumerate() {
                            if sent.contains(&field) || !is_copied(field, count) {
                                *expected = field as u64 + u64::from(more);
                            }
                        }
                        let values = (0..count).filter_map(|field| entry.value(field).as_u64());
                        let values: Vec<_> = values.collect();
                        assert_eq!(values, expected, "{engine:?} {count} {sent:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_entrys_presence_map_that_is_longer_than_needed_is_counted_by_all_engines() {
    // All fields are copied; maps have at most three bytes.
    const COUNT: usize = 15;
    let program = program(&many_lanes(COUNT));
    let all: Vec<usize> = (0..COUNT).collect();
    for (map, sent) in [(&[0x40, 0x80][..], 1), (&[0x40, 0x40, 0x80], 2)] {
        let mut bytes = vec![0xc0, 0x81, 0x82];
        bytes.extend(entry_of(COUNT, &all, 0));
        bytes.extend(map);
        bytes.extend(vec![0x85; sent]);
        for engine in ENGINES {
            let options =
                DecoderOptions::default().engine_under_test(engine).reset(ResetPolicy::Packet);
            let mut decoder = Decoder::with_options(program.clone(), options);
            for round in 1..=3 {
                decoder.begin_packet();
                let decoded = decoder.decode(&with_more(&bytes)).map(|decoded| decoded.len);
                assert_eq!(decoded, Ok(bytes.len()), "{engine:?}");
                let found = decoder.findings().overlong_presence_map;
                assert_eq!(found, round, "{engine:?} {map:02x?}");
            }
        }
    }
}

#[test]
fn a_sequence_of_just_too_many_entries_is_refused_whatever_room_there_is() {
    // A message of a long template reserves memory for many entries.
    let field = r#"<uInt32 name="x" presence="optional"><copy/></uInt32>"#;
    let long =
        format!(r#"<template name="Long" id="4">{}</template></templates>"#, field.repeat(400));
    let program = program(&XML.replace("</templates>", &long));
    // For the second template: the start of a message, and an entry.
    let message = |entries: u32| {
        let mut bytes = MESSAGES[1][..5].to_vec();
        bytes.push(0x80 | entries as u8);
        (0..entries).for_each(|_| bytes.extend([0xc0, 0x81, 0x82]));
        with_more(&bytes)
    };
    for engine in ENGINES {
        for limit in 1..40 {
            for limits in
                [Limits::default().entries_max(limit), Limits::default().entries_total_max(limit)]
            {
                let options = DecoderOptions::default()
                    .engine_under_test(engine)
                    .limits(limits)
                    .reset(ResetPolicy::Packet);
                let mut decoder = Decoder::with_options(program.clone(), options);
                decoder.begin_packet();
                decoder.decode(&with_more(&[0xc0, 0x84])).unwrap();
                for entries in (1..=limit).chain([limit]) {
                    decoder.begin_packet();
                    assert!(decoder.decode(&message(entries)).is_ok(), "{engine:?} {limits:?}");
                }
                decoder.begin_packet();
                let error = decoder.decode(&message(limit + 1)).unwrap_err();
                assert_eq!(error.kind(), FastErrorKind::TooManyEntries, "{engine:?} {limits:?}");
                assert_eq!(error.detail(), limit + 1);
            }
        }
    }
}

#[test]
fn siblings_are_no_deeper_than_one() {
    // One more level than references, and than groups, may be nested.
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
    // The template id's bit and one bit per group.
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

#[test]
fn no_engine_takes_a_previous_value_that_its_field_cannot_have() {
    let program = program(
        r#"<templates><template name="Integer" id="1"><int32 name="n"><copy key="k"/></int32></template>
        <template name="Decimal" id="2"><decimal name="d"><exponent><copy key="k"/></exponent><mantissa/></decimal></template>
        </templates>"#,
    );
    // 63 and 64 in the first template, then only a mantissa.
    let integers: [&[u8]; 2] = [&[0xe0, 0x81, 0xbf], &[0xe0, 0x81, 0x00, 0xc0]];
    for engine in ENGINES {
        let options =
            DecoderOptions::default().engine_under_test(engine).reset(ResetPolicy::Packet);
        let mut decoder = Decoder::with_options(program.clone(), options);
        for _ in 0..3 {
            for (integer, outcome) in integers.iter().zip([Ok(3), Err(FastErrorKind::DecimalRange)])
            {
                decoder.begin_packet();
                decoder.decode(&with_more(integer)).unwrap();
                let decoded = decoder.decode(&with_more(&[0xc0, 0x82, 0x85]));
                let len = decoded.map(|decoded| decoded.len).map_err(|error| error.kind());
                assert_eq!(len, outcome, "{engine:?}");
            }
        }
    }
}

#[test]
fn plain_templates_take_long_values_that_others_have_left() {
    let program = program(
        r#"<templates><template name="Plain" id="1"><string name="s"><copy/></string><uInt32 name="a"><copy/></uInt32></template>
        <template name="Other" id="2"><byteVector name="v"/><string name="s"><copy/></string></template>
        </templates>"#,
    );
    for engine in ENGINES {
        let options =
            DecoderOptions::default().engine_under_test(engine).reset(ResetPolicy::Packet);
        let mut decoder = Decoder::with_options(program.clone(), options);
        for _ in 0..3 {
            decoder.begin_packet();
            decoder.decode(&with_more(&[0xf0, 0x81, b'A', b'B' | 0x80, 0x85])).unwrap();
            for text in ["ABCDEFGHI", "XY", "ABCDEFGH"] {
                let mut other = [&[0xe0, 0x82, 0x80], text.as_bytes()].concat();
                *other.last_mut().unwrap() |= 0x80;
                decoder.decode(&with_more(&other)).unwrap();
                for _ in 0..2 {
                    let decoded = decoder.decode(&with_more(&[0xc0, 0x81])).unwrap();
                    let message = decoded.message.to_string();
                    assert!(
                        message.contains(text) && message.contains('5'),
                        "{engine:?} {message}"
                    );
                }
            }
        }
    }
}
