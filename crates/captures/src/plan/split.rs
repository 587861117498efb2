//! A piece of a capture.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use super::bytes::{push, push_bytes, take, take_bytes};
use super::{FileIdentity, PlanError, PlanErrorKind};
use tickwire_feed::capture::{CaptureFormat, CaptureMark, CaptureOptions, CaptureReader};

/// Reads a split.
pub type SplitReader = CaptureReader<Take<File>>;

/// A piece of a capture that can be decoded by itself: the whole, or the part between two marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSplit {
    /// The capture.
    pub path: PathBuf,
    /// Its format, if known.
    pub format: Option<CaptureFormat>,
    identity: FileIdentity,
    /// Start of the split; `None` for the start of the file.
    start: Option<CaptureMark>,
    /// End of the split in the file.
    end: u64,
    /// Number of packets of the capture before its end, if counted.
    packets: Option<u64>,
}

impl CaptureSplit {
    pub(super) fn whole(
        path: &Path,
        identity: FileIdentity,
        format: Option<CaptureFormat>,
    ) -> Self {
        let (path, end) = (path.to_owned(), identity.len);
        Self { path, format, identity, start: None, end, packets: None }
    }

    /// Creates a split from a mark, or from the start, to an offset that has `packets` packets of
    /// the capture before it.
    pub(super) fn between(
        path: &Path,
        identity: FileIdentity,
        format: CaptureFormat,
        start: Option<CaptureMark>,
        (end, packets): (u64, u64),
    ) -> Self {
        let (path, format, packets) = (path.to_owned(), Some(format), Some(packets));
        Self { path, format, identity, start, end, packets }
    }

    /// Returns the index of its first packet in the capture.
    pub fn first_packet(&self) -> u64 {
        self.start.as_ref().map_or(0, |mark| mark.packets)
    }

    /// Returns its number of packets, if counted.
    pub fn packets(&self) -> Option<u64> {
        self.packets.map(|packets| packets - self.first_packet())
    }

    /// Returns the byte range of the file that it reads.
    pub fn bytes(&self) -> std::ops::Range<u64> {
        self.start.as_ref().map_or(0, |mark| mark.offset)..self.end
    }

    /// Opens the file and reads it from the start of the split to its end. Packets have the same
    /// index, time and offset as in the whole capture.
    ///
    /// # Errors
    /// [`PlanError`] if the file cannot be read, is not a capture, or is not the one that was
    /// planned.
    pub fn open(&self) -> Result<SplitReader, PlanError> {
        let wrong = |kind: PlanErrorKind| PlanError::new(&self.path, kind);
        let mut file = File::open(&self.path).map_err(|error| wrong(error.into()))?;
        if FileIdentity::of(&mut file).map_err(|error| wrong(error.into()))? != self.identity {
            return Err(wrong(PlanErrorKind::Changed));
        }
        let mut options = CaptureOptions::new().file_name(self.path.to_string_lossy());
        if let Some(format) = self.format {
            options = options.format(format);
        }
        let bytes = self.bytes();
        file.seek(SeekFrom::Start(bytes.start)).map_err(|error| wrong(error.into()))?;
        let input = file.take(bytes.end - bytes.start);
        let reader = match &self.start {
            Some(mark) => CaptureReader::resume(input, mark, options),
            None => CaptureReader::open(input, options),
        };
        reader.map_err(|error| wrong(error.into()))
    }

    /// Checks that a reader at its end has returned the planned packets.
    ///
    /// # Errors
    /// [`PlanErrorKind::Changed`] if it has not.
    pub fn check_end(&self, reader: &SplitReader) -> Result<(), PlanError> {
        match self.packets {
            Some(packets) if reader.statistics().packets != packets => {
                Err(PlanError::new(&self.path, PlanErrorKind::Changed))
            }
            _ => Ok(()),
        }
    }

    /// Encodes the split without its path, for other processes of this version.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, self.identity.len);
        push(&mut out, self.identity.head);
        push_bytes(&mut out, self.format.map_or("", CaptureFormat::name).as_bytes());
        push(&mut out, self.end);
        push(&mut out, u64::from(self.packets.is_some()));
        push(&mut out, self.packets.unwrap_or(0));
        if let Some(mark) = &self.start {
            for number in [mark.offset, mark.records, mark.packets] {
                push(&mut out, number);
            }
            push_bytes(&mut out, &mark.header);
        }
        out
    }

    /// Decodes a split for `path` from the output of [`to_bytes`](Self::to_bytes); `None` for other
    /// bytes.
    pub fn from_bytes(path: PathBuf, mut from: &[u8]) -> Option<Self> {
        let from = &mut from;
        let identity = FileIdentity { len: take(from)?, head: take(from)? };
        let format = match take_bytes(from)? {
            b"" => None,
            name => Some(std::str::from_utf8(name).ok()?.parse::<CaptureFormat>().ok()?),
        };
        let [end, is_counted, packets] = [take(from)?, take(from)?, take(from)?];
        let packets = (is_counted == 1).then_some(packets);
        let start = match from.is_empty() {
            true => None,
            false => Some(CaptureMark {
                offset: take(from)?,
                records: take(from)?,
                packets: take(from)?,
                format: format?,
                header: take_bytes(from)?.to_vec(),
            }),
        };
        let (offset, first) = start.as_ref().map_or((0, 0), |mark| (mark.offset, mark.packets));
        let is_right = offset <= end && packets.is_none_or(|all| first <= all) && from.is_empty();
        is_right.then_some(Self { path, format, identity, start, end, packets })
    }
}
