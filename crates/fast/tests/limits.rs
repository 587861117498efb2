//! Cost of hostile bytes: exceeding any bound is an error, with every decoding method.

use std::sync::Arc;
use tickwire_fast::{
    CompileOptions, Decoder, DecoderOptions, EngineUnderTest, FastErrorKind, FieldLayout,
    FieldValue, Limits, MessageVisitor, Program, Step, TemplateLayout, TemplateSet,
};

fn program(xml: &str, fields: Option<&[&str]>) -> Arc<Program> {
    let fields = fields.map(|names| names.iter().map(|name| name.to_string()).collect());
    let options = CompileOptions::default().fields(fields);
    let set = TemplateSet::parse(xml).expect("valid");
    Arc::new(Program::compile_with(set, &options).expect("compiles"))
}

fn decoder(program: &Arc<Program>, limits: Limits) -> Decoder {
    Decoder::with_options(program.clone(), DecoderOptions::default().limits(limits))
}

/// A visitor that keeps nothing.
struct Nobody;

impl MessageVisitor for Nobody {}

const SELF_REFERENCE: &str =
    r#"<templates><template name="T" id="1"><templateRef/></template></templates>"#;

#[test]
fn references_end_at_a_depth_that_no_option_raises() {
    let program = program(SELF_REFERENCE, None);
    let bytes = [0xc0, 0x81].repeat(60_000);
    let limits = Limits::default().nesting_max(u32::MAX);
    let error = decoder(&program, limits).decode(&bytes).expect_err("endless");
    assert_eq!(error.kind(), FastErrorKind::NestingTooDeep);
    let error = decoder(&program, limits).visit(&bytes, &mut Nobody).expect_err("endless");
    assert_eq!(error.kind(), FastErrorKind::NestingTooDeep);
    let error = decoder(&program, Limits::default()).decode(&bytes).expect_err("endless");
    assert_eq!((error.kind(), error.offset()), (FastErrorKind::NestingTooDeep, 34));
}

#[test]
fn sequences_inside_references_count_as_depth() {
    let mut xml = String::from("<templateRef/>");
    for level in 0..40 {
        xml = format!("<sequence name='s{level}'><uInt32 name='a'/>{xml}</sequence>");
    }
    let xml = format!("<templates><template name='T' id='1'>{xml}</template></templates>");
    let program = program(&xml, None);
    let mut bytes = Vec::new();
    for _ in 0..100 {
        bytes.extend([0xc0, 0x81]);
        bytes.extend([0x81, 0x80].repeat(40));
    }
    let error = decoder(&program, Limits::default()).decode(&bytes).expect_err("endless");
    assert_eq!(error.kind(), FastErrorKind::NestingTooDeep);
}

const STRING_DELTAS: &str = r#"<templates><template name="T" id="1"><string name="base"><delta key="k"/></string>
    <sequence name="s"><string name="v"><delta key="k"/></string></sequence>
    <uInt32 name="a"/></template></templates>"#;

/// A string of 1000 bytes and `entries` deltas that do not change it.
fn string_deltas(entries: u8) -> Vec<u8> {
    let mut bytes = vec![0xc0, 0x81, 0x80];
    bytes.extend([b'x'; 999]);
    bytes.extend([b'x' | 0x80, 0x80 | entries]);
    bytes.extend([0x80, 0x80].repeat(usize::from(entries)));
    bytes.push(0x85);
    bytes
}

#[test]
fn strings_count_whether_or_not_they_are_stored() {
    let limits = Limits::default().message_bytes_max(50_000);
    for (entries, outcome) in [(40, None), (100, Some(FastErrorKind::MessageTooLarge))] {
        let bytes = string_deltas(entries);
        let whole = program(STRING_DELTAS, None);
        let some = program(STRING_DELTAS, Some(&["a"]));
        let kind =
            |outcome: Result<usize, tickwire_fast::FastError>| outcome.err().map(|e| e.kind());
        assert_eq!(kind(decoder(&whole, limits).decode(&bytes).map(|d| d.len)), outcome);
        assert_eq!(kind(decoder(&some, limits).decode(&bytes).map(|d| d.len)), outcome);
        assert_eq!(kind(decoder(&whole, limits).visit(&bytes, &mut Nobody)), outcome);
    }
}

