//! Tunnels: packets inside packets.

use etherparse::{IpNumber, UdpSlice};

use super::link::{ETHER_TYPE_BRIDGED, LinkFrame, behind_tunnel};
use crate::endian::array_at;

/// Most nested tunnels that are followed.
pub(super) const TUNNELS_MAX: usize = 4;

/// Port of VXLAN assigned by IANA.
const VXLAN_PORT: u16 = 4789;
/// First byte of a VXLAN header: the network identifier is valid. All other bits except the
/// identifier are 0.
const VXLAN_FLAGS: u8 = 0x08;
const VXLAN_BYTES: usize = 8;

/// Flags of GRE that add 4 bytes each to the header: checksum, key, sequence number.
const GRE_LONGER: [u8; 3] = [0x80, 0x20, 0x10];
const GRE_BYTES: usize = 4;
/// Version bits in the second byte of GRE; version 0 has an EtherType.
const GRE_VERSION: u8 = 0x07;

/// Content of an IP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside<'a> {
    /// Not a tunnel.
    NoTunnel,
    /// The bytes from the inner IP header on.
    Ip(&'a [u8]),
    /// A tunnel with other content, or an encrypted one.
    Unknown,
}

/// Examines the payload of an IP packet. VXLAN is not decoded if its port is `wanted_port`.
pub(super) fn look_inside<'a>(
    protocol: IpNumber,
    payload: &'a [u8],
    wanted_port: Option<u16>,
) -> Inside<'a> {
    let (ether_type, content) = match protocol {
        IpNumber::IPV4 | IpNumber::IPV6 => return Inside::Ip(payload),
        IpNumber::ENCAPSULATING_SECURITY_PAYLOAD => return Inside::Unknown,
        IpNumber::GRE => match gre(payload) {
            Some(found) => found,
            None => return Inside::Unknown,
        },
        IpNumber::UDP if wanted_port != Some(VXLAN_PORT) => match vxlan(payload) {
            Some(content) => (ETHER_TYPE_BRIDGED, content),
            None => return Inside::NoTunnel,
        },
        _ => return Inside::NoTunnel,
    };
    match behind_tunnel(ether_type, content) {
        LinkFrame::Ip(offset) => content.get(offset..).map_or(Inside::Unknown, Inside::Ip),
        LinkFrame::NotIp | LinkFrame::UnknownInside | LinkFrame::Short => Inside::Unknown,
    }
}

fn gre(payload: &[u8]) -> Option<(u16, &[u8])> {
    let [flags, version, high, low] = array_at(payload, 0)?;
    if version & GRE_VERSION != 0 {
        return None;
    }
    let longer = GRE_LONGER.iter().filter(|flag| flags & **flag != 0).count();
    let content = payload.get(GRE_BYTES + longer * 4..)?;
    Some((u16::from_be_bytes([high, low]), content))
}

fn vxlan(payload: &[u8]) -> Option<&[u8]> {
    let datagram = UdpSlice::from_slice_lax(payload).ok()?;
    let content = datagram.payload();
    let header: [u8; VXLAN_BYTES] = array_at(content, 0)?;
    let is_vxlan = datagram.destination_port() == VXLAN_PORT
        && header[0] == VXLAN_FLAGS
        && header[1..4] == [0; 3]
        && header[7] == 0;
    content.get(VXLAN_BYTES..).filter(|_| is_vxlan)
}
