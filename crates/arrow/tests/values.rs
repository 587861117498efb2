//! Every cell of a table equals the CSV of the same messages.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int16Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use tickwire_arrow::{Decimals, TableBuilder, TableOptions, TemplateTable};
use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::template::{Decimal, FieldType};
use tickwire_fast::{
    Decoder, DecoderOptions, FieldHandle, MessageBuilder, Program, ResetPolicy, SegmentRef,
    Storage, TemplateSet,
};
use tickwire_text::{Csv, CsvColumn, Header, MessageWriter};

/// Every kind of field, sequences beside and inside each other, and groups around and inside them.
const KINDS: &str = r#"<templates>
<template name="Kinds" id="1">
  <uInt8 name="u8" presence="optional"/><int8 name="i8" presence="optional"/>
  <uInt16 name="u16"/><int16 name="i16" presence="optional"/>
  <uInt32 name="u32" presence="optional"/><int32 name="i32"/>
  <uInt64 name="u64" presence="optional"/><int64 name="i64" presence="optional"/>
  <string name="text" presence="optional"/><string name="unicode" charset="unicode"/>
  <byteVector name="bytes" presence="optional"/>
  <decimal name="price" presence="optional"/>
  <decimal name="cents" presence="optional"><exponent><constant value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
  <decimal name="tens"><exponent><constant value="1"/></exponent><mantissa><delta/></mantissa></decimal>
  <uInt32 name="nine"><constant value="9"/></uInt32>
  <string name="word"><constant value="a word"/></string>
  <string name="maybe" presence="optional"><constant value="perhaps"/></string>
  <decimal name="fixed"><constant value="1.25"/></decimal>
  <group name="G" presence="optional"><uInt32 name="a" presence="optional"/>
    <sequence name="InG" presence="optional"><uInt32 name="b"/></sequence></group>
  <sequence name="Rows"><uInt32 name="c" presence="optional"/>
    <group name="H" presence="optional"><string name="d"/></group>
    <sequence name="Inner" presence="optional"><int64 name="e" presence="optional"/><decimal name="f"/></sequence>
  </sequence>
  <sequence name="Other" presence="optional"><string name="g" presence="optional"/></sequence>
  <uInt32 name="last"/>
</template></templates>"#;

/// Sets random fields of a record.
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
    let name = builder.program().field(builder.program().field_ref(key)).name.local.to_string();
    let exponent = match name.as_str() {
        "cents" => -2,
        "tens" => 1,
        _ => rng.i32(-63..=63),
    };
    match kind {
        FieldType::UInt(width) => {
            builder.set_u64(key, rng.u64(..) >> (64 - *width as u32)).unwrap();
        }
        FieldType::Int(width) => {
            builder.set_i64(key, rng.i64(..) >> (64 - *width as u32)).unwrap();
        }
        FieldType::Decimal => {
            let mantissa = rng.i64(..);
            builder.set_decimal(key, Decimal { mantissa, exponent }).unwrap();
        }
        FieldType::Ascii => {
            builder.set_str(key, ["", "x", "with, \"quotes\""][rng.usize(..3)]).unwrap()
        }
        FieldType::Unicode => {
            builder.set_str(key, ["", "Фьючерс", "line\nend"][rng.usize(..3)]).unwrap()
        }
        FieldType::ByteVector => builder.set_bytes(key, &[0, 0xFF, 7][..rng.usize(..4)]).unwrap(),
        kind => panic!("{kind:?}"),
    }
}

/// Splits a CSV row into cells; `None` is an absent field, distinct from an empty string.
fn cells(line: &str) -> (Vec<Option<String>>, &str) {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let cell;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut text = String::new();
            let mut behind = quoted;
            loop {
                let end = behind.find('"').expect("an end of the quotes");
                text.push_str(&behind[..end]);
                behind = &behind[end + 1..];
                match behind.strip_prefix('"') {
                    Some(more) => {
                        text.push('"');
                        behind = more;
                    }
                    None => break,
                }
            }
            cell = Some(text);
            rest = behind;
        } else {
            let end = rest.find([',', '\n']).expect("an end of the line");
            cell = (end > 0).then(|| rest[..end].to_owned());
            rest = &rest[end..];
        }
        cells.push(cell);
        match rest.split_at(1) {
            (",", behind) => rest = behind,
            (_, behind) => return (cells, behind),
        }
    }
}

