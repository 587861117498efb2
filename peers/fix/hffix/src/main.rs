//! Reads and writes an order and a report by hffix and by Tickwire, in turns in one process, and prints the least
//! nanoseconds of hffix and the ratio of Tickwire's to them.

use std::hint::black_box;
use std::time::Instant;

use tickwire_fix::typed::{BODY_START, Fields, Room, Shapes};
use tickwire_fix::{Engine, Reader};
use tickwire_fix_messages::fix42;

const ORDER: &str = "35=D|49=CLIENT|56=MARKET|34=499650|52=20240307-11:20:43|11=ord509647-500000|21=1|55=BHP|54=1|\
    60=20240307-11:20:14|38=57|40=2|44=298.075|59=4|";
const REPORT: &str = "35=8|49=MARKET|56=CLIENT|34=1962926|52=20240307-11:22:07|37=ord499647|11=ord509647-500000|\
    17=ord499647|20=0|150=0|39=0|55=BHP|54=1|38=57|40=2|44=298.07|59=4|29=4|151=57|14=0|6=0|\
    60=20240307-11:20:14|113=Y|21=1|";

/// Calls between two looks at the clock.
const CALLS: u32 = 20_000;
/// Turns of all operations.
const TURNS: usize = 400;
/// Room for either message.
const ROOM: usize = 1024;

#[link(name = "peer_hffix", kind = "static")]
unsafe extern "C" {
    fn hffix_parse(bytes: *const u8, len: usize) -> usize;
    fn hffix_typed(bytes: *const u8, len: usize) -> usize;
    fn hffix_order(out: *mut u8, len: usize) -> usize;
    fn hffix_report(out: *mut u8, len: usize) -> usize;
}
#[link(name = "stdc++")]
unsafe extern "C" {}

fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

#[inline(never)]
fn parse(bytes: &[u8], reader: &mut Reader) -> usize {
    reader.decode(bytes).expect("it is right").len()
}

#[inline(never)]
fn typed<'m, H: Fields<'m>, M: Fields<'m>>(bytes: &'m [u8], reader: &'m mut Reader) -> usize {
    let message = reader.decode(bytes).expect("it is right");
    let (mut header, mut body) = (Room::<H>::default(), Room::<M>::default());
    let (header, start) = header.decode(&message, BODY_START).expect("it is right");
    black_box(&*header);
    let (body, end) = body.decode(&message, start).expect("it is right");
    black_box(&*body);
    end
}

#[inline(never)]
fn alike<'m, H: Fields<'m>, M: Fields<'m>>(
    bytes: &'m [u8],
    reader: &'m mut Reader,
    [headers, bodies]: &mut [Shapes; 2],
) -> usize {
    let message = reader.decode(bytes).expect("it is right");
    let (mut header, mut body) = (Room::<H>::default(), Room::<M>::default());
    let (header, start) = header.decode_alike(headers, &message, BODY_START).expect("it is right");
    black_box(&*header);
    let (body, end) = body.decode_alike(bodies, &message, start).expect("it is right");
    black_box(&*body);
    end
}

/// Notes the nanoseconds of a call, if they are fewer than before.
fn time<R>(least: &mut f64, mut call: impl FnMut() -> R) {
    let begun = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    *least = least.min(begun.elapsed().as_nanos() as f64 / f64::from(CALLS));
}

fn print(operation: &str, hffix: f64, kinds: &[(&str, f64)]) {
    print!("  {operation:8} hffix {hffix:6.1} ns");
    kinds.iter().for_each(|(name, ns)| print!("   {name} {:.2}", ns / hffix));
    println!();
}

macro_rules! compare {
    ($message:ident, $text:expr, $write:ident) => {{
        let bytes = framed($text);
        let (at, len) = (bytes.as_ptr(), bytes.len());
        let mut fastest = Reader::new();
        let mut portable = Reader::new().engine(Engine::portable());
        let mut shapes = [Shapes::new(), Shapes::new()];
        let mut reader = Reader::new();
        let message = reader.decode(&bytes).expect("it is right");
        let (header, start) = fix42::Header::decode(&message).expect("it is right");
        let body = fix42::$message::decode_from(&message, start).expect("it is right");
        let mut out = [0; ROOM];
        let mut least = [f64::MAX; 8];
        let [parses, by_words, by_fastest, types, generated, generated_alike, writes, encoded] =
            &mut least;
        // SAFETY: each function is given a buffer and its length, and keeps neither.
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
            }
        }
        println!("{}", stringify!($message));
        let [parses, by_words, by_fastest, types, generated, generated_alike, writes, encoded] =
            least;
        print("parse", parses, &[("portable", by_words), (Engine::detect().name(), by_fastest)]);
        print("typed", types, &[("generated", generated), ("alike", generated_alike)]);
        print("encode", writes, &[("generated", encoded)]);
    }};
}

fn main() {
    compare!(NewOrderSingle, ORDER, hffix_order);
    compare!(ExecutionReport, REPORT, hffix_report);
}
