//! Detects lines that stay behind the snapshots for too long.

use super::Recovery;

/// Delay of the lines, as snapshots show it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Behind {
    /// The number that the lines have to reach, because a snapshot includes all before it, and the
    /// deadline for it.
    awaited: Option<(u64, u64)>,
    /// True if the deadline has passed: the lines may be down, and every book may lack updates.
    pub(super) is_over: bool,
}

impl Recovery {
    /// Records that a snapshot includes numbers below `end` that the lines have not sent.
    pub(super) fn note_ahead(&mut self, end: u64) {
        let due_ns = self.now_ns.saturating_add(self.options.skew_ns);
        self.behind.awaited.get_or_insert((end, due_ns));
    }

    /// Returns the next sequence number of the lines, and the one that they have to reach because a
    /// snapshot includes all before it; `None` if no snapshot is ahead of the lines.
    pub fn awaited(&self) -> Option<(u64, u64)> {
        self.behind.awaited.map(|(end, _)| (self.sessions.position(), end))
    }

    /// Records that the lines are not behind: they reached the number, or a later snapshot is not
    /// ahead of them, which means that the earlier one had an invalid number.
    pub(super) fn note_caught_up(&mut self) {
        if std::mem::take(&mut self.behind).is_over {
            self.touch_all();
        }
    }

    /// Ends the wait for the lines if they have reached it.
    pub(super) fn note_position(&mut self) {
        let position = self.sessions.position();
        if self.behind.awaited.is_some_and(|(end, _)| position >= end) {
            self.note_caught_up();
        }
    }

    /// Returns the time by which the lines must have reached a snapshot.
    pub(super) fn behind_due_ns(&self) -> Option<u64> {
        let (_, due_ns) = self.behind.awaited?;
        Some(due_ns).filter(|_| !self.behind.is_over)
    }

    /// Marks every book stale if the lines do not reach the snapshot in time.
    pub(super) fn check_behind(&mut self) {
        if self.behind_due_ns().is_some_and(|due_ns| self.now_ns >= due_ns) {
            self.behind.is_over = true;
            self.touch_all();
        }
    }
}
