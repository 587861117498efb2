//! The decoders under comparison.

use super::super::books;
use super::corpus::Corpus;
use crate::failure::Failure;
use crate::files;
use std::hint::black_box;
use std::sync::Arc;
use tickwire_fast::BufferedPacket;
use tickwire_fast::generated::{self, Templates};
use tickwire_fast::{
    CompileOptions, Decoder, EngineUnderTest, FieldLayout, FieldValue, MessageVisitor, Program,
    Record,
};
use tickwire_fast_generated::{TryModule, WithModule, first_capture, with_module};
use tickwire_feed::parallel::Parallel;

/// One decoding of a whole corpus.
pub type CorpusPass<'c> = Box<dyn FnMut() + 'c>;

/// A decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchEngine {
    /// Generated code, if a module was generated for these templates.
    Generated,
    /// The dynamic engine with the widest vectors of this CPU.
    DynamicWide,
    /// The dynamic engine with templates compiled to machine code.
    DynamicCompiled,
    /// The dynamic engine, portable.
    DynamicScalar,
    /// The default dynamic engine, reading every record with [`Record::fields`].
    Fields,
    /// The default dynamic engine, calling a visitor for each field.
    Visitor,
    /// The dynamic engine, storing three fields.
    Projection,
    /// The dynamic engine, keeping the outright and implied books of every instrument and checking
    /// them.
    Books,
    /// Generated code, keeping the same books.
    BooksGenerated,
    /// From datagrams of two lines to books, by the dynamic engine.
    Handler,
}

/// Fields of projections. The first row whose fields all exist in the templates is used.
const PROJECTIONS: [[&str; 3]; 2] =
    [["SecurityID", "MDEntryPx", "MDEntrySize"], ["SecurityId", "Price", "Volume"]];

impl BenchEngine {
    /// All decoders, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Generated,
        Self::DynamicCompiled,
        Self::DynamicWide,
        Self::DynamicScalar,
        Self::Fields,
        Self::Visitor,
        Self::Projection,
        Self::Books,
        Self::BooksGenerated,
        Self::Handler,
    ];

    /// Name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generated => "generated",
            Self::DynamicCompiled => "dynamic-compiled",
            Self::DynamicWide => "dynamic-wide",
            Self::DynamicScalar => "dynamic-scalar",
            Self::Fields => "fields",
            Self::Visitor => "visitor",
            Self::Projection => "projection",
            Self::Books => books::NAME,
            Self::BooksGenerated => books::NAME_GENERATED,
            Self::Handler => books::NAME_HANDLER,
        }
    }

    /// The dynamic engine that is chosen by default.
    pub fn dynamic(corpus: &Corpus) -> Self {
        match corpus.decoder(&corpus.program, EngineUnderTest::Automatic).engine_under_test() {
            EngineUnderTest::Vectors => Self::DynamicWide,
            EngineUnderTest::MachineCode => Self::DynamicCompiled,
            _ => Self::DynamicScalar,
        }
    }

    /// True if it runs the same code on every machine.
    pub fn is_portable(self) -> bool {
        self == Self::DynamicScalar
    }

    /// Returns a function that decodes the whole corpus at each call; `None` if this engine cannot decode it.
    pub fn pass<'c>(self, corpus: &'c Corpus) -> Result<Option<CorpusPass<'c>>, Failure> {
        Ok(match self {
            Self::Generated => generated(corpus, &DecodeOnly),
            Self::DynamicCompiled => where_it_runs(corpus, EngineUnderTest::MachineCode),
            Self::DynamicWide => where_it_runs(corpus, EngineUnderTest::Vectors),
            Self::DynamicScalar => {
                Some(stored(corpus, corpus.decoder(&corpus.program, EngineUnderTest::Portable)))
            }
            Self::Projection => projected(corpus)?.map(|program| {
                stored(corpus, corpus.decoder(&program, EngineUnderTest::Automatic))
            }),
            Self::Fields => Some(iterated(corpus)),
            Self::Visitor => Some(visited(corpus)),
            Self::Books => books::pass(corpus),
            Self::BooksGenerated => generated(corpus, &WithBooks),
            Self::Handler => books::pass_handler(corpus),
        })
    }
}

/// Reason why a pass cannot fail: the corpus was decoded when it was read.
const DECODED_BEFORE: &str = "decodes as it did before";

