//! What recovery is told, whatever feed it comes from.

use crate::book::{BookUpdate, Level, Side};

/// SecurityID: names an instrument of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstrumentId(pub u64);

/// One update of one book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incremental {
    /// Whose book.
    pub instrument: InstrumentId,
    /// Sequence number of the packet or message the update came in.
    pub seq_num: u64,
    /// The instrument's own count of updates, where the feed has one.
    pub rpt_seq: Option<u64>,
    /// What changes.
    pub update: BookUpdate,
}

/// One level of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLevel {
    /// Which side.
    pub side: Side,
    /// MDPriceLevel, from 1; `None` where the feed orders levels by price alone.
    pub level: Option<u32>,
    /// What stands there.
    pub content: Level,
}

/// A whole book at one moment of the incremental feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot<'a> {
    /// Whose book.
    pub instrument: InstrumentId,
    /// LastMsgSeqNumProcessed: the last number of the incremental feed the snapshot includes.
    pub last_seq_num: u64,
    /// The instrument's last update that the snapshot includes, where the feed counts them.
    pub rpt_seq: Option<u64>,
    /// All levels, each side best first.
    pub levels: &'a [SnapshotLevel],
}
