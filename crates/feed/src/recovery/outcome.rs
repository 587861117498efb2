//! Results of inputs, and the reasons why a book is stale.

use std::error::Error;
use std::fmt;

use crate::book::BookFault;
use crate::market::{BookKind, Instrument};

/// Reason why a book is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StaleReason {
    /// No snapshot has arrived yet.
    NoSnapshot,
    /// Packets were lost, and nothing since has shown that none of them affected this book.
    Gap,
    /// Updates of this instrument were lost.
    RptSeqGap {
        /// The expected RptSeq.
        expected: u64,
        /// The RptSeq that arrived.
        found: u64,
    },
    /// RptSeq went back: the exchange restarted its count without an announcement.
    RptSeqBack {
        /// The last RptSeq in the book.
        last: u64,
        /// The RptSeq that arrived.
        found: u64,
    },
    /// An update arrived without RptSeq, which [`Continuity::RptSeq`](super::Continuity::RptSeq)
    /// requires.
    NoRptSeq,
    /// An update did not fit the book.
    Fault(BookFault),
    /// A check after a message found the book inconsistent.
    Inconsistent(BookFault),
    /// The exchange began a new session.
    Reset,
    /// The only snapshot so far is ahead of the lines.
    Ahead,
    /// No line has sent anything for longer than the feed is ever silent.
    Silence,
    /// A snapshot differs from the book, and may belong to the next session.
    Contradicted,
    /// All arriving packets have unexpected sequence numbers; none is next in order.
    OutOfSequence,
    /// The exchange's transaction that changed the book has not ended.
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

    /// Returns the code of this reason in [`Recovery::state_codes`](super::Recovery::state_codes).
    pub(super) const fn code(self) -> u8 {
        self.index() as u8 + 1
    }

    /// Returns the index of this reason's label in [`LABELS`](Self::LABELS).
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

    /// Returns one word for metrics.
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
    /// The book was fresh and still is.
    Applied,
    /// This update made a stale book fresh: it follows the last known update, or sets the last
    /// unknown level.
    Recovered,
    /// The book is stale; the update waits for a snapshot.
    Held(StaleReason),
    /// The book already included it.
    Old,
}

/// Result of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotOutcome {
    /// The fresh book was at the same update and had the same levels.
    Verified,
    /// The fresh book was at the same update and differed; the snapshot has replaced it.
    Mismatch,
    /// The book is fresh but at another update, so they cannot be compared.
    NotNeeded,
    /// The stale book is now fresh.
    Recovered,
    /// The snapshot replaced the book, but more is missing.
    Loaded(StaleReason),
    /// The snapshot precedes the missing updates, or updates after it were dropped.
    TooOld,
    /// The snapshot is ahead of the lines, by number or by SendingTime. It is kept for a while, in
    /// case they reach it.
    Ahead,
    /// After a reset, nothing shows that the snapshot belongs to the new session.
    OldSession,
    /// More messages of this snapshot follow.
    Partial,
    /// A message of this snapshot was lost.
    Incomplete,
    /// The levels of the snapshot do not form a valid book.
    Faulty(BookFault),
    /// The snapshot has no RptSeq, but updates are counted by RptSeq.
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

/// A book whose levels or state changed with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookChange {
    /// Instrument of the book.
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
    /// Updates applied to books, at once or after they were held.
    pub applied: u64,
    /// Updates that were held.
    pub held: u64,
    /// Updates dropped because too many were held.
    pub dropped: u64,
    /// Updates that were already in the book.
    pub old: u64,
    /// Updates of replayed packets that were applied; they are included in `applied`.
    pub replayed: u64,
    /// Number of times a new instrument was refused because of the limit.
    pub too_many_instruments: u64,
    /// Gaps reported.
    pub gaps: u64,
    /// Books that became stale by a fault or a gap in RptSeq.
    pub broken: u64,
    /// Books that became stale because a check found them inconsistent.
    pub inconsistent: u64,
    /// Books that became fresh.
    pub recovered: u64,
    /// Books that a snapshot made fresh, when it arrived or after it had waited for the lines; they are included in
    /// `recovered`.
    pub recovered_by_snapshot: u64,
    /// Snapshots equal to the fresh book at the same update.
    pub verified: u64,
    /// Snapshots that differed from the fresh book at the same update.
    pub mismatches: u64,
    /// Snapshots whose levels do not form a valid book.
    pub faulty_snapshots: u64,
    /// Snapshots refused after a reset because they may belong to the previous session.
    pub old_session_snapshots: u64,
    /// Snapshots that were ahead of the lines by number when they arrived.
    pub ahead_snapshots: u64,
    /// Snapshots with a lost message.
    pub incomplete_snapshots: u64,
}
