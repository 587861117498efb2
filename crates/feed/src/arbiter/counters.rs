//! Counters of an arbiter.

/// Packets of one line by result. `received` is the sum of `first`, `duplicate`, `replacement`,
/// `late`, `old_epoch`, `unexpected`, `excluded`, `too_long` and `not_polled`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounters {
    /// Packets handed in.
    pub received: u64,
    /// Packets that were the first with their number and in time.
    pub first: u64,
    /// Packets whose number had already arrived, on this line or the other.
    pub duplicate: u64,
    /// Packets taken because the first copy with their number was rejected; see
    /// [`Arbiter::reject`](super::Arbiter::reject).
    pub replacement: u64,
    /// Packets whose sequence number was already declared lost, lies before the first one, or is older than the
    /// numbers remembered.
    pub late: u64,
    /// Packets of an epoch before the current one: copies, and packets too late to be delivered.
    pub old_epoch: u64,
    /// Packets that do not fit the current epoch; see [`UnexpectedPolicy`](super::UnexpectedPolicy).
    pub unexpected: u64,
    /// Packets that only this line sent while it was excluded, or had not agreed with the other.
    pub excluded: u64,
    /// Packets that differ from the other line's, where this line is considered wrong. Each is also
    /// counted by its result, for example as a duplicate.
    pub differing: u64,
    /// Packets longer than [`ArbiterOptions::packet_bytes_max`](super::ArbiterOptions::packet_bytes_max).
    pub too_long: u64,
    /// Packets dropped because earlier output was not polled.
    pub not_polled: u64,
    /// Packets, whatever their result, below the highest number that this line had sent.
    pub out_of_order: u64,
    /// Largest distance of such a packet below the highest number.
    pub out_of_order_by_max: u64,
    /// Numbers delivered or declared a gap that this line has not sent. Decreases when the line
    /// sends one of the last `behind_max` of them.
    pub lost: u64,
}

/// Results of both lines together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArbiterCounters {
    /// Packets delivered; packets with the same number count once.
    pub delivered: u64,
    /// Gaps declared.
    pub gaps: u64,
    /// Sequence numbers in those gaps.
    pub gap_seq_nums: u64,
    /// Sequence resets.
    pub resets: u64,
    /// Most packets held at the same time.
    pub held_peak: usize,
}
