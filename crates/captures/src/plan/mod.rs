//! Captures in pieces that can be decoded apart, on several threads or machines.
//!
//! A capture is one [`Split`] unless its packets stand alone ([`stands_alone`]) and it is not compressed: then it is
//! several, between marks that one reading of the file finds. The reading goes through every record and decodes none;
//! what it finds is kept in an index beside the capture.

mod bytes;
mod files;
mod index;
mod split;

pub use files::captures_of;
pub use index::INDEX_SUFFIX;
pub use split::{Split, SplitReader};

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use index::Index;
use tickwire_feed::capture::{CaptureError, Format};
use tickwire_feed::framing::{Framing, ResetPolicy};

/// Bytes of a file that tell whether it is the one that was planned.
const HEAD_BYTES: u64 = 64 << 10;

/// How captures are cut.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Format of the files; found by default.
    pub format: Option<Format>,
    /// True if files may be split, because packets are independent.
    pub cuts: bool,
    /// Bytes that a split has at least, but for the last one of a file.
    pub split_bytes: u64,
    /// Directory of indexes, if they are not kept beside the captures.
    pub index_directory: Option<PathBuf>,
}

/// Plan of one capture.
#[derive(Debug)]
pub struct Planned {
    /// The splits, in the order of the capture; together they are all of it.
    pub splits: Vec<Split>,
    /// True if an index existed, so that the capture was not read.
    pub was_indexed: bool,
    /// Reason why the index could not be kept; the next plan reads the capture again.
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
    /// It cannot be opened, listed, read or written.
    Io(io::Error),
    /// It is no capture.
    Capture(CaptureError),
    /// It is not as it was when it was planned.
    Changed,
    /// Whoever watches the progress has ended it.
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

/// True if no state persists from packet to packet, so that each can be decoded alone.
pub fn stands_alone(framing: &Framing) -> bool {
    let starts_empty = matches!(framing.reset_policy(), ResetPolicy::Packet | ResetPolicy::Message);
    starts_empty && framing.chunk_fields().is_none()
}

/// Identity of a file: its length, and a digest of its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    len: u64,
    head: u64,
}

impl Identity {
    /// Computes the identity of an open file, and seeks back to its start.
    fn of(file: &mut File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let mut head = Vec::new();
        file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        file.rewind()?;
        Ok(Self { len, head: bytes::digest(&head) })
    }
}

/// Plans a capture. `progress` gets the bytes that were read and those of the file, now and then, and returns whether
/// to continue.
///
/// # Errors
/// [`PlanError`] where the file cannot be read or is no capture. A capture that is cut or broken in its middle is
/// planned: whoever decodes its last split meets the error.
pub fn plan(
    path: &Path,
    options: &PlanOptions,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Planned, PlanError> {
    let wrong = |why: io::Error| PlanError::new(path, why);
    let mut file = File::open(path).map_err(wrong)?;
    let identity = Identity::of(&mut file).map_err(wrong)?;
    let whole = |was_indexed, not_kept| {
        let splits = vec![Split::whole(path, identity, options.format)];
        Planned { splits, was_indexed, not_kept }
    };
    if !options.cuts || identity.len <= options.split_bytes {
        return Ok(whole(false, None));
    }
    let modified = index::modified_ns(&file).map_err(wrong)?;
    let place = index::place(path, options.index_directory.as_deref());
    let step = options.split_bytes.clamp(1, index::STEP_BYTES_MAX);
    let known = Index::read(&place).filter(|index| {
        index.is_of(identity, modified, options.format) && index.step_bytes <= step
    });
    let was_indexed = known.is_some();
    let (index, not_kept) = match known {
        Some(index) => (index, None),
        None => {
            let index =
                Index::scan(file, path, identity, modified, options.format, step, progress)?;
            let kept = index.write(&place);
            (index, kept.err().map(|error| PlanError::new(&place, error)))
        }
    };
    let splits = index.splits(path, options.split_bytes);
    Ok(match splits.is_empty() {
        true => whole(was_indexed, not_kept),
        false => Planned { splits, was_indexed, not_kept },
    })
}
