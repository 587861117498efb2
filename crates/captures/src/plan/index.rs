//! The index of a capture: marks in it, and the identity of its file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::bytes::{digest, push, push_bytes, take, take_bytes};
use super::{CaptureSplit, FileIdentity, PlanError, PlanErrorKind};
use tickwire_feed::capture::{CaptureFormat, CaptureMark, CaptureOptions, CaptureReader};

/// Suffix of an index, after the name of its capture.
pub const INDEX_SUFFIX: &str = ".tickwire-index";

/// Largest distance between adjacent marks, in bytes.
pub(super) const STEP_BYTES_MAX: u64 = 1 << 20;

/// First bytes of an index, with the version of its layout.
const MAGIC: &[u8; 8] = b"TWINDEX1";

/// Bytes between two calls of the progress function.
const PROGRESS_BYTES: u64 = 16 << 20;

/// Marks in a capture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaptureIndex {
    identity: FileIdentity,
    /// Time of the file's last change, nanoseconds since 1970-01-01 UTC.
    modified_ns: u64,
    /// The format that the caller named, if any.
    format: Option<CaptureFormat>,
    /// Smallest distance between adjacent marks, in bytes.
    pub(super) step_bytes: u64,
    /// Marks in the order of the file.
    marks: Vec<CaptureMark>,
    /// Packets of the capture.
    packets: u64,
}

pub(super) fn modified_ns(file: &File) -> io::Result<u64> {
    let modified = file.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns the path of the index of a capture. In a directory for the indexes of many captures, its
/// name includes the capture's directory.
pub(super) fn place(path: &Path, directory: Option<&Path>) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(INDEX_SUFFIX);
    let Some(directory) = directory else { return path.with_file_name(name) };
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let parent = whole.parent().unwrap_or(&whole).as_os_str().as_encoded_bytes();
    let mut file_name = std::ffi::OsString::from(format!("{:016x}-", digest(parent)));
    file_name.push(name);
    directory.join(file_name)
}