/// Formats a decimal as CSV does: with all digits, up to 18 decimal places.
fn decimal(mantissa: i128, exponent: i32) -> String {
    if !(-18..=0).contains(&exponent) {
        return format!("{mantissa}e{exponent}");
    }
    let places = exponent.unsigned_abs() as usize;
    let digits = format!("{:0>1$}", mantissa.unsigned_abs(), places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if mantissa < 0 { "-" } else { "" };
    format!("{sign}{whole}{}{fraction}", if places > 0 { "." } else { "" })
}

/// Formats a cell of a batch as CSV does.
fn shown(batch: &RecordBatch, name: &str, row: usize) -> Option<String> {
    use arrow_array::types;
    let array = batch.column_by_name(name)?;
    if array.is_null(row) {
        return None;
    }
    macro_rules! number {
        ($kind:ident) => {
            array.as_primitive::<types::$kind>().value(row).to_string()
        };
    }
    Some(match array.data_type() {
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::Binary => {
            array.as_binary::<i32>().value(row).iter().map(|byte| format!("{byte:02x}")).collect()
        }
        DataType::Dictionary(..) => {
            let words = array.as_dictionary::<Int16Type>();
            let key = words.keys().value(row) as usize;
            words.values().as_string::<i32>().value(key).to_owned()
        }
        DataType::Decimal128(_, scale) => {
            decimal(array.as_primitive::<Decimal128Type>().value(row), -i32::from(*scale))
        }
        other => panic!("{name}: {other}"),
    })
}

/// Returns the expected cell of the CSV column `path`.
fn expected(batch: &RecordBatch, path: &str, row: usize) -> Option<String> {
    if path == "entry" {
        let names = batch.schema_ref().fields().iter().map(|field| field.name().clone());
        let indexes: Vec<String> = names
            .filter(|name| name.ends_with(".entry"))
            .filter_map(|name| shown(batch, &name, row))
            .collect();
        return (!indexes.is_empty()).then(|| indexes.join("."));
    }
    if batch.column_by_name(path).is_some() {
        return shown(batch, path, row);
    }
    let part = |part: &str| shown(batch, &format!("{path}.{part}"), row);
    let (mantissa, exponent) = (part("mantissa")?, part("exponent")?);
    Some(decimal(mantissa.parse().unwrap(), exponent.parse().unwrap()))
}

/// Compares all cells; returns the number of cells, and of cells that are not null.
fn compare(batch: &RecordBatch, csv: &str) -> (usize, usize) {
    let (names, mut rest) = cells(csv);
    let (mut compared, mut present) = (0, 0);
    for row in 0..batch.num_rows() {
        let (found, behind) = cells(rest);
        rest = behind;
        for (name, cell) in names.iter().zip(&found) {
            let name = name.as_deref().expect("a heading");
            assert_eq!(&expected(batch, name, row), cell, "row {row}, {name}");
            compared += 1;
            present += usize::from(cell.is_some());
        }
    }
    assert_eq!(rest, "", "as many rows as CSV has");
    (compared, present)
}

const COLUMNS: &[CsvColumn] = &[CsvColumn::Packet, CsvColumn::Entry];

#[test]
fn random_messages_of_every_kind_of_field() {
    let program = Arc::new(Program::compile(TemplateSet::parse(KINDS).unwrap()).unwrap());
    let mut builder = MessageBuilder::new(program.clone());
    let mut table = TableBuilder::new(TemplateTable::of(&program, 0, &TableOptions::default()));
    let mut text = Vec::new();
    let mut rng = fastrand::Rng::with_seed(16);
    let mut rows = 0;
    let mut writer = Csv::new(&mut text, &program, &[0], COLUMNS).unwrap();
    for packet in 0..500 {
        builder.begin(0).unwrap();
        fill(&mut builder, program.templates()[0].segment, &mut rng);
        let message = builder.finish().unwrap();
        let header = Header { packet: Some(packet), ..Header::default() };
        rows += table.push(&header, message).unwrap();
        writer.write_message(&header, message).unwrap();
    }
    drop(writer);
    let batch = table.take_batch().unwrap();
    assert_eq!(batch.num_rows(), rows);
    assert!(rows > 1_000, "{rows}");
    let (compared, present) = compare(&batch, std::str::from_utf8(&text).unwrap());
    assert!(present > compared / 4 && present < compared, "{present} of {compared}");

    let data_type = |name: &str| batch.column_by_name(name).unwrap().data_type().clone();
    assert_eq!(data_type("cents"), DataType::Decimal128(19, 2));
    assert_eq!(data_type("fixed"), DataType::Decimal128(19, 2));
    assert_eq!(data_type("tens.exponent"), DataType::Int32);
    assert_eq!(data_type("u16"), DataType::UInt16);
    assert_eq!(table.take_batch().unwrap().num_rows(), 0, "a batch begins anew");
}

#[test]
fn absent_and_empty_groups_and_sequences_are_told_apart() {
    let program = Arc::new(Program::compile(TemplateSet::parse(KINDS).unwrap()).unwrap());
    let mut builder = MessageBuilder::new(program.clone());
    let mut table = TableBuilder::new(TemplateTable::of(&program, 0, &TableOptions::default()));
    for is_present in [false, true] {
        builder.begin(0).unwrap();
        for (name, value) in [("u16", 1), ("last", 2)] {
            builder.set_u64(program.handle(0, name).unwrap(), value).unwrap();
        }
        builder.set_i64(program.handle(0, "i32").unwrap(), 3).unwrap();
        builder.set_str(program.handle(0, "unicode").unwrap(), "").unwrap();
        let tens = Decimal { mantissa: 1, exponent: 1 };
        builder.set_decimal(program.handle(0, "tens").unwrap(), tens).unwrap();
        builder.begin_sequence(program.handle(0, "Rows").unwrap(), 0).unwrap();
        builder.end().unwrap();
        if is_present {
            builder.begin_group(program.handle(0, "G").unwrap()).unwrap();
            builder.end().unwrap();
            builder.begin_sequence(program.handle(0, "Other").unwrap(), 0).unwrap();
            builder.end().unwrap();
        }
        table.push(&Header::default(), builder.finish().unwrap()).unwrap();
    }
    let batch = table.take_batch().unwrap();
    let column = |name: &str| [0, 1].map(|row| shown(&batch, name, row));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(column("G.present"), [text("false"), text("true")]);
    assert_eq!(column("Other.length"), [None, text("0")]);
    assert_eq!(column("Rows.length"), [text("0"), text("0")]);
    assert_eq!(column("Rows.entry"), [None, None]);
    assert_eq!(column("unicode"), [text(""), text("")]);
}

/// Decodes packets and compares all cells of all templates; returns the number of rows.
fn compare_feed(program: &Arc<Program>, packets: impl Iterator<Item = Vec<u8>>) -> usize {
    let options = DecoderOptions::default().reset(ResetPolicy::Packet);
    let mut decoder = Decoder::with_options(program.clone(), options);
    let templates = program.templates().len();
    let mut tables: Vec<TableBuilder> = (0..templates)
        .map(|template| {
            TableBuilder::new(TemplateTable::of(program, template, &Default::default()))
        })
        .collect();
    let mut outputs: Vec<Vec<u8>> = vec![Vec::new(); templates];
    let mut writers: Vec<Csv<&mut Vec<u8>>> = outputs
        .iter_mut()
        .enumerate()
        .map(|(template, out)| Csv::new(out, program, &[template], COLUMNS).unwrap())
        .collect();
    for (index, packet) in (0..).zip(packets) {
        decoder.begin_packet();
        let mut rest = &packet[..];
        while !rest.is_empty() {
            let decoded = decoder.decode(rest).unwrap();
            let template = decoded.message.template_index();
            let header = Header { packet: Some(index), ..Header::default() };
            tables[template].push(&header, decoded.message).unwrap();
            writers[template].write_message(&header, decoded.message).unwrap();
            rest = &rest[decoded.len..];
        }
    }
    drop(writers);
    let mut rows = 0;
    for (table, csv) in tables.iter_mut().zip(&outputs) {
        let batch = table.take_batch().unwrap();
        rows += batch.num_rows();
        compare(&batch, std::str::from_utf8(csv).unwrap());
    }
    rows
}

#[test]
fn made_feeds() {
    let feeds = [
        Options::simple(),
        Options::complex(),
        Options::cme(CmeShape::Average),
        Options { messages: 500, ..Options::random_cme() },
    ];
    for options in feeds {
        let options = Options { messages: options.messages.min(2_000), ..options };
        let mut generator = Generator::new(&options).unwrap();
        let program = generator.program().clone();
        let packets =
            std::iter::from_fn(|| generator.next_packet().unwrap().map(|packet| packet.bytes));
        let rows = compare_feed(&program, packets);
        assert!(rows as u64 >= options.messages, "{rows}");
    }
}

#[test]
fn captured_feeds() {
    const PACKETS: usize = 3_000;
    let Some(folder) = tickwire_testing::shared("corpus/cme_like") else { return };
    let set = TemplateSet::parse_bytes(&std::fs::read(folder.join("templates.xml")).unwrap());
    let program = Arc::new(Program::compile(set.unwrap()).unwrap());
    for name in ["cme30000", "cme_channel9_30000", "cme_channel11_30000"] {
        let capture = std::fs::read(folder.join(name).with_extension("bin")).unwrap();
        let mut rest = &capture[..];
        let packets = std::iter::from_fn(|| {
            let (len, tail) = rest.split_first_chunk::<4>()?;
            let (packet, tail) = tail.split_at(u32::from_be_bytes(*len) as usize);
            rest = tail;
            Some(packet.to_vec())
        });
        let rows = compare_feed(&program, packets.take(PACKETS));
        assert!(rows >= PACKETS, "{name}: {rows}");
    }
}

#[test]
fn times_enumerations_and_truth_have_types_of_their_own() {
    const XML: &str = r#"<templates><template name="T" id="1">
        <timestamp name="at" unit="nanosecond"/><timestamp name="day" unit="day"/>
        <timestamp name="since" unit="millisecond" epoch="today"/>
        <boolean name="open" presence="optional"/>
        <enum name="hue"><element name="red"/><element name="green"/></enum>
        <set name="flags"><element name="x"/><element name="y"/></set>
        </template></templates>"#;
    let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
    let mut builder = MessageBuilder::new(program.clone());
    let mut table = TableBuilder::new(TemplateTable::of(&program, 0, &TableOptions::default()));
    let key = |name: &str| program.handle(0, name).unwrap();
    let mut push = |day: i64, open: Option<u64>| {
        builder.begin(0).unwrap();
        builder.set_i64(key("at"), 1_375_336_800_000_000_001).unwrap();
        builder.set_i64(key("day"), day).unwrap();
        builder.set_i64(key("since"), 3_600_000).unwrap();
        if let Some(open) = open {
            builder.set_u64(key("open"), open).unwrap();
        }
        builder.set_u64(key("hue"), 1).unwrap();
        builder.set_u64(key("flags"), 3).unwrap();
        table.push(&Header::default(), builder.finish().unwrap())
    };
    assert_eq!(push(15_918, Some(1)), Ok(1));
    // A message with a date beyond Arrow's range leaves nothing in the table.
    let unfit = push(1 << 40, Some(0)).unwrap_err();
    assert_eq!(unfit.column, "day");
    assert_eq!(push(-1, None), Ok(1));
    let batch = table.take_batch().unwrap();
    assert_eq!(batch.num_rows(), 2);
    let column = |name: &str| batch.column_by_name(name).unwrap().clone();
    let utc = Some("UTC".into());
    assert_eq!(column("at").data_type(), &DataType::Timestamp(TimeUnit::Nanosecond, utc));
    assert_eq!(column("since").data_type(), &DataType::Duration(TimeUnit::Millisecond));
    let days = column("day");
    assert_eq!(days.as_primitive::<Date32Type>().values(), &[15_918, -1]);
    assert_eq!(shown(&batch, "open", 0).as_deref(), Some("true"));
    assert_eq!(shown(&batch, "open", 1), None);
    assert_eq!(shown(&batch, "hue", 0).as_deref(), Some("green"));
    assert_eq!(shown(&batch, "flags", 1).as_deref(), Some("3"));
}

#[test]
fn decimals_are_floating_point_numbers_on_request() {
    let program = Arc::new(Program::compile(TemplateSet::parse(KINDS).unwrap()).unwrap());
    let options = TableOptions { decimals: Decimals::Float64, ..TableOptions::default() };
    let table = TemplateTable::of(&program, 0, &options);
    for name in ["price", "cents", "tens", "fixed"] {
        assert_eq!(table.schema().field_with_name(name).unwrap().data_type(), &DataType::Float64);
    }
}

#[test]
fn a_path_that_is_there_already_gets_a_number() {
    const XML: &str = r#"<templates><template name="T" id="1">
        <uInt32 name="time"/><uInt32 name="a"/><uInt32 name="a"/></template></templates>"#;
    let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
    let table = TemplateTable::of(&program, 0, &TableOptions::default());
    let names: Vec<&str> =
        table.schema().fields().iter().skip(6).map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["time#2", "a", "a#2"]);
}

