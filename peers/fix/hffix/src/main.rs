//! Reads and writes an order and a report with hffix and Tickwire, alternately in one process. Prints the
//! minimum of hffix in nanoseconds and the ratio of Tickwire's time to it.
//!
//! First compares the values of every field in a thousand messages of each kind, and in the message that each writes.

use std::hint::black_box;

use orders::{
    ORDER, REPORT, ROOM, Values, alike, framed, order_values, parse, print, report_values, time,
    typed,
};
use tickwire_fix::typed::Shapes;
use tickwire_fix::value::UtcTimestamp;
use tickwire_fix::{Reader, ReaderEngine};
use tickwire_fix_messages::fix42;

#[path = "../../orders.rs"]
mod orders;

/// Rounds of all operations.
const TURNS: usize = 400;

#[link(name = "peer_hffix", kind = "static")]
unsafe extern "C" {
    fn hffix_parse(bytes: *const u8, len: usize) -> usize;
    fn hffix_typed(bytes: *const u8, len: usize) -> usize;
    fn hffix_fields(bytes: *const u8, len: usize, out: *mut u8, room: usize) -> usize;
    fn hffix_order(out: *mut u8, len: usize) -> usize;
    fn hffix_report(out: *mut u8, len: usize) -> usize;
}
#[link(name = "stdc++")]
unsafe extern "C" {}

/// Messages of each kind whose values are compared.
const COMPARED: u64 = 1000;

/// Returns the message with another MsgSeqNum, quantity, price and second.
fn varied(text: &str, index: u64) -> String {
    let fields = text.split_terminator('|').map(|field| {
        let (tag, value) = field.split_once('=').expect("a field has a =");
        let value = match tag {
            "34" => (1 + index * 7919).to_string(),
            "38" | "151" => (1 + index * 131 % 100_000).to_string(),
            "44" => format!("{}.{:03}", index * 17, index * 379 % 1000),
            "52" | "60" => format!("{}{:02}", &value[..value.len() - 2], index % 60),
            _ => value.to_owned(),
        };
        format!("{tag}={value}|")
    });
    fields.collect()
}

/// Returns the fields as hffix's side writes them, read by Tickwire.
fn fields(bytes: &[u8]) -> String {
    let mut reader = Reader::new();
    let message = reader.decode(bytes).expect("it is right");
    let mut text = String::new();
    // hffix checks the frame and passes over it: BeginString, BodyLength and CheckSum.
    for field in message.fields().filter(|field| !matches!(field.tag.0, 8..=10)) {
        let value = match field.tag.0 {
            6 | 14 | 38 | 44 | 151 => {
                let decimal = field.decimal().expect("a number");
                format!("{}e{}", decimal.mantissa(), decimal.exponent())
            }
            34 => field.uint().expect("a number").to_string(),
            52 | 60 => {
                let UtcTimestamp { date, time } = field.utc_timestamp().expect("a time");
                let millis = time.picos() / 1_000_000_000;
                let day = format!("{} {} {}", date.year(), date.month(), date.day());
                format!("{day} {} {} {} {millis} ", time.hour(), time.minute(), time.second())
            }
            _ => field.str().expect("text").to_owned(),
        };
        text += &format!("{}={value}|", field.tag.0);
    }
    text
}

/// Asserts that hffix reads the same values of the message and of others like it.
fn check_read(text: &str) {
    for index in 0..COMPARED {
        let bytes = framed(&varied(text, index));
        let mut out = [0; ROOM];
        // SAFETY: both buffers are given with their lengths, and the function keeps neither.
        let len = unsafe { hffix_fields(bytes.as_ptr(), bytes.len(), out.as_mut_ptr(), out.len()) };
        let of_hffix = std::str::from_utf8(&out[..len]).expect("it is ASCII");
        assert_eq!(fields(&bytes), of_hffix, "message {index}");
    }
}

macro_rules! compare {
    ($message:ident, $text:expr, $write:ident, $values:expr, $fields:ident) => {{
        let bytes = framed($text);
        let (at, len) = (bytes.as_ptr(), bytes.len());
        let mut fastest = Reader::new();
        let mut portable = Reader::new().engine(ReaderEngine::portable());
        let mut shapes = [Shapes::new(), Shapes::new()];
        let mut reader = Reader::new();
        let message = reader.decode(&bytes).expect("it is right");
        let (header, start) = fix42::Header::decode(&message).expect("it is right");
        let body = fix42::$message::decode_from(&message, start).expect("it is right");
        let values: Values<'_> = $values;
        let mut out = [0; ROOM];
        check_read($text);
        // SAFETY: the function gets a buffer and its length, and does not keep it.
        let written = unsafe { $write(out.as_mut_ptr(), ROOM) };
        // hffix writes BodyLength with leading zeros, so its bytes differ.
        assert_eq!(fields(&out[..written]), fields(&bytes), "written by hffix");
        assert_eq!(values.$fields(&mut out), bytes, "field by field");
        assert_eq!(body.encode(&header, &mut out).expect("it is right"), bytes, "generated");
        let mut least = [f64::MAX; 9];
        let [
            parses,
            by_words,
            by_fastest,
            types,
            generated,
            generated_alike,
            writes,
            encoded,
            by_field,
        ] = &mut least;
        // SAFETY: each function gets a buffer and its length, and keeps neither.
        unsafe {
            for _ in 0..TURNS {
                time(parses, || hffix_parse(black_box(at), len));
                time(by_words, || parse(black_box(&bytes), &mut portable));
                time(by_fastest, || parse(black_box(&bytes), &mut fastest));
                time(types, || hffix_typed(black_box(at), len));
                time(generated, || {
                    typed::<fix42::Header<'_>, fix42::$message<'_>>(black_box(&bytes), &mut fastest)
                });
                time(generated_alike, || {
                    let bytes = black_box(&bytes);
                    alike::<fix42::Header<'_>, fix42::$message<'_>>(
                        bytes,
                        &mut fastest,
                        &mut shapes,
                    )
                });
                time(writes, || $write(black_box(out.as_mut_ptr()), ROOM));
                time(encoded, || black_box(&body).encode(black_box(&header), &mut out).is_ok());
                time(by_field, || black_box(&values).$fields(&mut out).len());
            }
        }
        println!("{}", stringify!($message));
        let [
            parses,
            by_words,
            by_fastest,
            types,
            generated,
            generated_alike,
            writes,
            encoded,
            by_field,
        ] = least;
        print(
            "hffix",
            "parse",
            parses,
            &[("portable", by_words), (ReaderEngine::detect().name(), by_fastest)],
        );
        print("hffix", "typed", types, &[("generated", generated), ("alike", generated_alike)]);
        print("hffix", "encode", writes, &[("generated", encoded), ("field by field", by_field)]);
    }};
}

fn main() {
    compare!(NewOrderSingle, ORDER, hffix_order, order_values(), order);
    compare!(ExecutionReport, REPORT, hffix_report, report_values(), report);
}
