//! Reading a FIX log or capture piece by piece.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use tickwire_feed::capture::{CaptureOptions, CaptureReader};

use crate::{Found, Paused, Streams, is_capture};

/// Messages of a text handed out at a time.
const STEP_MESSAGES: usize = 256;

/// A file, and what stands between fields where that is given.
#[derive(Clone, Debug)]
pub struct Source {
    /// A text that has messages, or a capture of TCP, also compressed.
    pub path: PathBuf,
    /// Taken from each message unless given.
    pub separator: Option<Vec<u8>>,
}

/// Where a message stands in its file.
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

/// Where something was found. It prints as people look for it.
#[derive(Debug, Default)]
pub struct Place<'p> {
    /// In numbers.
    pub at: FoundAt,
    /// In words, of captures.
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
    /// A text, which is in memory.
    Text { text: Arc<Vec<u8>>, paused: Paused, is_ended: bool },
    /// A capture, until its end was handed out.
    Capture { name: String, reader: Box<CaptureReader<File>>, streams: Option<Streams> },
}

impl Source {
    /// The file, opened from its start.
    ///
    /// # Errors
    /// It cannot be read, or is no capture that can be read; in words.
    pub fn open(&self) -> Result<Pull, String> {
        let name = self.path.display().to_string();
        let failed = |error| format!("cannot read {name}: {error}");
        let open = || File::open(&self.path).map_err(failed);
        let mut start = Vec::new();
        open()?.take(4).read_to_end(&mut start).map_err(failed)?;
        if !is_capture(&start) {
            let text = Arc::new(std::fs::read(&self.path).map_err(failed)?);
            let paused = Paused::new(self.separator.as_deref());
            return Ok(Pull(Reading::Text { text, paused, is_ended: false }));
        }
        let options = CaptureOptions::new().file_name(self.path.to_string_lossy());
        let reader = CaptureReader::open(open()?, options);
        let reader = Box::new(reader.map_err(|error| format!("{name}: {error}"))?);
        Ok(Pull(Reading::Capture { name, reader, streams: Some(Streams::default()) }))
    }
}

impl Pull {
    /// Hands out what comes next, which may be nothing yet; false at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read on; in words.
    pub fn step(&mut self, handle: &mut impl FnMut(Place<'_>, Found<'_>)) -> Result<bool, String> {
        match &mut self.0 {
            Reading::Text { is_ended: true, .. } | Reading::Capture { streams: None, .. } => {
                Ok(false)
            }
            Reading::Text { text, paused, is_ended } => {
                let mut scanner = paused.clone().resume(text);
                for _ in 0..STEP_MESSAGES {
                    let Some((line, found)) = scanner.next() else {
                        *is_ended = true;
                        break;
                    };
                    let (line, offset) = (Some(line as u64), Some(found.place.start as u64));
                    let at = FoundAt { line, offset, ..FoundAt::default() };
                    handle(Place { at, words: None }, found.found());
                }
                *paused = scanner.pause();
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

/// Hands out what streams find.
fn hand_out(
    at: FoundAt,
    handle: &mut impl FnMut(Place<'_>, Found<'_>),
) -> impl FnMut(&str, Found<'_>) -> Result<(), std::convert::Infallible> {
    move |words, found| {
        handle(Place { at, words: Some(words) }, found);
        Ok(())
    }
}
