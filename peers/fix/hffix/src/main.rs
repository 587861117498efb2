//! Reads and writes an order and a report with hffix and Tickwire, alternately in one process. Prints the
//! minimum of hffix in nanoseconds and the ratio of Tickwire's time to it.

use std::hint::black_box;

use orders::{
    ORDER, REPORT, ROOM, Values, alike, framed, order_values, parse, print, report_values, time,
    typed,
};
use tickwire_fix::typed::Shapes;
use tickwire_fix::{Engine, Reader};
use tickwire_fix_messages::fix42;

#[path = "../../orders.rs"]
mod orders;

/// Rounds of all operations.
const TURNS: usize = 400;

#[link(name = "peer_hffix", kind = "static")]
unsafe extern "C" {
    fn hffix_parse(bytes: *const u8, len: usize) -> usize;
    fn hffix_typed(bytes: *const u8, len: usize) -> usize;
    fn hffix_order(out: *mut u8, len: usize) -> usize;
    fn hffix_report(out: *mut u8, len: usize) -> usize;
}
#[link(name = "stdc++")]
unsafe extern "C" {}

macro_rules! compare {
    ($message:ident, $text:expr, $write:ident, $values:expr, $fields:ident) => {{
        let bytes = framed($text);
        let (at, len) = (bytes.as_ptr(), bytes.len());
        let mut fastest = Reader::new();
        let mut portable = Reader::new().engine(Engine::portable());
        let mut shapes = [Shapes::new(), Shapes::new()];
        let mut reader = Reader::new();
        let message = reader.decode(&bytes).expect("it is right");
        let (header, start) = fix42::Header::decode(&message).expect("it is right");
        let body = fix42::$message::decode_from(&message, start).expect("it is right");
        let values: Values<'_> = $values;
        let mut out = [0; ROOM];
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
            &[("portable", by_words), (Engine::detect().name(), by_fastest)],
        );
        print("hffix", "typed", types, &[("generated", generated), ("alike", generated_alike)]);
        print("hffix", "encode", writes, &[("generated", encoded), ("field by field", by_field)]);
    }};
}

fn main() {
    compare!(NewOrderSingle, ORDER, hffix_order, order_values(), order);
    compare!(ExecutionReport, REPORT, hffix_report, report_values(), report);
}