#[test]
fn a_stream_is_not_waited_for_beyond_its_limit() {
    let program = program(SELF_REFERENCE, None);
    let limits = Limits::default().stream_bytes_max(1000);
    let mut decoder = decoder(&program, limits);
    assert!(matches!(decoder.decode_stream(&[0; 1000]), Ok(Step::NeedMore(_))));
    let error = decoder.decode_stream(&[0; 1001]).expect_err("too long");
    assert_eq!(error.kind(), FastErrorKind::MessageTooLarge);
}

/// Records the calls to a visitor.
#[derive(Default)]
struct Log(Vec<String>);

impl MessageVisitor for Log {
    fn begin_message(&mut self, template: &TemplateLayout) {
        self.0.push(format!("message {}", template.name));
    }

    fn field(&mut self, field: &FieldLayout, _value: FieldValue<'_>) {
        self.0.push(field.name.to_string());
    }

    fn begin_group(&mut self, field: &FieldLayout) {
        self.0.push(format!("group {}", field.name));
    }

    fn begin_sequence(&mut self, field: &FieldLayout, count: usize) {
        self.0.push(format!("sequence {} {count}", field.name));
    }

    fn end_message(&mut self) {
        self.0.push("end".to_owned());
    }
}

#[test]
fn a_visitor_sees_nothing_of_a_message_that_fails() {
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"/>
        <sequence name="q"><uInt32 name="b"/></sequence></template></templates>"#;
    let bytes = [0xc0, 0x81, 0x81, 0x82, 0x83, 0x84];
    for engine in [EngineUnderTest::Operations, EngineUnderTest::Automatic] {
        let options = DecoderOptions::default().engine_under_test(engine);
        let mut decoder = Decoder::with_options(program(xml, None), options);
        let mut log = Log::default();
        let error = decoder.visit(&bytes[..5], &mut log).expect_err("truncated");
        assert_eq!((error.kind(), &log.0[..]), (FastErrorKind::Truncated, &[][..]));
        let error = decoder.visit(&bytes, &mut log).expect_err("a message failed");
        assert_eq!((error.kind(), &log.0[..]), (FastErrorKind::NeedsReset, &[][..]));
        decoder.reset();
        assert_eq!(decoder.visit(&bytes, &mut log), Ok(bytes.len()));
        assert_eq!(log.0, ["message T", "a", "sequence q 2", "b", "b", "end"]);
    }
}

#[test]
fn a_visitor_sees_of_a_projection_what_the_view_has() {
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"/>
        <sequence name="q"><uInt32 name="b"/></sequence><group name="g"><uInt32 name="c"/></group>
        <templateRef/></template>
        <template name="D" id="2"><uInt32 name="a"/></template></templates>"#;
    let bytes = [0xc0, 0x81, 0x81, 0x82, 0x83, 0x84, 0x85, 0xc0, 0x82, 0x86];
    let mut some = Log::default();
    let mut decoder = Decoder::new(program(xml, Some(&["a"])));
    assert_eq!(decoder.visit(&bytes, &mut some), Ok(bytes.len()));
    assert_eq!(some.0, ["message T", "a", "end"]);
    let mut all = Log::default();
    let mut decoder = Decoder::new(program(xml, None));
    assert_eq!(decoder.visit(&bytes, &mut all), Ok(bytes.len()));
    let outer = ["message T", "a", "sequence q 2", "b", "b", "group g", "c"];
    let inner = ["message D", "a", "end"];
    assert_eq!(all.0, [&outer[..], &inner, &["end"]].concat());
}
