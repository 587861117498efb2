//! Measures what columns cost on CME-like feeds: prints nanoseconds per row, and the ratio to decoding alone.
//!
//! `cargo bench -p tickwire-arrow --features jit --bench columns -- [FEED] [SECONDS] [CASE]`
//!
//! CASE selects one case, for a profiler:
//!
//! - 0: decoding
//! - 1: batches
//! - 2: Parquet in memory
//! - 3: decoding of all fields but constants
//! - 4: batches of all fields but constants
//!
//! Without CASE, the cases of a feed take turns and the fastest run of each is printed. Captures that are not on
//! this machine are skipped.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tickwire_arrow::{
    FileFormat, RecordBatch, TableBuilder, TableOptions, TableWriter, TemplateTable,
};
use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::BufferedPacket;
use tickwire_fast::{
    CompileOptions, Decoder, DecoderOptions, FieldHandle, Message, Program, ResetPolicy,
    SegmentRef, Storage, TemplateSet,
};
use tickwire_text::Header;

/// Rows per batch; `tickwire export` uses the same.
const BATCH_ROWS: usize = 8192;
/// Readable bytes after the last packet.
const BEHIND: usize = 4096;

struct Feed {
    name: &'static str,
    program: Arc<Program>,
    /// All packets, followed by the readable bytes.
    bytes: Vec<u8>,
    /// Start and length of each packet.
    packets: Vec<(usize, usize)>,
}

impl Feed {
    fn new(name: &'static str, program: Arc<Program>) -> Self {
        Self { name, program, bytes: Vec::new(), packets: Vec::new() }
    }

    fn add(&mut self, packet: &[u8]) {
        self.packets.push((self.bytes.len(), packet.len()));
        self.bytes.extend_from_slice(packet);
    }

    fn made() -> Self {
        let mut generator = Generator::new(&Options::cme(CmeShape::Average)).expect("a feed");
        let mut feed = Self::new("made/cme", generator.program().clone());
        while let Some(packet) = generator.next_packet().expect("a packet") {
            feed.add(&packet.bytes);
        }
        feed
    }

    /// Loads a capture of length-prefixed packets; reports it and returns `None` if a file cannot be read.
    fn captured(name: &'static str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
        let file = folder.join(name).with_extension("bin");
        let read = |path: &Path| {
            let read = std::fs::read(path);
            read.inspect_err(|error| eprintln!("{} is left out: {error}", path.display())).ok()
        };
        let (bytes, xml) = (read(&file)?, read(&file.with_file_name("templates.xml"))?);
        let set = TemplateSet::parse_bytes(&xml).expect("templates");
        let mut feed = Self::new(name, Arc::new(Program::compile(set).expect("a program")));
        let mut rest = &bytes[..];
        while let Some((len, tail)) = rest.split_first_chunk::<4>() {
            let (packet, tail) = tail.split_at(u32::from_be_bytes(*len) as usize);
            feed.add(packet);
            rest = tail;
        }
        Some(feed)
    }

    fn packets(&self) -> impl Iterator<Item = BufferedPacket<'_>> {
        self.packets.iter().map(|(start, len)| BufferedPacket::new(&self.bytes[*start..], *len))
    }

    fn decoder(program: &Arc<Program>) -> Decoder {
        let options = DecoderOptions::default().reset(ResetPolicy::Packet);
        Decoder::with_options(program.clone(), options)
    }

    /// Compiles the program with a projection that excludes constants.
    fn without_constants(&self) -> Arc<Program> {
        let mut wanted = Vec::new();
        for template in self.program.templates() {
            add_fields(&self.program, template.segment, &mut wanted);
        }
        let options = CompileOptions::default().fields(Some(wanted));
        let set = self.program.set().clone();
        Arc::new(Program::compile_with(set, &options).expect("a program"))
    }
}

/// Adds the paths of a segment's fields that are not constant.
fn add_fields(program: &Program, segment: SegmentRef, wanted: &mut Vec<String>) {
    for (index, field) in program.fields_of(segment).iter().enumerate() {
        match field.storage {
            Storage::Constant(_) | Storage::OptionalConstant(_) => {}
            Storage::Group(inner) | Storage::Sequence { segment: inner, .. } => {
                add_fields(program, inner, wanted);
            }
            _ => wanted.push(program.path(program.field_ref(FieldHandle { segment, index }))),
        }
    }
}

/// One table per template.
struct Tables<'t>(Vec<TableBuilder>, &'t mut dyn FnMut(usize, RecordBatch));

impl<'t> Tables<'t> {
    fn new(program: &Arc<Program>, take: &'t mut dyn FnMut(usize, RecordBatch)) -> Self {
        let options = TableOptions::default();
        let table = |index| TableBuilder::new(TemplateTable::of(program, index, &options));
        Self((0..program.templates().len()).map(table).collect(), take)
    }

