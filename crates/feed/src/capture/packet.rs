//! Packets of a capture.

use std::net::SocketAddr;

/// Kind of the packets of a capture, for a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureKind {
    /// Each packet is a datagram: no message crosses its end. Exception: packets of a pcap file
    /// with a [`Packet::stream`] are pieces of a TCP stream.
    Datagrams,
    /// One stream of bytes: every packet is a piece of it, cut anywhere.
    Stream,
}

/// Position of a packet's bytes in a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPosition {
    /// Number of the stream in this capture, from 0, in order of first appearance. Each direction
    /// of a TCP connection is its own stream; a raw file is stream 0.
    pub flow: u64,
    /// Offset of the packet's first byte in the stream; lost bytes count.
    pub offset: u64,
    /// Bytes lost just before this packet. If it is not 0, a decoder must abandon its current
    /// message and wait for its next reset.
    pub lost_bytes: u64,
    /// True if the capture does not contain the start of the stream, so `offset` 0 may be inside a
    /// message.
    pub joined_midway: bool,
}

/// One packet of a capture. It borrows the reader until the next one is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number of the packet among those returned, from 0.
    pub index: u64,
    /// Number of the capture record that completed the packet, from 0. Wireshark's frame number is
    /// one more.
    pub record: u64,
    /// The payload: of UDP or TCP in pcap files, the whole packet in other formats.
    pub bytes: &'a [u8],
    /// Offset of the payload in the file (after decompression). For a packet reassembled from
    /// fragments: the offset of the packet bytes in the record that completed it.
    pub file_offset: u64,
    /// Nanoseconds since 1970-01-01 UTC, if the capture has times.
    pub timestamp_ns: Option<u64>,
    /// Sender, if the capture has it.
    pub source: Option<SocketAddr>,
    /// Receiver, if the capture has it.
    pub destination: Option<SocketAddr>,
    /// Present if the packet is a piece of a byte stream, cut anywhere.
    pub stream: Option<StreamPosition>,
    /// Bytes missing at the end of the payload because the capture truncated it. If it is not 0, do
    /// not decode the packet as a whole one.
    pub missing_bytes: usize,
}

impl Packet<'_> {
    /// Returns whether the capture truncated the packet.
    pub const fn is_truncated(&self) -> bool {
        self.missing_bytes > 0
    }
}
