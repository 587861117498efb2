//! The origin of a message.

use std::net::SocketAddr;

/// Source of a message. Formats omit members that are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header<'h> {
    /// Channel of the feed, if several are received.
    pub channel: Option<&'h str>,
    /// Index of the packet, from 0.
    pub packet: Option<u64>,
    /// Bytes before the messages of the packet.
    pub preamble: Option<&'h [u8]>,
    /// Offset of the message in its packet on the wire, or in its stream.
    pub offset: Option<u64>,
    /// Length of the message in bytes.
    pub len: Option<usize>,
    /// Capture or receive time, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
    /// The sequence number in the preamble of the packet, or MsgSeqNum (34) around a FIXT message.
    pub seq_num: Option<u64>,
    /// Sender of the packet.
    pub source: Option<SocketAddr>,
    /// Receiver of the packet: a host or a multicast group.
    pub destination: Option<SocketAddr>,
    /// Line that delivered the message, such as `A`.
    pub line: Option<&'h str>,
}
