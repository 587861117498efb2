//! The UDP datagram inside an IP packet, with the checks that the kernel makes for sockets.
//!
//! Rings return packets that have not passed the kernel's IP and UDP layers. [`datagram`] makes the
//! checks of those layers: version, lengths, fragments, checksums, and the addressee.

use std::fmt;
use std::net::Ipv4Addr;

use crate::multicast::Endpoint;

/// Shortest IPv4 header, in bytes; with options it is longer.
const IP_HEADER_BYTES: usize = 20;
/// A UDP header, in bytes.
const UDP_HEADER_BYTES: usize = 8;
/// Protocol number of UDP.
const PROTOCOL_UDP: u8 = 17;
/// The more-fragments bit and the 13 bits of the fragment offset, in the word at byte 6 of the header.
const FRAGMENT: u16 = 0x3FFF;

/// Selection of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramFilter {
    /// Multicast group, or the address of this host.
    pub group: Ipv4Addr,
    /// UDP port.
    pub port: u16,
    /// The only accepted sender; `None` for any.
    pub source: Option<Ipv4Addr>,
}

impl From<Endpoint> for DatagramFilter {
    fn from(endpoint: Endpoint) -> Self {
        Self { group: endpoint.group, port: endpoint.port, source: endpoint.source }
    }
}

/// Reason why a packet contains no selected datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatagramRefusal {
    /// A checksum of the IP header or the UDP datagram is wrong.
    Checksum,
    /// The packet is a fragment of a datagram.
    Fragment,
    /// A length field contradicts another or the packet.
    Length,
    /// The packet has another address, port or sender, or is not UDP over IPv4.
    Other,
}

impl fmt::Display for DatagramRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checksum => "a checksum is wrong",
            Self::Fragment => "a fragment",
            Self::Length => "lengths contradict each other",
            Self::Other => "not the selected datagrams",
        })
    }
}

/// Checksums that were already verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// No: all checksums are computed here.
    No,
    /// Yes: the network card or the kernel verified them, or the packet never left this host.
    Yes,
}

/// Returns the payload of the datagram in `packet`, which begins with its IP header and may end in padding
/// of the link.
///
/// # Errors
/// [`DatagramRefusal`]: not selected, wrong lengths, a fragment, or wrong checksums.
pub fn datagram<'p>(
    packet: &'p [u8],
    wanted: &DatagramFilter,
    verified: Verified,
) -> Result<&'p [u8], DatagramRefusal> {
    let (fixed, _) =
        packet.split_first_chunk::<IP_HEADER_BYTES>().ok_or(DatagramRefusal::Length)?;
    let word = |offset: usize| u16::from_be_bytes([fixed[offset], fixed[offset + 1]]);
    let address = |offset: usize| {
        Ipv4Addr::new(fixed[offset], fixed[offset + 1], fixed[offset + 2], fixed[offset + 3])
    };
    let (source, group) = (address(12), address(16));
    let is_sender = wanted.source.is_none_or(|wanted| wanted == source);
    if fixed[0] >> 4 != 4 || fixed[9] != PROTOCOL_UDP || group != wanted.group || !is_sender {
        return Err(DatagramRefusal::Other);
    }
    // The low half of the first byte counts 4-byte words.
    let header_bytes = usize::from(fixed[0] & 0x0F) * 4;
    let total_bytes = usize::from(word(2));
    // After the total length there may be padding to the shortest frame.
    let packet = packet.get(..total_bytes).ok_or(DatagramRefusal::Length)?;
    let header = packet.get(..header_bytes).ok_or(DatagramRefusal::Length)?;
    if header_bytes < IP_HEADER_BYTES {
        return Err(DatagramRefusal::Length);
    }
    if word(6) & FRAGMENT != 0 {
        return Err(DatagramRefusal::Fragment);
    }
    let udp = &packet[header_bytes..];
    let (udp_header, _) =
        udp.split_first_chunk::<UDP_HEADER_BYTES>().ok_or(DatagramRefusal::Length)?;
    if u16::from_be_bytes([udp_header[2], udp_header[3]]) != wanted.port {
        return Err(DatagramRefusal::Other);
    }
    let udp_bytes = usize::from(u16::from_be_bytes([udp_header[4], udp_header[5]]));
    let udp = udp.get(..udp_bytes).ok_or(DatagramRefusal::Length)?;
    let payload = udp.get(UDP_HEADER_BYTES..).ok_or(DatagramRefusal::Length)?;
    if verified == Verified::No && !(is_sum_right(0, header) && is_udp_sum_right(fixed, udp)) {
        return Err(DatagramRefusal::Checksum);
    }
    Ok(payload)
}

