//! FIX messages out of files: as they are on the wire, as logs print them, and in captures.

use crate::failure::Failure;
use crate::files;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use tickwire_feed::capture::CaptureOptions;
use tickwire_fix::{Framer, Limits, Step};

/// Longest file read that is not a capture.
const INPUT_BYTES_MAX: u64 = 1 << 30;
/// Streams of a capture of which something is held at the same time.
const FLOWS_MAX: usize = 4096;
/// What a message begins with.
const BEGIN: &[u8] = b"8=FIX";
const SOH: u8 = 1;

/// Where messages come from.
#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// Messages, a log that holds some, or a capture (pcap, pcapng, also .gz and .zst) of TCP; - is
    /// standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What stands between fields; auto takes SOH if there is one in the file, or else what stands after
    /// the first BeginString
    #[arg(long, value_enum, default_value = "auto")]
    separator: Separator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Separator {
    Auto,
    /// The byte 1, as on the wire.
    Soh,
    /// |
    Pipe,
    /// ^A, as editors show SOH
    Caret,
}

/// Something of a file.
pub enum Found<'f> {
    /// A message, or what has the shape of one.
    Message(&'f [u8]),
    /// What is no message though it begins like one, in words.
    Broken(String),
}

impl MessagesArgs {
    pub fn name(&self) -> String {
        files::name_of(&self.file)
    }

    /// Hands out what the file holds, each with its place in words, until `handle` fails.
    pub fn each(
        &self,
        mut handle: impl FnMut(&str, Found<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if is_capture(&self.file)? {
            return self.each_of_capture(&mut handle);
        }
        let hint = ": split it, or capture files are read piece by piece";
        let bytes = files::read_whole(&self.file, INPUT_BYTES_MAX, hint)?;
        let place = |at: usize| format!("offset {at}");
        match self.separator(&bytes) {
            Some(separator) => each_of_lines(&bytes, separator, &mut handle),
            None => {
                let mut stream = Stream { bytes, ..Stream::default() };
                stream.take(&mut |at, found| handle(&place(at), found))?;
                stream.end(&mut |at, found| handle(&place(at), found))
            }
        }
    }

    /// Returns the text between fields; `None` for SOH.
    fn separator(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        match self.separator {
            Separator::Soh => None,
            Separator::Pipe => Some(b"|"),
            Separator::Caret => Some(b"^A"),
            Separator::Auto if bytes.contains(&SOH) => None,
            Separator::Auto => {
                let at = find(bytes, BEGIN)?;
                let value = &bytes[at + 2..];
                let end = value.iter().position(|byte| matches!(byte, b'|' | b'^'))?;
                Some(if value[end] == b'|' { b"|" } else { b"^A" })
            }
        }
    }

    fn each_of_capture(
        &self,
        handle: &mut impl FnMut(&str, Found<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut options = CaptureOptions::new();
        if !files::is_standard(&self.file) {
            options = options.file_name(self.file.to_string_lossy());
        }
        let mut reader = files::open_capture(&self.file, files::open(&self.file)?, options)?;
        let mut flows: BTreeMap<u64, Stream> = BTreeMap::new();
        let failed = |error| Failure::Data(format!("{}: {error}", files::name_of(&self.file)));
        while let Some(packet) = reader.next_packet().map_err(failed)? {
            let flow = packet.stream.map_or(0, |position| position.flow);
            if flows.len() >= FLOWS_MAX && !flows.contains_key(&flow) {
                flows.pop_first();
            }
            let stream = flows.entry(flow).or_default();
            if packet.stream.is_some_and(|position| position.lost_bytes > 0) {
                *stream = Stream::default();
            }
            stream.bytes.extend_from_slice(packet.bytes);
            let (record, ends) = (packet.record, (packet.source, packet.destination));
            let place = match ends {
                (Some(from), Some(to)) => format!("record {record}, {from} to {to}"),
                _ => format!("record {record}"),
            };
            stream.take(&mut |_, found| handle(&place, found))?;
        }
        for (flow, mut stream) in flows {
            let place = format!("end of stream {flow}");
            stream.end(&mut |_, found| handle(&place, found))?;
        }
        Ok(())
    }
}

/// Bytes of which messages are taken.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// Bytes taken before.
    taken: usize,
    framer: Framer,
}

impl Stream {
    /// Hands out whole messages with their offsets, and keeps what is left.
    fn take(
        &mut self,
        handle: &mut impl FnMut(usize, Found<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut at = 0;
        while at < self.bytes.len() {
            match self.framer.step(&self.bytes[at..]) {
                Step::Message(message) => {
                    handle(self.taken + at, Found::Message(message))?;
                    at += message.len();
                }
                Step::Garbage(len) => {
                    let garbage = &self.bytes[at..at + len];
                    // Logs have other text between messages; only what begins like one is wrong.
                    if garbage.starts_with(BEGIN) {
                        handle(self.taken + at, Found::Broken(broken(garbage)))?;
                    }
                    at += len.max(1);
                }
                Step::NeedMore(_) => break,
            }
        }
        self.taken += at;
        self.bytes.drain(..at);
        Ok(())
    }

    /// Hands out what is left as broken, if it begins like a message.
    fn end(
        &mut self,
        handle: &mut impl FnMut(usize, Found<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if !self.bytes.starts_with(BEGIN) {
            return Ok(());
        }
        let len = self.bytes.len();
        handle(
            self.taken,
            Found::Broken(format!("cut: the data end after {len} bytes of a message")),
        )
    }
}

/// Says what is wrong with what begins like a message.
fn broken(garbage: &[u8]) -> String {
    let start = String::from_utf8_lossy(&garbage[..garbage.len().min(40)]).replace('\u{1}', "|");
    let len_max = Limits::default().message_len_max;
    format!("no message: expected 8=FIX..., 9= with a length of at most {len_max}; found {start}")
}

/// Hands out the messages of a text with one a line.
fn each_of_lines(
    bytes: &[u8],
    separator: &[u8],
    handle: &mut impl FnMut(&str, Found<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let Some(at) = find(line, BEGIN) else { continue };
        let mut message = replaced(line[at..].trim_ascii_end(), separator);
        if message.last() != Some(&SOH) {
            message.push(SOH);
        }
        handle(&format!("line {number}"), Found::Message(&message))?;
    }
    Ok(())
}

/// Returns a line with SOH in place of its separators.
fn replaced(mut line: &[u8], separator: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + 1);
    while let Some(at) = find(line, separator) {
        out.extend_from_slice(&line[..at]);
        out.push(SOH);
        line = &line[at + separator.len()..];
    }
    out.extend_from_slice(line);
    out
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Whether a file is a capture, or compressed. Standard input is taken as it is.
fn is_capture(path: &Path) -> Result<bool, Failure> {
    if files::is_standard(path) {
        return Ok(false);
    }
    let mut start = Vec::new();
    let read = files::open(path)?.take(4).read_to_end(&mut start);
    read.map_err(|error| Failure::file("read", files::name_of(path), &error))?;
    Ok(matches!(
        start[..],
        [0xA1, 0xB2, 0xC3, 0xD4 | 0x4D]
            | [0xD4 | 0x4D, 0xC3, 0xB2, 0xA1]
            | [0xA1, 0xB2, 0x3C, 0x4D]
            | [0x4D, 0x3C, 0xB2, 0xA1]
            | [0x0A, 0x0D, 0x0D, 0x0A]
            | [0x1F, 0x8B, ..]
            | [0x28, 0xB5, 0x2F, 0xFD]
    ))
}
