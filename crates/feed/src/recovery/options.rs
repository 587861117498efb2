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

/// What a recovery believes, and how much it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryOptions {
    /// How the feed numbers its updates. Default [`Continuity::RptSeq`].
    pub continuity: Continuity,
    /// Levels a side of books that [`add_instrument`](super::Recovery::add_instrument) did not
    /// name. Default 10.
    pub depth_max: u32,
    /// Most instruments; updates of further ones are counted and dropped. Default 65,536.
    pub instruments_max: usize,
    /// Most updates held for one stale book; the oldest goes first. Default 1024.
    pub updates_held_max: usize,
    /// Most updates held for all stale books together. Default 262,144.
    pub updates_held_total_max: usize,
    /// Whether a stale book may become fresh without a snapshot, once updates by position have
    /// named every level down to `depth_max` on both sides. Right only where the feed sends each
    /// change of every one of these levels, as CME does. Default off.
    pub natural_refresh: bool,
}

impl Default for RecoveryOptions {
    fn default() -> Self {
        Self {
            continuity: Continuity::RptSeq,
            depth_max: 10,
            instruments_max: 65_536,
            updates_held_max: 1024,
            updates_held_total_max: 262_144,
            natural_refresh: false,
        }
    }
}
