use std::net::{Ipv4Addr, SocketAddrV4};

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned};
use tickwire_feed::capture::{
    BlockFault, CaptureError, CaptureFormat, CaptureOptions, CaptureReader, PcapWriter,
};

use super::build::{
    ETHERNET, Order, block, datagram, enhanced_packet, interface, pcap_header, pcap_record, section,
};
use super::{payloads, read, read_with};

const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;

#[test]
fn pcap_of_every_byte_order_and_resolution() {
    for order in Order::BOTH {
        for (magic, tick_ns) in [(MICROSECONDS, 1000), (NANOSECONDS, 1)] {
            let frame = datagram(b"payload");
            let file = [
                pcap_header(order, magic, ETHERNET),
                pcap_record(order, (7, 9), frame.len(), &frame),
            ]
            .concat();
            let (packets, _) = read(&file);
            assert_eq!(packets.len(), 1, "{order:?} {magic:X}");
            assert_eq!(packets[0].bytes, b"payload");
            assert_eq!(packets[0].timestamp_ns, Some(7_000_000_000 + 9 * tick_ns));
            assert_eq!(packets[0].destination, Some(([239, 1, 2, 3], 6000).into()));
            assert_eq!(&file[packets[0].file_offset as usize..], b"payload");
        }
    }
}

#[test]
fn pcapng_of_every_byte_order_and_resolution() {
    for order in Order::BOTH {
        for (resolution, tick_ns) in
            [(None, 1000), (Some(6), 1000), (Some(9), 1), (Some(3), 1_000_000)]
        {
            let file = [
                section(order),
                interface(order, 1, resolution),
                enhanced_packet(order, 0, 0x1_0000_0005, &datagram(b"one")),
                enhanced_packet(order, 0, 6, &datagram(b"four")),
            ]
            .concat();
            let (packets, _) = read(&file);
            assert_eq!(packets[0].bytes, b"one", "{order:?} {resolution:?}");
            assert_eq!(packets[0].timestamp_ns, Some(0x1_0000_0005 * tick_ns));
            assert_eq!(packets[1].timestamp_ns, Some(6 * tick_ns));
            let offset = packets[1].file_offset as usize;
            assert_eq!(&file[offset..offset + 4], b"four");
        }
    }
}

#[test]
fn sections_have_their_own_order_and_interfaces() {
    let [big, little] = Order::BOTH;
    let file = [
        section(big),
        interface(big, 1, Some(9)),
        interface(big, 147, None),
        enhanced_packet(big, 1, 0, &datagram(b"of an unknown link")),
        enhanced_packet(big, 0, 5, &datagram(b"first")),
        section(little),
        block(little, 0x0000_0BAD, b"a block nobody knows"),
        interface(little, 1, None),
        enhanced_packet(little, 0, 5, &datagram(b"second")),
    ]
    .concat();
    let (packets, statistics) = read(&file);
    let times: Vec<_> = packets.iter().map(|packet| packet.timestamp_ns.unwrap()).collect();
    assert_eq!(times, [5, 5000]);
    assert_eq!((statistics.records, statistics.link_type_unknown), (3, 1));
}

#[test]
fn simple_and_superseded_packet_blocks_are_read() {
    for order in Order::BOTH {
        let frame = datagram(b"old");
        let len = frame.len() as u32;
        let simple = [&order.u32(len)[..], &frame].concat();
        let fields = [0, 3, len, len].map(|field| order.u32(field)).concat();
        let superseded = [&order.u16(0)[..], &order.u16(0), &fields, &frame].concat();
        let file = [
            section(order),
            interface(order, 1, None),
            block(order, 3, &simple),
            block(order, 2, &superseded),
        ]
        .concat();
        let (packets, _) = read(&file);
        assert_eq!(packets.len(), 2);
        assert!(packets.iter().all(|packet| packet.bytes == b"old"));
        assert_eq!([packets[0].timestamp_ns, packets[1].timestamp_ns], [None, Some(3000)]);
    }
}

#[test]
fn what_the_capture_cut_off_is_told_not_hidden() {
    let frame = datagram(b"0123456789");
    let cut = |len: usize| pcap_record(Order::Big, (0, 0), frame.len(), &frame[..len]);
    let file = [
        pcap_header(Order::Big, MICROSECONDS, ETHERNET),
        cut(frame.len() - 4),
        cut(30),
        cut(10),
        cut(frame.len()),
    ]
    .concat();
    let (packets, statistics) = read(&file);
    let seen: Vec<_> =
        packets.iter().map(|packet| (packet.bytes.as_slice(), packet.missing_bytes)).collect();
    assert_eq!(seen, [(&b"012345"[..], 4), (&b"0123456789"[..], 0)]);
    assert_eq!((statistics.truncated, statistics.malformed), (3, 0));
}

