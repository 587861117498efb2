//! Corpora to decode: captures, if they exist, and generated feeds.

use crate::console::tell;
use crate::failure::Failure;
use crate::files;
use crate::options::{FramingArgs, reset_policy, with_reset_template};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickwire_captures::CaptureSample;
use tickwire_exchange::{CmeShape, FeedShape, Generator, Options};
use tickwire_fast::{
    Decoder, DecoderOptions, EngineUnderTest, Message, Program, ResetPolicy, TemplateSet, TierUp,
};
use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader};
use tickwire_feed::framing::detect::PACKETS_MAX;
use tickwire_feed::framing::{Framer, MessageHeader};

use crate::decode::entries_of;

/// Number of messages of the feed with random message lengths: too many for a branch predictor to
/// learn.
const RANDOM_MESSAGES: u64 = 300_000;
/// Longest capture read.
const CAPTURE_BYTES_MAX: u64 = 1 << 30;

/// Packets of one feed, all of which decode.
pub struct Corpus {
    /// Name in tables and in JSON.
    pub name: String,
    /// The checked templates.
    pub set: TemplateSet,
    /// The templates, compiled for all fields.
    pub program: Arc<Program>,
    /// Reset policy of the dictionaries.
    pub reset: ResetPolicy,
    /// The FAST bytes of each packet.
    pub packets: Vec<Vec<u8>>,
    /// Messages in all packets.
    pub messages: u64,
    /// Sequence entries in all messages.
    pub entries: u64,
    /// Bytes of all packets.
    pub bytes: u64,
    /// Files that the corpus was read from; `None` if it was generated.
    pub source: Option<CorpusFiles>,
}

/// The files of a corpus.
pub struct CorpusFiles {
    /// Template file.
    pub templates: PathBuf,
    /// Capture; each packet has a big-endian 32-bit length prefix.
    pub capture: PathBuf,
    /// Bytes before the messages of each packet.
    pub preamble: usize,
}

/// A capture in the folder of captures: its file, its framing.
struct ShippedCapture {
    /// Name of the folder, followed by the file's name if the folder holds several captures.
    name: &'static str,
    /// Path of the file, relative to the folder of captures.
    file: &'static str,
    /// Bytes before the messages of each packet.
    preamble: usize,
    reset: ResetPolicy,
}

const fn known(
    name: &'static str,
    file: &'static str,
    preamble: usize,
    reset: ResetPolicy,
) -> ShippedCapture {
    ShippedCapture { name, file, preamble, reset }
}

/// The known captures: u32 length-prefixed, with `templates.xml` beside each.
const KNOWN: [ShippedCapture; 7] = [
    known("oci_complex", "oci_complex/oci_complex30000.bin", 0, ResetPolicy::Template),
    known("simple", "simple/simple30000.bin", 0, ResetPolicy::Packet),
    known("cme_like/cme30000", "cme_like/cme30000.bin", 0, ResetPolicy::Packet),
    known(
        "cme_like/cme_channel11_30000",
        "cme_like/cme_channel11_30000.bin",
        0,
        ResetPolicy::Packet,
    ),
    known("cme_like/cme_channel9_30000", "cme_like/cme_channel9_30000.bin", 0, ResetPolicy::Packet),
    known("cme_2012", "cme_2012/cme_2012_sampleMD.bin", 5, ResetPolicy::Packet),
    known("moex_forts", "moex_forts/moex_forts_2013.increment_a.bin", 0, ResetPolicy::Template),
];

/// Generated feeds.
fn made() -> impl Iterator<Item = (String, Options)> {
    let own = [
        ("simple", Options::simple()),
        ("complex", Options::complex()),
        ("cme", Options::cme(CmeShape::Average)),
        ("random", Options { messages: RANDOM_MESSAGES, ..Options::random_cme() }),
    ];
    let shaped = FeedShape::ALL.map(|shape| (shape.name(), Options::shaped(shape)));
    own.into_iter().chain(shaped).map(|(name, options)| (format!("made/{name}"), options))
}

/// Names of all captures and generated feeds.
pub fn names() -> Vec<String> {
    let captures = KNOWN.iter().map(|known| known.name.to_owned());
    captures.chain(made().map(|(name, _)| name)).collect()
}

