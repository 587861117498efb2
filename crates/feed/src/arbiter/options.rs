//! How an [`Arbiter`](super::Arbiter) waits, and what it may hold.

/// What to do with sequence numbers that are too far from the one waited for to belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignPolicy {
    /// Count and drop them. Only [`Arbiter::reset`](super::Arbiter::reset) changes the numbering.
    Drop,
    /// Believe them once this many packets in a row carried numbers that rise from one another, with
    /// no packet of the old numbering delivered in between; 0 and 1 believe the first. Numbers that
    /// are ahead are then a gap, numbers that go back are a reset by the exchange.
    ///
    /// The packets before the one that convinced were dropped: their numbers become a gap unless
    /// the other line brings them within the hold time.
    Follow {
        /// Packets that must agree.
        packets_min: u32,
    },
}

/// How long an arbiter waits, what it holds and what it believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterOptions {
    /// How long to wait for a missing number after the first packet behind it came, in nanoseconds.
    ///
    /// Longer recovers more from the slower line; shorter delays less. Default 2 ms.
    pub hold_ns: u64,
    /// How many sequence numbers ahead of the one waited for are held; so also the most packets
    /// held. A packet further ahead gives up the oldest missing numbers. 0 waits for nothing.
    /// Default 1024.
    pub packets_held_max: usize,
    /// Longest packet in bytes; a longer one is counted and dropped. Default 9216, a jumbo frame.
    pub packet_bytes_max: usize,
    /// Numbers this far above every one accepted, or further, are foreign; never less than
    /// `packets_held_max`. Default 1024: a wrong number further off gives up nothing.
    pub ahead_max: u64,
    /// Numbers further behind than this are foreign; those nearer are remembered one by one, so
    /// that late packets are told from duplicates. Default 8192.
    ///
    /// A feed that restarts at 1 while fewer numbers than this were used looks like duplicates:
    /// choose a smaller value, or call [`Arbiter::reset`](super::Arbiter::reset).
    pub behind_max: usize,
    /// What foreign numbers do. Default: followed after three packets.
    pub foreign: ForeignPolicy,
    /// The first sequence number, if it is known; `None` begins with the first packet that comes.
    pub first_seq_num: Option<u64>,
}

impl Default for ArbiterOptions {
    fn default() -> Self {
        Self {
            hold_ns: 2_000_000,
            packets_held_max: 1024,
            packet_bytes_max: 9216,
            ahead_max: 1024,
            behind_max: 8192,
            foreign: ForeignPolicy::Follow { packets_min: 3 },
            first_seq_num: None,
        }
    }
}

impl ArbiterOptions {
    /// For feeds that number messages: a packet has many numbers, so more of them are held, and a line
    /// that falls behind by thousands is not another numbering. As ever, one number further ahead than
    /// what is held gives up nothing.
    pub fn for_messages() -> Self {
        Self { packets_held_max: 8192, behind_max: 1 << 18, ..Self::default() }
    }
}
