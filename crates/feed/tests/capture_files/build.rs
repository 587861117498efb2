//! Builders of frames and capture files.

pub const SOURCE: [u8; 4] = [10, 0, 0, 1];
pub const DESTINATION: [u8; 4] = [239, 1, 2, 3];

pub const ETHERNET: u32 = 1;
pub const RAW_IP: u32 = 101;

/// Byte order of a capture file.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    Big,
    Little,
}

impl Order {
    pub const BOTH: [Self; 2] = [Self::Big, Self::Little];

    pub fn u16(self, number: u16) -> [u8; 2] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }

    pub fn u32(self, number: u32) -> [u8; 4] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }
}

pub fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u16 + 8;
    let header = [5000_u16, port, len, 0].map(u16::to_be_bytes).concat();
    [&header, payload].concat()
}

pub fn tcp(seq_num: u32, syn: bool, payload: &[u8]) -> Vec<u8> {
    let mut header = [4000_u16, 80].map(u16::to_be_bytes).concat();
    header.extend(seq_num.to_be_bytes());
    header.extend([0, 0, 0, 0, 0x50, if syn { 0x02 } else { 0x18 }, 1, 0, 0, 0, 0, 0]);
    [&header, payload].concat()
}

/// An IPv4 packet; `fragment` is the field of flags and offset.
pub fn ipv4_with(protocol: u8, options: &[u8], fragment: u16, payload: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let len = (words * 4 + payload.len()) as u16;
    let mut packet = vec![0x40 | words as u8, 0];
    packet.extend(len.to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(SOURCE);
    packet.extend(DESTINATION);
    [&packet, options, payload].concat()
}

pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_with(protocol, &[], 0, payload)
}

pub fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next_header, 64]);
    packet.extend([0xFE; 16]);
    packet.extend([0xFF; 16]);
    [&packet, payload].concat()
}

/// An Ethernet frame with these tags and types before the payload.
pub fn ethernet(types: &[u16], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for (index, ether_type) in types.iter().enumerate() {
        if index > 0 {
            frame.extend([0, 7]);
        }
        frame.extend(ether_type.to_be_bytes());
    }
    frame.extend(payload);
    frame
}

/// A UDP datagram over IPv4 and Ethernet.
pub fn datagram(payload: &[u8]) -> Vec<u8> {
    ethernet(&[0x0800], &ipv4(17, &udp(6000, payload)))
}

/// A TCP segment over IPv4 and Ethernet.
pub fn segment(seq_num: u32, syn: bool, payload: &[u8]) -> Vec<u8> {
    ethernet(&[0x0800], &ipv4(6, &tcp(seq_num, syn, payload)))
}

pub fn pcap_header(order: Order, magic: u32, link_type: u32) -> Vec<u8> {
    [
        &order.u32(magic)[..],
        &order.u16(2),
        &order.u16(4),
        &[0; 8],
        &order.u32(65_535),
        &order.u32(link_type),
    ]
    .concat()
}

pub fn pcap_record(order: Order, time: (u32, u32), wire_bytes: usize, frame: &[u8]) -> Vec<u8> {
    let fields = [time.0, time.1, frame.len() as u32, wire_bytes as u32];
    [&fields.map(|field| order.u32(field)).concat(), frame].concat()
}

/// A little-endian pcap file with microseconds, one second between its frames.
pub fn pcap(link_type: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap_header(Order::Little, 0xA1B2_C3D4, link_type);
    for (index, frame) in frames.iter().enumerate() {
        file.extend(pcap_record(Order::Little, (index as u32, 0), frame.len(), frame));
    }
    file
}

pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = order.u32(padded as u32 + 12);
    let mut block = [&order.u32(kind)[..], &len, body].concat();
    block.resize(8 + padded, 0);
    block.extend(len);
    block
}

pub fn section(order: Order) -> Vec<u8> {
    let body = [&order.u32(0x1A2B_3C4D)[..], &order.u16(1), &order.u16(0), &[0xFF; 8]].concat();
    block(order, 0x0A0D_0D0A, &body)
}

/// An interface description, with a timestamp resolution if one is given.
pub fn interface(order: Order, link_type: u16, resolution: Option<u8>) -> Vec<u8> {
    let mut body = [&order.u16(link_type)[..], &[0; 2], &order.u32(65_535)].concat();
    if let Some(resolution) = resolution {
        body.extend([order.u16(9), order.u16(1)].concat());
        body.extend([resolution, 0, 0, 0, 0, 0, 0, 0]);
    }
    block(order, 1, &body)
}

pub fn enhanced_packet(order: Order, interface: u32, ticks: u64, frame: &[u8]) -> Vec<u8> {
    let len = frame.len() as u32;
    let fields = [interface, (ticks >> 32) as u32, ticks as u32, len, len];
    block(order, 6, &[&fields.map(|field| order.u32(field)).concat(), frame].concat())
}

pub fn prefixed(order: Order, packets: &[&[u8]]) -> Vec<u8> {
    packets.iter().flat_map(|packet| [&order.u32(packet.len() as u32), *packet].concat()).collect()
}
