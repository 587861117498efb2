//! The packets of the measurements.

use super::OpraBenchArgs;
use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use tickwire_feed::capture::CaptureKind;
use tickwire_opra::generate::OpraGenerator;
use tickwire_opra::{
    Decode, Field, OpraFieldKind as FieldKind, OpraMessage, OpraVersion, reference,
};

/// Longest trace that is read, in bytes: it is kept in memory.
const BYTES_MAX: u64 = 1 << 30;

/// Packets in memory, and the number of their messages and bytes.
pub struct Trace {
    /// Origin of the packets.
    pub name: String,
    /// The packets.
    pub packets: Vec<Vec<u8>>,
    /// Messages in all packets.
    pub messages: u64,
    /// Bytes of all packets.
    pub bytes: u64,
    /// A sum over every field of every message, for comparing decoders.
    pub digest: u64,
}

impl Trace {
    /// Loads the trace that the command line names and decodes it once with the reference decoder.
    pub fn load(args: &OpraBenchArgs) -> Result<Self, Failure> {
        let (name, packets) = match args.input.path() {
            Some(path) => (files::name_of(path), read(args)?),
            None => {
                let name = format!("generated, seed {}", args.seed);
                (name, generated(args.messages, args.seed)?)
            }
        };
        let (messages, digest) = digest(&mut reference::ReferenceDecoder::new(), &packets)?;
        if messages == 0 {
            return Err(Failure::Data(format!("{name}: no messages")));
        }
        let bytes = packets.iter().map(|packet| packet.len() as u64).sum();
        Ok(Self { name, packets, messages, bytes, digest })
    }
}

fn generated(messages: u64, seed: u64) -> Result<Vec<Vec<u8>>, Failure> {
    let mut generator = OpraGenerator::new(OpraVersion::V2, seed);
    let mut decoder = reference::ReferenceDecoder::new();
    let (mut packets, mut made) = (Vec::new(), 0);
    while made < messages {
        let packet = generator.packet().map_err(|error| Failure::Data(error.to_string()))?;
        let decoded = decoder.decode_packet(packet, |_| {});
        made += u64::from(decoded.map_err(|error| Failure::Data(error.to_string()))?.messages);
        packets.push(packet.to_vec());
    }
    Ok(packets)
}

fn read(args: &OpraBenchArgs) -> Result<Vec<Vec<u8>>, Failure> {
    let mut reader = args.input.open(&Progress::none())?;
    if reader.kind() == CaptureKind::Stream {
        return Err(Failure::Usage("a raw file is one packet: name a capture".to_owned()));
    }
    let (mut packets, mut bytes) = (Vec::new(), 0);
    while let Some(packet) =
        reader.next_packet().map_err(|error| Failure::Data(error.to_string()))?
    {
        bytes += packet.bytes.len() as u64;
        if bytes > BYTES_MAX {
            let text = format!("more than {BYTES_MAX} bytes of packets: measure a part of it");
            return Err(Failure::Usage(text));
        }
        packets.push(packet.bytes.to_vec());
    }
    Ok(packets)
}

/// Decodes all packets; returns the number of messages and a sum over their fields.
///
/// # Errors
/// The first packet that cannot be decoded.
pub fn digest(decoder: &mut impl Decode, packets: &[Vec<u8>]) -> Result<(u64, u64), Failure> {
    let (mut messages, mut sum) = (0, 0_u64);
    for (index, packet) in packets.iter().enumerate() {
        let decoded = decoder.decode_packet(packet, |message| {
            messages += 1;
            sum = sum.wrapping_mul(31).wrapping_add(message_digest(&message));
        });
        decoded.map_err(|error| Failure::Data(format!("packet {index}: {error}")))?;
    }
    Ok((messages, sum))
}

fn message_digest(message: &OpraMessage<'_>) -> u64 {
    let mut sum = message.fields() ^ message.changed().rotate_left(7);
    for field in Field::ALL.into_iter().filter(|field| message.has(*field)) {
        let value = match field.kind(message.version()) {
            FieldKind::Character | FieldKind::Number(_) => message.number(field).map(u64::from),
            FieldKind::SeqNum(_) => message.seq_num(),
            FieldKind::Chars(_) if field == Field::Symbol => {
                message.symbol().map(|symbol| u64::from_be_bytes(symbol.bytes()))
            }
            // Entries of groups are added below.
            FieldKind::Chars(_) => None,
            FieldKind::Text => message.text().map(|text| text.bytes().fold(0, push)),
        };
        sum = sum.wrapping_mul(1_000_003).wrapping_add(value.unwrap_or_default());
    }
    for entry in message.entries() {
        let strings = [entry.symbol, entry.value, entry.bid, entry.offer];
        sum = strings.iter().flat_map(|chars| chars.bytes()).fold(sum, push);
        sum = push(sum, entry.decimal_placement as u8).wrapping_add(entry.spot.into());
    }
    sum
}

fn push(sum: u64, byte: u8) -> u64 {
    sum.wrapping_mul(257).wrapping_add(byte.into())
}
