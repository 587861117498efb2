//! The tables of every operator, encoded: values in order, and the expected bytes of each.
//!
//! A step is a value and the whole message in hexadecimal, or the code of its error. The bytes were
//! derived by hand from FAST 1.1 §6.3 and §10; a canonical decoder reads them back.

mod support;

use std::sync::Arc;
use support::{hex, to_hex};
use tickwire_fast::{
    Conformance, Decimal, Decoder, DecoderOptions, Encoder, FastError, FieldValue, MessageBuilder,
    Program, TemplateSet,
};

/// A value to encode, or none.
#[derive(Clone, Copy, Debug)]
enum Given {
    Absent,
    Int(i128),
    Text(&'static [u8]),
    Scaled(i64, i32),
    /// An optional constant, present.
    Present,
}

use Given::{Absent, Int, Present, Scaled, Text};

struct Bench {
    program: Arc<Program>,
    builder: MessageBuilder,
    encoder: Encoder,
    decoder: Decoder,
}

impl Bench {
    /// Creates a bench for the templates in `xml`.
    fn templates(xml: &str) -> Self {
        let set = TemplateSet::parse(&format!("<templates>{xml}</templates>")).expect(xml);
        let program = Arc::new(Program::compile(set).expect(xml));
        let options = DecoderOptions::default().conformance(Conformance::Canonical);
        Self {
            builder: MessageBuilder::new(program.clone()),
            encoder: Encoder::new(program.clone()),
            decoder: Decoder::with_options(program.clone(), options),
            program,
        }
    }

    /// Creates a bench for a template with id 1 and these fields.
    fn fields(xml: &str) -> Self {
        Self::templates(&format!("<template name=\"T\" id=\"1\">{xml}</template>"))
    }

    /// Encodes a message of the named template with these fields, and reads it back.
    fn encode(&mut self, template: &str, fields: &[(&str, Given)]) -> Result<String, FastError> {
        let (index, _) = self.program.set().named(template).expect("a template of the set");
        self.builder.begin(index)?;
        for &(name, given) in fields {
            match given {
                Absent => {}
                Int(value) => match i64::try_from(value) {
                    Ok(value) => self.builder.set_i64(name, value)?,
                    Err(_) => self.builder.set_u64(name, value.try_into().expect("64 bits"))?,
                },
                Text(value) => self.builder.set_bytes(name, value)?,
                Scaled(mantissa, exponent) => {
                    self.builder.set_decimal(name, Decimal { mantissa, exponent })?;
                }
                Present => self.builder.set_constant(name)?,
            }
        }
        let message = self.builder.finish()?;
        let mut out = vec![0xaa];
        let outcome = self.encoder.encode(message, &mut out);
        assert_eq!(out.len() - 1, outcome.unwrap_or(0), "what failed leaves nothing behind");
        outcome?;

        let decoded = self.decoder.decode(&out[1..]).unwrap_or_else(|error| {
            panic!("{}: {}", to_hex(&out[1..]), error.describe(&self.program))
        });
        assert_eq!(decoded.len, out.len() - 1);
        for &(name, given) in fields {
            let value = decoded.message.root().field(name).expect("a field of the template");
            let same = match (given, value) {
                (Absent, FieldValue::Absent) => true,
                (Present, FieldValue::Absent) => false,
                (Present, _) => true,
                (Int(given), FieldValue::UInt(value)) => given == i128::from(value),
                (Int(given), FieldValue::Int(value)) => given == i128::from(value),
                (Text(given), FieldValue::Ascii(value)) => given == value,
                (Text(given), FieldValue::Unicode(value) | FieldValue::Bytes(value)) => {
                    given == value
                }
                (Scaled(mantissa, exponent), FieldValue::Decimal(value)) => {
                    value == Decimal { mantissa, exponent }
                }
                _ => false,
            };
            assert!(same, "{name}: {given:?} came back as {value:?}");
        }
        Ok(to_hex(&out[1..]))
    }

