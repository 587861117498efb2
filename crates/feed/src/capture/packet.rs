//! Packets of a capture.

use std::net::SocketAddr;

/// Kind of the packets of a capture, for a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each packet is as it came off the wire: messages do not run over its end. Packets of a pcap
    /// file that carry a [`Packet::stream`] are the exception: they are pieces of a TCP stream.
    Datagrams,
    /// One stream of bytes: every packet is a piece of it, cut anywhere.
    Stream,
}

/// Position of a packet's bytes in a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPosition {
    /// Number of the stream in this capture, from 0, in order of first appearance. Each direction
    /// of a TCP connection is a stream of its own; a raw file is stream 0.
    pub flow: u64,
    /// Offset of the packet's first byte in the stream, lost bytes counted.
    pub offset: u64,
    /// Bytes lost just before this packet. Where it is not 0, a decoder must abandon the message
    /// it was in and wait for its next reset.
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
    /// Number of the record of the capture file that completed the packet, from 0. Wireshark's
    /// frame number is one more.
    pub record: u64,
    /// The payload: of UDP or TCP for pcap files, the whole packet for the other formats.
    pub bytes: &'a [u8],
    /// Offset of the payload in the file (after decompression). Of a packet reassembled from
    /// fragments it is the offset of the packet bytes of the record that completed it.
    pub file_offset: u64,
    /// Nanoseconds since 1970-01-01 UTC, where the capture says.
    pub timestamp_ns: Option<u64>,
    /// Sender, where the capture says.
    pub source: Option<SocketAddr>,
    /// Receiver, where the capture says.
    pub destination: Option<SocketAddr>,
    /// Present where the packet is a piece of a byte stream, cut anywhere.
    pub stream: Option<StreamPosition>,
    /// Bytes that the capture cut off the end of the payload. A packet where this is not 0 must not
    /// be decoded as if it were whole.
    pub missing_bytes: usize,
}

impl Packet<'_> {
    /// Returns whether the capture cut the packet short.
    pub const fn is_truncated(&self) -> bool {
        self.missing_bytes > 0
    }
}