/// The selected captures that exist in `folder`, and generated feeds. Fails if there is none.
pub fn all(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Corpus>, Failure> {
    let mut corpora = Vec::new();
    for known in KNOWN.iter().filter(|known| wanted(known.name)) {
        let capture = folder.join(known.file);
        if capture.exists() {
            corpora.push(Corpus::read(known, &capture)?);
        } else {
            tell!("tickwire: {} skipped: {} does not exist", known.name, capture.display());
        }
    }
    for (name, options) in made().filter(|(name, _)| wanted(name)) {
        corpora.push(Corpus::make_up(&name, &options)?);
    }
    if corpora.is_empty() {
        let why = "no selected capture exists; .ci/fetch-captures of the source tree fetches those that are public";
        return Err(Failure::Data(format!("{}: {why}", folder.display())));
    }
    Ok(corpora)
}

/// Framing of the user's capture.
pub struct OwnFraming<'a> {
    /// Options of the framing.
    pub args: &'a FramingArgs,
    /// Layout of the file; guessed by default.
    pub format: Option<CaptureFormat>,
}

/// Reads the first packets, from which the framing is detected.
fn first_packets(path: &Path, options: CaptureOptions) -> Result<CaptureSample, Failure> {
    let mut reader = files::open_capture(path, files::open(path)?, options)?;
    let mut sample = CaptureSample::new(PACKETS_MAX);
    // Errors of the file are reported later, when all of it is read.
    while !sample.is_full() {
        let Ok(Some(packet)) = reader.next_packet() else { break };
        sample.add(&packet);
    }
    Ok(sample)
}

impl Corpus {
    fn read(known: &ShippedCapture, capture: &Path) -> Result<Self, Failure> {
        let templates = capture.with_file_name("templates.xml");
        let set = files::read_templates(&templates)?;
        let bytes = files::read_whole(capture, CAPTURE_BYTES_MAX, "")?;
        let cannot = |why: String| Failure::Data(format!("{}: {why}", capture.display()));
        let options = CaptureOptions::new().format(CaptureFormat::U32Be);
        let mut reader =
            CaptureReader::open(&bytes[..], options).map_err(|e| cannot(e.to_string()))?;
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().map_err(|e| cannot(e.to_string()))? {
            let short = || cannot(format!("packet {} is shorter than its preamble", packet.index));
            packets.push(packet.bytes.get(known.preamble..).ok_or_else(short)?.to_vec());
        }
        let source =
            CorpusFiles { templates, capture: capture.to_owned(), preamble: known.preamble };
        Self::checked(known.name, set, known.reset, packets, Some(source))
    }

    /// Reads a capture of the user and strips the framing from its packets.
    pub fn of_file(path: &Path, set: TemplateSet, own: &OwnFraming<'_>) -> Result<Self, Failure> {
        let name = files::name_of(path);
        let mut options = CaptureOptions::new().file_name(path.to_string_lossy());
        if let Some(format) = own.format {
            options = options.format(format);
        }
        let framing = match own.args.is_auto() {
            false => own.args.framing()?,
            true => {
                let sample = first_packets(path, options.clone())?;
                own.args.find_without_checks(&sample, &set, &name, None)?
            }
        };
        let cannot = |why: String| Failure::Data(format!("{name}: {why}"));
        if framing.header_before_message() != MessageHeader::None {
            let why = "bench cannot strip headers before each message: measure with tickwire decode \
                       --format summary";
            return Err(Failure::Usage(format!("{name}: {why}")));
        }
        let mut reader = files::open_capture(path, files::open(path)?, options)?;
        let mut framer = Framer::new(framing);
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().map_err(|e| cannot(e.to_string()))? {
            for segment in framer.split(packet.bytes) {
                let segment = segment.map_err(|error| cannot(error.to_string()))?;
                if !segment.bytes.is_empty() {
                    packets.push(segment.bytes.to_vec());
                }
            }
        }
        if packets.is_empty() {
            return Err(cannot("there are no packets in it".to_owned()));
        }
        let set = with_reset_template(set, &framing);
        Self::checked(&name, set, reset_policy(&framing), packets, None)
    }

