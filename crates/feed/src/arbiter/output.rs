//! Output of an arbiter.

use tickwire_fast::BufferedPacket;

use super::Line;

/// Consecutive sequence numbers that no line sent in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first missing number.
    pub first: u64,
    /// Number of missing numbers, at least 1.
    pub count: u64,
}

impl Gap {
    /// The last missing number.
    pub const fn last(&self) -> u64 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }
}

/// After the delivered packet, trusted lines have sent packets with unexpected numbers, whose
/// content is unknown, or all lines repeat old packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSequence {
    /// True if some of them had numbers below the next one, so that perhaps no later packet has
    /// their content. Packets ahead are delivered in their turn, or become a gap.
    pub may_hide_updates: bool,
}

/// Output of an arbiter, in order. Two outputs are equal if their bytes are equal, whatever lies
/// behind these in memory.
#[derive(Clone, Copy, Debug)]
pub enum ArbiterOutput<'a> {
    /// The packet with the next number.
    Deliver {
        /// Its sequence number.
        seq_num: u64,
        /// The line that sent it first.
        line: Line,
        /// Arrival time, as passed to [`Arbiter::handle_packet`](super::Arbiter::handle_packet).
        received_ns: u64,
        /// Set if a later packet has an unexpected sequence number.
        out_of_sequence: Option<OutOfSequence>,
        /// The packet. Unless it was held, the memory behind it that was readable on arrival is
        /// still readable.
        packet: BufferedPacket<'a>,
    },
    /// The next numbers are lost.
    Gap(Gap),
    /// A new epoch of sequence numbers begins. Earlier packets may be missing without a gap.
    Reset {
        /// The number that arrives next.
        seq_num: u64,
    },
}

impl PartialEq for ArbiterOutput<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Deliver { seq_num, line, received_ns, out_of_sequence, packet },
                Self::Deliver {
                    seq_num: n,
                    line: l,
                    received_ns: ns,
                    out_of_sequence: o,
                    packet: p,
                },
            ) => {
                let is_same_source = (seq_num, line, received_ns, out_of_sequence) == (n, l, ns, o);
                is_same_source && packet.bytes() == p.bytes()
            }
            (Self::Gap(gap), Self::Gap(other)) => gap == other,
            (Self::Reset { seq_num }, Self::Reset { seq_num: n }) => seq_num == n,
            _ => false,
        }
    }
}

impl Eq for ArbiterOutput<'_> {}