/// True if the checksum of a UDP datagram is correct, absent (0), or the sum of the pseudo header
/// only. The kernel leaves the last form in packets that stay on this host.
fn is_udp_sum_right(ip: &[u8; IP_HEADER_BYTES], udp: &[u8]) -> bool {
    let Some((header, _)) = udp.split_first_chunk::<UDP_HEADER_BYTES>() else { return false };
    let checksum = u16::from_be_bytes([header[6], header[7]]);
    // The pseudo header: both addresses, the protocol and the length of the datagram.
    let pseudo = sum(sum(0, &ip[12..20]), &[0, PROTOCOL_UDP, header[4], header[5]]);
    checksum == 0 || checksum == fold(pseudo) || is_sum_right(pseudo, udp)
}

/// Returns the checksum of an IP header whose checksum field is zero.
pub fn ip_checksum(header: &[u8]) -> u16 {
    !fold(sum(0, header))
}

/// Returns the checksum of a UDP datagram whose checksum field is zero.
pub fn udp_checksum(from: Ipv4Addr, to: Ipv4Addr, udp: &[u8]) -> u16 {
    let pseudo = [from.octets(), to.octets()].concat();
    let len = (udp.len() as u16).to_be_bytes();
    let start = sum(sum(0, &pseudo), &[0, PROTOCOL_UDP, len[0], len[1]]);
    // RFC 768: a sum of zero is sent as all ones, because zero means that there is no checksum.
    match !fold(sum(start, udp)) {
        0 => u16::MAX,
        checksum => checksum,
    }
}

/// True if words that include their own checksum add up to all ones.
fn is_sum_right(start: u64, bytes: &[u8]) -> bool {
    fold(sum(start, bytes)) == u16::MAX
}

/// Adds big-endian words of 16 bits, the last one padded with zero, without end-around carries: 64
/// bits hold the sum of any packet.
fn sum(start: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    // Two words at a time: 2^16 is 1 modulo 2^16 - 1, so the upper word counts like the lower.
    let sum = words.iter().fold(start, |sum, four| sum + u64::from(u32::from_be_bytes(*four)));
    let mut last = [0; 4];
    for (byte, from) in last.iter_mut().zip(rest) {
        *byte = *from;
    }
    sum + u64::from(u32::from_be_bytes(last))
}