/// Returns a pass with an engine that needs certain CPU or build features; `None` if they are
/// missing.
fn where_it_runs(corpus: &Corpus, engine: EngineUnderTest) -> Option<CorpusPass<'_>> {
    let decoder = corpus.decoder(&corpus.program, engine);
    (decoder.engine_under_test() == engine).then(|| stored(corpus, decoder))
}

/// Contiguous packets, as in a capture that was read into memory.
pub struct CaptureBytes {
    bytes: Vec<u8>,
    /// Offset and length of each packet.
    places: Vec<(usize, usize)>,
}

impl CaptureBytes {
    /// The packets of a corpus, repeated `turns` times.
    pub fn of(corpus: &Corpus, turns: u64) -> Self {
        let mut end = 0;
        let places = corpus.packets.iter().map(|packet| {
            end += packet.len();
            (end - packet.len(), packet.len())
        });
        let places: Vec<_> = places.collect();
        Self { bytes: corpus.packets.concat(), places: places.repeat(turns as usize) }
    }

    fn packet(&self, (offset, len): (usize, usize)) -> BufferedPacket<'_> {
        BufferedPacket::new(&self.bytes[offset..], len)
    }

    /// Iterates over the packets; decoders may read bytes after the end of each.
    pub fn packets(&self) -> impl Iterator<Item = BufferedPacket<'_>> {
        self.places.iter().map(|place| self.packet(*place))
    }
}

fn stored(corpus: &Corpus, mut decoder: Decoder) -> CorpusPass<'_> {
    let capture = CaptureBytes::of(corpus, 1);
    Box::new(move || {
        decoder.reset();
        for mut rest in capture.packets() {
            decoder.begin_packet();
            while !rest.is_empty() {
                let decoded = decoder.decode_packet(rest).expect(DECODED_BEFORE);
                black_box(decoded.message);
                rest = rest.behind(decoded.len);
            }
        }
    })
}

/// Processing of the messages that a generated decoder returns.
trait PassWork {
    /// A pass over a corpus; `None` if there is nothing to do.
    fn pass<'c, T: Templates>(
        &self,
        corpus: &'c Corpus,
        decoder: generated::ModuleDecoder<T>,
    ) -> Option<CorpusPass<'c>>;
}

/// Decoding without further processing.
struct DecodeOnly;

impl PassWork for DecodeOnly {
    fn pass<'c, T: Templates>(
        &self,
        corpus: &'c Corpus,
        decoder: generated::ModuleDecoder<T>,
    ) -> Option<CorpusPass<'c>> {
        Some(generated_pass(corpus, decoder))
    }
}

/// Books.
struct WithBooks;

impl PassWork for WithBooks {
    fn pass<'c, T: Templates>(
        &self,
        corpus: &'c Corpus,
        decoder: generated::ModuleDecoder<T>,
    ) -> Option<CorpusPass<'c>> {
        books::pass_generated(corpus, decoder)
    }
}

/// Decodes with the first generated module that fits the templates of the corpus.
fn generated<'c>(corpus: &'c Corpus, work: &impl PassWork) -> Option<CorpusPass<'c>> {
    let signature = corpus.set.signature();
    with_module(&signature, BuiltInPass { corpus, work })
        .unwrap_or_else(|| first_capture(&mut Adopting { corpus, work }))
}

/// Applies work to the module generated for exactly these templates.
struct BuiltInPass<'c, 'w, W> {
    corpus: &'c Corpus,
    work: &'w W,
}

impl<'c, W: PassWork> WithModule for BuiltInPass<'c, '_, W> {
    type Output = Option<CorpusPass<'c>>;

    fn with<T: Templates>(self) -> Option<CorpusPass<'c>> {
        let options = self.corpus.decoder_options(EngineUnderTest::Automatic);
        let decoder =
            generated::ModuleDecoder::<T>::with_options(self.corpus.program.clone(), options)
                .ok()?;
        self.work.pass(self.corpus, decoder)
    }
}

/// Tries modules that were generated for some of the corpus's templates.
struct Adopting<'c, 'w, W> {
    corpus: &'c Corpus,
    work: &'w W,
}

