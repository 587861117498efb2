//! Benchmarks of reading and writing the messages that FIX benchmarks commonly use, with each
//! engine that this machine supports.
//!
//! Uses the shared messages if they exist; otherwise reports that and continues.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{
    Dictionary, FixDecimal, FixError, FixMessage, Precision, Reader, ReaderEngine, Tag, TagText,
    UtcTimestamp, Validator, Writer,
};

/// A message of this project with groups and text: measured beside the shared messages, or alone if
/// these are missing.
const OWN: &str = "35=X|49=EXCH|56=CLIENT|34=12345|52=20240307-09:30:00.123456|262=req-1|268=2|\
    279=0|269=0|278=a1|55=ABCD|270=101.25|271=300|346=4|279=1|269=1|278=b7|55=ABCD|270=101.5|271=50|";

fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

fn messages() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fix/messages");
    let mut messages = vec![("own_refresh".to_owned(), framed(OWN))];
    for name in ["nos", "er"] {
        match std::fs::read(folder.join(name).with_extension("fix")) {
            Ok(bytes) => messages.push((name.to_owned(), bytes)),
            Err(_) => println!("skipped: {name}.fix is not there"),
        }
    }
    messages
}

fn parse(c: &mut Criterion) {
    for (name, bytes) in messages() {
        let mut group = c.benchmark_group(format!("fix/parse/{name}"));
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        for engine in ReaderEngine::available() {
            let mut reader = Reader::new().engine(engine);
            group.bench_function(engine.name(), |b| {
                b.iter(|| reader.decode(black_box(&bytes)).expect("whole").len());
            });
        }
        group.finish();
    }
}

/// The fields of a NewOrderSingle.
struct Order<'m> {
    sender: &'m [u8],
    target: &'m [u8],
    seq_num: u64,
    sending_time: UtcTimestamp,
    id: &'m [u8],
    handling: u8,
    symbol: &'m [u8],
    side: u8,
    transact_time: UtcTimestamp,
    quantity: FixDecimal,
    order_type: u8,
    price: FixDecimal,
    time_in_force: u8,
}

impl<'m> Order<'m> {
    fn read(message: &FixMessage<'m, '_>) -> Result<Option<Self>, FixError> {
        let mut cursor = message.cursor();
        let mut next = |tag| cursor.field(Tag(tag));
        let fields =
            (next(49), next(56), next(34), next(52), next(11), next(21), next(55), next(54));
        let (
            Some(f49),
            Some(f56),
            Some(f34),
            Some(f52),
            Some(f11),
            Some(f21),
            Some(f55),
            Some(f54),
        ) = fields
        else {
            return Ok(None);
        };
        let fields = (next(60), next(38), next(40), next(44), next(59));
        let (Some(f60), Some(f38), Some(f40), Some(f44), Some(f59)) = fields else {
            return Ok(None);
        };
        Ok(Some(Self {
            sender: f49.value,
            target: f56.value,
            seq_num: f34.uint()?,
            sending_time: f52.utc_timestamp()?,
            id: f11.value,
            handling: f21.char()?,
            symbol: f55.value,
            side: f54.char()?,
            transact_time: f60.utc_timestamp()?,
            quantity: f38.decimal()?,
            order_type: f40.char()?,
            price: f44.decimal()?,
            time_in_force: f59.char()?,
        }))
    }

    fn write<'b>(&self, out: &'b mut [u8]) -> Result<&'b [u8], FixError> {
        const fn text(tag: u32) -> TagText {
            TagText::new(Tag(tag))
        }
        let mut writer = Writer::new(out, "FIX.4.2", "D");
        writer.bytes(const { text(49) }, self.sender);
        writer.bytes(const { text(56) }, self.target);
        writer.uint(const { text(34) }, self.seq_num);
        writer.utc_timestamp(const { text(52) }, self.sending_time, Precision::Seconds);
        writer.bytes(const { text(11) }, self.id);
        writer.char(const { text(21) }, self.handling);
        writer.bytes(const { text(55) }, self.symbol);
        writer.char(const { text(54) }, self.side);
        writer.utc_timestamp(const { text(60) }, self.transact_time, Precision::Seconds);
        writer.decimal(const { text(38) }, self.quantity);
        writer.char(const { text(40) }, self.order_type);
        writer.decimal(const { text(44) }, self.price);
        writer.char(const { text(59) }, self.time_in_force);
        writer.finish()
    }
}

/// Returns the NewOrderSingle of the shared messages, or this project's equivalent if they are
/// missing.
fn order_bytes() -> Vec<u8> {
    let own = "35=D|49=CLIENT|56=MARKET|34=499650|52=20240307-11:20:43|11=ord509647-500000|21=1|55=BHP|\
        54=1|60=20240307-11:20:14|38=57|40=2|44=298.075|59=4|";
    let found = messages().into_iter().find(|(name, _)| name == "nos");
    found.map_or_else(|| framed(own), |(_, bytes)| bytes)
}

fn typed(c: &mut Criterion) {
    let bytes = order_bytes();
    let mut group = c.benchmark_group("fix/typed/nos");
    for engine in ReaderEngine::available() {
        let mut reader = Reader::new().engine(engine);
        group.bench_function(engine.name(), |b| {
            b.iter(|| {
                let message = reader.decode(black_box(&bytes)).expect("whole");
                let order = Order::read(&message).expect("well written").expect("complete");
                black_box(&order);
            });
        });
    }
    group.finish();
}

fn encode(c: &mut Criterion) {
    let bytes = order_bytes();
    let mut reader = Reader::new();
    let message = reader.decode(&bytes).expect("whole");
    let order = Order::read(&message).expect("well written").expect("complete");
    let mut out = [0; 512];
    assert_eq!(order.write(&mut out).map(<[u8]>::len), Ok(bytes.len()));
    c.bench_function("fix/encode/nos", |b| {
        b.iter(|| black_box(&order).write(black_box(&mut out)).expect("room").len());
    });
}

fn validate(c: &mut Criterion) {
    let dictionary = Dictionary::parse_quickfix(&shipped::FIX42).expect("loads");
    let bytes = order_bytes();
    let (mut reader, mut validator) = (Reader::new(), Validator::default());
    let message = reader.decode(&bytes).expect("whole");
    c.bench_function("fix/validate/nos", |b| {
        b.iter(|| validator.validate(black_box(&message), &dictionary).is_ok());
    });
}

criterion_group!(benches, parse, typed, encode, validate);
criterion_main!(benches);
