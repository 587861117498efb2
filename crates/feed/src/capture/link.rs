//! Link layers: where in a captured frame the IP packet starts.

use crate::endian::array_at;

const ETHER_TYPE_IPV4: u16 = 0x0800;
const ETHER_TYPE_IPV6: u16 = 0x86DD;
/// Tags of 802.1Q and 802.1ad, and the type that older switches used for the outer of two tags.
const ETHER_TYPES_VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];

/// MPLS, unicast and multicast.
const ETHER_TYPES_MPLS: [u16; 2] = [0x8847, 0x8848];
/// A PPPoE session.
const ETHER_TYPE_PPPOE: u16 = 0x8864;
/// MACsec: the content is usually encrypted.
const ETHER_TYPE_MACSEC: u16 = 0x88E5;
/// Ethernet inside of a tunnel.
pub(super) const ETHER_TYPE_BRIDGED: u16 = 0x6558;
/// IPv4 and IPv6 in PPP.
const PPP_PROTOCOLS: [u16; 2] = [0x0021, 0x0057];
/// Version, type, code, session and length of a PPPoE frame.
const PPPOE_BYTES: usize = 6;
/// Most MPLS labels of a frame.
const MPLS_LABELS_MAX: usize = 16;
const MPLS_LABEL_BYTES: usize = 4;
/// Bit in the third byte of an MPLS label that marks the last one.
const MPLS_BOTTOM: u8 = 1;

/// IEEE 802.3: a value up to this is a length, not an EtherType. A header of LLC and SNAP follows,
/// which contains the EtherType.
const LENGTH_MAX: u16 = 1500;
const LLC_SNAP: [u8; 6] = [0xAA, 0xAA, 0x03, 0, 0, 0];

/// Most VLAN tags of a frame.
const VLAN_TAGS_MAX: usize = 8;
const VLAN_TAG_BYTES: usize = 4;

/// IPv4 and IPv6 in the address-family field of a loopback frame; the value of IPv6 differs between
/// systems.
const LOOPBACK_FAMILIES: [u32; 5] = [2, 10, 24, 28, 30];

/// The layer below IP in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkType {
    Ethernet,
    /// IPv4 or IPv6 without a header before it.
    Ip,
    LinuxCooked,
    LinuxCookedTwo,
    /// An address family of four bytes before IP, in either byte order.
    Loopback,
    Unknown,
}

/// Content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkFrame {
    /// An IP packet from this offset on.
    Ip(usize),
    NotIp,
    /// MPLS, PPPoE or a tunnel with something other than IP inside, or encrypted.
    UnknownInside,
    /// The frame is shorter than its headers.
    Short,
}

impl LinkType {
    /// Returns the link type of this number in pcap and pcapng.
    pub(super) const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            // Some systems write raw IP as 12 or 14.
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            0 | 108 => Self::Loopback,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCookedTwo,
            _ => Self::Unknown,
        }
    }

    /// Finds the IP packet in `frame`.
    pub(super) fn find_ip(self, frame: &[u8]) -> LinkFrame {
        let found = match self {
            Self::Ethernet => behind_ether_type(frame, 12, 14),
            Self::Ip => Some(LinkFrame::Ip(0)),
            Self::LinuxCooked => behind_ether_type(frame, 14, 16),
            Self::LinuxCookedTwo => behind_ether_type(frame, 0, 20),
            Self::Loopback => array_at(frame, 0).map(behind_family),
            Self::Unknown => Some(LinkFrame::NotIp),
        };
        found.unwrap_or(LinkFrame::Short)
    }
}

/// Follows the EtherType at `type_offset` through VLAN tags, which start at `next_offset`.
fn behind_ether_type(frame: &[u8], type_offset: usize, next_offset: usize) -> Option<LinkFrame> {
    let mut ether_type = u16::from_be_bytes(array_at(frame, type_offset)?);
    let mut offset = next_offset;
    for _ in 0..=VLAN_TAGS_MAX {
        if ether_type == ETHER_TYPE_IPV4 || ether_type == ETHER_TYPE_IPV6 {
            return Some(LinkFrame::Ip(offset));
        }
        if ETHER_TYPES_MPLS.contains(&ether_type) {
            return behind_labels(frame, offset);
        }
        if ether_type == ETHER_TYPE_PPPOE {
            let protocol = u16::from_be_bytes(array_at(frame, offset + PPPOE_BYTES)?);
            let is_ip = PPP_PROTOCOLS.contains(&protocol);
            let ip = LinkFrame::Ip(offset + PPPOE_BYTES + size_of::<u16>());
            return Some(if is_ip { ip } else { LinkFrame::UnknownInside });
        }
        if ether_type == ETHER_TYPE_MACSEC {
            return Some(LinkFrame::UnknownInside);
        }
        if ether_type <= LENGTH_MAX && array_at(frame, offset) == Some(LLC_SNAP) {
            offset += LLC_SNAP.len();
            ether_type = u16::from_be_bytes(array_at(frame, offset)?);
            offset += size_of::<u16>();
            continue;
        }
        if !ETHER_TYPES_VLAN.contains(&ether_type) {
            break;
        }
        ether_type = u16::from_be_bytes(array_at(frame, offset + 2)?);
        offset += VLAN_TAG_BYTES;
    }
    Some(LinkFrame::NotIp)
}

/// Follows MPLS labels to the one that is marked as the last. The content is IP if its first
/// half-byte is an IP version.
fn behind_labels(frame: &[u8], labels_offset: usize) -> Option<LinkFrame> {
    for index in 0..MPLS_LABELS_MAX {
        let offset = labels_offset + index * MPLS_LABEL_BYTES;
        let label: [u8; MPLS_LABEL_BYTES] = array_at(frame, offset)?;
        if label[2] & MPLS_BOTTOM != 0 {
            let version = frame.get(offset + MPLS_LABEL_BYTES)? >> 4;
            let is_ip = version == 4 || version == 6;
            let ip = LinkFrame::Ip(offset + MPLS_LABEL_BYTES);
            return Some(if is_ip { ip } else { LinkFrame::UnknownInside });
        }
    }
    Some(LinkFrame::UnknownInside)
}

