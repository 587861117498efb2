//! FIX logs of NewOrderSingle to columns and Parquet, stage by stage. Throughput counts bytes of the log.
//!
//!     cargo bench -p tickwire-arrow --bench fix

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tickwire_arrow::fix::{FixBatchBuilder, LogPlace, MessageTable};
use tickwire_arrow::{Decimals, FileFormat, TableWriter};
use tickwire_fix::{FixDecimal, Precision, Reader, Tag, UtcTimestamp, Writer};
use tickwire_fix_text::{Scanner, Versions};

const MESSAGES: u64 = 400_000;
const BATCH_ROWS: usize = 8192;
/// 2026-01-05 00:00:00 UTC.
const BEGIN_NS: u64 = 1_767_571_200_000_000_000;

/// Generates a log: one message per line, after its timestamp.
fn log(random: &mut fastrand::Rng) -> Vec<u8> {
    let (mut log, mut buffer) = (Vec::new(), [0; 1024]);
    for at in 0..MESSAGES {
        let time = UtcTimestamp::from_unix_nanos(BEGIN_NS + at * 1_000_000);
        let mut writer = Writer::new(&mut buffer, "FIX.4.4", "D");
        writer.str(Tag(49), "CLIENT");
        writer.str(Tag(56), "EXCHANGE");
        writer.uint(Tag(34), at + 1);
        writer.utc_timestamp(Tag(52), time, Precision::Millis);
        writer.str(Tag(11), &format!("ORDER{at:08}"));
        writer.str(Tag(1), ["ACC1", "ACC2", "ACC3"][random.usize(..3)]);
        writer.char(Tag(21), b'1');
        writer.str(Tag(55), ["MSFT", "AAPL", "SAP", "BMW"][random.usize(..4)]);
        writer.char(Tag(54), b'1' + random.u8(..2));
        writer.utc_timestamp(Tag(60), time, Precision::Millis);
        writer.uint(Tag(38), random.u64(1..100) * 100);
        writer.char(Tag(40), b'2');
        writer.decimal(Tag(44), FixDecimal::new(random.i64(10_000..20_000), -2));
        writer.char(Tag(59), b'0');
        let message = writer.finish().expect("room");
        log.extend_from_slice(b"20260105-00:00:00.000 : ");
        log.extend_from_slice(message);
        log.push(b'\n');
    }
    log
}

fn columns(criterion: &mut Criterion) {
    let log = log(&mut fastrand::Rng::with_seed(16));
    let found: Vec<Vec<u8>> =
        Scanner::new(&log, None).map(|(_, found)| found.bytes.into_owned()).collect();
    assert_eq!(found.len() as u64, MESSAGES);
    let mut reader = Reader::new();
    let mut tags: Vec<u32> = Vec::new();
    for bytes in &found {
        tags.extend_from_slice(reader.decode(bytes).expect("right").tags());
    }
    tags.sort_unstable();
    tags.dedup();
    // The reader verifies BodyLength (9) and CheckSum (10); the table has one MsgType (35).
    tags.retain(|tag| !matches!(tag, 9 | 10 | 35));
    let versions = Versions::default();
    let (session, application) = versions.of_version(b"FIX.4.4", None).expect("shipped");
    let wanted = |tag: Tag| tags.contains(&tag.0);
    let table = MessageTable {
        session,
        application,
        msg_type: b"D",
        decimals: Decimals::Exact,
        wanted: &wanted,
    };
    let mut group = criterion.benchmark_group("fix_log");
    group.throughput(Throughput::Bytes(log.len() as u64)).sample_size(10);
    group.bench_function("scan", |bencher| {
        bencher
            .iter(|| Scanner::new(&log, None).map(|(_, found)| found.bytes.len()).sum::<usize>());
    });
    group.bench_function("read", |bencher| {
        bencher.iter(|| {
            found
                .iter()
                .map(|bytes| reader.decode(bytes).map_or(0, |read| read.len()))
                .sum::<usize>()
        });
    });
    let mut build = |mut take: Box<dyn FnMut(tickwire_arrow::RecordBatch) + '_>| {
        let mut builder = FixBatchBuilder::new(&table).expect("known");
        for bytes in &found {
            let message = reader.decode(bytes).expect("right");
            builder.push(&LogPlace::default(), &message);
            if builder.rows() == BATCH_ROWS {
                take(builder.take_batch().expect("fits"));
            }
        }
        take(builder.take_batch().expect("fits"));
    };
    group.bench_function("read_to_columns", |bencher| {
        bencher.iter(|| build(Box::new(|batch| drop(black_box(batch)))));
    });
    group.bench_function("read_to_parquet", |bencher| {
        let schema = FixBatchBuilder::new(&table).expect("known").schema().clone();
        bencher.iter(|| {
            let mut writer =
                TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).expect("memory");
            build(Box::new(|batch| writer.write(&batch).expect("memory")));
            writer.finish().expect("memory").len()
        });
    });
    group.finish();
}

criterion_group!(benches, columns);
criterion_main!(benches);