#[test]
fn a_batch_that_is_full_takes_no_row_of_a_message() {
    const XML: &str = r#"<templates><template name="T" id="1"><string name="text"/>
        <sequence name="Rows"><uInt32 name="n"/></sequence></template></templates>"#;
    let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
    let mut builder = MessageBuilder::new(program.clone());
    let mut table = TableBuilder::new(TemplateTable::of(&program, 0, &TableOptions::default()));
    let mut push = |entries: usize| {
        builder.begin(0).unwrap();
        builder.set_str(program.handle(0, "text").unwrap(), &"x".repeat(1 << 20)).unwrap();
        builder.begin_sequence(program.handle(0, "Rows").unwrap(), entries).unwrap();
        for n in 0..entries {
            builder.begin_entry().unwrap();
            builder.set_u64(program.handle(0, "Rows/n").unwrap(), n as u64).unwrap();
            builder.end().unwrap();
        }
        builder.end().unwrap();
        table.push(&Header::default(), builder.finish().unwrap())
    };
    assert_eq!(push(60), Ok(60));
    let unfit = push(5).unwrap_err();
    assert!(unfit.is_full(), "{unfit}");
    assert_eq!((push(4), table.rows()), (Ok(4), 64));
    let batch = table.take_batch().unwrap();
    assert_eq!(shown(&batch, "Rows/n", 63).as_deref(), Some("3"));
}