#[test]
fn contradicting_pcapng_blocks_are_refused_by_name() {
    let order = Order::Little;
    let start = [section(order), interface(order, 1, None)].concat();
    let fault = |tail: Vec<u8>| {
        let file = [start.clone(), tail].concat();
        let (_, _, error) = read_with(&file, CaptureOptions::new()).unwrap();
        match error {
            Some(CaptureError::Block { offset, fault }) => {
                assert_eq!(offset, start.len() as u64);
                fault
            }
            other => panic!("{other:?}"),
        }
    };
    let mut differing = enhanced_packet(order, 0, 0, &datagram(b"x"));
    *differing.last_mut().unwrap() = 1;
    assert_eq!(fault(differing), BlockFault::LengthsDiffer);
    assert_eq!(fault(enhanced_packet(order, 9, 0, &[])), BlockFault::Interface);
    assert_eq!(fault(block(order, 6, &[0; 16])), BlockFault::Length);
    let claims_more = [&[0; 12][..], &order.u32(5), &order.u32(5)].concat();
    assert_eq!(fault(block(order, 6, &claims_more)), BlockFault::PacketLength);
    assert_eq!(fault(block(order, 1, &[0; 70_000])), BlockFault::InterfaceTooLong);
    assert_eq!(fault(block(order, 1, &[0; 4])), BlockFault::Length);
    let odd = [order.u32(5), order.u32(13)].concat();
    assert_eq!(fault(odd), BlockFault::Length);
}

#[test]
fn link_types_that_cannot_be_read_and_other_files_are_refused_at_once() {
    let open = |file: &[u8]| {
        let options = CaptureOptions::new().format(CaptureFormat::Pcap);
        CaptureReader::open(file, options).err().unwrap()
    };
    let file = pcap_header(Order::Big, MICROSECONDS, 105);
    assert!(matches!(open(&file), CaptureError::LinkType { link_type: 105 }));
    assert!(matches!(open(&[0; 30]), CaptureError::NotPcap { magic: [0, 0, 0, 0] }));
    let error = open(&file[..20]);
    assert!(matches!(error, CaptureError::Truncated { wanted: 24, found: 20, .. }), "{error}");
}

fn written() -> Vec<u8> {
    let source = SocketAddrV4::new(Ipv4Addr::new(10, 1, 2, 3), 1000);
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 9, 8, 7), 2000);
    let host = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3000);
    let mut writer = PcapWriter::new(Vec::new()).unwrap();
    writer.write_datagram(1_000_000_001, source, group, b"to a group").unwrap();
    writer.write_datagram(2, source, host, b"").unwrap();
    writer.write_datagram(3, source, host, &[5; 65_507]).unwrap();
    assert!(writer.write_datagram(0, source, host, &[5; 65_508]).is_err());
    assert!(writer.write_datagram(u64::MAX, source, host, b"").is_err());
    writer.into_inner()
}

#[test]
fn what_the_pcap_writer_writes_the_reader_reads() {
    let (packets, statistics) = read(&written());
    let seen: Vec<_> =
        packets.iter().map(|packet| (packet.timestamp_ns.unwrap(), packet.bytes.len())).collect();
    assert_eq!(seen, [(1_000_000_001, 10), (2, 0), (3, 65_507)]);
    assert_eq!(packets[0].destination, Some(([239, 9, 8, 7], 2000).into()));
    assert_eq!(statistics.skipped(), 0);
    assert_eq!(payloads(&written())[0], b"to a group");
}

#[test]
fn what_the_pcap_writer_writes_another_program_reads() {
    let file = written();
    let mut reader = LegacyPcapReader::new(1 << 20, &file[..]).unwrap();
    let mut lengths = Vec::new();
    while let Ok((consumed, block)) = reader.next() {
        match block {
            PcapBlockOwned::LegacyHeader(header) => assert!(header.is_nanosecond_precision()),
            PcapBlockOwned::Legacy(record) => lengths.push(record.origlen),
            PcapBlockOwned::NG(_) => panic!("not a pcapng file"),
        }
        reader.consume(consumed);
    }
    assert_eq!(lengths, [10, 0, 65_507].map(|len| len + 42));
}
