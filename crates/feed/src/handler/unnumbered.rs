//! Packets without a number among numbered ones.
//!
//! Some feeds end with a message that has no sequence number, or send one as a sign of life. It
//! must not overtake the numbered packets before it, and with two lines it arrives twice.

use crate::arbiter::Line;

/// A packet without a number that waits for those before it.
#[derive(Debug)]
struct UnnumberedPacket {
    line: Line,
    received_ns: u64,
}

/// State of packets without numbers; at most one waits.
#[derive(Debug, Default)]
pub(super) struct Unnumbered {
    waiting: Option<UnnumberedPacket>,
    /// The packet that waits or was delivered last.
    bytes: Vec<u8>,
    /// True if one was delivered, and no numbered packet since.
    is_last_delivered: bool,
}

impl Unnumbered {
    /// True if a packet equals the waiting one or the one delivered last.
    pub(super) fn is_known(&self, bytes: &[u8]) -> bool {
        (self.waiting.is_some() || self.is_last_delivered) && self.bytes == bytes
    }

    /// True if one waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Makes a packet wait; none may be waiting.
    pub(super) fn hold(&mut self, line: Line, received_ns: u64, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.waiting = Some(UnnumberedPacket { line, received_ns });
        self.is_last_delivered = false;
    }

    /// Returns the arrival time of the waiting packet.
    pub(super) fn received_ns(&self) -> Option<u64> {
        self.waiting.as_ref().map(|waiting| waiting.received_ns)
    }

    /// Takes the waiting packet: its line, time and bytes.
    pub(super) fn take(&mut self) -> Option<(Line, u64, &[u8])> {
        let UnnumberedPacket { line, received_ns } = self.waiting.take()?;
        self.is_last_delivered = true;
        Some((line, received_ns, &self.bytes))
    }

    /// Records the delivery of a numbered packet: an equal unnumbered packet is new from here on.
    pub(super) fn note_numbered(&mut self) {
        self.is_last_delivered = false;
    }
}