impl<'c, W: PassWork> TryModule for Adopting<'c, '_, W> {
    type Output = CorpusPass<'c>;

    fn try_module<T: Templates>(&mut self) -> Option<CorpusPass<'c>> {
        let corpus = self.corpus;
        let options = corpus.decoder_options(EngineUnderTest::Automatic);
        let decoder =
            generated::ModuleDecoder::<T>::adopting(corpus.program.clone(), options).ok()?;
        let mut numbers = 0..T::TEMPLATES.len();
        let has_all = numbers.all(|number| decoder.template_index(number).is_some());
        if has_all { self.work.pass(corpus, decoder) } else { None }
    }
}

fn generated_pass<T: Templates>(
    corpus: &Corpus,
    mut decoder: generated::ModuleDecoder<T>,
) -> CorpusPass<'_> {
    let capture = CaptureBytes::of(corpus, 1);
    Box::new(move || {
        decoder.reset();
        for mut rest in capture.packets() {
            decoder.begin_packet();
            while !rest.is_empty() {
                let decoded = decoder.decode_packet(rest).expect(DECODED_BEFORE);
                black_box(decoded.message);
                rest = rest.behind(decoded.len);
            }
        }
    })
}

/// Passes per thread: enough to make the time to start the threads negligible.
pub const TURNS_OF_THREADS: u64 = 20;

/// Decodes a corpus of independent packets repeatedly on `threads` threads.
pub fn on_threads(corpus: &Corpus, threads: usize) -> CorpusPass<'_> {
    let capture = CaptureBytes::of(corpus, TURNS_OF_THREADS);
    Box::new(move || {
        let begin = || corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
        let messages = Parallel::new(threads).map(&capture.places, begin, |decoder, place| {
            let (mut rest, mut messages) = (capture.packet(*place), 0_u32);
            decoder.begin_packet();
            while !rest.is_empty() {
                let decoded = decoder.decode_packet(rest).expect(DECODED_BEFORE);
                black_box(decoded.message);
                rest = rest.behind(decoded.len);
                messages += 1;
            }
            messages
        });
        black_box(messages);
    })
}

fn projected(corpus: &Corpus) -> Result<Option<Arc<Program>>, Failure> {
    for fields in PROJECTIONS {
        let fields = Some(fields.map(str::to_owned).to_vec());
        let options = CompileOptions::default().fields(fields);
        if let Ok(program) = files::compile(corpus.set.clone(), &options) {
            return Ok(Some(Arc::new(program)));
        }
    }
    Ok(None)
}

fn visited(corpus: &Corpus) -> CorpusPass<'_> {
    let mut decoder = corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
    let mut summing = Summing::default();
    Box::new(move || {
        decoder.reset();
        for packet in &corpus.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let len = decoder.visit(rest, &mut summing).expect(DECODED_BEFORE);
                rest = &rest[len..];
            }
        }
        black_box(&mut summing);
    })
}

/// A visitor that uses every value, so that the compiler cannot remove any.
#[derive(Default)]
struct Summing {
    sum: u64,
}

impl MessageVisitor for Summing {
    fn field(&mut self, _field: &FieldLayout, value: FieldValue<'_>) {
        self.sum = self.sum.wrapping_add(number_of(value));
    }
}

fn number_of(value: FieldValue<'_>) -> u64 {
    match value {
        FieldValue::UInt(value) => value,
        FieldValue::Int(value) => value as u64,
        FieldValue::Decimal(value) => value.mantissa as u64 ^ value.exponent as u64,
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) | FieldValue::Bytes(bytes) => {
            bytes.first().map_or(0, |&byte| u64::from(byte)) + bytes.len() as u64
        }
        _ => 1,
    }
}

fn iterated(corpus: &Corpus) -> CorpusPass<'_> {
    let mut decoder = corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
    Box::new(move || {
        let mut sum = 0u64;
        decoder.reset();
        for packet in &corpus.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest).expect(DECODED_BEFORE);
                sum = sum.wrapping_add(sum_of(decoded.message.root()));
                rest = &rest[decoded.len..];
            }
        }
        black_box(sum);
    })
}

/// Returns the sum of all values of a record, as [`Summing`] adds them.
fn sum_of(record: Record<'_>) -> u64 {
    let mut sum = 0u64;
    for (_, value) in record.fields() {
        sum = sum.wrapping_add(match value {
            FieldValue::Group(record) | FieldValue::Dynamic(_, record) => sum_of(record),
            FieldValue::Sequence(entries) => entries.iter().map(sum_of).fold(0, u64::wrapping_add),
            value => number_of(value),
        });
    }
    sum
}
