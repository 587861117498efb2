//! Results of inputs, and the reasons why a book is stale.

use std::error::Error;
use std::fmt;

use crate::book::BookFault;
use crate::market::{BookKind, Instrument};

/// Why a book is not to be trusted at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StaleReason {
    /// No snapshot has arrived yet.
    NoSnapshot,
    /// Packets were lost, and nothing has shown since that none of them was about this book.
    Gap,
    /// Updates of this instrument were lost.
    RptSeqGap {
        /// The RptSeq that should have arrived.
        expected: u64,
        /// The one that arrived.
        found: u64,
    },
    /// RptSeq went back: the exchange counts anew, and nothing said so.
    RptSeqBack {
        /// The last RptSeq in the book.
        last: u64,
        /// The one that arrived.
        found: u64,
    },
    /// An update arrived without the RptSeq that [`Continuity::RptSeq`](super::Continuity::RptSeq)
    /// counts on.
    NoRptSeq,
    /// An update did not fit the book.
    Fault(BookFault),
    /// A check after a message found what a book cannot be.
    Inconsistent(BookFault),
    /// The exchange began a new session.
    Reset,
    /// The only snapshot so far is ahead of what the lines have sent.
    Ahead,
    /// Nothing has arrived on any line for longer than the feed is ever silent.
    Silence,
    /// A snapshot differs from the book, and may be of the next session.
    Contradicted,
    /// Packets come whose sequence numbers follow nothing, and none that is next in order.
    OutOfSequence,
    /// The exchange's transaction, which changed the book, has not ended.
    Unfinished,
}

impl StaleReason {
    /// All labels, in the order of [`index`](Self::index).
    pub const LABELS: [&'static str; 13] = [
        "no_snapshot",
        "gap",
        "rpt_seq_gap",
        "rpt_seq_back",
        "no_rpt_seq",
        "fault",
        "inconsistent",
        "reset",
        "ahead",
        "silence",
        "contradicted",
        "out_of_sequence",
        "unfinished",
    ];

    /// The place of this reason's label in [`LABELS`](Self::LABELS).
    pub const fn index(&self) -> usize {
        match self {
            Self::NoSnapshot => 0,
            Self::Gap => 1,
            Self::RptSeqGap { .. } => 2,
            Self::RptSeqBack { .. } => 3,
            Self::NoRptSeq => 4,
            Self::Fault(_) => 5,
            Self::Inconsistent(_) => 6,
            Self::Reset => 7,
            Self::Ahead => 8,
            Self::Silence => 9,
            Self::Contradicted => 10,
            Self::OutOfSequence => 11,
            Self::Unfinished => 12,
        }
    }

    /// One word for metrics.
    pub const fn label(&self) -> &'static str {
        Self::LABELS[self.index()]
    }
}

impl fmt::Display for StaleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSnapshot => f.write_str("no snapshot has arrived yet"),
            Self::Gap => f.write_str("packets were lost"),
            Self::RptSeqGap { expected, found } => {
                write!(f, "updates were lost: expected RptSeq {expected}, found {found}")
            }
            Self::RptSeqBack { last, found } => {
                write!(f, "RptSeq went back from {last} to {found}")
            }
            Self::NoRptSeq => f.write_str("an update has no RptSeq"),
            Self::Fault(fault) => write!(f, "an update did not fit: {fault}"),
            Self::Inconsistent(fault) => write!(f, "the book is inconsistent: {fault}"),
            Self::Reset => f.write_str("the exchange started a new session"),
            Self::Ahead => f.write_str("the snapshot is ahead of the lines"),
            Self::Silence => f.write_str("all lines have been silent for too long"),
            Self::Contradicted => f.write_str("a snapshot differs from the book"),
            Self::Unfinished => f.write_str("an update in several messages is incomplete"),
            Self::OutOfSequence => {
                f.write_str("sequence numbers do not continue those received before")
            }
        }
    }
}

impl Error for StaleReason {}

/// Result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// The book was fresh, and is.
    Applied,
    /// This update made a stale book fresh: it followed what was there, or named the last level
    /// that was unknown.
    Recovered,
    /// The book is stale; the update waits for a snapshot.
    Held(StaleReason),
    /// The book included it already.
    Old,
}

/// Result of a snapshot.
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
    /// The snapshot is from before what is missing, or updates after it are gone.
    TooOld,
    /// The snapshot is ahead of what the lines have sent, by number or by SendingTime. It is kept for a
    /// while, in case they come up with it.
    Ahead,
    /// After a reset, nothing shows that the snapshot is of the new session.
    OldSession,
    /// More messages of this snapshot are to come.
    Partial,
    /// A message of this snapshot was lost.
    Incomplete,
    /// The snapshot itself is not a book.
    Faulty(BookFault),
    /// The snapshot has no RptSeq where instruments are counted by it.
    NoRptSeq,
}

impl fmt::Display for SnapshotOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified => f.write_str("the book equals the snapshot"),
            Self::Mismatch => f.write_str("the book differed and was replaced by the snapshot"),
            Self::NotNeeded => f.write_str("the fresh book is at another update"),
            Self::Recovered => f.write_str("the stale book became fresh"),
            Self::Loaded(reason) => write!(f, "applied, but the book stays stale: {reason}"),
            Self::TooOld => f.write_str("older than the gap"),
            Self::Ahead => f.write_str("ahead of the lines"),
            Self::OldSession => f.write_str("it may belong to the old session"),
            Self::Partial => f.write_str("incomplete: more of its messages follow"),
            Self::Incomplete => f.write_str("one of its messages was lost"),
            Self::Faulty(fault) => write!(f, "not a valid book: {fault}"),
            Self::NoRptSeq => f.write_str("it has no RptSeq"),
        }
    }
}

/// A book that changed with a message, or whose state did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookChange {
    /// Whose book.
    pub instrument: Instrument,
    /// Kind of the book.
    pub kind: BookKind,
    /// `Ok` if it is fresh, else the reason why it is stale.
    pub state: Result<(), StaleReason>,
    /// True if it was fresh, or stale for another reason, in the last report.
    pub is_new_state: bool,
}

/// Counters of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounters {
    /// Updates applied to books, from the wire or after having been held.
    pub applied: u64,
    /// Updates that waited.
    pub held: u64,
    /// Updates dropped because too many waited.
    pub dropped: u64,
    /// Updates that were already in the book.
    pub old: u64,
    /// Updates of lost packets that were replayed and applied, counted in `applied` too.
    pub replayed: u64,
    /// Times an instrument was named beyond the limit.
    pub too_many_instruments: u64,
    /// Gaps reported.
    pub gaps: u64,
    /// Books that became stale by a fault or a hole in their own numbers.
    pub broken: u64,
    /// Books that became stale because a check found them inconsistent.
    pub inconsistent: u64,
    /// Books that became fresh.
    pub recovered: u64,
    /// Snapshots equal to the fresh book they were compared with.
    pub verified: u64,
    /// Snapshots that showed a fresh book to be wrong.
    pub mismatches: u64,
    /// Snapshots that are not a book.
    pub faulty_snapshots: u64,
    /// Snapshots refused after a reset because they may be of the session before.
    pub old_session_snapshots: u64,
    /// Snapshots that were ahead of the lines by number when they arrived.
    pub ahead_snapshots: u64,
    /// Snapshots with a lost message.
    pub incomplete_snapshots: u64,
}