/// A flat template: one row per entry, long strings and constants among the fields.
const FLAT: &str = r#"<templates><template name="Flat" id="1">
    <string name="word"><constant value="w"/></string>
    <uInt32 name="u" presence="optional"/><string name="s" presence="optional"/>
    <decimal name="cents"><exponent><constant value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
    <sequence name="Rows" presence="optional">
      <uInt32 name="nine"><constant value="9"/></uInt32>
      <uInt32 name="maybe" presence="optional"><constant value="8"/></uInt32>
      <int64 name="i" presence="optional"/><uInt64 name="big"/><decimal name="price" presence="optional"/>
      <string name="text" presence="optional"/><byteVector name="bytes"/>
    </sequence></template></templates>"#;

#[test]
fn entries_with_long_strings_and_messages_without_entries() {
    let program = Arc::new(Program::compile(TemplateSet::parse(FLAT).unwrap()).unwrap());
    let mut builder = MessageBuilder::new(program.clone());
    let mut table = TableBuilder::new(TemplateTable::of(&program, 0, &TableOptions::default()));
    let key = |path: &str| program.handle(0, path).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    let strings =
        ["", "x", "seven 7", "eight 8.", "a text that is longer than a word has room for"];
    for _ in 0..20 {
        let mut text = Vec::new();
        let mut writer = Csv::new(&mut text, &program, &[0], COLUMNS).unwrap();
        for packet in 0..rng.u64(1..300) {
            builder.begin(0).unwrap();
            if rng.bool() {
                builder.set_u64(key("u"), rng.u32(..).into()).unwrap();
            }
            if rng.bool() {
                builder.set_str(key("s"), strings[rng.usize(..5)]).unwrap();
            }
            let cents = Decimal { mantissa: rng.i64(..), exponent: -2 };
            builder.set_decimal(key("cents"), cents).unwrap();
            let entries = [0, 1, 3, 150][rng.usize(..4)];
            if entries > 0 || rng.bool() {
                builder.begin_sequence(key("Rows"), entries).unwrap();
                for _ in 0..entries {
                    builder.begin_entry().unwrap();
                    if rng.bool() {
                        builder.set_constant(key("Rows/maybe")).unwrap();
                    }
                    if rng.bool() {
                        builder.set_i64(key("Rows/i"), rng.i64(..)).unwrap();
                    }
                    builder.set_u64(key("Rows/big"), rng.u64(..)).unwrap();
                    if rng.bool() {
                        let price = Decimal { mantissa: rng.i64(..), exponent: rng.i32(-63..=63) };
                        builder.set_decimal(key("Rows/price"), price).unwrap();
                    }
                    if rng.bool() {
                        builder.set_str(key("Rows/text"), strings[rng.usize(..5)]).unwrap();
                    }
                    builder.set_bytes(key("Rows/bytes"), &[0, 0xFF, 7][..rng.usize(..4)]).unwrap();
                    builder.end().unwrap();
                }
                builder.end().unwrap();
            }
            let message = builder.finish().unwrap();
            let header = Header { packet: Some(packet), ..Header::default() };
            table.push(&header, message).unwrap();
            writer.write_message(&header, message).unwrap();
        }
        drop(writer);
        let batch = table.take_batch().unwrap();
        compare(&batch, std::str::from_utf8(&text).unwrap());
        for row in 0..batch.num_rows() {
            let is_entry = shown(&batch, "Rows.entry", row).is_some();
            assert_eq!(shown(&batch, "Rows/nine", row).is_some(), is_entry, "row {row}");
        }
    }
}
