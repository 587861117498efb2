//! Reads a FIX log or capture piece by piece.

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use tickwire_feed::capture::{
    CaptureFormat, CaptureOptions, CaptureReader, Statistics, decompressed,
};

use crate::{FixStreams, FoundMessage, Paused, is_capture};

/// Maximum number of messages per step of a text.
const STEP_MESSAGES: usize = 256;
/// Bytes of a text in memory.
const WINDOW_LEN: usize = 4 << 20;
/// Bytes that distinguish captures from texts.
const START_LEN: u64 = 4;
/// Place of an error that ends a file.
const END: &str = "end of the file";

/// A file, and the separator of fields if it is given.
#[derive(Clone, Debug)]
pub struct LogFile {
    /// A text with messages, or a capture of TCP; also compressed by gzip or zstd.
    pub path: PathBuf,
    /// The separator; `None` to detect it for each message.
    pub separator: Option<Vec<u8>>,
}

/// Position of a message in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundAt {
    /// Line of a text, from 1.
    pub line: Option<u64>,
    /// Offset in a text, bytes, after decompression.
    pub offset: Option<u64>,
    /// Record of a capture, from 0, in which the message ends.
    pub packet: Option<u64>,
    /// Capture time of that record, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
    /// Sender of that record.
    pub source: Option<SocketAddr>,
    /// Receiver of that record.
    pub destination: Option<SocketAddr>,
}

/// Position of a finding, printed by line or record as in the file.
#[derive(Debug, Default)]
pub struct FindingPlace<'p> {
    /// The position in numbers.
    pub at: FoundAt,
    /// The position in words: of a capture, or of the end of the file.
    words: Option<&'p str>,
}

impl fmt::Display for FindingPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.words, self.at) {
            (Some(words), _) => f.write_str(words),
            (None, FoundAt { line: Some(line), offset: Some(offset), .. }) => {
                write!(f, "line {line}, offset {offset}")
            }
            (None, _) => f.write_str("the file"),
        }
    }
}

/// A file being read.
pub struct LogReader(LogInput);

enum LogInput {
    /// A text; `None` after its end was passed on.
    Text(Option<Box<TextWindow>>),
    /// A capture; `streams` is `None` after its end was passed on.
    Capture { reader: Box<CaptureReader<Box<dyn Read + Send>>>, streams: Option<FixStreams> },
}

/// A text with a window in memory.
struct TextWindow {
    input: Box<dyn Read + Send>,
    /// The window: the first `len` bytes.
    bytes: Vec<u8>,
    len: usize,
    /// Offset of the window in the text.
    offset: u64,
    paused: Paused,
    /// True if the window reaches the end of the text.
    is_last: bool,
    /// The error that ended the text.
    failed: Option<io::Error>,
}

impl TextWindow {
    /// Passes several messages to `handle`, and reads more of the file if there are none. Returns
    /// false at the end.
    fn step(&mut self, handle: &mut impl FnMut(FindingPlace<'_>, FoundMessage<'_>)) -> bool {
        let paused = self.paused.clone();
        let window = &self.bytes[..self.len];
        let mut scanner = match self.is_last {
            true => paused.resume(window),
            false => paused.resume_part(window),
        };
        let mut is_through = false;
        for _ in 0..STEP_MESSAGES {
            let Some((line, found)) = scanner.next() else {
                is_through = true;
                break;
            };
            let (line, offset) = (Some(line as u64), Some(self.offset + found.place.start as u64));
            let at = FoundAt { line, offset, ..FoundAt::default() };
            handle(FindingPlace { at, words: None }, found.found());
        }
        self.paused = scanner.pause();
        if !is_through {
            return true;
        }
        if !self.is_last {
            self.read_on();
            return true;
        }
        if let Some(error) = self.failed.take() {
            let offset = Some(self.offset + self.len as u64);
            let place =
                FindingPlace { at: FoundAt { offset, ..FoundAt::default() }, words: Some(END) };
            handle(place, unreadable(&error));
        }
        false
    }

    /// Drops the part of the window that is no longer needed, and fills it with the next bytes.
    fn read_on(&mut self) {
        let passed = self.paused.pass(&self.bytes[..self.len]);
        self.bytes.copy_within(passed..self.len, 0);
        self.len -= passed;
        self.offset += passed as u64;
        while self.len < self.bytes.len() {
            match self.input.read(&mut self.bytes[self.len..]) {
                Ok(0) => {
                    self.is_last = true;
                    return;
                }
                Ok(read) => self.len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_last = true;
                    self.failed = Some(error);
                    return;
                }
            }
        }
    }
}

