//! Values of decoded messages as Rust types, as text and with serde.

use std::sync::Arc;
use tickwire_fast::{
    Conformance, Decimal, Decoder, DecoderOptions, FieldValue, Program, TemplateSet,
};

const XML: &str = r#"<template name="Tick" id="1">
    <uInt32 name="u"/><int32 name="i"/><decimal name="d"/><string name="s"/>
    <string name="t" charset="unicode"/><byteVector name="b"/><uInt32 name="o" presence="optional"/>
    <sequence name="q"><length name="n"/><uInt32 name="e"/></sequence>
</template>"#;

/// u 5, i -1, d 1.50, s "AB", t a byte that is not text, b 0x00ff, o absent, q 1 and 2.
const BYTES: [u8; 17] = [
    0xc0,
    0x81,
    0x85,
    0xff,
    0xfe,
    0x01,
    0x96,
    b'A',
    b'B' | 0x80,
    0x81,
    0xff,
    0x82,
    0x00,
    0xff,
    0x80,
    0x82,
    0x81,
];

fn with_message(test: impl FnOnce(&tickwire_fast::Message)) {
    let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
    let options = DecoderOptions::default().conformance(Conformance::Lenient);
    let mut decoder = Decoder::with_options(program, options);
    let bytes = [&BYTES[..], &[0x82]].concat();
    test(decoder.decode(&bytes).unwrap().message);
}

#[test]
fn entries_say_how_many_they_are() {
    with_message(|message| {
        let Some(FieldValue::Sequence(entries)) = message.root().field("q") else {
            panic!("no sequence")
        };
        assert_eq!((entries.len(), entries.is_empty()), (2, false));
    });
    let xml =
        r#"<template name="T" id="1"><sequence name="q"><uInt32 name="e"/></sequence></template>"#;
    let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
    let mut decoder = Decoder::new(program);
    let decoded = decoder.decode(&[0xc0, 0x81, 0x80]).unwrap();
    let Some(FieldValue::Sequence(entries)) = decoded.message.root().field("q") else {
        panic!("no sequence")
    };
    assert_eq!((entries.len(), entries.is_empty()), (0, true));
}

#[test]
fn values_convert_to_the_types_that_hold_them() {
    with_message(|message| {
        let value = |name| message.root().field(name).unwrap();
        assert_eq!(u64::try_from(value("u")), Ok(5));
        assert_eq!(i64::try_from(value("u")), Ok(5));
        assert_eq!(i64::try_from(value("i")), Ok(-1));
        assert!(u64::try_from(value("i")).is_err());
        assert_eq!(f64::try_from(value("d")), Ok(1.5));
        assert_eq!(Decimal::try_from(value("i")), Ok(Decimal { mantissa: -1, exponent: 0 }));
        assert_eq!(<&str>::try_from(value("s")), Ok("AB"));
        assert!(<&str>::try_from(value("t")).is_err());
        assert_eq!(<&[u8]>::try_from(value("t")), Ok(&[0xff][..]));
        assert_eq!(value("b").as_bytes(), Some(&[0x00, 0xff][..]));
        assert!(!value("o").is_present());
        let error = u64::try_from(value("o")).unwrap_err();
        assert_eq!(error.to_string(), "the field has no value that a u64 holds");
        let entries = value("q").as_entries().unwrap();
        let sum: u64 = entries.iter().filter_map(|entry| entry.value(0).as_u64()).sum();
        assert_eq!(sum, 3);
        assert_eq!(FieldValue::UInt(u64::MAX).as_i64(), None);
    });
}

#[test]
fn a_message_reads_as_one_line() {
    with_message(|message| {
        assert_eq!(
            message.to_string(),
            r#"Tick(1) {u: 5, i: -1, d: 1.50, s: "AB", t: 0xff, b: 0x00ff, q: [{e: 1}, {e: 2}]}"#
        );
    });
}

#[cfg(feature = "serde")]
#[test]
fn serde_has_the_form_of_json_lines() {
    with_message(|message| {
        let expected = serde_json::json!({
            "u": 5, "i": -1, "d": {"m": 150, "e": -2}, "s": "AB", "t": {"hex": "ff"}, "b": {"hex": "00ff"},
            "o": null, "q": [{"e": 1}, {"e": 2}],
        });
        assert_eq!(serde_json::to_value(message).unwrap(), expected);
    });
}
