//! JSON lines and CSV equal, byte for byte, the output of simple writers that look up everything
//! for each value.

use std::collections::HashMap;
use std::sync::Arc;

use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::template::{Decimal, FieldType};
use tickwire_fast::{
    Decoder, DecoderOptions, EngineUnderTest, FieldHandle, FieldLayout, FieldValue, Message,
    MessageBuilder, Program, Record, ResetPolicy, SegmentRef, Storage, TemplateSet,
};
use tickwire_text::{Csv, CsvColumn, Header, JsonLines, MessageWriter, element_name};

/// A template with one sequence and every kind of value, one without a sequence, one that shares
/// columns between message and entries, and one with nested sequences and groups.
const XML: &str = r#"<templates>
<template name="Flat" id="1">
  <uInt32 name="nine"><constant value="9"/></uInt32><uInt64 name="u" presence="optional"/>
  <string name="unicode" charset="unicode" presence="optional"/>
  <sequence name="Rows" presence="optional"><uInt32 name="eight"><constant value="8"/></uInt32>
    <int64 name="i" presence="optional"/><string name="text" presence="optional"/>
    <string name="quoted"><constant value="a, &quot;b&quot;"/></string>
    <string name="maybe" presence="optional"><constant value="perhaps"/></string>
    <byteVector name="bytes" presence="optional"/><decimal name="price" presence="optional"/>
    <boolean name="flag" presence="optional"/>
    <enum name="side" presence="optional"><element name="Buy"/><element name="S,ell"/></enum>
    <string name="a_name_of_more_than_thirty_two_characters" presence="optional"/></sequence>
  <uInt32 name="last" presence="optional"/>
</template>
<template name="Alone" id="2"><string name="unicode" charset="unicode" presence="optional"/>
  <uInt32 name="nine" presence="optional"/></template>
<template name="Twice" id="3"><uInt32 name="a" presence="optional"/><uInt32 name="a" presence="optional"/>
  <sequence name="Rows"><int64 name="i"/></sequence></template>
<template name="Nested" id="4"><group name="G" presence="optional"><uInt32 name="a" presence="optional"/>
    <sequence name="InG" presence="optional"><uInt32 name="b"/></sequence></group>
  <sequence name="Rows"><int64 name="i" presence="optional"/>
    <group name="H" presence="optional"><string name="d"/></group>
    <sequence name="Inner" presence="optional"><int64 name="e" presence="optional"/></sequence></sequence>
  <sequence name="Other" presence="optional"><string name="g" presence="optional"/></sequence>
  <decimal name="z"/></template>
</templates>"#;

const COLUMNS: &[CsvColumn] =
    &[CsvColumn::Packet, CsvColumn::Entry, CsvColumn::TemplateName, CsvColumn::Time];

fn fill(builder: &mut MessageBuilder, segment: SegmentRef, rng: &mut fastrand::Rng) {
    let program = builder.program().clone();
    for (index, field) in program.fields_of(segment).iter().enumerate() {
        let key = FieldHandle { segment, index };
        if field.optional && rng.u8(..3) == 0 {
            continue;
        }
        match &field.storage {
            Storage::Group(inner) => {
                builder.begin_group(key).unwrap();
                fill(builder, *inner, rng);
                builder.end().unwrap();
            }
            Storage::Sequence { segment: inner, .. } => {
                let count = rng.usize(..4);
                builder.begin_sequence(key, count).unwrap();
                for _ in 0..count {
                    builder.begin_entry().unwrap();
                    fill(builder, *inner, rng);
                    builder.end().unwrap();
                }
                builder.end().unwrap();
            }
            Storage::Slot(_) => scalar(builder, key, field.field_type.as_ref().unwrap(), rng),
            Storage::OptionalConstant(_) => builder.set_constant(key).unwrap(),
            _ => {}
        }
    }
}