    fn expect(&mut self, template: &str, fields: &[(&str, Given)], expected: &str) {
        let got = match self.encode(template, fields) {
            Ok(bytes) => bytes,
            Err(error) => error.code().map_or("no code", |code| code.as_str()).to_owned(),
        };
        let expected = match hex_or_code(expected) {
            Some(bytes) => to_hex(&bytes),
            None => expected.to_owned(),
        };
        assert_eq!(got, expected, "{template} {fields:?}");
    }
}

fn hex_or_code(text: &str) -> Option<Vec<u8>> {
    let is_code = text.starts_with(['D', 'R']) || text == "no code";
    (!is_code).then(|| hex(text))
}

/// Encodes a field named `v` step by step.
fn table(field: &str, steps: &[(Given, &str)]) {
    let mut bench = Bench::fields(field);
    for &(given, expected) in steps {
        bench.expect("T", &[("v", given)], expected);
    }
}

#[test]
fn without_an_operator_the_value_is_always_written() {
    table(r#"<uInt32 name="v"/>"#, &[(Int(0), "c0 81 80"), (Int(0), "80 80")]);
    table(
        r#"<uInt64 name="v" presence="optional"/>"#,
        &[
            (Absent, "c0 81 80"),
            (Int(0), "80 81"),
            (Int(u64::MAX.into()), "80 02000000000000000080"),
            (Int(i128::from(u64::MAX) - 1), "80 017f7f7f7f7f7f7f7fff"),
        ],
    );
    table(
        r#"<int64 name="v" presence="optional"/>"#,
        &[
            (Int(-1), "c0 81 ff"),
            (Int(i64::MAX.into()), "80 01000000000000000080"),
            (Int(i64::MIN.into()), "80 7f000000000000000080"),
        ],
    );
    table(r#"<string name="v"/>"#, &[(Text(b""), "c0 81 80"), (Text(b"AB"), "80 41 c2")]);
    table(
        r#"<string name="v" presence="optional"/>"#,
        &[(Absent, "c0 81 80"), (Text(b""), "80 00 80"), (Text(b"\0"), "80 00 00 80")],
    );
    table(
        r#"<string name="v" charset="unicode" presence="optional"/>"#,
        &[(Absent, "c0 81 80"), (Text(b""), "80 81"), (Text("é".as_bytes()), "80 83 c3 a9")],
    );
    table(r#"<byteVector name="v"/>"#, &[(Text(b"\x80\0"), "c0 81 82 80 00")]);
    table(r#"<string name="v"/>"#, &[(Text(b"\0A"), "D11"), (Text(b"A"), "c0 81 c1")]);
}

#[test]
fn a_constant_takes_a_bit_only_where_it_is_optional() {
    table(
        r#"<uInt32 name="v"><constant value="7"/></uInt32>"#,
        &[(Int(7), "c0 81"), (Present, "80"), (Int(8), "D1")],
    );
    table(
        r#"<string name="v" presence="optional"><constant value="A"/></string>"#,
        &[(Present, "e0 81"), (Absent, "80"), (Text(b"A"), "a0"), (Text(b"B"), "D1")],
    );
}

#[test]
fn default_leaves_out_the_initial_value_and_keeps_nothing() {
    table(
        r#"<uInt32 name="v"><default value="4"/></uInt32>"#,
        &[(Int(4), "c0 81"), (Int(5), "a0 85"), (Int(5), "a0 85"), (Int(4), "80")],
    );
    table(
        r#"<uInt32 name="v" presence="optional"><default value="4"/></uInt32>"#,
        &[(Absent, "e0 81 80"), (Int(4), "80"), (Int(0), "a0 81")],
    );
    table(
        r#"<int32 name="v" presence="optional"><default/></int32>"#,
        &[(Absent, "c0 81"), (Int(0), "a0 81"), (Absent, "80")],
    );
    table(
        r#"<string name="v" presence="optional"><default value="A"/></string>"#,
        &[(Text(b"A"), "c0 81"), (Absent, "a0 80"), (Text(b"B"), "a0 c2")],
    );
}

#[test]
fn copy_leaves_out_what_is_as_before() {
    table(
        r#"<uInt32 name="v"><copy/></uInt32>"#,
        &[(Int(5), "e0 81 85"), (Int(5), "80"), (Int(6), "a0 86")],
    );
    table(
        r#"<uInt32 name="v" presence="optional"><copy/></uInt32>"#,
        &[
            (Absent, "c0 81"),
            (Absent, "80"),
            (Int(5), "a0 86"),
            (Absent, "a0 80"),
            (Absent, "80"),
            (Int(5), "a0 86"),
        ],
    );
    table(
        r#"<uInt32 name="v"><copy value="7"/></uInt32>"#,
        &[(Int(7), "c0 81"), (Int(8), "a0 88"), (Int(7), "a0 87")],
    );
    table(
        r#"<uInt32 name="v" presence="optional"><copy value="7"/></uInt32>"#,
        &[(Absent, "e0 81 80"), (Absent, "80"), (Int(7), "a0 88"), (Int(7), "80")],
    );
    table(
        r#"<string name="v"><copy/></string>"#,
        &[
            (Text(b"CME"), "e0 81 43 4d c5"),
            (Text(b"CME"), "80"),
            (Text(b""), "a0 80"),
            (Text(b"longer than a word"), "a0 6c6f6e676572207468616e206120776f72e4"),
            (Text(b"longer than a word"), "80"),
        ],
    );
    table(
        r#"<byteVector name="v" presence="optional"><copy/></byteVector>"#,
        &[(Text(b"\x01"), "e0 81 82 01"), (Absent, "a0 80"), (Absent, "80"), (Text(b""), "a0 81")],
    );
}

#[test]
fn increment_leaves_out_what_is_one_more() {
    table(
        r#"<uInt8 name="v"><increment/></uInt8>"#,
        &[
            (Int(9), "e0 81 89"),
            (Int(10), "80"),
            (Int(10), "a0 8a"),
            (Int(255), "a0 01 ff"),
            (Int(0), "80"),
        ],
    );
    table(r#"<int8 name="v"><increment/></int8>"#, &[(Int(127), "e0 81 00 ff"), (Int(-128), "80")]);
    table(
        r#"<uInt32 name="v" presence="optional"><increment value="3"/></uInt32>"#,
        &[
            (Int(3), "c0 81"),
            (Int(4), "80"),
            (Absent, "a0 80"),
            (Absent, "80"),
            (Int(5), "a0 86"),
            (Int(6), "80"),
        ],
    );
}

#[test]
fn integer_delta_writes_the_difference() {
    table(
        r#"<uInt32 name="v"><delta/></uInt32>"#,
        &[(Int(10), "c0 81 8a"), (Int(8), "80 fe"), (Int(8), "80 80")],
    );
    table(
        r#"<uInt32 name="v" presence="optional"><delta/></uInt32>"#,
        &[
            (Absent, "c0 81 80"),
            (Int(10), "80 8b"),
            (Absent, "80 80"),
            (Int(10), "80 81"),
            (Int(9), "80 ff"),
        ],
    );
    table(
        r#"<uInt32 name="v"><delta value="100"/></uInt32>"#,
        &[(Int(103), "c0 81 83"), (Int(u32::MAX.into()), "80 0f 7f 7f 7f 98")],
    );
    table(
        r#"<uInt64 name="v"><delta/></uInt64>"#,
        &[
            (Int(u64::MAX.into()), "c0 81 017f7f7f7f7f7f7f7fff"),
            (Int(0), "80 7e000000000000000081"),
        ],
    );
    table(
        r#"<int64 name="v" presence="optional"><delta/></int64>"#,
        &[
            (Int(i64::MIN.into()), "c0 81 7f000000000000000080"),
            (Int(i64::MAX.into()), "80 02000000000000000080"),
        ],
    );
}

#[test]
fn string_delta_cuts_in_front_or_at_the_back() {
    table(
        r#"<string name="v"><delta/></string>"#,
        &[
            (Text(b"GEH6"), "c0 81 80 47 45 48 b6"),
            (Text(b"GEM6"), "80 82 4d b6"),
            (Text(b"ESM6"), "80 fd 45 d3"),
            (Text(b"RSESM6"), "80 ff 52 d3"),
            (Text(b"RSESM6"), "80 80 80"),
            (Text(b""), "80 86 80"),
        ],
    );
    table(
        r#"<string name="v" presence="optional"><delta value="ABC"/></string>"#,
        &[(Absent, "c0 81 80"), (Text(b"ABD"), "80 82 c4"), (Text(b"XABD"), "80 ff d8")],
    );
    table(
        r#"<byteVector name="v"><delta/></byteVector>"#,
        &[(Text(b"\x01\x02\x03"), "c0 81 80 83 01 02 03"), (Text(b"\x01\x02\x04"), "80 81 81 04")],
    );
    table(
        r#"<string name="v" charset="unicode"><delta/></string>"#,
        &[(Text("aé".as_bytes()), "c0 81 80 83 61 c3 a9"), (Text("aè".as_bytes()), "80 81 81 a8")],
    );
}

#[test]
fn tail_replaces_the_end() {
    table(
        r#"<string name="v"><tail/></string>"#,
        &[
            (Text(b"abcd"), "e0 81 61 62 63 e4"),
            (Text(b"abce"), "a0 e5"),
            (Text(b"abce"), "80"),
            (Text(b"abcdef"), "a0 61 62 63 64 65 e6"),
            (Text(b"ab"), "D11"),
            (Text(b"abcdeg"), "a0 e7"),
        ],
    );
    table(
        r#"<string name="v" presence="optional"><tail value="xyz"/></string>"#,
        &[(Text(b"xyz"), "c0 81"), (Absent, "a0 80"), (Absent, "80"), (Text(b"xya"), "a0 e1")],
    );
    table(
        r#"<byteVector name="v" presence="optional"><tail/></byteVector>"#,
        &[(Absent, "c0 81"), (Text(b""), "a0 81"), (Text(b"\x05\x06"), "a0 83 05 06")],
    );
}

#[test]
fn a_decimal_with_one_operator_keeps_its_exponent() {
    table(
        r#"<decimal name="v"/>"#,
        &[(Scaled(942_755, -2), "c0 81 fe 39 45 a3"), (Scaled(0, 63), "80 bf 80")],
    );
    table(
        r#"<decimal name="v" presence="optional"/>"#,
        &[(Absent, "c0 81 80"), (Scaled(1, 0), "80 81 81"), (Scaled(1, -1), "80 ff 81")],
    );
    table(
        r#"<decimal name="v" presence="optional"><copy value="1.5"/></decimal>"#,
        &[
            (Scaled(15, -1), "c0 81"),
            (Scaled(150, -2), "a0 fe 01 96"),
            (Scaled(150, -2), "80"),
            (Absent, "a0 80"),
            (Absent, "80"),
        ],
    );
    table(
        r#"<decimal name="v"><default value="100"/></decimal>"#,
        &[(Scaled(1, 2), "c0 81"), (Scaled(100, 0), "a0 80 00 e4")],
    );
    table(
        r#"<decimal name="v" presence="optional"><delta/></decimal>"#,
        &[
            (Scaled(100, -2), "c0 81 fe 00 e4"),
            (Absent, "80 80"),
            (Scaled(101, -2), "80 81 81"),
            (Scaled(101, 0), "80 83 80"),
        ],
    );
    table(
        r#"<decimal name="v"><delta/></decimal>"#,
        &[
            (Scaled(i64::MIN, 0), "c0 81 80 7f000000000000000080"),
            (Scaled(i64::MAX, 0), "80 80 017f7f7f7f7f7f7f7fff"),
        ],
    );
}

#[test]
fn a_decimal_with_parts_has_an_operator_each() {
    table(
        r#"<decimal name="v"><exponent><default value="-2"/></exponent>
           <mantissa><delta/></mantissa></decimal>"#,
        &[
            (Scaled(100, -2), "c0 81 00 e4"),
            (Scaled(101, -2), "80 81"),
            (Scaled(1, 0), "a0 80 7f 9c"),
        ],
    );
    table(
        r#"<decimal name="v" presence="optional"><exponent><default/></exponent>
           <mantissa><copy/></mantissa></decimal>"#,
        &[(Absent, "c0 81"), (Scaled(5, 0), "b0 81 85"), (Absent, "80"), (Scaled(5, -1), "a0 ff")],
    );
    table(
        r#"<decimal name="v" presence="optional"><exponent><constant value="-2"/></exponent>
           <mantissa><increment/></mantissa></decimal>"#,
        &[
            (Scaled(5, -2), "f0 81 85"),
            (Scaled(6, -2), "a0"),
            (Absent, "80"),
            (Scaled(7, -3), "D3"),
            (Scaled(7, -2), "a0"),
        ],
    );
    table(
        r#"<decimal name="v"><exponent/><mantissa><constant value="3"/></mantissa></decimal>"#,
        &[(Scaled(3, 4), "c0 81 84"), (Scaled(4, 4), "D3")],
    );
}

#[test]
fn delta_on_an_empty_previous_value_is_d6() {
    let mut bench = Bench::fields(
        r#"<uInt32 name="a" presence="optional"><copy key="k"/></uInt32>
           <uInt32 name="b"><delta key="k"/></uInt32>"#,
    );
    bench.expect("T", &[("a", Absent), ("b", Int(1))], "D6");
    bench.expect("T", &[("a", Int(4)), ("b", Int(5))], "e0 81 85 81");
    bench.expect("T", &[("a", Absent), ("b", Int(1))], "D6");
    bench.expect("T", &[("a", Int(5)), ("b", Int(5))], "80 80");
}

#[test]
fn what_failed_is_as_if_it_had_not_been_tried() {
    let mut bench = Bench::fields(
        r#"<string name="long"><copy/></string><uInt32 name="n"><increment/></uInt32>
           <string name="t"><tail/></string>"#,
    );
    let fields = |long, n, t| [("long", Text(long)), ("n", Int(n)), ("t", Text(t))];
    bench.expect("T", &fields(b"0123456789", 1, b"abc"), "f8 81 303132333435363738b9 81 6162e3");
    bench.expect("T", &fields(b"9876543210", 2, b"a"), "D11");
    bench.expect("T", &fields(b"0123456789", 2, b"abc"), "80");
}

#[test]
fn a_field_of_another_type_on_the_entry_is_written_or_refused() {
    let mut bench = Bench::templates(
        r#"<template name="I" id="1"><uInt32 name="v"><copy/></uInt32></template>
           <template name="S" id="2"><string name="v"><copy/></string></template>
           <template name="D" id="3"><string name="v"><delta/></string></template>"#,
    );
    bench.expect("I", &[("v", Int(5))], "e0 81 85");
    bench.expect("S", &[("v", Text(b"A"))], "e0 82 c1");
    bench.expect("S", &[("v", Text(b"A"))], "80");
    bench.expect("D", &[("v", Text(b"AB"))], "c0 83 80 c2");
    bench.expect("I", &[("v", Int(5))], "e0 81 85");
    bench.expect("D", &[("v", Text(b"AB"))], "D4");
    bench.expect("I", &[("v", Int(5))], "80");
}

#[test]
fn a_template_id_is_left_out_where_it_is_the_one_before() {
    let mut bench = Bench::templates(
        r#"<template name="A" id="1"/><template name="B" id="1000" reset="Y">
           <uInt32 name="v"><copy/></uInt32></template><template name="N"/>"#,
    );
    bench.expect("A", &[], "c0 81");
    bench.expect("A", &[], "80");
    bench.expect("B", &[("v", Int(3))], "e0 07 e8 83");
    bench.expect("B", &[("v", Int(3))], "a0 83");
    bench.expect("N", &[], "no code");
    bench.expect("A", &[], "c0 81");
}

#[test]
fn presence_maps_end_with_their_last_set_bit() {
    let field = |index| format!(r#"<uInt32 name="f{index}"><copy value="0"/></uInt32>"#);
    let xml: String = (0..130).map(field).collect();
    let mut bench = Bench::fields(&xml);
    let names: Vec<String> = (0..130).map(|index| format!("f{index}")).collect();
    let mut values: Vec<(&str, Given)> = names.iter().map(|name| (&**name, Int(0))).collect();
    bench.expect("T", &values, "c0 81");
    bench.expect("T", &values, "80");
    values[5].1 = Int(1);
    bench.expect("T", &values, "81 81");
    values[6].1 = Int(1);
    bench.expect("T", &values, "00 c0 81");
    values[129].1 = Int(2);
    bench.expect("T", &values, &format!("{} 84 82", "00".repeat(18)));
}
