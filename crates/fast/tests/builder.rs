//! Messages built field by field: which calls succeed and which fail.

use std::sync::Arc;
use tickwire_fast::{
    Decimal, FastError, FastErrorKind, FieldValue, Limits, MessageBuilder, Program, TemplateId,
    TemplateSet,
};

const XML: &str = r#"<templates>
  <template name="T" id="7">
    <uInt8 name="u8" presence="optional"/>
    <int16 name="i16" presence="optional"/>
    <uInt64 name="u64" presence="optional"/>
    <string name="ascii" presence="optional"/>
    <string name="unicode" charset="unicode" presence="optional"/>
    <byteVector name="bytes" presence="optional"/>
    <decimal name="decimal" presence="optional"/>
    <decimal name="fixed"><constant value="1.5"/></decimal>
    <group name="group" presence="optional"><uInt32 name="inner"/></group>
    <sequence name="rows" presence="optional">
      <uInt32 name="a"/><uInt32 name="b" presence="optional"/>
      <sequence name="deep" presence="optional"><string name="text"/></sequence>
    </sequence>
  </template>
  <template name="M" id="8">
    <uInt32 name="x"/><group name="g"><uInt32 name="y" presence="optional"/></group>
  </template>
</templates>"#;

fn program() -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap())
}

fn begun(id: u32) -> MessageBuilder {
    let mut builder = MessageBuilder::new(program());
    builder.begin_id(TemplateId(id)).unwrap();
    builder
}

fn kind(outcome: Result<(), FastError>) -> Option<FastErrorKind> {
    outcome.err().map(|error| error.kind())
}

#[test]
fn integers_outside_the_width_of_their_type_are_d2() {
    let mut builder = begun(7);
    assert_eq!(kind(builder.set_u64("u8", 255)), None);
    assert_eq!(kind(builder.set_u64("u8", 256)), Some(FastErrorKind::IntegerRange));
    assert_eq!(kind(builder.set_i64("u8", -1)), Some(FastErrorKind::IntegerRange));
    assert_eq!(kind(builder.set_i64("i16", -32_768)), None);
    assert_eq!(kind(builder.set_u64("i16", 32_768)), Some(FastErrorKind::IntegerRange));
    assert_eq!(kind(builder.set_u64("u64", u64::MAX)), None);
    let message = builder.finish().unwrap();
    assert!(matches!(message.root().field("u8"), Some(FieldValue::UInt(255))));
    assert!(matches!(message.root().field("i16"), Some(FieldValue::Int(-32_768))));
}

#[test]
fn values_of_another_type_are_d1() {
    let mut builder = begun(7);
    let wrong = Some(FastErrorKind::ApplicationType);
    let decimal = Decimal { mantissa: 1, exponent: 0 };
    assert_eq!(kind(builder.set_u64("ascii", 1)), wrong);
    assert_eq!(kind(builder.set_u64("decimal", 1)), wrong);
    assert_eq!(kind(builder.set_u64("group", 1)), wrong);
    assert_eq!(kind(builder.set_str("u8", "1")), wrong);
    assert_eq!(kind(builder.set_decimal("u8", decimal)), wrong);
    assert_eq!(kind(builder.set_decimal("fixed", decimal)), wrong);
    assert_eq!(kind(builder.set_decimal("fixed", Decimal { mantissa: 15, exponent: -1 })), None);
    assert_eq!(kind(builder.begin_group("rows")), wrong);
    assert_eq!(kind(builder.begin_sequence("group", 1)), wrong);
    assert_eq!(kind(builder.set_constant("u8")), wrong);
}

#[test]
fn unknown_fields_and_calls_out_of_order_are_told_apart() {
    let mut builder = begun(7);
    assert_eq!(kind(builder.set_u64("none such", 1)), Some(FastErrorKind::UnknownField));
    assert_eq!(kind(builder.set_u64(99, 1)), Some(FastErrorKind::UnknownField));
    assert_eq!(kind(builder.begin_entry()), Some(FastErrorKind::BuilderOrder));
    assert_eq!(kind(builder.end()), Some(FastErrorKind::BuilderOrder));
}

#[test]
fn strings_and_exponents_are_checked_at_once() {
    let mut builder = begun(7);
    assert_eq!(kind(builder.set_str("ascii", "é")), Some(FastErrorKind::NotAscii));
    assert_eq!(kind(builder.set_bytes("unicode", b"\xff")), Some(FastErrorKind::InvalidUtf8));
    assert_eq!(kind(builder.set_bytes("bytes", b"\xff")), None);
    let far = Decimal { mantissa: 1, exponent: 64 };
    assert_eq!(kind(builder.set_decimal("decimal", far)), Some(FastErrorKind::DecimalRange));
    let limits = Limits::default().string_max(3);
    let mut builder = MessageBuilder::with_limits(program(), limits);
    builder.begin(0).unwrap();
    assert_eq!(kind(builder.set_str("ascii", "1234")), Some(FastErrorKind::StringTooLong));
}

