//! `tickwire opra decode`: prints the messages of a capture.

use super::decoder::{DecoderName, OpraDecoder};
use super::lines::{self, OpraLineArgs};
use super::print::{MessageFormat, MessageLines, OpraReport};
use super::show::OpraEventKind;
use super::style::{OpraMessagePlace, Style, StyleArgs};
use crate::distribution::BusArgs;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{InputArgs, InputReplay};
use crate::output::OutputArgs;
use crate::progress::Progress;
use std::cell::Cell;
use std::io::{Read, Write};
use tickwire_captures::not_a_datagram;
use tickwire_feed::capture::{CaptureKind, CaptureReader, Packet};
use tickwire_feed::parallel::{Lane, Parallel};
use tickwire_opra::{Decode, OpraError, OpraSummary, PACKET_BYTES_MAX};

/// Maximum number of threads: more than any machine has cores.
const THREADS_MAX: usize = 256;

/// Options that select or format messages, and so do not apply to market events.
const OF_MESSAGES: [&str; 8] =
    ["format", "decoder", "category", "symbol", "fields", "names", "prices", "limit"];

/// Print the messages of a capture
///
/// Each line is one message: "pkt", the index of its packet; "captured", the capture time in
/// nanoseconds since 1970, if the file has it; then the fields of the message. If a packet cannot
/// be decoded, the error is reported, its messages before the error are printed, and decoding
/// continues with the next packet. A raw file is one packet.
///
/// CSV has one column per field, empty if the message does not have it. An underlying value has one
/// row per entry of its group; "entry" counts entries from 0.
///
/// With --publish, best prices, trades and status of each series are published, line by line, and
/// messages are not printed; --show also prints market events.
///
/// With --file-b or --lines, duplicate packets are dropped. Each message is printed once, in the
/// order of its line's sequence numbers, and numbers missing on both sides are reported. "pkt" then
/// counts the packets without duplicates.
#[derive(Debug, clap::Args)]
#[command(mut_arg("publish", |publish| publish.conflicts_with_all(OF_MESSAGES)))]
pub struct OpraDecodeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Decoder to use
    #[arg(long, value_name = "NAME", default_value = "bottom-up")]
    pub decoder: DecoderName,
    #[command(flatten)]
    style: StyleArgs,
    /// Write market events as JSON lines instead of messages: best prices of each series,
    /// trades, or events such as a series that becomes fresh or stale
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',')]
    #[arg(conflicts_with_all = OF_MESSAGES)]
    pub show: Vec<OpraEventKind>,
    #[command(flatten)]
    pub bus: BusArgs,
    #[command(flatten)]
    pub sides: OpraLineArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Stop after writing this many messages
    #[arg(short = 'n', long, visible_alias = "head", value_name = "COUNT")]
    limit: Option<u64>,
    /// Decode on this many threads; 0 is one per core. The output order does not change. With
    /// --lines or --file-b one thread is used
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    threads: usize,
    /// Print the final counts only if something was wrong
    #[arg(short, long)]
    pub quiet: bool,
}

impl OpraDecodeArgs {
    /// Returns the selection and format of messages.
    pub fn style(&self) -> Result<Style, Failure> {
        self.style.style(self.output.path().and_then(MessageFormat::from_suffix))
    }

    /// True if market events are shown or published in place of messages.
    pub fn has_market_events(&self) -> bool {
        !self.show.is_empty() || self.bus.publish
    }

    /// Returns the maximum number of messages to write.
    pub fn messages_max(&self) -> u64 {
        self.limit.unwrap_or(u64::MAX)
    }

    fn threads_used(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(THREADS_MAX),
        }
    }
}

/// Runs the command.
pub fn run(args: &OpraDecodeArgs) -> Result<Outcome, Failure> {
    if args.sides.are_given() || args.has_market_events() {
        return lines::run(args);
    }
    let path = args.input.required_path()?;
    let style = args.style()?;
    // A decoder that this CPU cannot run is reported before anything is written.
    args.decoder.decoder()?;
    let progress = Progress::of(path);
    let mut out = args.output.create(&[path])?;
    let mut reader = args.input.open_live(&progress, out.clone(), InputReplay::default())?;
    let mut report = OpraReport::new(files::name_of(path), &progress);
    out.write_all(style.heading().unwrap_or_default().as_bytes())?;
    decode_all(args, &style, &mut reader, &mut report, &mut out)?;
    out.flush()?;
    report.finish(args.quiet);
    Ok(Outcome::flawed_if(report.errors.count > 0))
}

