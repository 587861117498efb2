//! Ethernet frames around the UDP datagrams that capture writers write.

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::PacketBuilder;

use super::PcapWriteError;

/// Longest payload of a UDP datagram over IPv4 without options.
pub(super) const PAYLOAD_BYTES_MAX: usize = 65_507;
/// Longest frame that a reader must expect.
pub(super) const SNAPSHOT_BYTES: u32 = 262_144;
pub(super) const LINK_TYPE_ETHERNET: u16 = 1;
/// Locally administered addresses: the frames were never on a wire.
const MAC_SOURCE: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
const MAC_DESTINATION: [u8; 6] = [0x02, 0, 0, 0, 0, 2];
const TIME_TO_LIVE: u8 = 64;

/// Appends the frame of a datagram, with correct lengths and checksums.
pub(super) fn append_frame(
    frame: &mut Vec<u8>,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    payload: &[u8],
) -> Result<(), PcapWriteError> {
    let too_long = || PcapWriteError::PayloadTooLong { len: payload.len() };
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(too_long());
    }
    PacketBuilder::ethernet2(MAC_SOURCE, mac_destination(*destination.ip()))
        .ipv4(source.ip().octets(), destination.ip().octets(), TIME_TO_LIVE)
        .udp(source.port(), destination.port())
        .write_to_vec(frame, payload)
        .map_err(|_| too_long())
}

/// Returns the Ethernet address of a multicast group, or a synthetic one for a host.
fn mac_destination(address: Ipv4Addr) -> [u8; 6] {
    let [_, b, c, d] = address.octets();
    if address.is_multicast() { [0x01, 0x00, 0x5E, b & 0x7F, c, d] } else { MAC_DESTINATION }
}
