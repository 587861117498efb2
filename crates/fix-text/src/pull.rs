//! Reading a FIX log or capture piece by piece.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use tickwire_arrow::fix::MessagePlace;
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_fix_text::{Found, Paused, Streams, is_capture};

/// Messages of a text handed out at a time.
const STEP_MESSAGES: usize = 256;

/// A file, and what stands between fields where that is given.
#[derive(Clone)]
pub struct Source {
    pub path: PathBuf,
    pub separator: Option<Vec<u8>>,
}

/// Where something was found.
pub struct Place<'p> {
    pub at: MessagePlace,
    /// In words, of captures.
    words: Option<&'p str>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MessagePlace { line, offset, .. } = self.at;
        match self.words {
            Some(words) => f.write_str(words),
            None => {
                write!(
                    f,
                    "line {}, offset {}",
                    line.unwrap_or_default(),
                    offset.unwrap_or_default()
                )
            }
        }
    }
}

/// A file being read.
pub enum Pull {
    /// A text, which is in memory.
    Text { text: Arc<Vec<u8>>, paused: Paused, is_ended: bool },
    /// A capture, until its end was handed out.
    Capture { name: String, reader: Box<CaptureReader<File>>, streams: Option<Streams> },
}

impl Source {
    /// The file, opened from its start.
    pub fn open(&self) -> Result<Pull, String> {
        let name = self.path.display().to_string();
        let failed = |error| format!("cannot read {name}: {error}");
        let open = || File::open(&self.path).map_err(failed);
        let mut start = Vec::new();
        open()?.take(4).read_to_end(&mut start).map_err(failed)?;
        if !is_capture(&start) {
            let text = Arc::new(std::fs::read(&self.path).map_err(failed)?);
            let paused = Paused::new(self.separator.as_deref());
            return Ok(Pull::Text { text, paused, is_ended: false });
        }
        let options = CaptureOptions::new().file_name(self.path.to_string_lossy());
        let reader = CaptureReader::open(open()?, options);
        let reader = Box::new(reader.map_err(|error| format!("{name}: {error}"))?);
        Ok(Pull::Capture { name, reader, streams: Some(Streams::default()) })
    }
}

impl Pull {
    /// Hands out what comes next, which may be nothing yet; false at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read on.
    pub fn step(&mut self, handle: &mut impl FnMut(Place<'_>, Found<'_>)) -> Result<bool, String> {
        match self {
            Self::Text { is_ended: true, .. } | Self::Capture { streams: None, .. } => Ok(false),
            Self::Text { text, paused, is_ended } => {
                let mut scanner = paused.clone().resume(text);
                for _ in 0..STEP_MESSAGES {
                    let Some((line, found)) = scanner.next() else {
                        *is_ended = true;
                        break;
                    };
                    let (line, offset) = (Some(line as u64), Some(found.place.start as u64));
                    let at = MessagePlace { line, offset, ..MessagePlace::default() };
                    handle(Place { at, words: None }, found.found());
                }
                *paused = scanner.pause();
                Ok(true)
            }
            Self::Capture { name, reader, streams } => {
                let failed = |error| format!("{name}: {error}");
                let Some(packet) = reader.next_packet().map_err(failed)? else {
                    let lost = reader.statistics().tcp_lost_bytes;
                    let ended = streams.take().unwrap_or_default();
                    let Ok(()) = ended.end(lost, &mut hand_out(MessagePlace::default(), handle));
                    return Ok(true);
                };
                let (packet_at, time_ns) = (Some(packet.record), packet.timestamp_ns);
                let at = MessagePlace { packet: packet_at, time_ns, ..MessagePlace::default() };
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
    at: MessagePlace,
    handle: &mut impl FnMut(Place<'_>, Found<'_>),
) -> impl FnMut(&str, Found<'_>) -> Result<(), std::convert::Infallible> {
    move |words, found| {
        handle(Place { at, words: Some(words) }, found);
        Ok(())
    }
}
