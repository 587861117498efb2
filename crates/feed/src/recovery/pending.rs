//! Snapshots that are ahead of what the lines have brought.

use crate::market::{Fragment, Instrument, Snapshot, SnapshotLevel};

/// Most levels of all snapshots that wait.
pub(super) const PENDING_LEVELS_MAX: usize = 1 << 20;

/// A snapshot that waits for the lines.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    instrument: Instrument,
    pub(super) last_seq_num: u64,
    rpt_seq: Option<u64>,
    depth: Option<u32>,
    /// When it is let go; `None` until the lines have brought anything.
    pub(super) deadline_ns: Option<u64>,
    levels: Vec<SnapshotLevel>,
}

impl Pending {
    pub(super) fn new(snapshot: &Snapshot<'_>, deadline_ns: Option<u64>) -> Self {
        let Snapshot { instrument, last_seq_num, rpt_seq, depth, levels, .. } = *snapshot;
        Self { instrument, last_seq_num, rpt_seq, depth, deadline_ns, levels: levels.to_vec() }
    }

    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            instrument: self.instrument,
            last_seq_num: self.last_seq_num,
            rpt_seq: self.rpt_seq,
            sending_time: None,
            seq_num: None,
            fragment: Fragment::Whole,
            depth: self.depth,
            levels: &self.levels,
        }
    }
}