    /// Generates a feed; equal options give an equal feed.
    pub fn make_up(name: &str, options: &Options) -> Result<Self, Failure> {
        let failed =
            |error: tickwire_exchange::ExchangeError| Failure::Data(format!("{name}: {error}"));
        let mut generator = Generator::new(options).map_err(failed)?;
        let mut packets = Vec::new();
        while let Some(packet) = generator.next_packet().map_err(failed)? {
            packets.push(packet.bytes);
        }
        let set = generator.program().set().clone();
        Self::checked(name, set, ResetPolicy::Packet, packets, None)
    }

    /// Returns a corpus of only the last packet with this many bytes, if there is one.
    pub fn one_packet(&self, bytes: usize) -> Option<Self> {
        let packet = self.packets.iter().rfind(|packet| packet.len() == bytes)?.clone();
        Self::checked(&self.name, self.set.clone(), self.reset, vec![packet], None).ok()
    }

    /// Decodes everything once, to count messages, entries and bytes and to check that all packets
    /// decode.
    fn checked(
        name: &str,
        set: TemplateSet,
        reset: ResetPolicy,
        packets: Vec<Vec<u8>>,
        source: Option<CorpusFiles>,
    ) -> Result<Self, Failure> {
        let program = Arc::new(files::compile(set.clone(), &Default::default())?);
        let bytes = packets.iter().map(|packet| packet.len() as u64).sum();
        let name = name.to_owned();
        let mut corpus =
            Self { name, set, program, reset, packets, messages: 0, entries: 0, bytes, source };
        let (mut messages, mut entries) = (0, 0);
        let mut decoder = corpus.decoder(&corpus.program, EngineUnderTest::Automatic);
        corpus
            .each_message(&mut decoder, |message| {
                messages += 1;
                entries += entries_of(message.root());
            })
            .map_err(|error| {
                let why = error.describe(&corpus.program);
                Failure::Data(format!("{}: {why}", corpus.name))
            })?;
        (corpus.messages, corpus.entries) = (messages, entries);
        Ok(corpus)
    }

    /// Returns the number of packets and entries and the maximum number of entries per message, as published articles
    /// describe a capture.
    pub fn packets_and_entries(&self) -> Result<String, Failure> {
        let mut most = 0;
        let mut decoder = self.decoder(&self.program, EngineUnderTest::Automatic);
        let decoded = self.each_message(&mut decoder, |message| {
            most = most.max(entries_of(message.root()));
        });
        decoded.map_err(|error| Failure::Data(error.describe(&self.program).to_string()))?;
        let (packets, entries) = (self.packets.len(), self.entries);
        Ok(format!("Packets/entry/maxEntries = {packets}/{entries}/{most}"))
    }

    /// True if every packet can be decoded without earlier packets.
    pub fn packets_stand_alone(&self) -> bool {
        matches!(self.reset, ResetPolicy::Message | ResetPolicy::Packet)
    }

    /// Creates a decoder for `program`, which is compiled from the same templates.
    pub fn decoder(&self, program: &Arc<Program>, engine: EngineUnderTest) -> Decoder {
        Decoder::with_options(program.clone(), self.decoder_options(engine))
    }

    /// Returns the options of the decoders. All templates are compiled at the start: otherwise rare ones
    /// would not be compiled within a measurement.
    pub fn decoder_options(&self, engine: EngineUnderTest) -> DecoderOptions {
        let options = DecoderOptions::default().tier_up(TierUp::Eager);
        options.reset(self.reset).engine_under_test(engine)
    }

    /// Decodes all packets from the start and passes on each message.
    ///
    /// # Errors
    /// The first message that does not decode.
    pub fn each_message(
        &self,
        decoder: &mut Decoder,
        mut take: impl FnMut(&Message),
    ) -> Result<(), tickwire_fast::FastError> {
        decoder.reset();
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
            while !rest.is_empty() {
                let decoded = decoder.decode(rest)?;
                take(decoded.message);
                rest = &rest[decoded.len..];
            }
        }
        Ok(())
    }
}
