//! The two lines and the state of each.

use std::fmt;

use super::handover::{Pauses, SingleLineRun};
use super::place::Stand;
use super::unexpected::UnexpectedRun;

/// One of the two multicast lines of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// The first line.
    A,
    /// The second line.
    B,
}

impl Line {
    /// Both lines.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The other line.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// 0 for A, 1 for B.
    pub const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

/// Reason why one of two differing lines is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExclusionReason {
    /// It skipped numbers that the other line sent, before their copies differed.
    LeavesOut,
    /// The other line delivered first in this epoch. It is unknown which of the two is wrong.
    Second,
    /// Its packets cannot be decoded.
    Undecodable,
}

impl ExclusionReason {
    /// Returns a name for events.
    pub const fn label(self) -> &'static str {
        match self {
            Self::LeavesOut => "leaves_out",
            Self::Second => "second",
            Self::Undecodable => "undecodable",
        }
    }
}

/// A change in the trust of a line, or the beginning or end of its silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEvent {
    /// The lines sent different packets with one number, and this line is considered wrong.
    Differing {
        /// The line.
        line: Line,
        /// The number.
        seq_num: u64,
    },
    /// Too many copies of this line differ. Packets that only this line sends are no longer
    /// delivered.
    Excluded {
        /// The line.
        line: Line,
        /// Why this line and not the other one.
        reason: ExclusionReason,
    },
    /// The copies of a line that was excluded agree again.
    Resumed {
        /// The line.
        line: Line,
    },
    /// A line has sent nothing for twice
    /// [`silent_after_ns`](super::ArbiterOptions::silent_after_ns), while the other line has sent
    /// packets. If both were silent, the time counts once from the first packet of the other line.
    /// Packets that are missing on the other line are no longer waited for.
    Silent {
        /// The line.
        line: Line,
        /// Arrival time of its last packet; `None` if it has sent nothing.
        since_ns: Option<u64>,
        /// Time of this report.
        at_ns: u64,
    },
    /// A line that was reported as silent has sent a packet again.
    Heard {
        /// The line.
        line: Line,
        /// Arrival time of the packet.
        at_ns: u64,
    },
}

impl fmt::Display for LineEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differing { line, seq_num } => {
                write!(f, "line {line:?}: packet {seq_num} differs from the other line's")
            }
            Self::Excluded { line, reason } => {
                let reason = match reason {
                    ExclusionReason::LeavesOut => "it skipped packets that the other line had",
                    ExclusionReason::Second => {
                        "the other line delivered first; it is unknown which of them is wrong"
                    }
                    ExclusionReason::Undecodable => "its packets cannot be decoded",
                };
                write!(
                    f,
                    "line {line:?} is excluded because its packets differ from the other line's: {reason}"
                )
            }
            Self::Resumed { line } => write!(f, "line {line:?} agrees with the other line again"),
            Self::Silent { line, since_ns: Some(_), .. } => write!(
                f,
                "line {line:?} is silent: packets missing on the other line are not waited for"
            ),
            Self::Silent { line, since_ns: None, .. } => write!(
                f,
                "line {line:?} has sent nothing since the other line began: is its address right?"
            ),
            Self::Heard { line, .. } => write!(f, "line {line:?} sends again"),
        }
    }
}

/// Trust in a line: decides whether packets that only this line has are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineTrust {
    /// It agrees with the other line, or was the first.
    Trusted,
    /// None of its packets has been compared yet.
    Unproven,
    /// Its copies differ: excluded.
    Doubtful,
}

/// Number of latest copies that decide whether a line is excluded.
const COPIES: u32 = 16;

/// A number below the highest one of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    pub(super) seq_num: u64,
    pub(super) at_ns: u64,
    /// Consecutive numbers up to this one.
    pub(super) in_a_row: u32,
}

