//! FIX messages out of files: as they are on the wire, as logs print them, and in captures.

mod mixed;
mod text;

use crate::failure::Failure;
use crate::files;
use clap::Args;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use text::Scanner;
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
    /// What stands between fields: soh (the byte 1), pipe, caret (^A), tab, or any other text. auto takes
    /// what stands after the BeginString of each message
    #[arg(long, value_name = "TEXT", default_value = "auto")]
    separator: Separator,
}

/// What stands between fields.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Separator {
    /// Whatever follows BeginString, in each message.
    Auto,
    /// Always this.
    Is(Vec<u8>),
}

impl FromStr for Separator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "" => return Err("a separator has at least one character".to_owned()),
            "auto" => Self::Auto,
            "soh" => Self::Is(vec![SOH]),
            "pipe" => Self::Is(b"|".to_vec()),
            "caret" => Self::Is(b"^A".to_vec()),
            "tab" => Self::Is(b"\t".to_vec()),
            other => Self::Is(other.as_bytes().to_vec()),
        })
    }
}

/// Something of a file.
pub enum Found<'f> {
    /// A message, or what has the shape of one.
    Message {
        /// As on the wire.
        bytes: &'f [u8],
        /// What is wrong with it, as far as it is known from where it stands.
        notes: &'f [String],
        /// Whether BeginString, BodyLength or MsgType were put in front: what BodyLength and CheckSum say
        /// means nothing then.
        is_completed: bool,
    },
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
        let separator = match &self.separator {
            Separator::Auto => None,
            Separator::Is(separator) => Some(separator.as_slice()),
        };
        Scanner::new(&bytes, separator).each(&mut handle)
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
        let mut told = 0;
        let failed = |error| Failure::Data(format!("{}: {error}", files::name_of(&self.file)));
        while let Some(packet) = reader.next_packet().map_err(failed)? {
            let flow = packet.stream.map_or(0, |position| position.flow);
            if flows.len() >= FLOWS_MAX
                && !flows.contains_key(&flow)
                && let Some((flow, stream)) = flows.pop_first()
            {
                stream
                    .end(&mut |found| handle(&format!("stream {flow}, left for others"), found))?;
            }
            let (record, ends) = (packet.record, (packet.source, packet.destination));
            let place = match ends {
                (Some(from), Some(to)) => format!("record {record}, {from} to {to}"),
                _ => format!("record {record}"),
            };
            let lost = packet.stream.map_or(0, |position| position.lost_bytes);
            told += lost;
            if lost > 0 {
                let stream = flows.remove(&flow).unwrap_or_default();
                let within = if stream.begins_message() { ", within a message" } else { "" };
                let text = format!("{lost} bytes of the stream are missing before it{within}");
                handle(&place, Found::Broken(text))?;
            }
            let stream = flows.entry(flow).or_default();
            stream.bytes.extend_from_slice(packet.bytes);
            stream.take(&mut |found| handle(&place, found))?;
        }
        for (flow, stream) in flows {
            let place = format!("end of stream {flow}");
            stream.end(&mut |found| handle(&place, found))?;
        }
        let untold = reader.statistics().tcp_lost_bytes.saturating_sub(told);
        if untold > 0 {
            let text = format!(
                "{untold} bytes of streams are missing at their ends or came before their beginnings"
            );
            handle("end of the capture", Found::Broken(text))?;
        }
        Ok(())
    }
}

/// Bytes of which messages are taken.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    framer: Framer,
}

impl Stream {
    /// Hands out whole messages, and keeps what is left.
    fn take(
        &mut self,
        handle: &mut impl FnMut(Found<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut at = 0;
        while at < self.bytes.len() {
            match self.framer.step(&self.bytes[at..]) {
                Step::Message(message) => {
                    let (bytes, is_completed) = (message, false);
                    handle(Found::Message { bytes, notes: &[], is_completed })?;
                    at += message.len();
                }
                Step::Garbage(len) => {
                    let garbage = &self.bytes[at..at + len];
                    // Logs have other text between messages; only what begins like one is wrong.
                    if garbage.starts_with(BEGIN) {
                        handle(Found::Broken(broken(garbage)))?;
                    }
                    at += len.max(1);
                }
                Step::NeedMore(_) => break,
            }
        }
        self.bytes.drain(..at);
        Ok(())
    }

    fn begins_message(&self) -> bool {
        self.bytes.starts_with(BEGIN)
    }

    /// Hands out what is left as broken, if it begins like a message.
    fn end(self, handle: &mut impl FnMut(Found<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        if !self.begins_message() {
            return Ok(());
        }
        let len = self.bytes.len();
        handle(Found::Broken(format!("cut: the data end after {len} bytes of a message")))
    }
}

/// Says what is wrong with what begins like a message.
fn broken(garbage: &[u8]) -> String {
    let start = String::from_utf8_lossy(&garbage[..garbage.len().min(40)]).replace('\u{1}', "|");
    let len_max = Limits::default().message_len_max;
    format!("no message: expected 8=FIX..., 9= with a length of at most {len_max}; found {start}")
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
