//! Options of a [`Recovery`](super::Recovery): how it detects missing updates, and limits of what
//! it holds.

/// How the feed numbers its updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// Every instrument counts its updates (RptSeq), and snapshots have the last RptSeq that they
    /// include. A lost packet then affects only the instruments whose updates it contained: all
    /// others prove to be complete with their next update. MOEX and CME.
    RptSeq,
    /// Only packets or messages are numbered, and snapshots have the last number that they include
    /// (LastMsgSeqNumProcessed). A lost packet affects every book of the channel.
    SeqNum,
}

/// Books of an instrument that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BookKinds {
    /// Outright books only; implied levels are dropped.
    #[default]
    Outright,
    /// Outright and implied books, kept separately;
    /// [`Recovery::consolidated`](super::Recovery::consolidated) adds them up.
    OutrightAndImplied,
}

/// Assumptions and limits of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryOptions {
    /// How the feed numbers its updates. Default [`Continuity::RptSeq`].
    pub continuity: Continuity,
    /// Levels per side that the feed publishes, from 1 to [`LEVELS_MAX`](crate::book::LEVELS_MAX).
    /// `None`, the default, learns the depth from MarketDepth (264) and definitions. If the depth
    /// is unknown, only levels that the exchange is known to publish are shown.
    pub depth: Option<u32>,
    /// Kinds of books. Default outright.
    pub kinds: BookKinds,
    /// If true, books are checked after each message: one that is unsorted, or crossed while the
    /// instrument trades continuously, becomes stale. Default on.
    pub checks: bool,
    /// True if the feed numbers packets or messages, so that a snapshot ahead of the line can be
    /// recognised. Default on.
    pub is_numbered: bool,
    /// True if books are empty before number 1. A feed without RptSeq that is received from its
    /// first number then needs no snapshot. Right for feeds of orders without snapshots; wrong if
    /// orders are carried over from the previous day. Default off.
    pub starts_empty: bool,
    /// True if books contain orders from before RptSeq 1 that were carried over from the previous
    /// day; a book then needs a snapshot. Otherwise RptSeq 1 starts an empty book. Default off.
    pub carries_over: bool,
    /// Maximum delay between lines and snapshots, in nanoseconds. For this long after a reset, a
    /// snapshot of the previous session may still arrive; for this long, a snapshot ahead of the
    /// lines is kept. A handler sets it to the value of its arbiter. Default 1 s.
    pub skew_ns: u64,
    /// Most instruments; updates of further ones are counted and dropped. Default 65,536.
    pub instruments_max: usize,
    /// Most updates held for one stale book; the oldest is dropped first. Default 1024.
    pub updates_held_max: usize,
    /// Most updates held for all stale books together. Default 262,144.
    pub updates_held_total_max: usize,
    /// True if a stale book becomes fresh without a snapshot once updates by position have set
    /// every level down to the depth of the feed on both sides. Right only if the feed sends each
    /// change of all these levels, as CME does. Needs a known depth, and outright books only.
    /// Default off.
    pub natural_refresh: bool,
}

impl Default for RecoveryOptions {
    fn default() -> Self {
        Self {
            continuity: Continuity::RptSeq,
            depth: None,
            kinds: BookKinds::Outright,
            checks: true,
            is_numbered: true,
            starts_empty: false,
            carries_over: false,
            skew_ns: 1_000_000_000,
            instruments_max: 65_536,
            updates_held_max: 1024,
            updates_held_total_max: 262_144,
            natural_refresh: false,
        }
    }
}
