//! Counters of a reader.

use crate::counted;

/// Counters of one reader since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Records read from the file: packets of any protocol, pieces of a raw stream.
    pub records: u64,
    /// Packets returned.
    pub packets: u64,
    /// Bytes of the packets returned.
    pub bytes: u64,
    /// Records and datagrams that the capture truncated (the snapshot length of the capture).
    pub truncated: u64,
    /// Records that carry no IP packet.
    pub not_ip: u64,
    /// Frames of MPLS or PPPoE, and tunnels of GRE or VXLAN, with something other than IP inside,
    /// or with tunnels more than 4 deep.
    pub unknown_inside: u64,
    /// IP packets that carry neither UDP nor TCP.
    pub not_udp_or_tcp: u64,
    /// Records of an interface whose link type is unknown.
    pub link_type_unknown: u64,
    /// Records and datagrams whose headers contradict themselves.
    pub malformed: u64,
    /// UDP datagrams and TCP segments for destinations that were not selected.
    pub filtered_out: u64,
    /// IP fragments seen.
    pub fragments: u64,
    /// Fragmented datagrams abandoned: a fragment is missing, overlaps with different bytes, or is
    /// too old, or a limit was reached.
    pub fragmented_incomplete: u64,
    /// TCP segments without new bytes.
    pub tcp_retransmitted: u64,
    /// Holes declared in TCP streams: within them, at their ends (FIN), and before the first
    /// captured byte of a stream whose start was not captured, if earlier segments arrive later.
    pub tcp_gaps: u64,
    /// Bytes lost in those holes.
    pub tcp_lost_bytes: u64,
    /// Datagrams whose time is before that of an earlier one.
    pub times_back: u64,
    /// Longest time that a datagram is before an earlier one, in nanoseconds.
    pub times_back_by_max_ns: u64,
}

impl Statistics {
    /// Returns the parts of the capture that cannot be returned as packets, one sentence each.
    pub fn missing(&self) -> impl Iterator<Item = String> + use<> {
        let missing = [
            (
                self.fragmented_incomplete,
                "fragmented IP datagram",
                "not all fragments were captured",
            ),
            (
                self.unknown_inside,
                "frame",
                "MPLS, PPPoE or a tunnel without an IP packet that can be read",
            ),
            (self.link_type_unknown, "frame", "its interface has an unknown link type"),
            (self.malformed, "frame", "lengths or headers contradict each other"),
        ];
        let missing = missing.into_iter().filter(|(count, ..)| *count > 0);
        missing.map(|(count, noun, why)| format!("{} not read: {why}", counted(count, noun)))
    }

    /// Returns a sentence if times go back. Packets keep the order of the file: clocks do not go
    /// back, so such a packet counts as received at the time of the previous one.
    pub fn times_back(&self) -> Option<String> {
        let by = std::time::Duration::from_nanos(self.times_back_by_max_ns);
        (self.times_back > 0).then(|| {
            format!(
                "{} with a time before that of an earlier packet, by up to {by:?}: the order of the \
                 file counts",
                counted(self.times_back, "packet")
            )
        })
    }

    /// Returns how many records were skipped because they cannot be read or carry nothing for a
    /// feed decoder.
    pub const fn skipped(&self) -> u64 {
        self.not_ip
            .saturating_add(self.unknown_inside)
            .saturating_add(self.not_udp_or_tcp)
            .saturating_add(self.link_type_unknown)
            .saturating_add(self.malformed)
            .saturating_add(self.filtered_out)
    }
}