/// Returns the item for a file whose rest cannot be read.
fn unreadable(error: &dyn fmt::Display) -> FoundMessage<'static> {
    FoundMessage::Broken(format!("the rest of the file cannot be read: {error}"))
}

impl LogFile {
    /// Opens the file at its start.
    ///
    /// # Errors
    /// The file cannot be read, or is not a readable capture; the text describes why.
    pub fn open(&self) -> Result<LogReader, String> {
        let name = self.path.display().to_string();
        let input =
            File::open(&self.path).map_err(|error| format!("cannot read {name}: {error}"))?;
        LogReader::new(&name, input, self.separator.as_deref(), CaptureOptions::new())
    }
}

impl LogReader {
    /// Reads a log or capture from the current position of `input`, which may be compressed. `name`
    /// is for error messages, and `packets` selects the packets of a capture.
    ///
    /// # Errors
    /// The first bytes cannot be read, or the header of a capture is invalid.
    pub fn new(
        name: &str,
        input: impl Read + Send + 'static,
        separator: Option<&[u8]>,
        packets: CaptureOptions,
    ) -> Result<Self, String> {
        let failed = |error| format!("cannot read {name}: {error}");
        let mut input = decompressed(input).map_err(failed)?;
        let mut start = Vec::new();
        input.by_ref().take(START_LEN).read_to_end(&mut start).map_err(failed)?;
        let is_capture = is_capture(&start);
        let input: Box<dyn Read + Send> = Box::new(Cursor::new(start).chain(input));
        if is_capture {
            let reader = CaptureReader::open(input, packets.format(CaptureFormat::Pcap));
            let reader = Box::new(reader.map_err(|error| format!("{name}: {error}"))?);
            return Ok(Self(LogInput::Capture { reader, streams: Some(FixStreams::default()) }));
        }
        let (paused, bytes) = (Paused::new(separator), vec![0; WINDOW_LEN]);
        let text =
            TextWindow { input, bytes, len: 0, offset: 0, paused, is_last: false, failed: None };
        Ok(Self(LogInput::Text(Some(Box::new(text)))))
    }

    /// Returns the counters of a capture; `None` for a text.
    pub fn statistics(&self) -> Option<&Statistics> {
        match &self.0 {
            LogInput::Text(_) => None,
            LogInput::Capture { reader, .. } => Some(reader.statistics()),
        }
    }

    /// Passes on the next items, possibly none. Returns false if all were passed on before. If the
    /// rest of the file cannot be read, the last item describes why.
    pub fn step(&mut self, handle: &mut impl FnMut(FindingPlace<'_>, FoundMessage<'_>)) -> bool {
        match &mut self.0 {
            LogInput::Text(open) => {
                let Some(text) = open else { return false };
                if !text.step(handle) {
                    *open = None;
                }
            }
            LogInput::Capture { reader, streams } => {
                let Some(flows) = streams else { return false };
                let error = match reader.next_packet() {
                    Ok(Some(packet)) => {
                        let at = FoundAt {
                            packet: Some(packet.record),
                            time_ns: packet.timestamp_ns,
                            source: packet.source,
                            destination: packet.destination,
                            ..FoundAt::default()
                        };
                        let Ok(()) = flows.take(&packet, &mut hand_out(at, handle));
                        return true;
                    }
                    Ok(None) => None,
                    Err(error) => Some(error),
                };
                let ended = streams.take().unwrap_or_default();
                let lost = reader.statistics().tcp_lost_bytes;
                let Ok(()) = ended.end(lost, &mut hand_out(FoundAt::default(), handle));
                let missing = reader.statistics().missing().map(FoundMessage::Broken);
                for found in missing.chain(error.as_ref().map(|error| unreadable(error))) {
                    handle(FindingPlace { at: FoundAt::default(), words: Some(END) }, found);
                }
            }
        }
        true
    }
}

/// Passes on the items that streams find.
fn hand_out(
    at: FoundAt,
    handle: &mut impl FnMut(FindingPlace<'_>, FoundMessage<'_>),
) -> impl FnMut(&str, FoundMessage<'_>) -> Result<(), std::convert::Infallible> {
    move |words, found| {
        handle(FindingPlace { at, words: Some(words) }, found);
        Ok(())
    }
}