/// A packet that outlives the reader's buffer.
struct OwnedOpraPacket {
    /// Without its bytes.
    packet: Packet<'static>,
    bytes: Vec<u8>,
    is_raw: bool,
}

/// Output of one packet.
struct OpraPacketOutput {
    index: u64,
    file_offset: u64,
    /// The lines of its messages, and the end of each message's lines.
    text: Vec<u8>,
    ends: Vec<usize>,
    messages: u64,
    end: DecodeEnd,
}

/// Result of decoding a packet.
enum DecodeEnd {
    Decoded(OpraSummary),
    Failed(OpraError),
    /// Not a complete datagram.
    Refused(String),
}

/// State of a thread between packets.
struct OpraDecodeWorker {
    decoder: OpraDecoder,
    lines: MessageLines,
}

impl OpraDecodeWorker {
    fn decode(&mut self, owned: &OwnedOpraPacket) -> OpraPacketOutput {
        let Self { decoder, lines } = self;
        let OwnedOpraPacket { packet, bytes, is_raw } = owned;
        let mut messages = 0;
        let end = match not_a_datagram(packet, *is_raw) {
            Some(why) => DecodeEnd::Refused(why),
            None => {
                let decoded = decoder.decode_packet(bytes, |message| {
                    messages += 1;
                    lines.push(&message);
                });
                decoded.map_or_else(DecodeEnd::Failed, DecodeEnd::Decoded)
            }
        };
        let (packet, captured_ns) = (Some(packet.index), packet.timestamp_ns);
        lines.place(OpraMessagePlace { packet, captured_ns, line: None });
        let (text, ends) = (std::mem::take(&mut lines.bytes), std::mem::take(&mut lines.ends));
        let Packet { index, file_offset, .. } = owned.packet;
        OpraPacketOutput { index, file_offset, text, ends, messages, end }
    }
}

impl OpraPacketOutput {
    /// Writes the lines of up to `left` messages and returns the number of messages written.
    fn write(
        mut self,
        left: u64,
        report: &mut OpraReport<'_>,
        out: &mut impl Write,
    ) -> Result<u64, Failure> {
        self.ends.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        out.write_all(&self.text[..self.ends.last().copied().unwrap_or_default()])?;
        report.packets += 1;
        report.messages += self.messages;
        let place = format_args!("packet {} (file offset {})", self.index, self.file_offset);
        match self.end {
            DecodeEnd::Decoded(summary) => report.warn(place, &summary),
            DecodeEnd::Failed(error) => report.error(&format!("{place}: {error}")),
            DecodeEnd::Refused(why) => report.error(&format!("{place}: {why}")),
        }
        Ok(self.ends.len() as u64)
    }
}

fn decode_all(
    args: &OpraDecodeArgs,
    style: &Style,
    reader: &mut CaptureReader<impl Read>,
    report: &mut OpraReport<'_>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let is_raw = reader.kind() == CaptureKind::Stream;
    let left = Cell::new(args.messages_max());
    let mut broken = None;
    let mut read = 0;
    let packets = std::iter::from_fn(|| {
        let next = match is_raw {
            _ if left.get() == 0 => Ok(None),
            true if read > 0 => Ok(None),
            true => reader.read_whole(PACKET_BYTES_MAX).map(Some),
            false => reader.next_packet(),
        };
        read += 1;
        match next {
            Ok(packet) => packet.map(|packet| OwnedOpraPacket {
                bytes: packet.bytes.to_vec(),
                packet: Packet { bytes: &[], ..packet },
                is_raw,
            }),
            Err(error) => {
                broken = Some(error.to_string());
                None
            }
        }
    });
    Parallel::new(args.threads_used()).run(
        packets,
        |packet| (Lane::Any, packet.bytes.len()),
        || {
            args.decoder.decoder().map(|decoder| OpraDecodeWorker {
                decoder,
                lines: MessageLines::new(style.clone()),
            })
        },
        |worker, packet| match worker {
            Ok(worker) => Ok(worker.decode(&packet)),
            Err(failure) => Err(failure.clone()),
        },
        drop,
        |piece: Result<OpraPacketOutput, Failure>| {
            if left.get() > 0 {
                left.set(left.get() - piece?.write(left.get(), report, out)?);
            }
            Ok::<(), Failure>(())
        },
    )?;
    if let Some(error) = broken {
        report.error(&error);
    }
    let none_selected = args.input.none_selected(reader.statistics());
    reader.statistics().missing().chain(none_selected).for_each(|text| report.error(&text));
    if let Some(text) = reader.statistics().times_back() {
        report.print(&text);
    }
    Ok(())
}
