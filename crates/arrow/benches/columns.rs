//! Messages of the made CME-like feed to columns, beside decoding alone.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tickwire_arrow::{FileFormat, Table, TableBuilder, TableWriter};
use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message, ResetPolicy};
use tickwire_text::Header;

/// Rows of a batch, as `tickwire export` has them.
const BATCH_ROWS: usize = 8192;

struct Feed {
    packets: Vec<Vec<u8>>,
    decoder: Decoder,
    table: Table,
}

impl Feed {
    fn new() -> Self {
        let mut generator = Generator::new(&Options::cme(CmeShape::Average)).expect("a feed");
        let program = generator.program().clone();
        let mut packets = Vec::new();
        while let Some(packet) = generator.next_packet().expect("a packet") {
            packets.push(packet.bytes);
        }
        let options = DecoderOptions { reset: ResetPolicy::Packet, ..Default::default() };
        let table = Table::of(&program, 0, &Default::default());
        Self { packets, decoder: Decoder::with_options(program, options), table }
    }

    /// Decodes all.
    fn decode(&mut self, mut take: impl FnMut(u64, &Message)) {
        for (index, packet) in self.packets.iter().enumerate() {
            self.decoder.begin_packet();
            let decoded = self.decoder.decode(packet).expect("a message");
            take(index as u64, decoded.message);
        }
    }

    /// All as columns; returns how many rows there were.
    fn columns(&mut self, mut take: impl FnMut(arrow_array::RecordBatch)) -> usize {
        let mut builder = TableBuilder::new(self.table.clone());
        let mut rows = 0;
        self.decode(|index, message| {
            let header = Header { packet: Some(index), time_ns: Some(index), ..Header::default() };
            rows += builder.push(&header, message).expect("all fits");
            if builder.rows() >= BATCH_ROWS {
                take(builder.take_batch().expect("a batch"));
            }
        });
        take(builder.take_batch().expect("a batch"));
        rows
    }
}

fn columns(criterion: &mut Criterion) {
    let mut feed = Feed::new();
    let rows = feed.columns(drop);
    let mut group = criterion.benchmark_group("columns");
    group.throughput(Throughput::Elements(rows as u64));
    group.bench_function("decoding alone", |bencher| {
        bencher.iter(|| feed.decode(|_, message| _ = black_box(message)));
    });
    group.bench_function("to batches", |bencher| {
        bencher.iter(|| feed.columns(|batch| _ = black_box(batch)));
    });
    group.bench_function("to Parquet in memory", |bencher| {
        bencher.iter(|| {
            let schema = feed.table.schema().clone();
            let mut writer =
                TableWriter::new(FileFormat::Parquet, Vec::new(), &schema).expect("a file");
            feed.columns(|batch| writer.write(&batch).expect("written"));
            black_box(writer.finish().expect("a file").len())
        });
    });
    group.finish();
}

criterion_group!(benches, columns);
criterion_main!(benches);
