//! Benchmarks of generated messages: decoding with every field parsed to its type, encoding, and
//! validation for comparison.
//!
//! Measures an order and a report that FIX benchmarks commonly use, and an order with nested
//! groups.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use tickwire_fix::dictionary::shipped;
use tickwire_fix::typed::{BODY_START, Room, Shapes, TypedFields};
use tickwire_fix::{Dictionary, Reader, Validator, Writer};
use tickwire_fix_messages::{fix42, fix44};

const ORDER: &str = "35=D|49=CLIENT|56=MARKET|34=499650|52=20240307-11:20:43|11=ord509647-500000|21=1|55=BHP|54=1|\
    60=20240307-11:20:14|38=57|40=2|44=298.075|59=4|";
const REPORT: &str = "35=8|49=MARKET|56=CLIENT|34=1962926|52=20240307-11:22:07|37=ord499647|11=ord509647-500000|\
    17=ord499647|20=0|150=0|39=0|55=BHP|54=1|38=57|40=2|44=298.07|59=4|29=4|151=57|14=0|6=0|\
    60=20240307-11:20:14|113=Y|21=1|";
const PARTIES: &str = "35=D|49=CLIENT|56=MARKET|34=7|52=20240307-11:20:43.125|11=id-1|453=2|448=P1|447=D|452=1|802=1|\
    523=sub|803=4|448=P2|447=D|452=3|55=XYZ|54=1|60=20240307-11:20:43.125|38=57|40=2|44=298.070|";

fn framed(version: &str, body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8={version}\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

fn group<'c>(c: &'c mut Criterion, name: &str, bytes: &[u8]) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(format!("fix/generated/{name}"));
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group
}

/// Finds the fields of a message and decodes header and body in place.
fn decode(
    group: &mut BenchmarkGroup<'_, WallTime>,
    bytes: &[u8],
    typed: impl Fn(&[u8], &mut Reader) -> usize,
) {
    let mut reader = Reader::new();
    assert!(typed(bytes, &mut reader) > BODY_START, "it decodes");
    group.bench_function("decode", |b| b.iter(|| typed(black_box(bytes), &mut reader)));
}

/// Returns the position after the body; 0 if it does not decode.
fn typed<'m, H: TypedFields<'m>, M: TypedFields<'m>>(
    bytes: &'m [u8],
    reader: &'m mut Reader,
) -> usize {
    let Ok(message) = reader.decode(bytes) else { return 0 };
    let (mut header, mut body) = (Room::<H>::default(), Room::<M>::default());
    let Ok((header, start)) = header.decode(&message, BODY_START) else { return 0 };
    black_box(&*header);
    let Ok((body, end)) = body.decode(&message, start) else { return 0 };
    black_box(&*body);
    end
}

/// Decodes messages with the tags of an earlier message, by their remembered shapes.
fn decode_alike(
    group: &mut BenchmarkGroup<'_, WallTime>,
    bytes: &[u8],
    alike: impl Fn(&[u8], &mut Reader, &mut [Shapes; 2]) -> usize,
) {
    let (mut reader, mut shapes) = (Reader::new(), [Shapes::new(), Shapes::new()]);
    assert!(alike(bytes, &mut reader, &mut shapes) > BODY_START, "it decodes");
    group.bench_function("decode-alike", |b| {
        b.iter(|| alike(black_box(bytes), &mut reader, &mut shapes));
    });
}

/// Returns the position after the body; 0 if it does not decode.
fn alike<'m, H: TypedFields<'m>, M: TypedFields<'m>>(
    bytes: &'m [u8],
    reader: &'m mut Reader,
    [headers, bodies]: &mut [Shapes; 2],
) -> usize {
    let Ok(message) = reader.decode(bytes) else { return 0 };
    let (mut header, mut body) = (Room::<H>::default(), Room::<M>::default());
    let decoded = header.decode_alike(headers, &message, BODY_START);
    let Ok((header, start)) = decoded else { return 0 };
    black_box(&*header);
    let Ok((body, end)) = body.decode_alike(bodies, &message, start) else { return 0 };
    black_box(&*body);
    end
}

/// Encodes an existing message.
fn encode(
    group: &mut BenchmarkGroup<'_, WallTime>,
    len: usize,
    write: impl for<'b> Fn(&'b mut [u8]) -> Option<&'b [u8]>,
) {
    let mut out = [0; 512 + Writer::OVERHEAD];
    assert_eq!(write(&mut out).map(<[u8]>::len), Some(len), "it is as long as what was decoded");
    group.bench_function("encode", |b| b.iter(|| write(black_box(&mut out)).map(<[u8]>::len)));
}

fn validate(group: &mut BenchmarkGroup<'_, WallTime>, bytes: &[u8], dictionary: &str) {
    let dictionary = Dictionary::parse_quickfix(dictionary).expect("loads");
    let (mut reader, mut validator) = (Reader::new(), Validator::default());
    let message = reader.decode(bytes).expect("whole");
    assert_eq!(validator.validate(&message, &dictionary), Ok(()));
    group.bench_function("validate", |b| {
        b.iter(|| validator.validate(black_box(&message), &dictionary).is_ok());
    });
}

/// Measures a message of a version.
macro_rules! message {
    ($c:expr, $name:literal, $version:ident, $message:ident, $begin:literal, $body:expr, $dictionary:expr) => {{
        let bytes = framed($begin, $body);
        let mut group = group($c, $name, &bytes);
        decode(&mut group, &bytes, |bytes, reader| {
            typed::<$version::Header<'_>, $version::$message<'_>>(bytes, reader)
        });
        decode_alike(&mut group, &bytes, |bytes, reader, shapes| {
            alike::<$version::Header<'_>, $version::$message<'_>>(bytes, reader, shapes)
        });
        let mut reader = Reader::new();
        let message = reader.decode(&bytes).expect("whole");
        let (header, start) = $version::Header::decode(&message).expect("a header");
        let body = $version::$message::decode_from(&message, start).expect("a message");
        encode(&mut group, bytes.len(), |out| black_box(&body).encode(&header, out).ok());
        validate(&mut group, &bytes, $dictionary);
        group.finish();
    }};
}

fn messages(c: &mut Criterion) {
    message!(c, "order", fix42, NewOrderSingle, "FIX.4.2", ORDER, &shipped::FIX42);
    message!(c, "report", fix42, ExecutionReport, "FIX.4.2", REPORT, &shipped::FIX42);
    message!(c, "parties", fix44, NewOrderSingle, "FIX.4.4", PARTIES, &shipped::FIX44);
}

criterion_group!(benches, messages);
criterion_main!(benches);
