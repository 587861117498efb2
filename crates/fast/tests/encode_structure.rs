//! Groups, sequences, dynamic references and packets, encoded.

mod support;

use std::sync::Arc;
use support::to_hex;
use tickwire_fast::{
    CompileOptions, Encoder, EncoderOptions, FastErrorKind, Limits, MessageBuilder, PacketEncoder,
    Program, ResetPolicy, TemplateId, TemplateSet,
};

fn program(xml: &str) -> Arc<Program> {
    let set = TemplateSet::parse(&format!("<templates>{xml}</templates>")).expect(xml);
    Arc::new(Program::compile(set).expect(xml))
}

fn encode(encoder: &mut Encoder, builder: &mut MessageBuilder) -> String {
    let message = builder.finish().expect("complete");
    let mut out = Vec::new();
    encoder.encode(message, &mut out).expect("encodes");
    to_hex(&out)
}

#[test]
fn entries_have_a_map_of_their_own_and_state_runs_on() {
    let program = program(
        r#"<template name="T" id="1"><sequence name="s"><length><copy/></length>
           <uInt32 name="x"><copy/></uInt32></sequence></template>"#,
    );
    let mut builder = MessageBuilder::new(program.clone());
    let mut encoder = Encoder::new(program);
    for expected in ["e08182c08580", "808080"] {
        builder.begin(0).unwrap();
        builder.begin_sequence("s", 2).unwrap();
        for _ in 0..2 {
            builder.begin_entry().unwrap();
            builder.set_u64("x", 5).unwrap();
            builder.end().unwrap();
        }
        builder.end().unwrap();
        assert_eq!(encode(&mut encoder, &mut builder), expected);
    }
}

#[test]
fn entries_without_bits_have_no_map() {
    let program = program(
        r#"<template name="T" id="1"><sequence name="s" presence="optional">
           <uInt32 name="x"/></sequence></template>"#,
    );
    let mut builder = MessageBuilder::new(program.clone());
    let mut encoder = Encoder::new(program);
    builder.begin(0).unwrap();
    assert_eq!(encode(&mut encoder, &mut builder), "c08180");
    builder.begin(0).unwrap();
    builder.begin_sequence("s", 0).unwrap();
    builder.end().unwrap();
    assert_eq!(encode(&mut encoder, &mut builder), "8081");
    builder.begin(0).unwrap();
    builder.begin_sequence("s", 1).unwrap();
    builder.begin_entry().unwrap();
    builder.set_u64("x", 5).unwrap();
    builder.end().unwrap();
    builder.end().unwrap();
    assert_eq!(encode(&mut encoder, &mut builder), "808285");
}

#[test]
fn a_constant_length_carries_only_its_own_value() {
    let program = program(
        r#"<template name="T" id="1"><sequence name="s"><length><constant value="1"/></length>
           <uInt32 name="x"/></sequence></template>"#,
    );
    let mut builder = MessageBuilder::new(program.clone());
    let mut encoder = Encoder::new(program.clone());
    builder.begin(0).unwrap();
    builder.begin_sequence("s", 0).unwrap();
    builder.end().unwrap();
    let error = encoder.encode(builder.finish().unwrap(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), FastErrorKind::ApplicationType);
    assert_eq!(error.field().map(|field| program.path(field)).as_deref(), Some("s"));
}

#[test]
fn an_optional_group_takes_a_bit() {
    let program = program(
        r#"<template name="T" id="1"><group name="g" presence="optional">
           <uInt32 name="x"/><uInt32 name="y"><default value="1"/></uInt32></group></template>"#,
    );
    let mut builder = MessageBuilder::new(program.clone());
    let mut encoder = Encoder::new(program);
    builder.begin(0).unwrap();
    builder.begin_group("g").unwrap();
    builder.set_u64("x", 5).unwrap();
    builder.set_u64("y", 1).unwrap();
    builder.end().unwrap();
    assert_eq!(encode(&mut encoder, &mut builder), "e0818085");
    builder.begin(0).unwrap();
    assert_eq!(encode(&mut encoder, &mut builder), "80");
}