#[test]
fn mandatory_fields_and_groups_have_to_be_set() {
    let program = program();
    let missing = |outcome: Result<(), FastError>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), FastErrorKind::MissingValue);
        error.field().map(|field| program.path(field))
    };
    let mut builder = MessageBuilder::new(program.clone());
    builder.begin_id(TemplateId(8)).unwrap();
    assert_eq!(missing(builder.finish().map(drop)).as_deref(), Some("x"));
    builder.set_u64("x", 1).unwrap();
    assert_eq!(missing(builder.finish().map(drop)).as_deref(), Some("g"));
    builder.begin_group("g").unwrap();
    assert_eq!(kind(builder.finish().map(drop)), Some(FastErrorKind::BuilderOrder));
    builder.end().unwrap();
    assert_eq!(missing(builder.clear("x")).as_deref(), Some("x"));
    builder.finish().unwrap();

    builder.begin_id(TemplateId(7)).unwrap();
    builder.begin_sequence("rows", 1).unwrap();
    assert_eq!(missing(builder.end()).as_deref(), Some("rows"));
    builder.begin_entry().unwrap();
    assert_eq!(missing(builder.end()).as_deref(), Some("rows/a"));
}

#[test]
fn entries_beyond_the_count_or_the_limits_are_refused() {
    let limits = Limits::default().entries_max(3).entries_total_max(4);
    let mut builder = MessageBuilder::with_limits(program(), limits);
    builder.begin(0).unwrap();
    let too_many = Some(FastErrorKind::TooManyEntries);
    assert_eq!(kind(builder.begin_sequence("rows", 4)), too_many);
    builder.begin_sequence("rows", 1).unwrap();
    builder.begin_entry().unwrap();
    builder.set_u64("a", 1).unwrap();
    builder.begin_sequence("deep", 3).unwrap();
    for _ in 0..3 {
        builder.begin_entry().unwrap();
        builder.set_str("text", "t").unwrap();
        builder.end().unwrap();
    }
    assert_eq!(kind(builder.begin_entry()), too_many);
    builder.end().unwrap();
    builder.end().unwrap();
    builder.end().unwrap();
    assert_eq!(kind(builder.begin_sequence("rows", 1)), too_many);
    builder.finish().unwrap();
}

#[test]
fn fields_are_set_by_index_handle_or_name() {
    let program = program();
    let mut builder = MessageBuilder::new(program.clone());
    let outer = program.handle(0, "u64").unwrap();
    let inner = program.handle(0, "group/inner").unwrap();
    builder.begin(0).unwrap();
    builder.set_u64(0, 1).unwrap();
    builder.set_u64(outer, 2).unwrap();
    assert_eq!(kind(builder.set_u64(inner, 3)), Some(FastErrorKind::UnknownField));
    builder.begin_group("group").unwrap();
    builder.set_u64(inner, 3).unwrap();
    builder.end().unwrap();
    let root = builder.finish().unwrap().root();
    assert!(matches!(root.field("u8"), Some(FieldValue::UInt(1))));
    assert!(matches!(root.field("u64"), Some(FieldValue::UInt(2))));
    let Some(FieldValue::Group(group)) = root.field("group") else { panic!("{root:?}") };
    assert!(matches!(group.value(0), FieldValue::UInt(3)));
}

#[test]
fn nothing_of_the_message_before_is_left() {
    let mut builder = begun(7);
    builder.set_u64("u8", 1).unwrap();
    builder.set_str("ascii", "a string longer than a word").unwrap();
    builder.begin_group("group").unwrap();
    builder.set_u64("inner", 1).unwrap();
    builder.end().unwrap();
    builder.begin_id(TemplateId(7)).unwrap();
    builder.set_str("ascii", "again").unwrap();
    builder.set_u64("u64", 1).unwrap();
    builder.clear("u64").unwrap();
    let root = builder.finish().unwrap().root();
    assert!(matches!(root.field("u8"), Some(FieldValue::Absent)));
    assert!(matches!(root.field("u64"), Some(FieldValue::Absent)));
    assert!(matches!(root.field("group"), Some(FieldValue::Absent)));
    assert!(matches!(root.field("ascii"), Some(FieldValue::Ascii(b"again"))));
}

#[test]
fn nothing_can_be_set_before_a_message_is_begun() {
    let mut builder = MessageBuilder::new(program());
    let misuse = Some(FastErrorKind::BuilderOrder);
    assert_eq!(kind(builder.set_u64("u8", 1)), misuse);
    assert_eq!(kind(builder.finish().map(drop)), misuse);
    assert_eq!(kind(builder.begin_id(TemplateId(9))), Some(FastErrorKind::UnknownTemplate));
    assert_eq!(kind(builder.begin(9)), Some(FastErrorKind::UnknownTemplate));
    assert_eq!(kind(builder.set_u64("u8", 1)), misuse);
}