/// Adds the carries until 16 bits are left.
fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & u64::from(u16::MAX)) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: DatagramFilter =
        DatagramFilter { group: Ipv4Addr::new(239, 1, 2, 3), port: 13014, source: None };

    /// Returns a packet with correct checksums, with `options` after the fixed header.
    fn packet(options: &[u8], payload: &[u8]) -> Vec<u8> {
        let header_bytes = IP_HEADER_BYTES + options.len();
        let total = header_bytes + UDP_HEADER_BYTES + payload.len();
        let mut ip = vec![0x40 | (header_bytes / 4) as u8, 0];
        ip.extend((total as u16).to_be_bytes());
        ip.extend([0, 1, 0, 0, 64, PROTOCOL_UDP, 0, 0, 10, 0, 0, 7]);
        ip.extend(WANTED.group.octets());
        ip.extend(options);
        let checksum = ip_checksum(&ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        let mut udp = vec![0x30, 0x39];
        udp.extend(WANTED.port.to_be_bytes());
        udp.extend(((UDP_HEADER_BYTES + payload.len()) as u16).to_be_bytes());
        udp.extend([0, 0]);
        udp.extend(payload);
        let checksum = udp_checksum(Ipv4Addr::new(10, 0, 0, 7), WANTED.group, &udp);
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        ip.extend(udp);
        ip
    }

    fn payload(packet: &[u8]) -> Result<&[u8], DatagramRefusal> {
        datagram(packet, &WANTED, Verified::No)
    }

    #[test]
    fn a_known_packet_has_the_sum_that_others_compute() {
        // RFC 1071's example: 00 01 f2 03 f4 f5 f6 f7 sums up to ddf2.
        let bytes = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
        assert_eq!(fold(sum(0, &bytes)), 0xDDF2);
    }

    #[test]
    fn the_payload_of_a_right_packet_comes_back() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"abcd", &[0xFF; 1400]] {
            assert_eq!(payload(&packet(&[], bytes)), Ok(bytes));
            assert_eq!(payload(&packet(&[1; 8], bytes)), Ok(bytes), "with options");
            let mut padded = packet(&[], bytes);
            padded.extend([0; 20]);
            assert_eq!(payload(&padded), Ok(bytes), "padded");
        }
    }

    #[test]
    fn a_flipped_bit_is_refused() {
        let right = packet(&[], b"some payload");
        for bit in 0..right.len() * 8 {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(payload(&wrong).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_cut_packet_is_refused() {
        let right = packet(&[1; 4], b"some payload");
        for len in 0..right.len() {
            assert_eq!(payload(&right[..len]), Err(DatagramRefusal::Length), "{len} bytes");
        }
    }

    #[test]
    fn lengths_that_contradict_each_other_are_refused() {
        let mut short_header = packet(&[], b"abc");
        short_header[0] = 0x44;
        assert_eq!(payload(&short_header), Err(DatagramRefusal::Length));
        for udp_bytes in [0_u16, 7, 12, u16::MAX] {
            let mut wrong = packet(&[], b"abc");
            wrong[24..26].copy_from_slice(&udp_bytes.to_be_bytes());
            assert_eq!(
                datagram(&wrong, &WANTED, Verified::Yes),
                Err(DatagramRefusal::Length),
                "{udp_bytes}"
            );
        }
    }

    #[test]
    fn fragments_and_what_is_for_others_is_refused() {
        for (flags, reason) in [
            ([0x20, 0], Err(DatagramRefusal::Fragment)),
            ([0, 1], Err(DatagramRefusal::Fragment)),
            ([0x40, 0], Ok(&b"abc"[..])),
        ] {
            let mut of_flags = packet(&[], b"abc");
            of_flags[6..8].copy_from_slice(&flags);
            assert_eq!(datagram(&of_flags, &WANTED, Verified::Yes), reason, "{flags:?}");
        }
        let right = packet(&[], b"abc");
        let of = |wanted: DatagramFilter| datagram(&right, &wanted, Verified::No);
        let other = Err(DatagramRefusal::Other);
        assert_eq!(of(DatagramFilter { port: 1, ..WANTED }), other);
        assert_eq!(of(DatagramFilter { group: Ipv4Addr::new(239, 1, 2, 4), ..WANTED }), other);
        assert_eq!(
            of(DatagramFilter { source: Some(Ipv4Addr::new(10, 0, 0, 8)), ..WANTED }),
            other
        );
        assert!(of(DatagramFilter { source: Some(Ipv4Addr::new(10, 0, 0, 7)), ..WANTED }).is_ok());
        for (offset, value) in [(0, 0x65), (9, 6)] {
            let mut wrong = right.clone();
            wrong[offset] = value;
            assert_eq!(payload(&wrong), other, "byte {offset}");
        }
    }

    #[test]
    fn absent_and_unfinished_udp_sums_are_accepted() {
        let mut none = packet(&[], b"abc");
        none[26..28].copy_from_slice(&[0, 0]);
        assert!(payload(&none).is_ok());
        let pseudo = sum(sum(0, &none[12..20]), &[0, PROTOCOL_UDP, none[24], none[25]]);
        none[26..28].copy_from_slice(&fold(pseudo).to_be_bytes());
        assert!(payload(&none).is_ok());
    }
}
