//! Options of an [`Arbiter`](super::Arbiter): waiting times, and limits of what it holds.

/// Handling of sequence numbers that do not fit the current epoch: too far ahead, or back to
/// numbers that the line has already sent with other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnexpectedPolicy {
    /// Counts unexpected packets and drops them. Only [`Arbiter::reset`](super::Arbiter::reset)
    /// begins an epoch.
    Drop,
    /// Follows unexpected numbers once a line has sent this many in a row, each above the previous,
    /// with no packet of the current epoch in between; 0 and 1 follow the first. Numbers ahead then
    /// mean a gap, numbers that go back begin an epoch. The packets of the run are kept and
    /// delivered then.
    ///
    /// A line that has not agreed with the other is not followed while the other line is alive.
    Follow {
        /// Consecutive packets before they are followed.
        packets_min: u32,
    },
}

/// Options of an arbiter: its waiting times, the packets it holds, and the lines it trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterOptions {
    /// Configured lines, A and B. The arbiter does not wait for a line that is not configured.
    /// Default both.
    pub lines: [bool; 2],
    /// How long to wait for a missing number after the first later packet has arrived, in nanoseconds.
    ///
    /// A longer time recovers more from the slower line; a shorter one delays less. The wait
    /// restarts while the line of the later packet sends lower numbers one after another, with
    /// pauses of up to `skew_ns`; then it is at least 10 us. Default 2 ms.
    pub hold_ns: u64,
    /// How long to wait, in nanoseconds, when only one line can send the missing number, because
    /// the other is not configured, silent or excluded. The packet can then only be out of order.
    /// At most `hold_ns`. Default 200 us, a few packets in a burst.
    pub reorder_ns: u64,
    /// How far a number may be below the highest of its line and still count as out of order. A
    /// number further back is a restart. Default 64; 1024 on feeds that number messages.
    pub reorder_max: u64,
    /// Silence in nanoseconds after which a line counts as silent. Default 60 s, longer than the
    /// heartbeat intervals of the known feeds.
    pub silent_after_ns: u64,
    /// How far one line may be behind the other when an epoch begins, in nanoseconds. Late packets
    /// of past epochs are recognised for that long. At most 4 past epochs are remembered, each with
    /// its own history. Default 1 s.
    ///
    /// Packets are distinguished from those of another epoch by number and hash as far as `behind_max` reaches
    /// back, and by the order of numbers on their line beyond that.
    pub skew_ns: u64,
    /// Longest distance from the next sequence number to that of a held packet. It is also the maximum
    /// number of held packets of this epoch, and of the next epoch. A packet further ahead ends the
    /// wait for the oldest missing numbers. With 0 the arbiter never waits. Default 1024, at most
    /// 16,777,216.
    pub packets_held_max: usize,
    /// Longest packet in bytes; a longer one is counted and dropped. Default 9216, a jumbo frame.
    pub packet_bytes_max: usize,
    /// Numbers at least this far above every accepted one are unexpected, so that a wrong number far
    /// ahead does not end a wait. Never less than `packets_held_max`. Default 1024.
    pub ahead_max: u64,
    /// Number of sequence numbers remembered with the hash of their packet, to recognise copies, late
    /// packets and packets of another epoch. Each takes 16 bytes. Default 65,536 (1 MiB), at most
    /// 67,108,864.
    pub behind_max: usize,
    /// Handling of unexpected numbers. Default: follow them after three packets.
    pub unexpected: UnexpectedPolicy,
    /// A line is excluded while this many of its last 16 copies differ from the other line's; 0 counts
    /// as 1. Default 3.
    pub differing_max: u32,
    /// The first sequence number, if known. With `None`, the first packet that arrives gives it.
    pub first_seq_num: Option<u64>,
}

impl Default for ArbiterOptions {
    fn default() -> Self {
        Self {
            lines: [true; 2],
            hold_ns: 2_000_000,
            reorder_ns: 200_000,
            reorder_max: 64,
            silent_after_ns: 60_000_000_000,
            skew_ns: 1_000_000_000,
            packets_held_max: 1024,
            packet_bytes_max: 9216,
            ahead_max: 1024,
            behind_max: 1 << 16,
            unexpected: UnexpectedPolicy::Follow { packets_min: 3 },
            differing_max: 3,
            first_seq_num: None,
        }
    }
}

impl ArbiterOptions {
    /// Returns options for feeds that number messages. A packet has many numbers, so more of them
    /// are held and remembered (4 MiB). As with the defaults, a single number beyond the held range
    /// does not end a wait.
    pub fn for_messages() -> Self {
        Self { packets_held_max: 8192, behind_max: 1 << 18, reorder_max: 1024, ..Self::default() }
    }
}
