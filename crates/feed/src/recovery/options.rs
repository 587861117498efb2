//! How a [`Recovery`](super::Recovery) tells that nothing is missing, and what it may hold.

/// How the feed numbers its updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// Every instrument counts its updates (RptSeq), and snapshots say how far they go. A lost
    /// packet then harms only the instruments it held updates of: the others prove themselves with
    /// their next update. MOEX and CME.
    RptSeq,
    /// Only packets or messages are counted, and snapshots say the last number they include
    /// (LastMsgSeqNumProcessed). A lost packet harms every book of the channel.
    SeqNum,
}

/// Books of an instrument that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BookKinds {
    /// Outright books alone; implied levels are left out.
    #[default]
    Outright,
    /// Outright and implied books, each on its own;
    /// [`Recovery::consolidated`](super::Recovery::consolidated) adds them up.
    OutrightAndImplied,
}

/// Assumptions and limits of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryOptions {
    /// How the feed numbers its updates. Default [`Continuity::RptSeq`].
    pub continuity: Continuity,
    /// Levels a side that the feed publishes, from 1 to [`LEVELS_MAX`](crate::book::LEVELS_MAX).
    /// `None`, the default, learns them from MarketDepth (264) and definitions; where these say
    /// nothing, only levels that the exchange is known to publish are shown.
    pub depth: Option<u32>,
    /// Kinds of books. Default outright.
    pub kinds: BookKinds,
    /// If true, books are checked after each message: one that is unsorted, or crossed while the
    /// instrument trades continuously, becomes stale. Default on.
    pub checks: bool,
    /// True if the feed numbers packets or messages, so that a snapshot ahead of the line can be
    /// recognised. Default on.
    pub is_numbered: bool,
    /// True if books are empty before number 1. A feed that is received from its first number,
    /// without RptSeq, then needs no snapshot. Right for feeds of orders without snapshots; wrong
    /// if orders are carried over from the day before. Default off.
    pub starts_empty: bool,
    /// True if books contain orders from before RptSeq 1, which were carried over from the day
    /// before: a book then needs a snapshot. Otherwise RptSeq 1 starts an empty book. Default off.
    pub carries_over: bool,
    /// How far lines and snapshots may be behind one another, in nanoseconds: how long after a reset a
    /// snapshot of the session before may still arrive, and how long one that is ahead of the lines is
    /// kept. A handler sets it to that of its arbiter. Default 1 s.
    pub skew_ns: u64,
    /// Most instruments; updates of further ones are counted and dropped. Default 65,536.
    pub instruments_max: usize,
    /// Most updates held for one stale book; the oldest goes first. Default 1024.
    pub updates_held_max: usize,
    /// Most updates held for all stale books together. Default 262,144.
    pub updates_held_total_max: usize,
    /// True if a stale book becomes fresh without a snapshot once updates by position have set
    /// every level down to the depth of the feed on both sides. Right only if the feed sends each
    /// change of every one of these levels, as CME does. Needs a known depth and outright books
    /// only. Default off.
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
