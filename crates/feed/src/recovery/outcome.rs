//! What became of an input, and why a book may not be believed.

use std::error::Error;
use std::fmt;

use crate::book::BookFault;

/// Why a book is not to be believed at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StaleReason {
    /// No snapshot has come yet.
    NoSnapshot,
    /// Packets were lost, and nothing has shown since that none of them was about this book.
    Gap,
    /// Updates of this instrument were lost.
    RptSeqGap {
        /// The RptSeq that should have come.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// An update came without the RptSeq that [`Continuity::RptSeq`](super::Continuity::RptSeq)
    /// counts on.
    NoRptSeq,
    /// An update did not fit the book.
    Fault(BookFault),
    /// The exchange began its numbering anew.
    Reset,
}

impl fmt::Display for StaleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSnapshot => f.write_str("no snapshot has come yet"),
            Self::Gap => f.write_str("packets were lost"),
            Self::RptSeqGap { expected, found } => {
                write!(f, "updates were lost: RptSeq {expected} expected, {found} came")
            }
            Self::NoRptSeq => f.write_str("an update has no RptSeq"),
            Self::Fault(fault) => write!(f, "an update did not fit: {fault}"),
            Self::Reset => f.write_str("the exchange began its numbering anew"),
        }
    }
}

impl Error for StaleReason {}

/// What became of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncrementalOutcome {
    /// The book was fresh, and is.
    Applied,
    /// This update made a stale book fresh: it followed what was there, or named the last level
    /// that was unknown.
    Recovered,
    /// The book is stale; the update waits for a snapshot.
    Held(StaleReason),
    /// The book included it already.
    Old,
    /// There are as many instruments as there may be.
    TooManyInstruments,
}

/// What became of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotOutcome {
    /// The fresh book stood at the same update and had the same levels.
    Verified,
    /// The fresh book stood at the same update and was wrong; it is now the snapshot.
    Mismatch,
    /// The book is fresh but stands at another update: nothing to compare.
    NotNeeded,
    /// The stale book is now fresh.
    Recovered,
    /// The snapshot was taken, but more is missing.
    Loaded(StaleReason),
    /// The snapshot is from before what is missing, or updates after it are gone; also where it shows
    /// that the book was made by a snapshot of another numbering.
    TooOld,
    /// The snapshot itself is not a book.
    Faulty(BookFault),
    /// The snapshot has no RptSeq where instruments are counted by it.
    NoRptSeq,
    /// There are as many instruments as there may be.
    TooManyInstruments,
}

/// What a recovery did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounters {
    /// Updates applied to books, from the wire or after having been held.
    pub applied: u64,
    /// Updates that waited.
    pub held: u64,
    /// Updates dropped because too many waited.
    pub dropped: u64,
    /// Updates that books included already.
    pub old: u64,
    /// Updates and snapshots of instruments above the limit.
    pub too_many_instruments: u64,
    /// Gaps told.
    pub gaps: u64,
    /// Books that became stale by a fault or a hole in their own numbers.
    pub broken: u64,
    /// Books that became fresh.
    pub recovered: u64,
    /// Snapshots equal to the fresh book they were compared with.
    pub verified: u64,
    /// Snapshots that showed a fresh book to be wrong.
    pub mismatches: u64,
    /// Snapshots that are not a book.
    pub faulty_snapshots: u64,
}
