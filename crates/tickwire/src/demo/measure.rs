//! Encoding, decoding, checking and timing of one feed.

use super::draft::{Draft, build, difference};
use crate::decode::output::{Fix, Output, Place, entries_of};
use crate::failure::Failure;
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_fast::{
    Decoder, DecoderOptions, EncoderOptions, Message, MessageBuilder, PacketEncoder, Program,
    ResetPolicy, TemplateSet,
};

/// Passes are timed until this much time is spent, but at least three.
const TIMED_TOTAL: Duration = Duration::from_millis(600);
const PASSES_MIN: usize = 3;

/// A feed: its messages as made up, and as sent.
pub struct Feed {
    /// Name.
    pub name: &'static str,
    /// Template file.
    pub templates: &'static str,
    program: Arc<Program>,
    packet_bytes_max: usize,
    drafts: Vec<Draft>,
    packets: Vec<Vec<u8>>,
    encode: Duration,
}

/// What was measured.
pub struct Measured {
    /// Messages.
    pub messages: u64,
    /// Sequence entries.
    pub entries: u64,
    /// Bytes of FAST.
    pub bytes: u64,
    /// Bytes of the same fields as FIX text.
    pub fix_bytes: u64,
    /// Time to encode them all.
    pub encode: Duration,
    /// Time to decode them all.
    pub decode: Duration,
}

impl Feed {
    /// Encodes drafts into packets of at most `packet_bytes_max` bytes, or one a packet if that is 0.
    pub fn new(
        name: &'static str,
        templates: &'static str,
        packet_bytes_max: usize,
        drafts: Vec<Draft>,
    ) -> Result<Self, Failure> {
        let set =
            TemplateSet::parse(templates).map_err(|error| Failure::Data(error.to_string()))?;
        let program = Program::compile(set).map_err(|error| Failure::Data(error.to_string()))?;
        let mut feed = Self {
            name,
            templates,
            program: Arc::new(program),
            packet_bytes_max,
            drafts,
            packets: Vec::new(),
            encode: Duration::ZERO,
        };
        feed.encode().map_err(|error| {
            Failure::Data(format!("{name} feed: not encoded: {}", error.describe(&feed.program)))
        })?;
        Ok(feed)
    }

    fn encode(&mut self) -> Result<(), tickwire_fast::Error> {
        let mut builder = MessageBuilder::new(self.program.clone());
        let mut messages: Vec<Message> = Vec::with_capacity(self.drafts.len());
        for draft in &self.drafts {
            messages.push(build(&mut builder, draft)?.clone());
        }
        let defaults = EncoderOptions::default();
        let packet_bytes_max = match self.packet_bytes_max {
            0 => defaults.packet_bytes_max,
            bytes => bytes,
        };
        let options = EncoderOptions { reset: ResetPolicy::Packet, packet_bytes_max, ..defaults };
        let mut encoder = PacketEncoder::new(self.program.clone(), options);
        let start = Instant::now();
        for message in &messages {
            self.packets.extend(encoder.push(message)?.map(<[u8]>::to_vec));
            if self.packet_bytes_max == 0 {
                self.packets.extend(encoder.finish().map(<[u8]>::to_vec));
            }
        }
        self.packets.extend(encoder.finish().map(<[u8]>::to_vec));
        self.encode = start.elapsed();
        Ok(())
    }

    /// The packets as a file, each behind its length as a big-endian 32-bit number.
    pub fn file(&self) -> Vec<u8> {
        let framed =
            |packet: &Vec<u8>| [&(packet.len() as u32).to_be_bytes(), &packet[..]].concat();
        self.packets.iter().flat_map(framed).collect()
    }

    fn decoder(&self) -> Decoder {
        let options = DecoderOptions { reset: ResetPolicy::Packet, ..DecoderOptions::default() };
        Decoder::with_options(self.program.clone(), options)
    }

    /// Checks every value once, then times decoding alone.
    ///
    /// # Errors
    /// What is wrong with the first message that is not as it was made up.
    pub fn measure(&self) -> Result<Measured, String> {
        let mut measured = self.verify()?;
        let start = Instant::now();
        let mut passes = 0;
        while passes < PASSES_MIN || start.elapsed() < TIMED_TOTAL {
            measured.decode = measured.decode.min(self.decode_all());
            passes += 1;
        }
        Ok(measured)
    }

    fn verify(&self) -> Result<Measured, String> {
        let mut counter = Counter::default();
        let mut fix = Fix::new(&mut counter, &self.program, true);
        let mut entries = 0;
        let mut drafts = self.drafts.iter().enumerate();
        self.for_each(&mut self.decoder(), |place, message| {
            let (index, draft) = drafts.next().ok_or("more messages than were sent")?;
            if let Some(field) = difference(message, draft) {
                return Err(format!("message {index}: {field} is not as it was sent"));
            }
            entries += entries_of(message.root());
            fix.message(place, message).map_err(|error| error.to_string())
        })?;
        if let Some((index, _)) = drafts.next() {
            return Err(format!("message {index} did not come back"));
        }
        let messages = self.drafts.len() as u64;
        Ok(Measured {
            messages,
            entries,
            bytes: self.packets.iter().map(|packet| packet.len() as u64).sum(),
            // Without the line ends.
            fix_bytes: counter.bytes - messages,
            encode: self.encode,
            decode: Duration::MAX,
        })
    }

    fn for_each(
        &self,
        decoder: &mut Decoder,
        mut take: impl FnMut(&Place<'_>, &Message) -> Result<(), String>,
    ) -> Result<(), String> {
        for (index, packet) in self.packets.iter().enumerate() {
            decoder.begin_packet();
            let mut at = 0;
            while at < packet.len() {
                let decoded = decoder.decode(&packet[at..]).map_err(|error| {
                    let error = error.shifted(at);
                    format!("packet {index}: {}", error.describe(&self.program))
                })?;
                let (packet, offset, len) = (index as u64, at as u64, decoded.len);
                take(&Place { packet, preamble: &[], offset, len }, decoded.message)?;
                at += len;
            }
        }
        Ok(())
    }

    fn decode_all(&self) -> Duration {
        let mut decoder = self.decoder();
        let start = Instant::now();
        for packet in &self.packets {
            decoder.begin_packet();
            let mut rest = &packet[..];
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
struct Counter {
    bytes: u64,
}

impl Write for &mut Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
