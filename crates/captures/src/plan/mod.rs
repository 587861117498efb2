//! Splits captures into pieces that can be decoded independently, on several threads or machines.
//!
//! A capture is one [`CaptureSplit`] unless its packets are independent ([`stands_alone`]) and it is not
//! compressed. Then it is divided into several splits, between marks that a single pass over the
//! file finds. The pass reads every record without decoding; its marks are kept in an index beside
//! the capture.

mod bytes;
mod files;
mod index;
mod split;

pub use files::captures_of;
pub use index::INDEX_SUFFIX;
pub use split::{CaptureSplit, SplitReader};

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use index::CaptureIndex;
use tickwire_feed::capture::{CaptureError, CaptureFormat};
use tickwire_feed::framing::{Framing, FramingResetPolicy};

/// First bytes of a file that show whether it is the planned one.
const HEAD_BYTES: u64 = 64 << 10;

/// Options of splitting captures.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Format of the files; detected by default.
    pub format: Option<CaptureFormat>,
    /// True if files may be split, because packets are independent.
    pub cuts: bool,
    /// Least number of bytes of a split, except for the last one of a file.
    pub split_bytes: u64,
    /// Directory of indexes, if they are not kept beside the captures.
    pub index_directory: Option<PathBuf>,
}

/// Plan of one capture.
#[derive(Debug)]
pub struct CapturePlan {
    /// The splits, in the order of the capture; together they cover all of it.
    pub splits: Vec<CaptureSplit>,
    /// True if an index existed, so that the capture was not read.
    pub was_indexed: bool,
    /// Reason why the index could not be written; the next plan reads the capture again.
    pub not_kept: Option<PlanError>,
}

/// Error of planning a capture, or of keeping its index.
#[derive(Debug)]
pub struct PlanError {
    /// The file.
    pub path: PathBuf,
    /// The error.
    pub kind: PlanErrorKind,
}

/// Error of a file.
#[derive(Debug)]
pub enum PlanErrorKind {
    /// The file cannot be opened, listed, read or written.
    Io(io::Error),
    /// The file is not a capture.
    Capture(CaptureError),
    /// The file has changed since it was planned.
    Changed,
    /// The progress function ended the planning.
    Ended,
}

impl PlanError {
    fn new(path: &Path, kind: impl Into<PlanErrorKind>) -> Self {
        Self { path: path.to_owned(), kind: kind.into() }
    }
}

impl From<io::Error> for PlanErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<CaptureError> for PlanErrorKind {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.kind {
            PlanErrorKind::Io(error) => error.fmt(f),
            PlanErrorKind::Capture(error) => error.fmt(f),
            PlanErrorKind::Changed => {
                f.write_str("the file has changed since it was planned: plan it again")
            }
            PlanErrorKind::Ended => f.write_str("planning was ended"),
        }
    }
}

impl std::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            PlanErrorKind::Io(error) => Some(error),
            PlanErrorKind::Capture(error) => Some(error),
            PlanErrorKind::Changed | PlanErrorKind::Ended => None,
        }
    }
}

/// Returns true if no state persists from packet to packet, so that each can be decoded alone.
pub fn stands_alone(framing: &Framing) -> bool {
    let starts_empty =
        matches!(framing.reset_policy(), FramingResetPolicy::Packet | FramingResetPolicy::Message);
    starts_empty && framing.chunk_fields().is_none()
}

/// Identity of a file: its length, and a digest of its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    len: u64,
    head: u64,
}

impl FileIdentity {
    /// Computes the identity of an open file, and seeks back to its start.
    fn of(file: &mut File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let mut head = Vec::new();
        file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        file.rewind()?;
        Ok(Self { len, head: bytes::digest(&head) })
    }
}

/// Plans a capture. `progress` is called occasionally with the bytes read so far and the length of
/// the file; it returns whether to continue.
///
/// # Errors
/// [`PlanError`] if the file cannot be read or is not a capture. A capture that is truncated or
/// damaged in its middle is planned; decoding its last split reports the error.
pub fn plan(
    path: &Path,
    options: &PlanOptions,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<CapturePlan, PlanError> {
    let wrong = |why: io::Error| PlanError::new(path, why);
    let mut file = File::open(path).map_err(wrong)?;
    let identity = FileIdentity::of(&mut file).map_err(wrong)?;
    let whole = |was_indexed, not_kept| {
        let splits = vec![CaptureSplit::whole(path, identity, options.format)];
        CapturePlan { splits, was_indexed, not_kept }
    };
    if !options.cuts || identity.len <= options.split_bytes {
        return Ok(whole(false, None));
    }
    let modified = index::modified_ns(&file).map_err(wrong)?;
    let place = index::place(path, options.index_directory.as_deref());
    let step = options.split_bytes.clamp(1, index::STEP_BYTES_MAX);
    let known = CaptureIndex::read(&place).filter(|index| {
        index.is_of(identity, modified, options.format) && index.step_bytes <= step
    });
    let was_indexed = known.is_some();
    let (index, not_kept) = match known {
        Some(index) => (index, None),
        None => {
            let index =
                CaptureIndex::scan(file, path, identity, modified, options.format, step, progress)?;
            let kept = index.write(&place);
            (index, kept.err().map(|error| PlanError::new(&place, error)))
        }
    };
    let splits = index.splits(path, options.split_bytes);
    Ok(match splits.is_empty() {
        true => whole(was_indexed, not_kept),
        false => CapturePlan { splits, was_indexed, not_kept },
    })
}
