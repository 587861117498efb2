//! `tickwire encode`: JSON lines to FAST.

mod step;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{FramingArgs, TemplateArgs, reset_policy, with_reset_template};
use crate::output;
use crate::output_file;
use crate::packet_file::{PacketFile, PacketFormat};
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;
use step::Enveloped;
use tickwire_fast::{
    CompileOptions, Encoder, EncoderOptions, Message, MessageBuilder, PacketEncoder, Program,
};
use tickwire_feed::Endian;
use tickwire_feed::capture::decompressed;
use tickwire_feed::framing::{Envelope, Framing, FramingResetPolicy, NumberField};
use tickwire_text::json::{Json, build_message, error_text, parse_hex};

/// Encode JSON lines as FAST messages.
///
/// Lines have the format that `decode` prints; "t" or "n", and "msg", are required. Lines with the
/// same "pkt" form one packet that starts with the preamble "pre". Lines without "pkt" fill packets
/// of --packet-bytes, without preambles; with --packet-bytes all lines do. Lengths and chunk counts
/// in a preamble are updated. The first line that cannot be encoded ends the run, and no output
/// file is left.
///
/// The template of a dynamic reference, "#dyn", is found by its fields. If several templates have
/// the same fields, write "#dyn.t": template id beside it in the same object. If an object has
/// several references, repeat "#dyn.t" in their order; null means that the template is found by
/// its fields.
#[derive(Debug, clap::Args)]
#[command(mut_arg("templates", |arg| arg.required(true)))]
pub struct FastEncodeArgs {
    /// JSON lines, plain or compressed (gzip, zstd); - is standard input.
    #[arg(value_name = "FILE", required_unless_present = "file")]
    input: Option<PathBuf>,
    /// Same as the argument FILE; the spelling of older FAST tools.
    #[arg(short, long, value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
    #[command(flatten)]
    templates: TemplateArgs,
    /// Output file; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output file if it exists.
    #[arg(long)]
    force: bool,
    /// Format of the output file. Default: by its suffix (.pcap, .pcapng, .u32le, .raw, .fast), else
    /// u32be. raw needs --reset other than packet, or a framing with packet lengths.
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<PacketFormat>,
    /// Fill packets up to this many bytes and ignore "pkt".
    #[arg(long, value_name = "BYTES")]
    packet_bytes: Option<usize>,
    #[command(flatten)]
    framing: FramingArgs,
}

/// Runs the command.
pub fn run(args: &FastEncodeArgs) -> Result<Outcome, Failure> {
    let framing = args.framing.framing()?;
    check_framing(&framing)?;
    let set = with_reset_template(args.templates.read()?, &framing);
    let program = Arc::new(files::compile(set, &CompileOptions::default())?);
    let defaults = EncoderOptions::default();
    let options = defaults
        .reset(reset_policy(&framing))
        .packet_bytes_max(args.packet_bytes.unwrap_or(defaults.packet_bytes_max));
    let path = args.input.clone().or(args.file.clone()).unwrap_or_else(|| "-".into());
    let name = files::name_of(&path);
    let lines = decompressed(files::open(&path)?);
    let lines = lines.map_err(|error| Failure::file("read", &name, &error))?;
    let lines = BufReader::new(lines).lines();
    let mut inputs = vec![path.as_path()];
    inputs.extend(args.templates.paths()?.iter().map(PathBuf::as_path));
    output::check(&args.output, args.force, &inputs)?;
    let format = args.output_format.map_or_else(|| PacketFormat::of(&args.output), Ok)?;
    if framing.reset_policy() == FramingResetPolicy::Packet && !has_packet_lengths(&framing) {
        format.check_boundaries(&args.output)?;
    }
    let file = PacketFile::create_as(&args.output, format)?;
    let packing = Packing {
        fills_packets: args.packet_bytes.is_some(),
        framing,
        encoder: Encoder::with_options(program.clone(), options),
        filling: PacketEncoder::new(program.clone(), options),
        packet: None,
        out: Enveloped::new(&framing, file),
    };
    let encoded = encode_lines(lines, &name, &program, packing);
    if encoded.is_err() && !files::is_standard(&args.output) {
        output_file::discard(&args.output);
    }
    encoded.map(|()| Outcome::Clean)
}

