//! Encoding, decoding, checking and timing of one feed.

use crate::decode::entries_of;
use crate::failure::Failure;
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_exchange::{Binding, ExchangeError, GeneratedPacket, Generator, Options};
use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, Message, MessageBuilder, Program, ResetPolicy,
};
use tickwire_text::{FieldSeparator, Fix, Header, MessageWriter};

/// Total time of the passes; there are at least three.
const TIMED_TOTAL: Duration = Duration::from_millis(600);
const PASSES_MIN: usize = 3;

/// A feed: its messages as generated, and the packets that encode them.
pub struct DemoFeed {
    /// Name.
    pub name: &'static str,
    /// Template file.
    pub templates: &'static str,
    binding: Binding,
    packets: Vec<GeneratedPacket>,
    encode: Duration,
}

/// Measured times.
pub struct FeedTimes {
    /// Messages.
    pub messages: u64,
    /// Sequence entries.
    pub entries: u64,
    /// Bytes of FAST.
    pub bytes: u64,
    /// Bytes of the same fields as FIX text.
    pub fix_bytes: u64,
    /// Time to encode all messages.
    pub encode: Duration,
    /// Time to decode all messages.
    pub decode: Duration,
}

impl DemoFeed {
    /// Generates a feed, and times its encoding.
    pub fn new(name: &'static str, options: &Options) -> Result<Self, Failure> {
        let not_made = |error: ExchangeError| Failure::Data(format!("{name} feed: {error}"));
        let mut generator = Generator::new(options).map_err(not_made)?;
        let packets = generator.by_ref().collect::<Result<_, _>>().map_err(not_made)?;
        let binding = generator.binding().clone();
        let templates = options.feed.templates();
        let mut feed = Self { name, templates, binding, packets, encode: Duration::ZERO };
        feed.encode = feed.time_encoding().map_err(|error| {
            Failure::Data(format!("{name} feed: not encoded: {}", error.describe(feed.program())))
        })?;
        Ok(feed)
    }

    fn program(&self) -> &Arc<Program> {
        self.binding.program()
    }

    fn time_encoding(&self) -> Result<Duration, tickwire_fast::FastError> {
        let mut builder = MessageBuilder::new(self.program().clone());
        let mut packets = Vec::with_capacity(self.packets.len());
        for packet in &self.packets {
            let mut messages: Vec<Message> = Vec::with_capacity(packet.messages.len());
            for draft in &packet.messages {
                messages.push(self.binding.build(&mut builder, draft)?.clone());
            }
            packets.push(messages);
        }
        let options = EncoderOptions::default().reset(ResetPolicy::Packet);
        let mut encoder = Encoder::with_options(self.program().clone(), options);
        let mut bytes = Vec::new();
        let start = Instant::now();
        for messages in &packets {
            bytes.clear();
            encoder.begin_packet();
            for message in messages {
                encoder.encode(message, &mut bytes)?;
            }
            black_box(&bytes);
        }
        Ok(start.elapsed())
    }

    /// The packets as a file, each with a big-endian 32-bit length prefix.
    pub fn file(&self) -> Vec<u8> {
        let framed = |packet: &GeneratedPacket| {
            [&(packet.bytes.len() as u32).to_be_bytes(), &packet.bytes[..]].concat()
        };
        self.packets.iter().flat_map(framed).collect()
    }

    fn decoder(&self) -> Decoder {
        let options = DecoderOptions::default().reset(ResetPolicy::Packet);
        Decoder::with_options(self.program().clone(), options)
    }

    /// Checks every value once, then times decoding alone.
    ///
    /// # Errors
    /// Error of the first message that differs from the generated one.
    pub fn measure(&self) -> Result<FeedTimes, String> {
        let mut measured = self.verify()?;
        let start = Instant::now();
        let mut passes = 0;
        while passes < PASSES_MIN || start.elapsed() < TIMED_TOTAL {
            measured.decode = measured.decode.min(self.decode_all());
            passes += 1;
        }
        Ok(measured)
    }

    fn verify(&self) -> Result<FeedTimes, String> {
        let mut counter = ByteCounter::default();
        let mut fix = Fix::new(&mut counter, self.program(), FieldSeparator::Soh);
        let mut entries = 0;
        let drafts = self.packets.iter().flat_map(|packet| &packet.messages);
        let mut drafts = drafts.enumerate();
        self.for_each(&mut self.decoder(), |message| {
            let (index, draft) = drafts.next().ok_or("more messages than were sent")?;
            if let Some(field) = self.binding.difference(message, draft) {
                return Err(format!("message {index}: {field} differs from the value sent"));
            }
            entries += entries_of(message.root());
            fix.write_message(&Header::default(), message).map_err(|error| error.to_string())
        })?;
        if let Some((index, _)) = drafts.next() {
            return Err(format!("message {index} was not decoded"));
        }
        let drafts = self.packets.iter().map(|packet| packet.messages.len() as u64);
        let messages = drafts.sum();
        Ok(FeedTimes {
            messages,
            entries,
            bytes: self.packets.iter().map(|packet| packet.bytes.len() as u64).sum(),
            // Without the line ends.
            fix_bytes: counter.bytes - messages,
            encode: self.encode,
            decode: Duration::MAX,
        })
    }

    fn for_each(
        &self,
        decoder: &mut Decoder,
        mut take: impl FnMut(&Message) -> Result<(), String>,
    ) -> Result<(), String> {
        for (index, packet) in self.packets.iter().enumerate() {
            decoder.begin_packet();
            let (packet, mut at) = (&packet.bytes, 0);
            while at < packet.len() {
                let decoded = decoder.decode(&packet[at..]).map_err(|error| {
                    let error = error.shifted(at);
                    format!("packet {index}: {}", error.describe(self.program()))
                })?;
                take(decoded.message)?;
                at += decoded.len;
            }
        }
        Ok(())
    }

    fn decode_all(&self) -> Duration {
        let mut decoder = self.decoder();
        let start = Instant::now();
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet.bytes[..];
            while let Ok(decoded) = decoder.decode(rest) {
                black_box(decoded.message);
                rest = &rest[decoded.len..];
                if rest.is_empty() {
                    break;
                }
            }
        }
        start.elapsed()
    }
}

/// Counts bytes.
#[derive(Default)]
struct ByteCounter {
    bytes: u64,
}

impl Write for &mut ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
