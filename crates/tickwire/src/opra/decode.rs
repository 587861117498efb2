//! `tickwire opra decode`: prints the messages of a capture.

use super::decoder::DecoderName;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::InputArgs;
use crate::progress::Progress;
use clap::ValueEnum;
use std::io::{Read, Write};
use std::path::PathBuf;
use tickwire_feed::capture::{CaptureReader, Kind, Packet};
use tickwire_opra::{Decode, PACKET_BYTES_MAX, Summary, Warning, ascii, json};

/// Errors printed one by one, and as many warnings; the rest is only counted.
const REMARKS_SHOWN_MAX: u64 = 20;

/// Print the messages of a capture
///
/// One message a line. A packet that cannot be decoded is reported, its messages before the failing
/// one are printed, and the next packet starts afresh. A raw file is one packet.
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Decoder to use
    #[arg(long, value_name = "NAME", default_value = "bottom-up")]
    decoder: DecoderName,
    /// How to write messages
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: MessageFormat,
    /// Where to write; standard output unless given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Do not print the counts at the end unless something was wrong
    #[arg(short, long)]
    quiet: bool,
}

/// How to write messages.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum MessageFormat {
    /// One JSON object a line
    Jsonl,
    /// The ASCII form of the specification
    Ascii,
}

/// Runs the command.
pub fn run(args: &DecodeArgs) -> Result<Outcome, Failure> {
    let path = args.input.required_path()?;
    let progress = Progress::of(path);
    let mut reader = args.input.open(&progress)?;
    let mut report = Report::new(files::name_of(path), &progress);
    let mut out = files::create(args.output.as_deref())?;
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
    let mut lines = Vec::new();
    let mut line = String::new();
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
        lines.clear();
        let decoded = decoder.decode_packet(packet.bytes, |message| {
            report.messages += 1;
            match args.format {
                MessageFormat::Jsonl => {
                    line.clear();
                    json::print_message(&message, &mut line);
                    lines.extend_from_slice(line.as_bytes());
                }
                MessageFormat::Ascii => ascii::print_message(&message, &mut lines),
            }
            lines.push(b'\n');
        });
        out.write_all(&lines)?;
        match decoded {
            Ok(summary) => report.warn(place, &summary),
            Err(error) => report.error(&format!("{place}: {error}")),
        }
    }
}

/// Why the packet is no whole datagram, if it is none.
fn refused(packet: &Packet<'_>, is_raw: bool) -> Option<String> {
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

/// What is said on standard error.
struct Report<'r> {
    file: String,
    progress: &'r Progress,
    packets: u64,
    messages: u64,
    errors: Remarks,
    warnings: Remarks,
}

/// Remarks of one kind.
#[derive(Default)]
struct Remarks {
    count: u64,
}

impl Remarks {
    /// Counts a remark and returns whether it is to be printed.
    fn count_one(&mut self) -> bool {
        self.count += 1;
        self.count <= REMARKS_SHOWN_MAX
    }

    fn hidden(&self) -> u64 {
        self.count.saturating_sub(REMARKS_SHOWN_MAX)
    }
}

impl<'r> Report<'r> {
    fn new(file: String, progress: &'r Progress) -> Self {
        let (errors, warnings) = (Remarks::default(), Remarks::default());
        Self { file, progress, packets: 0, messages: 0, errors, warnings }
    }

    fn print(&self, text: &str) {
        self.progress.print(&format!("{}: {text}", self.file));
    }

    fn error(&mut self, text: &str) {
        if self.errors.count_one() {
            self.print(text);
        }
    }

    fn warn(&mut self, place: std::fmt::Arguments<'_>, summary: &Summary) {
        for warning in summary.warnings() {
            if self.warnings.count_one() {
                self.print(&format!("{place}: warning: {}", describe(warning)));
            }
        }
    }

    fn finish(&self, quiet: bool) {
        for (remarks, kind) in [(&self.errors, "errors"), (&self.warnings, "warnings")] {
            if remarks.hidden() > 0 {
                self.print(&format!("{} more {kind} not shown", remarks.hidden()));
            }
        }
        if !quiet || self.errors.count > 0 {
            self.print(&format!(
                "{} packets, {} messages; {} errors, {} warnings",
                self.packets, self.messages, self.errors.count, self.warnings.count
            ));
        }
    }
}

fn describe(warning: Warning) -> String {
    let number = |header: Option<u64>| match header {
        Some(number) => number.to_string(),
        None => "not decimal".to_owned(),
    };
    match warning {
        Warning::SeqNum { header, message } => {
            let header = number(header);
            format!("sequence number of the header is {header}, of the first message {message}")
        }
        Warning::Count { header, messages } => {
            let header = number(header.map(u64::from));
            format!("message count of the header is {header}, but {messages} were found")
        }
        other => format!("{other:?}"),
    }
}
