//! Snapshots that are ahead of the lines, by number or by SendingTime.

use crate::market::{Instrument, Snapshot, SnapshotFragment, SnapshotLevel};

/// Most levels of all waiting snapshots together.
pub(super) const PENDING_LEVELS_MAX: usize = 1 << 20;

/// A snapshot that waits for the lines.
#[derive(Clone, Debug)]
pub(super) struct PendingSnapshot {
    instrument: Instrument,
    pub(super) last_seq_num: u64,
    rpt_seq: Option<u64>,
    pub(super) sending_time: Option<u64>,
    depth: Option<u32>,
    /// End of the wait; `None` until the lines have sent anything.
    pub(super) deadline_ns: Option<u64>,
    /// True if the lines had not reached its numbers at the last check.
    pub(super) is_ahead: bool,
    /// True if a fresh book at the same update differed.
    pub(super) is_contradiction: bool,
    levels: Vec<SnapshotLevel>,
}

impl PendingSnapshot {
    pub(super) fn new(snapshot: &Snapshot<'_>, deadline_ns: Option<u64>) -> Self {
        let Snapshot { instrument, last_seq_num, rpt_seq, sending_time, depth, levels, .. } =
            *snapshot;
        let (levels, is_ahead, is_contradiction) = (levels.to_vec(), true, false);
        Self {
            instrument,
            last_seq_num,
            rpt_seq,
            sending_time,
            depth,
            deadline_ns,
            is_ahead,
            is_contradiction,
            levels,
        }
    }

    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            instrument: self.instrument,
            last_seq_num: self.last_seq_num,
            rpt_seq: self.rpt_seq,
            sending_time: self.sending_time,
            seq_num: None,
            fragment: SnapshotFragment::Whole,
            depth: self.depth,
            levels: &self.levels,
        }
    }
}
