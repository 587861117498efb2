//! Reads and writes an order and a report with Fix8 and Tickwire, alternately in one process. Prints the minimum
//! of Fix8 in nanoseconds and the ratio of Tickwire's time to it.
//!
//! First asserts that Fix8 reads the right values and writes the right fields.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::hint::black_box;

use orders::{
    ORDER, REPORT, ROOM, Values, alike, framed, order_values, parse, print, report_values, time,
    typed,
};
use tickwire_fix::Reader;
use tickwire_fix::typed::Shapes;
use tickwire_fix_messages::fix42;

#[path = "../../orders.rs"]
mod orders;

/// Rounds of all operations; those of Fix8 take microseconds.
const TURNS: usize = 100;

/// Tags that Fix8 stores as floating-point numbers.
const NUMBERS: [u32; 5] = [6, 14, 38, 44, 151];
/// Tags that Fix8 writes with milliseconds.
const TIMES: [u32; 2] = [52, 60];
/// Tags that depend on the length of the others.
const FRAME: [u32; 2] = [9, 10];

#[link(name = "peer_fix8", kind = "static")]
unsafe extern "C" {
    fn fix8_text(bytes: *const u8, len: usize) -> *mut c_void;
    fn fix8_decode(text: *const c_void) -> usize;
    fn fix8_fields(text: *const c_void, out: *mut u8, len: usize) -> usize;
    fn fix8_order_message() -> *mut c_void;
    fn fix8_report_message() -> *mut c_void;
    fn fix8_encode(message: *mut c_void, number: i32, out: *mut u8, len: usize) -> usize;
    fn fix8_order(out: *mut u8, len: usize) -> usize;
    fn fix8_report(out: *mut u8, len: usize) -> usize;
}
#[link(name = "fix8")]
#[link(name = "PocoFoundation")]
#[link(name = "PocoNet")]
#[link(name = "PocoUtil")]
#[link(name = "stdc++")]
unsafe extern "C" {}

/// Returns the fields by tag; each ends with `end`.
fn fields(text: &[u8], end: u8) -> BTreeMap<u32, String> {
    let text = String::from_utf8(text.to_vec()).expect("it is ASCII");
    let fields = text.split_terminator(char::from(end)).map(|field| {
        let (tag, value) = field.split_once('=').expect("a field has a =");
        (tag.parse().expect("a tag is a number"), value.to_owned())
    });
    fields.collect()
}

/// Asserts that Fix8 reads the values of the message.
fn check_read(bytes: &[u8], read: &[u8]) {
    let (expected, read) = (fields(bytes, 1), fields(read, b'|'));
    assert!(expected.keys().eq(read.keys()), "fields: {expected:?}\nof Fix8: {read:?}");
    for (tag, value) in expected {
        let of_fix8 = &read[&tag];
        if NUMBERS.contains(&tag) {
            let [value, of_fix8] =
                [&value, of_fix8].map(|text| text.parse::<f64>().expect("a number"));
            assert!((value - of_fix8).abs() <= 1e-12 * value, "{tag}: {value}, of Fix8 {of_fix8}");
        } else if TIMES.contains(&tag) {
            assert_eq!(format!("{value}.000"), *of_fix8, "{tag}");
        } else {
            assert_eq!(value, *of_fix8, "{tag}");
        }
    }
}

/// Asserts that a message of Fix8 is valid and has the fields of `bytes`, in any order.
fn check_written(bytes: &[u8], written: &[u8]) {
    Reader::new().decode(written).expect("BodyLength and CheckSum are right");
    let (mut expected, mut written) = (fields(bytes, 1), fields(written, 1));
    for tag in FRAME {
        (expected.remove(&tag), written.remove(&tag));
    }
    for tag in TIMES {
        expected.entry(tag).and_modify(|time| time.push_str(".000"));
    }
    assert_eq!(expected, written);
}

macro_rules! compare {
    ($message:ident, $text:expr, $ready:ident, $write:ident, $values:expr, $fields:ident) => {{
        let bytes = framed($text);
        let mut out = [0; ROOM];
        let mut reader = Reader::new();
        let mut shapes = [Shapes::new(), Shapes::new()];
        let mut first = Reader::new();
        let message = first.decode(&bytes).expect("it is right");
        let (header, start) = fix42::Header::decode(&message).expect("it is right");
        let body = fix42::$message::decode_from(&message, start).expect("it is right");
        let values: Values<'_> = $values;
        assert_eq!(values.$fields(&mut out), bytes, "field by field");
        assert_eq!(body.encode(&header, &mut out).expect("it is right"), bytes, "generated");
        let number = i32::try_from(values.number).expect("it is small");
        let mut minima = [f64::MAX; 8];
        let [decodes, parses, generated, generated_alike, again, encoded, builds, by_field] = &mut minima;
        // SAFETY: Fix8 made the text and the message, and nothing deletes them. The other functions get a buffer and its
        // length, and keep neither.
        unsafe {
            let text = fix8_text(bytes.as_ptr(), bytes.len());
            let ready = $ready();
            let len = fix8_fields(text, out.as_mut_ptr(), ROOM);
            check_read(&bytes, &out[..len]);
            let len = $write(out.as_mut_ptr(), ROOM);
            check_written(&bytes, &out[..len]);
            for _ in 0..2 {
                let len = fix8_encode(ready, number, out.as_mut_ptr(), ROOM);
                check_written(&bytes, &out[..len]);
            }
            for _ in 0..TURNS {
                time(decodes, || fix8_decode(black_box(text)));
                time(parses, || parse(black_box(&bytes), &mut reader));
                time(generated, || {
                    typed::<fix42::Header<'_>, fix42::$message<'_>>(black_box(&bytes), &mut reader)
                });
                time(generated_alike, || {
                    let bytes = black_box(&bytes);
                    alike::<fix42::Header<'_>, fix42::$message<'_>>(bytes, &mut reader, &mut shapes)
                });
                time(again, || fix8_encode(ready, number, black_box(out.as_mut_ptr()), ROOM));
                time(encoded, || black_box(&body).encode(black_box(&header), &mut out).is_ok());
                time(builds, || $write(black_box(out.as_mut_ptr()), ROOM));
                time(by_field, || black_box(&values).$fields(&mut out).len());
            }
        }
        println!("{}", stringify!($message));
        let [decodes, parses, generated, generated_alike, again, encoded, builds, by_field] = minima;
        let tickwire = [("parse", parses), ("generated", generated), ("alike", generated_alike)];
        print("Fix8", "decode", decodes, &tickwire);
        print("Fix8", "encode", again, &[("generated", encoded)]);
        print("Fix8", "build and encode", builds, &[("field by field", by_field)]);
    }};
}

fn main() {
    compare!(NewOrderSingle, ORDER, fix8_order_message, fix8_order, order_values(), order);
    compare!(ExecutionReport, REPORT, fix8_report_message, fix8_report, report_values(), report);
}
