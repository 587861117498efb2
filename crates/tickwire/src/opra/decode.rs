//! `tickwire opra decode`: prints the messages of a capture.

use super::decoder::DecoderName;
use super::lines::{self, LineArgs};
use super::print::{Lines, MessageFormat, Report};
use super::show::Shown;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::InputArgs;
use crate::output::OutputArgs;
use crate::progress::Progress;
use std::io::{Read, Write};
use tickwire_feed::capture::{CaptureReader, Kind, Packet};
use tickwire_opra::{Decode, PACKET_BYTES_MAX};

/// Print the messages of a capture
///
/// One message a line. A packet that cannot be decoded is reported, its messages before the failing
/// one are printed, and the next packet starts afresh. A raw file is one packet.
///
/// With --file-b or --lines, copies of packets are dropped: messages come out in the order of their
/// numbers and once, line by line, and numbers that came on neither side are reported.
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Decoder to use
    #[arg(long, value_name = "NAME", default_value = "bottom-up")]
    pub decoder: DecoderName,
    /// How to write messages
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub format: MessageFormat,
    /// Write market events in place of messages, as JSON lines by line: best prices of each series, trades,
    /// or events such as series that become fresh or stale
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',', conflicts_with_all = ["format", "decoder"])]
    pub show: Vec<Shown>,
    #[command(flatten)]
    pub sides: LineArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Do not print the counts at the end unless something was wrong
    #[arg(short, long)]
    pub quiet: bool,
}

/// Runs the command.
pub fn run(args: &DecodeArgs) -> Result<Outcome, Failure> {
    if args.sides.are_given() || !args.show.is_empty() {
        return lines::run(args);
    }
    let path = args.input.required_path()?;
    let progress = Progress::of(path);
    let mut reader = args.input.open(&progress)?;
    let mut report = Report::new(files::name_of(path), &progress);
    let mut out = args.output.create(&[path])?;
    decode_all(args, &mut reader, &mut report, &mut out)?;
    out.flush()?;
    report.finish(args.quiet);
    Ok(Outcome::flawed_if(report.errors.count > 0))
}

fn decode_all(
    args: &DecodeArgs,
    reader: &mut CaptureReader<impl Read>,
    report: &mut Report<'_>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut decoder = args.decoder.decoder()?;
    let is_raw = reader.kind() == Kind::Stream;
    let mut lines = Lines::new(args.format);
    loop {
        let next = match is_raw {
            true if report.packets > 0 => return Ok(()),
            true => reader.read_whole(PACKET_BYTES_MAX).map(Some),
            false => reader.next_packet(),
        };
        let packet = match next {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(()),
            Err(error) => {
                report.error(&error.to_string());
                return Ok(());
            }
        };
        report.packets += 1;
        let place = format_args!("packet {} (file offset {})", packet.index, packet.file_offset);
        if let Some(why) = refused(&packet, is_raw) {
            report.error(&format!("{place}: {why}"));
            continue;
        }
        lines.bytes.clear();
        let decoded = decoder.decode_packet(packet.bytes, |message| {
            report.messages += 1;
            lines.push(&message);
        });
        out.write_all(&lines.bytes)?;
        match decoded {
            Ok(summary) => report.warn(place, &summary),
            Err(error) => report.error(&format!("{place}: {error}")),
        }
    }
}

/// Why the packet is no whole datagram, if it is none.
pub fn refused(packet: &Packet<'_>, is_raw: bool) -> Option<String> {
    match packet.stream {
        _ if packet.is_truncated() => {
            Some(format!("the capture cut {} bytes off its end", packet.missing_bytes))
        }
        Some(_) if !is_raw => {
            Some("a piece of a TCP stream: OPRA packets are datagrams; choose by --port".to_owned())
        }
        _ => None,
    }
}