impl CaptureIndex {
    /// Reads a capture and marks it. The marks end at the first error; the last split contains the
    /// rest.
    pub(super) fn scan(
        file: File,
        path: &Path,
        identity: FileIdentity,
        modified_ns: u64,
        format: Option<CaptureFormat>,
        step_bytes: u64,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, PlanError> {
        let mut options = CaptureOptions::new().file_name(path.to_string_lossy());
        if let Some(format) = format {
            options = options.format(format);
        }
        let reader = CaptureReader::open(file, options);
        let mut reader = reader.map_err(|error| PlanError::new(path, error))?;
        let mut marks: Vec<CaptureMark> = Vec::new();
        let (mut next, mut report) = (step_bytes, PROGRESS_BYTES);
        // Compressed files and raw streams cannot be marked.
        let can_be_cut = reader.compression().is_none() && reader.format() != CaptureFormat::Raw;
        while can_be_cut && let Ok(Some(_)) = reader.next_packet() {
            let position = reader.position();
            if position >= next
                && let Some(mark) = reader.mark().filter(|mark| mark.offset < identity.len)
            {
                marks.push(mark);
                next = position + step_bytes;
            }
            if position >= report {
                if !progress(position, identity.len) {
                    return Err(PlanError::new(path, PlanErrorKind::Ended));
                }
                report = position + PROGRESS_BYTES;
            }
        }
        let packets = reader.statistics().packets;
        Ok(Self { identity, modified_ns, format, step_bytes, marks, packets })
    }

    pub(super) fn is_of(
        &self,
        identity: FileIdentity,
        modified_ns: u64,
        format: Option<CaptureFormat>,
    ) -> bool {
        (self.identity, self.modified_ns, self.format) == (identity, modified_ns, format)
    }

    /// Returns splits of at least this many bytes, except for the last; none if there are no marks.
    pub(super) fn splits(&self, path: &Path, split_bytes: u64) -> Vec<CaptureSplit> {
        let (mut splits, mut start): (Vec<CaptureSplit>, Option<CaptureMark>) = (Vec::new(), None);
        for mark in &self.marks {
            if mark.offset - start.as_ref().map_or(0, |start| start.offset) < split_bytes {
                continue;
            }
            let end = (mark.offset, mark.packets);
            splits.push(CaptureSplit::between(path, self.identity, mark.format, start, end));
            start = Some(mark.clone());
        }
        if let Some(mark) = start {
            let (format, end) = (mark.format, (self.identity.len, self.packets));
            splits.push(CaptureSplit::between(path, self.identity, format, Some(mark), end));
        }
        splits
    }

    /// Reads an index; `None` if it is missing or incomplete.
    pub(super) fn read(place: &Path) -> Option<Self> {
        let bytes = fs::read(place).ok()?;
        let (bytes, sum) = bytes.split_last_chunk::<8>()?;
        let mut from = bytes.strip_prefix(MAGIC)?;
        if digest(bytes) != u64::from_le_bytes(*sum) {
            return None;
        }
        let from = &mut from;
        let identity = FileIdentity { len: take(from)?, head: take(from)? };
        let [modified_ns, step_bytes, packets] = [take(from)?, take(from)?, take(from)?];
        let format = format_of(take_bytes(from)?)?;
        let mut marks: Vec<CaptureMark> = Vec::new();
        while !from.is_empty() {
            let (offset, records, packets) = match marks.last() {
                Some(mark) => (mark.offset, mark.records, mark.packets),
                None => (0, 0, 0),
            };
            let offset = offset.checked_add(take(from)?)?;
            let records = records.checked_add(take(from)?)?;
            let packets = packets.checked_add(take(from)?)?;
            let (format, header) = match take(from)? {
                0 => (marks.last()?.format, marks.last()?.header.clone()),
                _ => (format_of(take_bytes(from)?)??, take_bytes(from)?.to_vec()),
            };
            marks.push(CaptureMark { offset, records, packets, format, header });
        }
        Some(Self { identity, modified_ns, format, step_bytes, marks, packets })
    }

    /// Writes the index; it appears under its name only when complete.
    pub(super) fn write(&self, place: &Path) -> io::Result<()> {
        let mut out = MAGIC.to_vec();
        let Self { identity, modified_ns, format, step_bytes, marks, packets } = self;
        for number in [identity.len, identity.head, *modified_ns, *step_bytes, *packets] {
            push(&mut out, number);
        }
        push_bytes(&mut out, format.map_or("", CaptureFormat::name).as_bytes());
        let mut before: Option<&CaptureMark> = None;
        for mark in marks {
            let (offset, records, packets) = match before {
                Some(mark) => (mark.offset, mark.records, mark.packets),
                None => (0, 0, 0),
            };
            push(&mut out, mark.offset - offset);
            push(&mut out, mark.records - records);
            push(&mut out, mark.packets - packets);
            let is_same =
                before.is_some_and(|b| (b.format, &b.header) == (mark.format, &mark.header));
            push(&mut out, u64::from(!is_same));
            if !is_same {
                push_bytes(&mut out, mark.format.name().as_bytes());
                push_bytes(&mut out, &mark.header);
            }
            before = Some(mark);
        }
        out.extend_from_slice(&digest(&out).to_le_bytes());
        let mut partial = place.as_os_str().to_owned();
        partial.push(format!(".{}.partial", std::process::id()));
        fs::write(&partial, &out).and_then(|()| fs::rename(&partial, place)).inspect_err(|_| {
            // A leftover file does no harm.
            let _ = fs::remove_file(&partial);
        })
    }
}

/// Parses a format: the outer `None` for an unknown name, the inner one for no format.
fn format_of(name: &[u8]) -> Option<Option<CaptureFormat>> {
    match name {
        b"" => Some(None),
        name => std::str::from_utf8(name).ok()?.parse().ok().map(Some),
    }
}