/// Encodes the lines of an input; errors name the input as `name`.
fn encode_lines(
    lines: impl Iterator<Item = io::Result<String>>,
    name: &str,
    program: &Arc<Program>,
    mut packing: Packing,
) -> Result<(), Failure> {
    let mut builder = MessageBuilder::new(Arc::clone(program));
    for (index, line) in lines.enumerate() {
        let line = line.map_err(|error| Failure::file("read", name, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        let at = |text: String| Failure::Data(format!("{name}:{}: {text}", index + 1));
        let json: Json = serde_json::from_str(&line).map_err(|e| at(format!("not JSON: {e}")))?;
        build_message(&mut builder, &json).map_err(|error| at(error.to_string()))?;
        let message = builder.finish().map_err(|e| at(error_text(program, &e)))?;
        packing.add(&json, message).map_err(|failure| match failure {
            Failure::Data(text) => at(text),
            failure => failure,
        })?;
    }
    packing.finish()
}

/// Refuses a framing with which packets cannot be written.
fn check_framing(framing: &Framing) -> Result<(), Failure> {
    if framing.packet_envelope() == Envelope::Counted {
        return Err(Failure::Usage(
            "encode cannot write streams of length-prefixed packets: remove envelope=counted"
                .to_owned(),
        ));
    }
    if !framing.header_before_message().is_none() {
        return Err(Failure::Usage("encode cannot write headers before messages".to_owned()));
    }
    Ok(())
}

/// True if packets are found in a stream by their own bytes.
fn has_packet_lengths(framing: &Framing) -> bool {
    framing.length_field().is_some() || framing.packet_envelope() != Envelope::Bare
}

/// Puts messages into packets.
struct Packing {
    fills_packets: bool,
    framing: Framing,
    /// Encoder for packets that the lines define.
    encoder: Encoder,
    /// Encoder for packets filled up to a size.
    filling: PacketEncoder,
    packet: Option<EncodedPacket>,
    out: Enveloped,
}

/// A packet that the lines define.
struct EncodedPacket {
    index: u64,
    bytes: Vec<u8>,
    preamble: Vec<u8>,
    /// Offset of the last preamble.
    part: usize,
}

impl Packing {
    fn add(&mut self, line: &Json, message: &Message) -> Result<(), Failure> {
        let index = match line.member("pkt") {
            _ if self.fills_packets => None,
            None => None,
            Some(index) => {
                let wrong =
                    || Failure::Data(format!("\"pkt\": {} is not a packet index", index.kind()));
                Some(index.unsigned().ok_or_else(wrong)?)
            }
        };
        match index {
            Some(index) => {
                self.finish_filling()?;
                self.add_to_packet(index, preamble_of(line, &self.framing)?, message)
            }
            None => {
                self.finish_packet()?;
                let full = self.filling.push(message);
                let program = self.encoder.program();
                let full = full.map_err(|e| Failure::Data(error_text(program, &e)))?;
                full.map_or(Ok(()), |packet| self.out.write(packet))
            }
        }
    }

    fn add_to_packet(
        &mut self,
        index: u64,
        preamble: Vec<u8>,
        message: &Message,
    ) -> Result<(), Failure> {
        if self.packet.as_ref().is_some_and(|packet| packet.index != index) {
            self.finish_packet()?;
        }
        let packet = self.packet.get_or_insert_with(|| {
            self.encoder.begin_packet();
            let bytes = preamble.clone();
            EncodedPacket { index, bytes, preamble: preamble.clone(), part: 0 }
        });
        if packet.preamble != preamble {
            packet.finish_part(&self.framing)?;
            packet.part = packet.bytes.len();
            packet.bytes.extend_from_slice(&preamble);
            packet.preamble = preamble;
        }
        let encoded = self.encoder.encode(message, &mut packet.bytes);
        let program = self.encoder.program();
        encoded.map_err(|error| Failure::Data(error_text(program, &error)))?;
        Ok(())
    }

    fn finish_packet(&mut self) -> Result<(), Failure> {
        let Some(mut packet) = self.packet.take() else { return Ok(()) };
        packet.finish_part(&self.framing)?;
        self.out.write(&packet.bytes)
    }

    fn finish_filling(&mut self) -> Result<(), Failure> {
        self.filling.finish().map_or(Ok(()), |packet| self.out.write(packet))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.finish_packet()?;
        self.finish_filling()?;
        self.out.finish()
    }
}

impl EncodedPacket {
    /// Sets the numbers in the last preamble that depend on the bytes after it.
    fn finish_part(&mut self, framing: &Framing) -> Result<(), Failure> {
        let len = self.bytes.len() - self.part - framing.preamble_bytes();
        let chunks = framing.chunk_fields().map(|chunks| [(chunks.count, 1), (chunks.number, 1)]);
        let length = framing.length_field().map(|field| (field, len as u64));
        for (field, value) in chunks.into_iter().flatten().chain(length) {
            set_number(&mut self.bytes[self.part..], field, value)?;
        }
        Ok(())
    }
}

/// The preamble of a line; zeros if the line has none.
fn preamble_of(line: &Json, framing: &Framing) -> Result<Vec<u8>, Failure> {
    let wanted = framing.preamble_bytes();
    let digits = line.member("pre").and_then(Json::text).unwrap_or_default();
    let bytes = parse_hex(digits).map_err(|error| Failure::Data(format!("\"pre\": {error}")))?;
    if bytes.is_empty() {
        return Ok(vec![0; wanted]);
    }
    if bytes.len() != wanted {
        return Err(Failure::Data(format!(
            "\"pre\": {} bytes, but the framing has a preamble of {wanted}: give the --framing of \
             the feed",
            bytes.len()
        )));
    }
    Ok(bytes)
}

fn set_number(part: &mut [u8], field: NumberField, value: u64) -> Result<(), Failure> {
    let width = field.width();
    let target = part.get_mut(field.offset()..field.offset() + width);
    let fits = width >= 8 || value >> (8 * width) == 0;
    let Some(target) = target.filter(|_| fits) else {
        return Err(Failure::Data(format!(
            "{value} does not fit a preamble field of {width} bytes"
        )));
    };
    match field.endian() {
        Endian::Big => target.copy_from_slice(&value.to_be_bytes()[8 - width..]),
        Endian::Little => target.copy_from_slice(&value.to_le_bytes()[..width]),
    }
    Ok(())
}
