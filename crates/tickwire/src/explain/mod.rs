//! `tickwire explain`: one packet, byte by byte.

mod print;
mod rows;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{
    DecoderArgs, FramingArgs, InputArgs, TemplateArgs, reset_policy, with_reset_template,
};
use crate::progress::Progress;
use print::{ERROR, write_rows, write_title};
use rows::Rows;
use std::io::Write;
use std::sync::Arc;
use tickwire_captures::{Channel, Channels, lose_dictionaries};
use tickwire_fast::{CompileOptions, Decoder, Error, Program};
use tickwire_feed::capture::{Kind, Packet};
use tickwire_feed::framing::{Framing, Segment, next_block};
use tickwire_text::json::parse_hex;
use tickwire_text::outline::Outline;

/// Longest packet explained.
const PACKET_BYTES_MAX: usize = 16 << 20;
/// Bytes shown where decoding stopped.
const BYTES_SHOWN_MAX: usize = 24;

/// Explain one packet byte by byte.
///
/// For each message: the presence map and what each bit is for, the template id, and for each field
/// its offset, bytes, type (? is optional), operator, presence-map bit (index:value), value, and the
/// dictionary entry before and after. The packets before it to the same address and port are decoded
/// first, so that dictionaries are as they were. An error is shown where it happens.
#[derive(Debug, clap::Args)]
#[command(mut_arg("templates", |arg| arg.required(true)))]
pub struct ExplainArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// Which packet of the file, from 0.
    #[arg(long, value_name = "INDEX", default_value_t = 0)]
    packet: u64,
    /// The bytes of a packet in hexadecimal, instead of a file.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["input", "file", "packet"])]
    hex: Option<String>,
    /// Explain at most this many messages.
    #[arg(short = 'n', long, visible_alias = "head", value_name = "COUNT")]
    limit: Option<u64>,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    decoder: DecoderArgs,
}

/// Runs the command.
pub fn run(args: &ExplainArgs) -> Result<Outcome, Failure> {
    let set = args.templates.read()?;
    let framing = match (args.framing.is_auto(), args.input.path()) {
        (true, Some(path)) if files::is_standard(path) => {
            return Err(Failure::Usage("--framing auto: name a file, it is read twice".to_owned()));
        }
        (true, Some(path)) => {
            args.framing.find(args.input.sample()?.0.packets(), &set, &files::name_of(path))?
        }
        _ => args.framing.framing()?,
    };
    let set = with_reset_template(set, &framing);
    let options = CompileOptions { constants: true, ..CompileOptions::default() };
    let program = Arc::new(files::compile(set, &options)?);
    let options = args.decoder.checked_options(reset_policy(&framing), &program)?;
    let mut explainer = Explainer {
        outline: &Outline::of(&program),
        program: &program,
        framing,
        out: anstream::stdout().lock(),
        left: args.limit.unwrap_or(u64::MAX),
    };
    match &args.hex {
        Some(digits) => {
            let bytes = parse_hex(digits).map_err(|e| Failure::Usage(format!("--hex: {e}")))?;
            write_title(&mut explainer.out, &format!("packet of {} bytes", bytes.len()))?;
            explainer.packet(&mut Channel::new(program.clone(), options, framing), &bytes)
        }
        None if args.input.path().is_none() => {
            Err(Failure::Usage("name a capture file, or give the bytes with --hex".to_owned()))
        }
        None => {
            let channels = Channels::new(program.clone(), options, framing);
            explainer.file(&args.input, args.packet, channels)
        }
    }
}

struct Explainer<'e, W> {
    program: &'e Program,
    outline: &'e Outline<'e>,
    framing: Framing,
    out: W,
    left: u64,
}

