//! UDP and TCP headers.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, TcpSlice, UdpSlice};

/// Sender and receiver of a datagram or segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TransportAddresses {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
}

/// Header fields of a TCP segment that place it in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpSegment {
    pub(super) seq_num: u32,
    pub(super) syn: bool,
    pub(super) fin: bool,
}

/// Content of an IP packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum TransportPayload<'a> {
    Udp {
        addresses: TransportAddresses,
        payload: &'a [u8],
        missing_bytes: usize,
    },
    Tcp {
        addresses: TransportAddresses,
        segment: TcpSegment,
        payload: &'a [u8],
    },
    Other,
    /// The packet is shorter than its headers.
    Short,
}

/// Parses the payload of an IP packet from `source` to `destination`.
pub(super) fn parse_transport<'a>(
    protocol: IpNumber,
    source: IpAddr,
    destination: IpAddr,
    payload: &'a [u8],
) -> TransportPayload<'a> {
    let parsed = match protocol {
        IpNumber::UDP => parse_udp(source, destination, payload),
        IpNumber::TCP => parse_tcp(source, destination, payload),
        _ => return TransportPayload::Other,
    };
    parsed.unwrap_or(TransportPayload::Short)
}

fn parse_udp(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Option<TransportPayload<'_>> {
    let datagram = UdpSlice::from_slice_lax(payload).ok()?;
    let missing_bytes = usize::from(datagram.length()).saturating_sub(datagram.slice().len());
    let addresses = TransportAddresses {
        source: SocketAddr::new(source, datagram.source_port()),
        destination: SocketAddr::new(destination, datagram.destination_port()),
    };
    Some(TransportPayload::Udp { addresses, payload: datagram.payload(), missing_bytes })
}

fn parse_tcp(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Option<TransportPayload<'_>> {
    let tcp = TcpSlice::from_slice(payload).ok()?;
    let addresses = TransportAddresses {
        source: SocketAddr::new(source, tcp.source_port()),
        destination: SocketAddr::new(destination, tcp.destination_port()),
    };
    let (seq_num, syn, fin) = (tcp.sequence_number(), tcp.syn(), tcp.fin());
    let segment = TcpSegment { seq_num, syn, fin };
    Some(TransportPayload::Tcp { addresses, segment, payload: tcp.payload() })
}