    fn end_message(&mut self, template: usize) {
        if self.0[template].rows() >= BATCH_ROWS {
            self.1(template, self.0[template].take_batch().expect("a batch"));
        }
    }

    fn end(mut self) {
        for (template, builder) in self.0.iter_mut().enumerate() {
            if builder.rows() > 0 {
                self.1(template, builder.take_batch().expect("a batch"));
            }
        }
    }
}

fn header(packet: usize) -> Header<'static> {
    let packet = packet as u64;
    Header { packet: Some(packet), time_ns: Some(packet), ..Header::default() }
}

/// Decodes all packets.
fn decode(decoder: &mut Decoder, feed: &Feed, mut take: impl FnMut(usize, &Message)) {
    for (index, mut packet) in feed.packets().enumerate() {
        decoder.begin_packet();
        while !packet.is_empty() {
            let decoded = decoder.decode_packet(packet).expect("a message");
            take(index, decoded.message);
            packet = packet.behind(decoded.len);
        }
    }
}

/// Decodes all packets to columns; `take` gets each batch with the index of its template.
fn columns(decoder: &mut Decoder, feed: &Feed, take: &mut dyn FnMut(usize, RecordBatch)) {
    let mut tables = Tables::new(&decoder.program().clone(), take);
    decode(decoder, feed, |packet, message| {
        let template = message.template_index();
        tables.0[template].push(&header(packet), message).expect("all fits");
        tables.end_message(template);
    });
    tables.end();
}

/// Writes Parquet files to memory; returns their bytes.
fn parquet(decoder: &mut Decoder, feed: &Feed) -> usize {
    let mut writers: Vec<_> = feed.program.templates().iter().map(|_| None).collect();
    columns(decoder, feed, &mut |template, batch| {
        let writer = writers[template].get_or_insert_with(|| {
            TableWriter::new(FileFormat::Parquet, Vec::new(), &batch.schema()).expect("a file")
        });
        writer.write(&batch).expect("written");
    });
    writers.into_iter().flatten().map(|writer| writer.finish().expect("a file").len()).sum()
}

fn measure(feed: &mut Feed, time: Duration, only: Option<usize>) {
    // Readable bytes after the last packet.
    feed.bytes.resize(feed.bytes.len() + BEHIND, 0);
    let fast: usize = feed.packets.iter().map(|(_, len)| len + 4).sum();
    let mut decoder = Feed::decoder(&feed.program);
    let mut narrow = Feed::decoder(&feed.without_constants());
    let mut rows = 0;
    columns(&mut decoder, feed, &mut |_, batch| rows += batch.num_rows());
    let mut least = [f64::INFINITY; 5];
    let mut bytes = 0;
    let started = Instant::now();
    while started.elapsed() < time {
        for (case, least) in least.iter_mut().enumerate() {
            if only.is_some_and(|only| only != case) {
                continue;
            }
            let mut pass = || match case {
                0 => decode(&mut decoder, feed, |_, message| _ = black_box(message)),
                1 => columns(&mut decoder, feed, &mut |_, batch| _ = black_box(batch)),
                2 => bytes = parquet(&mut decoder, feed),
                3 => decode(&mut narrow, feed, |_, message| _ = black_box(message)),
                _ => columns(&mut narrow, feed, &mut |_, batch| _ = black_box(batch)),
            };
            // A case that runs after another one finds its data in the caches and trained branch predictors.
            if case != 2 {
                pass();
            }
            let start = Instant::now();
            pass();
            *least = least.min(start.elapsed().as_nanos() as f64 / rows as f64);
        }
    }
    let [decoding, batches, parquet, narrow_decoding, narrow_batches] = least;
    println!(
        "| {} | {rows} | {decoding:.1} | {batches:.1} | {:.2} | {:.1} | {narrow_decoding:.1} | {narrow_batches:.1} | {:.2} | {:.1} | {parquet:.0} | {:.2} |",
        feed.name,
        batches / decoding,
        1000.0 / batches,
        narrow_batches / narrow_decoding,
        1000.0 / narrow_batches,
        bytes as f64 / fast as f64,
    );
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let wanted = arguments.first().map_or("", String::as_str);
    let seconds = arguments.get(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(10.0);
    let only = arguments.get(2).and_then(|case| case.parse().ok());
    println!(
        "| feed | rows | decoding, ns a row | to batches | times decoding | million rows a second \
         | decoding without constants | to batches | times decoding | million rows a second \
         | to Parquet | bytes, times FAST |"
    );
    println!("|{}", " --- |".repeat(12));
    let captures =
        ["cme_like/cme30000", "cme_like/cme_channel9_30000", "cme_like/cme_channel11_30000"];
    let captures = captures.map(Feed::captured);
    let feeds = std::iter::once(Some(Feed::made())).chain(captures).flatten();
    for mut feed in feeds.filter(|feed| feed.name.contains(wanted)) {
        measure(&mut feed, Duration::from_secs_f64(seconds), only);
    }
}
