//! Sends prepared Ethernet frames, many per call.
//!
//! The frames bypass the network stack of the sending side, so a measurement at the other end of
//! the cable measures only that end. Needs `CAP_NET_RAW`.

mod sys;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use super::datagram;

/// Most frames sent by one call.
pub const FRAMES_MAX: usize = 64;

/// Bytes of an Ethernet header, an IP header and a UDP header.
const HEADERS_BYTES: usize = 14 + 20 + 8;

/// Sends frames out of one interface.
#[derive(Debug)]
pub struct FrameSender {
    socket: sys::FrameSocket,
}

impl FrameSender {
    /// Opens a socket that sends from the interface with this index, bypassing its queueing
    /// discipline.
    ///
    /// # Errors
    /// The operating system's error; `PermissionDenied` without `CAP_NET_RAW`.
    pub fn open(interface: u32) -> io::Result<Self> {
        Ok(Self { socket: sys::FrameSocket::open(interface)? })
    }

    /// Sends the first of these frames, at most [`FRAMES_MAX`], and returns the number sent.
    ///
    /// # Errors
    /// The operating system's error for the first frame not sent. Waits on `WouldBlock`.
    pub fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        self.socket.send(frames)
    }
}

/// Returns a multicast frame with correct checksums: `payload` from one address to a group.
pub fn multicast_frame(from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let [_, group @ ..] = to.ip().octets();
    let mut frame = Vec::with_capacity(HEADERS_BYTES + payload.len());
    // RFC 1112: 01:00:5e, then the lower 23 bits of the group.
    frame.extend([0x01, 0x00, 0x5E, group[0] & 0x7F, group[1], group[2]]);
    // A locally administered address, then the type of IPv4.
    frame.extend([0x02, 0, 0, 0, 0, 1, 0x08, 0x00]);
    frame.extend(ip_header(*from.ip(), *to.ip(), payload.len()));
    let udp_bytes = (8 + payload.len()) as u16;
    let mut udp = Vec::with_capacity(usize::from(udp_bytes));
    udp.extend(from.port().to_be_bytes());
    udp.extend(to.port().to_be_bytes());
    udp.extend(udp_bytes.to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(payload);
    let checksum = datagram::udp_checksum(*from.ip(), *to.ip(), &udp);
    udp[6..8].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(udp);
    frame
}

fn ip_header(from: Ipv4Addr, to: Ipv4Addr, payload_bytes: usize) -> [u8; 20] {
    let total = (20 + 8 + payload_bytes) as u16;
    let [high, low] = total.to_be_bytes();
    // Version and length, total length, no fragment, one hop, UDP.
    let mut header = [0x45, 0, high, low, 0, 0, 0x40, 0, 1, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header[12..16].copy_from_slice(&from.octets());
    header[16..20].copy_from_slice(&to.octets());
    let checksum = datagram::ip_checksum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}
