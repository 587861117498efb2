//! Reads a FIX log or capture piece by piece.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use tickwire_feed::capture::{CaptureOptions, CaptureReader};

use crate::{Found, Paused, Streams, is_capture};

/// Maximum number of messages per step of a text.
const STEP_MESSAGES: usize = 256;
/// Bytes of a text in memory.
const WINDOW_LEN: usize = 4 << 20;

/// A file, and the separator of fields if it is given.
#[derive(Clone, Debug)]
pub struct Source {
    /// A text with messages, or a capture of TCP; may be compressed.
    pub path: PathBuf,
    /// The separator; `None` to detect it for each message.
    pub separator: Option<Vec<u8>>,
}

/// Position of a message in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundAt {
    /// Line of a text, from 1.
    pub line: Option<u64>,
    /// Offset in a text, bytes.
    pub offset: Option<u64>,
    /// Record of a capture, from 0, in which the message ends.
    pub packet: Option<u64>,
    /// Capture time of that record, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
}

/// Position of a finding, printed by line or record as in the file.
#[derive(Debug, Default)]
pub struct Place<'p> {
    /// The position in numbers.
    pub at: FoundAt,
    /// The description, for captures.
    words: Option<&'p str>,
}

impl fmt::Display for Place<'_> {
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
pub struct Pull(Reading);

enum Reading {
    /// A text; `None` after its end was passed on.
    Text { name: String, text: Option<Box<Text>> },
    /// A capture; `streams` is `None` after its end was passed on.
    Capture { name: String, reader: Box<CaptureReader<File>>, streams: Option<Streams> },
}

/// A text with a window in memory.
struct Text {
    input: Box<dyn Read + Send>,
    window: Vec<u8>,
    /// Offset of the window in the text.
    offset: u64,
    paused: Paused,
    /// True if the window reaches the end of the text.
    is_last: bool,
}

impl Text {
    /// Passes several messages to `handle`, and reads more of the file if there are none. Returns
    /// false at the end.
    fn step(&mut self, handle: &mut impl FnMut(Place<'_>, Found<'_>)) -> io::Result<bool> {
        let paused = self.paused.clone();
        let mut scanner = match self.is_last {
            true => paused.resume(&self.window),
            false => paused.resume_part(&self.window),
        };
        let mut is_through = false;
        for _ in 0..STEP_MESSAGES {
            let Some((line, found)) = scanner.next() else {
                is_through = true;
                break;
            };
            let (line, offset) = (Some(line as u64), Some(self.offset + found.place.start as u64));
            let at = FoundAt { line, offset, ..FoundAt::default() };
            handle(Place { at, words: None }, found.found());
        }
        self.paused = scanner.pause();
        if is_through && self.is_last {
            return Ok(false);
        }
        if is_through {
            self.read_on()?;
        }
        Ok(true)
    }

    /// Drops the part of the window that is no longer needed, and fills it with the next bytes.
    fn read_on(&mut self) -> io::Result<()> {
        let passed = self.paused.pass(&self.window);
        self.window.drain(..passed);
        self.offset += passed as u64;
        let free = WINDOW_LEN.saturating_sub(self.window.len());
        let read = self.input.by_ref().take(free as u64).read_to_end(&mut self.window)?;
        self.is_last = read < free;
        Ok(())
    }
}

impl Source {
    /// Opens the file at its start.
    ///
    /// # Errors
    /// The file cannot be read, or is not a readable capture; the text describes why.
    pub fn open(&self) -> Result<Pull, String> {
        let name = self.path.display().to_string();
        let failed = |error| format!("cannot read {name}: {error}");
        let open = || File::open(&self.path).map_err(failed);
        let mut start = Vec::new();
        open()?.take(4).read_to_end(&mut start).map_err(failed)?;
        if !is_capture(&start) {
            let input = open()?;
            return Ok(Pull::of_text(name, input, self.separator.as_deref()));
        }
        let options = CaptureOptions::new().file_name(self.path.to_string_lossy());
        let reader = CaptureReader::open(open()?, options);
        let reader = Box::new(reader.map_err(|error| format!("{name}: {error}"))?);
        Ok(Pull(Reading::Capture { name, reader, streams: Some(Streams::default()) }))
    }
}

impl Pull {
    /// Creates a reader for a text from the current position of `input`. `name` is for messages.
    pub fn of_text(
        name: String,
        input: impl Read + Send + 'static,
        separator: Option<&[u8]>,
    ) -> Self {
        let text = Text {
            input: Box::new(input),
            window: Vec::new(),
            offset: 0,
            paused: Paused::new(separator),
            is_last: false,
        };
        Self(Reading::Text { name, text: Some(Box::new(text)) })
    }

    /// Passes on the next items, possibly none. Returns false at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read further; the text describes why.
    pub fn step(&mut self, handle: &mut impl FnMut(Place<'_>, Found<'_>)) -> Result<bool, String> {
        match &mut self.0 {
            Reading::Text { text: None, .. } | Reading::Capture { streams: None, .. } => Ok(false),
            Reading::Text { name, text: open } => {
                let Some(text) = open else { return Ok(false) };
                let failed = |error| format!("cannot read {name}: {error}");
                if !text.step(handle).map_err(failed)? {
                    *open = None;
                }
                Ok(true)
            }
            Reading::Capture { name, reader, streams } => {
                let failed = |error| format!("{name}: {error}");
                let Some(packet) = reader.next_packet().map_err(failed)? else {
                    let lost = reader.statistics().tcp_lost_bytes;
                    let ended = streams.take().unwrap_or_default();
                    let Ok(()) = ended.end(lost, &mut hand_out(FoundAt::default(), handle));
                    return Ok(true);
                };
                let (packet_at, time_ns) = (Some(packet.record), packet.timestamp_ns);
                let at = FoundAt { packet: packet_at, time_ns, ..FoundAt::default() };
                if let Some(streams) = streams {
                    let Ok(()) = streams.take(&packet, &mut hand_out(at, handle));
                }
                Ok(true)
            }
        }
    }
}

/// Passes on the items that streams find.
fn hand_out(
    at: FoundAt,
    handle: &mut impl FnMut(Place<'_>, Found<'_>),
) -> impl FnMut(&str, Found<'_>) -> Result<(), std::convert::Infallible> {
    move |words, found| {
        handle(Place { at, words: Some(words) }, found);
        Ok(())
    }
}