/// Finds the IP packet behind a tunnel header that gives its EtherType.
pub(super) fn behind_tunnel(ether_type: u16, content: &[u8]) -> LinkFrame {
    match ether_type {
        ETHER_TYPE_IPV4 | ETHER_TYPE_IPV6 => LinkFrame::Ip(0),
        ETHER_TYPE_BRIDGED => LinkType::Ethernet.find_ip(content),
        _ if ETHER_TYPES_MPLS.contains(&ether_type) => {
            behind_labels(content, 0).unwrap_or(LinkFrame::Short)
        }
        _ => LinkFrame::UnknownInside,
    }
}

fn behind_family(family: [u8; 4]) -> LinkFrame {
    let [big, little] = [u32::from_be_bytes(family), u32::from_le_bytes(family)];
    if LOOPBACK_FAMILIES.contains(&big) || LOOPBACK_FAMILIES.contains(&little) {
        LinkFrame::Ip(4)
    } else {
        LinkFrame::NotIp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlan_tags_are_passed_over() {
        let addresses = [0; 12];
        let plain = [&addresses[..], &[0x08, 0x00, 0x45]].concat();
        assert_eq!(LinkType::Ethernet.find_ip(&plain), LinkFrame::Ip(14));
        let tagged = [&addresses[..], &[0x81, 0, 0, 5, 0x86, 0xDD, 0x60]].concat();
        assert_eq!(LinkType::Ethernet.find_ip(&tagged), LinkFrame::Ip(18));
        let snap = [&addresses[..], &[0, 40, 0xAA, 0xAA, 3, 0, 0, 0, 8, 0, 0x45]].concat();
        assert_eq!(LinkType::Ethernet.find_ip(&snap), LinkFrame::Ip(22));
        let spanning_tree = [&addresses[..], &[0, 38, 0x42, 0x42, 3, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(LinkType::Ethernet.find_ip(&spanning_tree), LinkFrame::NotIp);
        let twice = [&addresses[..], &[0x88, 0xA8, 0, 5, 0x81, 0, 0, 6, 8, 0, 0x45]].concat();
        assert_eq!(LinkType::Ethernet.find_ip(&twice), LinkFrame::Ip(22));
    }

    #[test]
    fn endless_vlan_tags_are_not_ip() {
        let frame = [&[0; 12][..], &[0x81, 0].repeat(100)].concat();
        assert_eq!(LinkType::Ethernet.find_ip(&frame), LinkFrame::NotIp);
    }

    #[test]
    fn labels_and_sessions_are_passed_over() {
        let addresses = [0; 12];
        let frame = |rest: &[u8]| LinkType::Ethernet.find_ip(&[&addresses[..], rest].concat());
        let label = |bottom: u8| [0, 1, bottom, 64];
        let two = [&[0x88, 0x47][..], &label(0), &label(1), &[0x45]].concat();
        assert_eq!(frame(&two), LinkFrame::Ip(22));
        let tagged = [&[0x81, 0, 0, 5, 0x88, 0x48][..], &label(1), &[0x60]].concat();
        assert_eq!(frame(&tagged), LinkFrame::Ip(22));
        let wire = [&[0x88, 0x47][..], &label(1), &[0x00]].concat();
        assert_eq!(frame(&wire), LinkFrame::UnknownInside);
        assert_eq!(
            frame(&[&[0x88, 0x47][..], &label(0).repeat(99)].concat()),
            LinkFrame::UnknownInside
        );
        assert_eq!(frame(&[&[0x88, 0x47][..], &label(1)].concat()), LinkFrame::Short);
        let session = [0x88, 0x64, 0x11, 0, 0, 1, 0, 3, 0x00, 0x21, 0x45];
        assert_eq!(frame(&session), LinkFrame::Ip(22));
        let control = [0x88, 0x64, 0x11, 0, 0, 1, 0, 3, 0xc0, 0x21, 1];
        assert_eq!(frame(&control), LinkFrame::UnknownInside);
    }

    #[test]
    fn other_links_find_ip_where_it_is() {
        assert_eq!(LinkType::Ip.find_ip(&[]), LinkFrame::Ip(0));
        assert_eq!(LinkType::Loopback.find_ip(&[0, 0, 0, 2]), LinkFrame::Ip(4));
        assert_eq!(LinkType::Loopback.find_ip(&[30, 0, 0, 0]), LinkFrame::Ip(4));
        assert_eq!(LinkType::Loopback.find_ip(&[7, 0, 0, 0]), LinkFrame::NotIp);
        let cooked = [&[0; 14][..], &[0x08, 0x00]].concat();
        assert_eq!(LinkType::LinuxCooked.find_ip(&cooked), LinkFrame::Ip(16));
        let cooked_two = [&[0x86, 0xDD][..], &[0; 18]].concat();
        assert_eq!(LinkType::LinuxCookedTwo.find_ip(&cooked_two), LinkFrame::Ip(20));
    }

    #[test]
    fn frames_shorter_than_their_headers_are_told() {
        assert_eq!(LinkType::Ethernet.find_ip(&[0; 13]), LinkFrame::Short);
        assert_eq!(LinkType::Loopback.find_ip(&[2]), LinkFrame::Short);
        let arp = [&[0; 12][..], &[0x08, 0x06]].concat();
        assert_eq!(LinkType::Ethernet.find_ip(&arp), LinkFrame::NotIp);
    }
}
