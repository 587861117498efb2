//! `tickwire opra encode`: encodes packets from JSON lines.

use super::VersionName;
use super::draft;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::packet_file::PacketFile;
use crate::{files, output};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use tickwire_opra::{
    OpraEncodeError, OpraEncodeErrorKind, OpraEncoder, OpraMessage, OpraMessageDraft,
};

/// Size at which a packet ends if its messages have no packet index, in bytes.
const PACKET_BYTES: usize = 430;

/// Encode messages from JSON lines
///
/// FILE has one message per line, as decode prints it without --names and --prices. A new packet
/// begins when "pkt" changes; messages without "pkt" share a packet until it has --packet-bytes.
/// Packets have length prefixes (u32be) unless the name of the output ends in .pcap, .pcapng,
/// .u32le, .raw or .fast; a raw file holds one packet. The command stops at the first line that is not a message or has a field
/// that its category lacks.
#[derive(Debug, clap::Args)]
pub struct OpraEncodeArgs {
    /// Messages, JSON lines; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Output file; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
    /// End each packet with the message that brings it to this size, and ignore "pkt". Default for
    /// messages without "pkt": 430
    #[arg(long, value_name = "BYTES")]
    packet_bytes: Option<usize>,
    /// OPRA version of the packets
    #[arg(long, value_name = "VERSION", default_value = "2.0")]
    opra_version: VersionName,
}

/// Runs the command.
pub fn run(args: &OpraEncodeArgs) -> Result<Outcome, Failure> {
    output::check(&args.output, args.force, &[&args.input])?;
    let input = BufReader::new(files::open(&args.input)?);
    let name = files::name_of(&args.input);
    let version = args.opra_version.version();
    let mut draft = OpraMessageDraft::new(version);
    let mut packets = OpraPacker {
        encoder: OpraEncoder::new(version),
        bytes_max: args.packet_bytes,
        packet: None,
        divided: 0,
        seq_num: 1,
        file: PacketFile::create_separated(&args.output)?,
    };
    for (index, line) in input.lines().enumerate() {
        let line = line.map_err(|error| Failure::file("read", &name, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        let place = |text: String| Failure::Data(format!("{name}:{}: {text}", index + 1));
        let packet = draft::read(&mut draft, version, &line).map_err(place)?;
        let message = draft.message().map_err(|error| place(draft::describe(error)))?;
        packets.make_room(packet, &message)?;
        packets.push(&message, place)?;
    }
    packets.end()?;
    packets.file.finish()?;
    if packets.divided > 0 {
        tell!(
            "{name}: {} messages cannot follow the previous message in its packet and start a new packet",
            packets.divided
        );
    }
    Ok(Outcome::Clean)
}

/// Packs messages into packets.
struct OpraPacker {
    encoder: OpraEncoder,
    /// The requested packet size.
    bytes_max: Option<usize>,
    /// Packet index of the last message, if it had one.
    packet: Option<u64>,
    /// Messages that had to begin a new packet although they had the packet index of the previous message.
    divided: u64,
    /// Sequence number of the next message that has none of its own.
    seq_num: u64,
    file: PacketFile,
}

impl OpraPacker {
    /// Ends the packet if it is long enough or `packet` is a different index, and begins a packet if none is
    /// open.
    fn make_room(&mut self, packet: Option<u64>, message: &OpraMessage<'_>) -> Result<(), Failure> {
        let is_other = std::mem::replace(&mut self.packet, packet) != packet;
        let is_done = match (self.bytes_max, packet) {
            (None, Some(_)) => is_other,
            (bytes_max, _) => self.encoder.len_bytes() >= bytes_max.unwrap_or(PACKET_BYTES),
        };
        if is_done {
            self.end()?;
        }
        if self.encoder.messages() == 0 {
            self.encoder.begin(message.seq_num().unwrap_or(self.seq_num));
        }
        Ok(())
    }

    /// Adds a message, in a new packet if it cannot follow the previous message.
    fn push(
        &mut self,
        message: &OpraMessage<'_>,
        place: impl Fn(String) -> Failure,
    ) -> Result<(), Failure> {
        let mut pushed = self.encoder.push(message);
        if pushed.is_err_and(|error| needs_packet(&error)) && self.encoder.messages() > 0 {
            self.divided += u64::from(self.bytes_max.is_none() && self.packet.is_some());
            self.end()?;
            self.encoder.begin(message.seq_num().unwrap_or(self.seq_num));
            pushed = self.encoder.push(message);
        }
        pushed.map_err(|error| place(draft::describe(error)))?;
        if let Some(seq_num) = message.seq_num() {
            self.seq_num = seq_num.saturating_add(1);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        if self.encoder.messages() > 0 {
            let packet = self.encoder.finish();
            let packet = packet.map_err(|error| Failure::Data(draft::describe(error)))?;
            self.file.write(packet)?;
            self.encoder.begin(self.seq_num);
        }
        Ok(())
    }
}

/// True if the message can be encoded in a new packet.
fn needs_packet(error: &OpraEncodeError) -> bool {
    use OpraEncodeErrorKind::{EmptyString, LastMessage, PacketFull};
    matches!(error.kind, EmptyString | LastMessage | PacketFull)
}