#[test]
fn a_dynamic_reference_is_a_message_inside() {
    let program = program(
        r#"<template name="T" id="1"><templateRef/></template>
           <template name="U" id="2"><uInt32 name="x"/></template><template name="N"/>"#,
    );
    let mut builder = MessageBuilder::new(program.clone());
    let mut encoder = Encoder::new(program.clone());
    let nest = |builder: &mut MessageBuilder, depth: usize| {
        builder.begin(0).unwrap();
        for _ in 0..depth {
            builder.begin_dynamic("#dyn", 0).unwrap();
        }
        builder.begin_dynamic("#dyn", 1).unwrap();
        builder.set_u64("x", 5).unwrap();
        (0..=depth).for_each(|_| builder.end().unwrap());
    };
    nest(&mut builder, 0);
    assert_eq!(encode(&mut encoder, &mut builder), "c081c08285");
    nest(&mut builder, 1);
    assert_eq!(encode(&mut encoder, &mut builder), "c08180c08285");

    builder.begin(0).unwrap();
    let error = builder.begin_dynamic("#dyn", 2).unwrap_err();
    assert_eq!(error.kind(), FastErrorKind::TemplateWithoutId);

    let limits = Limits::default().nesting_max(3);
    let options = EncoderOptions::default().limits(limits);
    let mut encoder = Encoder::with_options(program, options);
    nest(&mut builder, 3);
    let error = encoder.encode(builder.finish().unwrap(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), FastErrorKind::NestingTooDeep);
}

#[test]
fn a_message_of_another_program_is_refused() {
    let xml = r#"<template name="T" id="1"><uInt32 name="x"/></template>"#;
    let mut builder = MessageBuilder::new(program(xml));
    builder.begin(0).unwrap();
    builder.set_u64("x", 1).unwrap();
    let mut out = Vec::new();
    let error = Encoder::new(program(xml)).encode(builder.finish().unwrap(), &mut out).unwrap_err();
    assert_eq!(error.kind(), FastErrorKind::ForeignMessage);
    assert!(out.is_empty());
}

#[test]
fn a_program_that_leaves_fields_out_builds_nothing() {
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="x"/><uInt32 name="y"/>
                 </template></templates>"#;
    let options = CompileOptions::default().fields(Some(vec!["x".into()]));
    let set = TemplateSet::parse(xml).unwrap();
    let program = Arc::new(Program::compile_with(set, &options).unwrap());
    let error = MessageBuilder::new(program).begin(0).unwrap_err();
    assert_eq!(error.kind(), FastErrorKind::ProjectedProgram);
}

const QUOTES: &str = r#"<template name="Q" id="1"><uInt32 name="n"><increment/></uInt32>
                        <string name="s"><copy/></string></template>"#;

fn quote(builder: &mut MessageBuilder, number: u64, text: &str) {
    builder.begin_id(TemplateId(1)).unwrap();
    builder.set_u64("n", number).unwrap();
    builder.set_str("s", text).unwrap();
}

#[test]
fn a_reset_before_every_message_makes_every_message_whole() {
    let program = program(QUOTES);
    let mut builder = MessageBuilder::new(program.clone());
    let options = EncoderOptions::default().reset(ResetPolicy::Message);
    let mut encoder = Encoder::with_options(program, options);
    for number in 1..4 {
        quote(&mut builder, number, "A");
        assert_eq!(encode(&mut encoder, &mut builder), format!("f0818{number}c1"));
    }
}

#[test]
fn packets_are_filled_to_their_limit_and_stand_alone() {
    let program = program(QUOTES);
    let mut builder = MessageBuilder::new(program.clone());
    let options = EncoderOptions::default().reset(ResetPolicy::Packet).packet_bytes_max(6);
    let mut packer = PacketEncoder::new(program, options);
    let mut packets = Vec::new();
    for number in 1..=7 {
        quote(&mut builder, number, "A");
        let full = packer.push(builder.finish().unwrap()).unwrap();
        packets.extend(full.map(to_hex));
    }
    assert_eq!(packer.messages(), 1);
    packets.extend(packer.finish().map(to_hex));
    assert!(packer.is_empty());
    assert_eq!(packets, ["f08181c18080", "f08184c18080", "f08187c1"]);
}

#[test]
fn a_message_longer_than_a_packet_leaves_the_packet_as_it_was() {
    let program = program(QUOTES);
    let mut builder = MessageBuilder::new(program.clone());
    let options = EncoderOptions::default().reset(ResetPolicy::Packet).packet_bytes_max(6);
    let mut packer = PacketEncoder::new(program, options);
    let mut push = |packer: &mut PacketEncoder, number, text| {
        quote(&mut builder, number, text);
        packer.push(builder.finish().unwrap()).map(|full| full.map(to_hex))
    };
    let too_long = push(&mut packer, 1, "much too long").unwrap_err();
    assert_eq!(too_long.kind(), FastErrorKind::PacketTooSmall);
    assert_eq!(push(&mut packer, 1, "A"), Ok(None));
    let too_long = push(&mut packer, 2, "much too long").unwrap_err();
    assert_eq!(too_long.kind(), FastErrorKind::PacketTooSmall);
    assert_eq!(push(&mut packer, 2, "A"), Ok(None));
    assert_eq!(packer.finish().map(to_hex).as_deref(), Some("f08181c180"));
}
