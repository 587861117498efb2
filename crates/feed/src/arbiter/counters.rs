//! What an arbiter counts.

/// What one line brought. `received` is the sum of `won`, `duplicate`, `substitute`, `late`,
/// `foreign`, `too_long` and `not_polled`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounters {
    /// Packets handed in.
    pub received: u64,
    /// Packets that were the first with their number and in time.
    pub won: u64,
    /// Packets whose number had already come, on this line or the other.
    pub duplicate: u64,
    /// Packets taken because the one with their number that won was rejected; see
    /// [`Arbiter::reject`](super::Arbiter::reject).
    pub substitute: u64,
    /// Packets whose number had been declared a gap, or lies before the first one.
    pub late: u64,
    /// Packets too far from the number waited for; see [`ForeignPolicy`](super::ForeignPolicy).
    pub foreign: u64,
    /// Packets longer than the limit.
    pub too_long: u64,
    /// Packets dropped because the output before them was not polled.
    pub not_polled: u64,
    /// Packets, of whatever fate, below the highest number this line had brought.
    pub out_of_order: u64,
    /// The furthest that such a packet was below the highest.
    pub out_of_order_by_max: u64,
    /// Numbers delivered or declared a gap that this line has not brought. Falls again when the
    /// line brings one of the last `behind_max` of them.
    pub lost: u64,
}

/// What the arbiter did with both lines together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArbiterCounters {
    /// Packets delivered, those with one number counted once.
    pub delivered: u64,
    /// Gaps declared.
    pub gaps: u64,
    /// Sequence numbers in those gaps.
    pub gap_seq_nums: u64,
    /// Changes of the numbering.
    pub resets: u64,
    /// Most packets held at the same time.
    pub held_peak: usize,
}