/// Position of a line and its agreement with the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArbitratedLine {
    /// The epoch whose packets it sends: the current one of the [`Arbiter`](super::Arbiter) or a
    /// past one.
    pub(super) epoch: u64,
    /// When it entered that epoch.
    pub(super) entered_ns: u64,
    /// The last number below the highest one that it sent for the first time.
    pub(super) below: Option<Below>,
    /// The highest number it has sent in that epoch.
    pub(super) highest: Option<u64>,
    /// True if it was the first line, or one of its packets was equal to a trusted line's.
    pub(super) is_trusted: bool,
    /// The last copies, one bit each, the latest lowest: 1 for a copy that differed.
    differing: u32,
    /// True if it was reported as excluded.
    pub(super) is_excluded: bool,
    /// Arrival time of its last packet.
    pub(super) last_received_ns: Option<u64>,
    /// Arrival time of its first packet after a pause of at least `silent_after_ns`.
    pub(super) resumed_ns: u64,
    /// True if it was reported as silent and has sent nothing since.
    pub(super) is_silent: bool,
    /// Packets in a row that it had sent before, more than `reorder_max` numbers ago.
    pub(super) repeats: u32,
    pub(super) pauses: Pauses,
    /// Its packets since the other line's last one, if the lines were never compared.
    pub(super) alone: Option<SingleLineRun>,
    /// Unexpected numbers that may begin an epoch.
    pub(super) run: Option<UnexpectedRun>,
    /// True if it has left the current epoch and the next one has not begun; its packets are
    /// pending.
    pub(super) has_left: bool,
    /// Time at which it was known to have left.
    pub(super) left_ns: u64,
    /// First number of the epoch that it has moved to, if a packet announced it.
    pub(super) announced_first: Option<u64>,
}

impl ArbitratedLine {
    /// Records a comparison; returns the number of differing copies among the last 16.
    pub(super) fn note_copy(&mut self, is_differing: bool) -> u32 {
        self.differing = (self.differing << 1 | u32::from(is_differing)) & ((1 << COPIES) - 1);
        self.differing.count_ones()
    }

    pub(super) fn differing(&self) -> u32 {
        self.differing.count_ones()
    }

    pub(super) fn standing(&self, differing_max: u32) -> LineTrust {
        // Most lines never differ; then there are no bits to count.
        if self.differing == 0 {
            return if self.is_trusted { LineTrust::Trusted } else { LineTrust::Unproven };
        }
        let differing = self.differing();
        if differing >= differing_max.max(1) {
            LineTrust::Doubtful
        } else if self.is_trusted {
            LineTrust::Trusted
        } else {
            LineTrust::Doubtful
        }
    }

    /// Records a number that the line sends for the first time. Call it before
    /// [`note_highest`](Self::note_highest).
    pub(super) fn note_below(&mut self, seq_num: u64, at_ns: u64) {
        if self.highest.is_some_and(|highest| seq_num < highest) {
            let row = self.below.filter(|below| below.seq_num.checked_add(1) == Some(seq_num));
            let in_a_row = row.map_or(1, |below| below.in_a_row.saturating_add(1));
            self.below = Some(Below { seq_num, at_ns, in_a_row });
        }
    }

    pub(super) fn note_highest(&mut self, seq_num: u64) {
        self.highest = Some(self.highest.map_or(seq_num, |highest| highest.max(seq_num)));
    }

    /// True if a number is above the highest one but not a leap.
    pub(super) fn is_followed_by(&self, seq_num: u64, reorder_max: u64) -> bool {
        self.highest.is_some_and(|highest| highest < seq_num && seq_num - highest <= reorder_max)
    }

    /// True if a number is the successor of the highest one.
    pub(super) fn is_at(&self, seq_num: u64) -> bool {
        self.highest.is_some_and(|highest| highest + 1 == seq_num)
    }

    /// True if a line is trusted, agrees and sends nothing unexpected. False outside the current
    /// epoch, and while past epochs are remembered.
    pub(super) fn is_plain(&self) -> bool {
        self.is_trusted
            && self.differing == 0
            && !self.has_left
            && self.run.is_none()
            && self.repeats == 0
    }

    pub(super) fn stand(&self) -> Stand {
        Stand { epoch: self.epoch, highest: self.highest }
    }

    /// Moves at `now_ns` to an epoch in which the line has not sent anything yet.
    pub(super) fn enter(&mut self, epoch: u64, now_ns: u64) {
        *self = Self {
            epoch,
            entered_ns: now_ns,
            highest: None,
            below: None,
            run: None,
            has_left: false,
            announced_first: None,
            ..*self
        };
    }
}