fn scalar(
    builder: &mut MessageBuilder,
    key: FieldHandle,
    kind: &FieldType,
    rng: &mut fastrand::Rng,
) {
    let shift = rng.u32(..64);
    match kind {
        FieldType::UInt(width) => {
            builder.set_u64(key, rng.u64(..) >> shift.max(64 - *width as u32)).unwrap();
        }
        FieldType::Int(width) => {
            builder.set_i64(key, rng.i64(..) >> shift.max(64 - *width as u32)).unwrap();
        }
        FieldType::Decimal => {
            let exponent = if rng.bool() { rng.i32(-9..=1) } else { rng.i32(-63..=63) };
            let mantissa = rng.i64(..) >> shift;
            builder.set_decimal(key, Decimal { mantissa, exponent }).unwrap();
        }
        FieldType::Ascii => {
            let texts = ["", "x", "with, \"quotes\"", "back\\slash", "\r", "longer than a word"];
            builder.set_str(key, texts[rng.usize(..texts.len())]).unwrap();
        }
        FieldType::Unicode => {
            let texts = ["", "Фьючерс", "line\nend", "plain", "\u{7f}"];
            builder.set_str(key, texts[rng.usize(..texts.len())]).unwrap();
        }
        FieldType::ByteVector => builder.set_bytes(key, &[0, 0xFF, 7][..rng.usize(..4)]).unwrap(),
        FieldType::Boolean | FieldType::Enum(_) => builder.set_u64(key, rng.u64(..2)).unwrap(),
        kind => panic!("{kind:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the name of an integer value, if it has one.
fn named(field: &FieldLayout, value: u64) -> Option<String> {
    match &field.field_type {
        Some(FieldType::Enum(elements)) => element_name(elements, value).map(str::to_owned),
        _ => None,
    }
}

fn json_record(record: Record<'_>) -> String {
    let members: Vec<String> = record
        .fields()
        .filter(|(_, value)| !matches!(value, FieldValue::Discarded))
        .map(|(field, value)| format!("\"{}\": {}", field.name.local, json(field, value)))
        .collect();
    format!("{{{}}}", members.join(", "))
}

fn json(field: &FieldLayout, value: FieldValue<'_>) -> String {
    let is_boolean = matches!(field.field_type, Some(FieldType::Boolean));
    match value {
        FieldValue::Absent | FieldValue::Discarded => "null".to_owned(),
        FieldValue::UInt(value) if is_boolean && value < 2 => (value == 1).to_string(),
        FieldValue::UInt(value) => match named(field, value) {
            Some(name) => serde_json::to_string(&name).unwrap(),
            None => value.to_string(),
        },
        FieldValue::Int(value) => value.to_string(),
        FieldValue::Decimal(Decimal { mantissa, exponent }) => {
            format!("{{\"m\": {mantissa}, \"e\": {exponent}}}")
        }
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => {
            serde_json::to_string(std::str::from_utf8(bytes).unwrap()).unwrap()
        }
        FieldValue::Bytes(bytes) => format!("{{\"hex\": \"{}\"}}", hex(bytes)),
        FieldValue::Group(record) | FieldValue::Dynamic(_, record) => json_record(record),
        FieldValue::Sequence(entries) => {
            let entries: Vec<String> = entries.iter().map(json_record).collect();
            format!("[{}]", entries.join(", "))
        }
    }
}

fn json_line(header: &Header<'_>, message: &Message) -> String {
    format!(
        "{{\"pkt\": {}, \"time\": {}, \"t\": {}, \"n\": \"{}\", \"msg\": {}}}\n",
        header.packet.unwrap(),
        header.time_ns.unwrap(),
        message.template_id().unwrap().0,
        message.template_name(),
        json_record(message.root())
    )
}

/// Returns a decimal with all digits if it has at most 18 decimal places.
fn decimal(Decimal { mantissa, exponent }: Decimal) -> String {
    if !(-18..=0).contains(&exponent) {
        return format!("{mantissa}e{exponent}");
    }
    let places = exponent.unsigned_abs() as usize;
    let digits = format!("{:0>1$}", mantissa.unsigned_abs(), places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if mantissa < 0 { "-" } else { "" };
    format!("{sign}{whole}{}{fraction}", if places > 0 { "." } else { "" })
}

fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r']);
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

fn cell(field: &FieldLayout, value: FieldValue<'_>) -> String {
    let is_boolean = matches!(field.field_type, Some(FieldType::Boolean));
    match value {
        FieldValue::Absent => String::new(),
        FieldValue::UInt(value) if is_boolean && value < 2 => (value == 1).to_string(),
        FieldValue::UInt(value) => match named(field, value) {
            Some(name) => quoted(&name),
            None => value.to_string(),
        },
        FieldValue::Int(value) => value.to_string(),
        FieldValue::Decimal(value) => decimal(value),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => {
            quoted(std::str::from_utf8(bytes).unwrap())
        }
        FieldValue::Bytes(bytes) => quoted(&hex(bytes)),
        other => panic!("{other:?}"),
    }
}

/// The paths in the heading, and the rows so far.
struct SlowCsv {
    paths: Vec<String>,
    text: String,
}

impl SlowCsv {
    fn new(heading: &str) -> Self {
        let paths = heading.trim_end().split(',').skip(COLUMNS.len()).map(str::to_owned).collect();
        Self { paths, text: heading.to_owned() }
    }

    /// Writes the rows of a record. `cells` are those of the enclosing records.
    fn rows(
        &mut self,
        start: &[String; 3],
        entry: &[usize],
        record: Record<'_>,
        mut cells: HashMap<String, String>,
    ) {
        let mut inner = Vec::new();
        collect(record, &mut cells, &mut inner);
        for (index, record) in &inner {
            let entry = [entry, &[*index]].concat();
            self.rows(start, &entry, *record, cells.clone());
        }
        if inner.is_empty() {
            let entry: Vec<String> = entry.iter().map(usize::to_string).collect();
            let [packet, name, time] = start;
            let mut row = vec![packet.clone(), entry.join("."), name.clone(), time.clone()];
            row.extend(self.paths.iter().map(|path| cells.get(path).cloned().unwrap_or_default()));
            self.text += &row.join(",");
            self.text.push('\n');
        }
    }
}

fn collect<'m>(
    record: Record<'m>,
    cells: &mut HashMap<String, String>,
    inner: &mut Vec<(usize, Record<'m>)>,
) {
    for (index, (field, value)) in record.fields().enumerate() {
        let handle = FieldHandle { segment: record.segment(), index };
        match value {
            FieldValue::Discarded => {}
            FieldValue::Group(group) => collect(group, cells, inner),
            FieldValue::Sequence(entries) => inner.extend(entries.iter().enumerate()),
            value => {
                let program = record.program();
                cells.insert(program.path(program.field_ref(handle)), cell(field, value));
            }
        }
    }
}

/// Writes messages with the writers under test and with the simple writers, and compares the texts.
fn compare(program: &Arc<Program>, write: impl FnOnce(&mut dyn FnMut(&Message))) -> usize {
    let templates: Vec<usize> = (0..program.templates().len()).collect();
    let (mut json, mut csv) = (Vec::new(), Vec::new());
    Csv::new(&mut csv, program, &templates, COLUMNS).unwrap();
    let mut slow = SlowCsv::new(std::str::from_utf8(&csv).unwrap());
    csv.clear();
    let (mut slow_json, mut packet) = (String::new(), 0);
    let mut json_writer = JsonLines::new(&mut json);
    let mut csv_writer = Csv::new(&mut csv, program, &templates, COLUMNS).unwrap();
    write(&mut |message| {
        let header =
            Header { packet: Some(packet), time_ns: Some(packet << 40), ..Header::default() };
        json_writer.write_message(&header, message).unwrap();
        csv_writer.write_message(&header, message).unwrap();
        slow_json += &json_line(&header, message);
        let start =
            [packet.to_string(), message.template_name().to_owned(), (packet << 40).to_string()];
        slow.rows(&start, &[], message.root(), HashMap::new());
        packet += 1;
    });
    drop((json_writer, csv_writer));
    for (text, slow) in [(json, slow_json), (csv, slow.text)] {
        let text = String::from_utf8(text).unwrap();
        for (line, slow_line) in text.lines().zip(slow.lines()) {
            assert_eq!(line, slow_line);
        }
        assert_eq!(text.len(), slow.len());
    }
    packet as usize
}

#[test]
fn random_messages_of_every_kind_of_field() {
    let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
    let mut builder = MessageBuilder::new(program.clone());
    let mut rng = fastrand::Rng::with_seed(27);
    compare(&program, |write| {
        for round in 0..4_000 {
            let template = round % program.templates().len();
            builder.begin(template).unwrap();
            fill(&mut builder, program.templates()[template].segment, &mut rng);
            write(builder.finish().unwrap());
        }
    });
}

#[test]
fn made_feeds_by_every_engine() {
    for options in [
        Options::simple(),
        Options::complex(),
        Options::cme(CmeShape::Average),
        Options { messages: 300, ..Options::random_cme() },
    ] {
        let options = Options { messages: options.messages.min(1_000), ..options };
        for engine in [
            EngineUnderTest::Automatic,
            EngineUnderTest::Portable,
            EngineUnderTest::Vectors,
            EngineUnderTest::MachineCode,
        ] {
            let mut generator = Generator::new(&options).unwrap();
            let program = generator.program().clone();
            let reset = ResetPolicy::Packet;
            let decoder_options = DecoderOptions::default().reset(reset).engine_under_test(engine);
            let mut decoder = Decoder::with_options(program.clone(), decoder_options);
            let messages = compare(&program, |write| {
                while let Some(packet) = generator.next_packet().unwrap() {
                    decoder.begin_packet();
                    let mut rest = &packet.bytes[..];
                    while !rest.is_empty() {
                        let decoded = decoder.decode(rest).unwrap();
                        write(decoded.message);
                        rest = &rest[decoded.len..];
                    }
                }
            });
            assert!(messages >= 300, "{messages}");
        }
    }
}
