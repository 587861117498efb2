//! Output of an arbiter.

use tickwire_fast::Packet;

use super::Line;

/// Consecutive sequence numbers that no line sent in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first missing number.
    pub first: u64,
    /// How many are missing, at least 1.
    pub count: u64,
}

impl Gap {
    /// The last missing number.
    pub const fn last(&self) -> u64 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }
}

/// Trusted lines have sent packets, later than the one delivered, whose numbers follow nothing: what they tell is not
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSequence {
    /// True if some had numbers before the next one, so their content may be in no later packet.
    /// Packets ahead arrive again in their turn, or are a gap then.
    pub may_hide_updates: bool,
}

/// Output of an arbiter, in order. Two outputs are equal if their bytes are equal, whatever follows
/// these in memory.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// The packet of the next number.
    Deliver {
        /// Its sequence number.
        seq_num: u64,
        /// The line that sent it first.
        line: Line,
        /// When it arrived, as passed to [`Arbiter::handle_packet`](super::Arbiter::handle_packet).
        received_ns: u64,
        /// Set if a later packet has an unexpected sequence number.
        out_of_sequence: Option<OutOfSequence>,
        /// The packet, with as much readable behind it as there was when it arrived, if it was not held.
        packet: Packet<'a>,
    },
    /// The next numbers are lost.
    Gap(Gap),
    /// A new epoch of sequence numbers begins; nothing is known about what lies before.
    Reset {
        /// The number that arrives next.
        seq_num: u64,
    },
}

impl PartialEq for Output<'_> {
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

impl Eq for Output<'_> {}