impl<W: Write> Explainer<'_, W> {
    fn file(
        &mut self,
        input: &InputArgs,
        wanted: u64,
        mut channels: Channels,
    ) -> Result<Outcome, Failure> {
        let name = files::name_of(input.required_path()?);
        let progress = Progress::none();
        let mut reader = input.open(&progress)?;
        let is_whole = reader.kind() == Kind::Stream;
        loop {
            let next = match is_whole {
                true => reader.read_whole(PACKET_BYTES_MAX).map(Some),
                false => reader.next_packet(),
            };
            let packet = next.map_err(|error| Failure::Data(format!("{name}: {error}")))?;
            let Some(packet) = packet else {
                let missing: String =
                    reader.statistics().missing().map(|text| format!("; {text}")).collect();
                return Err(Failure::Usage(format!("{name} has no packet {wanted}{missing}")));
            };
            if packet.stream.is_some() && !is_whole && self.framing.has_packet_headers() {
                return Err(Failure::Usage(format!(
                    "{name}: packet {} is a piece of a TCP stream; decode explains no streams of \
                     packets: extract one and give it with --hex",
                    packet.index
                )));
            }
            let remark = |text: &str| progress.print(&format!("{name}: {text}"));
            let channel = channels.channel(packet.destination, remark);
            if packet.index < wanted && !is_whole {
                pass(&self.framing, channel, &packet);
                continue;
            }
            let title = format!(
                "packet {} of {name}: {} bytes at file offset {}",
                packet.index,
                packet.bytes.len(),
                packet.file_offset
            );
            write_title(&mut self.out, &title)?;
            if channel.decoder.needs_reset() {
                writeln!(
                    self.out,
                    "a packet before it failed: dictionaries are lost until a reset"
                )?;
            }
            return self.packet(channel, packet.bytes);
        }
    }

    fn packet(&mut self, channel: &mut Channel, bytes: &[u8]) -> Result<Outcome, Failure> {
        let mut flawed = false;
        for segment in channel.framer.split(bytes) {
            match segment {
                Ok(segment) => flawed |= !self.segment(&mut channel.decoder, &segment)?,
                Err(error) => {
                    flawed = true;
                    writeln!(self.out, "{ERROR}{error}{ERROR:#}")?;
                }
            }
        }
        self.out.flush()?;
        Ok(Outcome::flawed_if(flawed))
    }

    /// Explains a segment; `false` if it has an error.
    fn segment(&mut self, decoder: &mut Decoder, segment: &Segment<'_>) -> Result<bool, Failure> {
        if !segment.preamble.is_empty() {
            let digits: String =
                segment.preamble.iter().map(|byte| format!(" {byte:02x}")).collect();
            let number = segment.seq_num.map(|number| format!(", sequence number {number}"));
            writeln!(self.out, "preamble{digits}{}", number.unwrap_or_default())?;
        }
        if segment.reset_before {
            decoder.begin_packet();
        }
        let mut is_right = true;
        let mut at = 0;
        while at < segment.bytes.len() && self.left > 0 {
            let block = match next_block(&self.framing, segment.bytes, at) {
                Ok(Some(block)) => block,
                Ok(None) => {
                    let offset = segment.offset + at;
                    writeln!(self.out, "{ERROR}offset {offset}: no whole block left{ERROR:#}")?;
                    return Ok(false);
                }
                Err(error) => {
                    writeln!(self.out, "{ERROR}{}{ERROR:#}", error.kind)?;
                    return Ok(false);
                }
            };
            at = block.start;
            while at < block.end && self.left > 0 {
                let len = self.message(decoder, segment, at..block.end)?;
                self.left -= 1;
                is_right &= len.is_some();
                match len {
                    Some(len) => at += len,
                    None if block.has_length => at = block.end,
                    None => return Ok(false),
                }
                if block.is_one_message {
                    break;
                }
            }
        }
        Ok(is_right)
    }

    /// Explains the message at the start of a range and returns its length; `None` if it has an
    /// error.
    fn message(
        &mut self,
        decoder: &mut Decoder,
        segment: &Segment<'_>,
        range: std::ops::Range<usize>,
    ) -> Result<Option<usize>, Failure> {
        let offset = segment.offset + range.start;
        let bytes = &segment.bytes[range.clone()];
        let mut rows = Rows::new(self.program, self.outline, offset);
        let outcome = decoder.trace(bytes, |event| rows.event(&event));
        let (rows, omitted) = rows.finish();
        writeln!(self.out)?;
        let title = match outcome {
            Ok(len) => format!("message at offset {offset}, {len} bytes"),
            Err(_) => format!("message at offset {offset}"),
        };
        write_title(&mut self.out, &title)?;
        write_rows(&mut self.out, segment, &rows)?;
        if omitted > 0 {
            writeln!(self.out, "and {omitted} more")?;
        }
        match outcome {
            Ok(len) => Ok(Some(len)),
            Err(error) => {
                self.error(bytes, offset, &error)?;
                Ok(None)
            }
        }
    }

    fn error(&mut self, bytes: &[u8], base: usize, error: &Error) -> Result<(), Failure> {
        let description = error.shifted(base).describe(self.program).to_string();
        writeln!(self.out, "{ERROR}{description}{ERROR:#}")?;
        let rest = bytes.get(error.offset()..).unwrap_or_default();
        let shown: String =
            rest.iter().take(BYTES_SHOWN_MAX).map(|b| format!(" {b:02x}")).collect();
        let more = if rest.len() > BYTES_SHOWN_MAX { " .." } else { "" };
        match rest.is_empty() {
            true => writeln!(self.out, "no bytes are left")?,
            false => writeln!(self.out, "bytes from there on, {}:{shown}{more}", rest.len())?,
        }
        Ok(())
    }
}

/// Decodes a packet for its dictionaries alone.
fn pass(framing: &Framing, channel: &mut Channel, packet: &Packet<'_>) {
    for segment in channel.framer.split(packet.bytes).flatten() {
        if segment.reset_before {
            channel.decoder.begin_packet();
        }
        pass_segment(framing, &mut channel.decoder, segment.bytes);
    }
    if packet.is_truncated() {
        lose_dictionaries(&mut channel.decoder);
    }
}

fn pass_segment(framing: &Framing, decoder: &mut Decoder, bytes: &[u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let Ok(Some(block)) = next_block(framing, bytes, at) else {
            return lose_dictionaries(decoder);
        };
        at = block.start;
        while at < block.end {
            at = match decoder.decode(&bytes[at..block.end]) {
                Ok(decoded) => at + decoded.len,
                Err(_) if block.has_length => block.end,
                Err(_) => return,
            };
            if block.is_one_message {
                break;
            }
        }
    }
}
