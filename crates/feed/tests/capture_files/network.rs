use std::net::IpAddr;

use tickwire_feed::capture::{CaptureFormat, CaptureOptions};

use super::build::{ETHERNET, RAW_IP, datagram, ethernet, ipv4, ipv4_with, ipv6, pcap, udp};
use super::{payloads, read, read_with};

const MORE: u16 = 0x2000;

fn packet() -> Vec<u8> {
    ipv4(17, &udp(6000, b"payload"))
}

#[test]
fn every_link_type_leads_to_the_payload() {
    let v6 = ipv6(17, &udp(6000, b"payload"));
    let cooked = [&[0; 14][..], &[0x08, 0x00], &packet()].concat();
    let cooked_tagged = [&[0; 14][..], &[0x81, 0, 0, 7, 0x08, 0x00], &packet()].concat();
    let cooked_two = [&[0x86, 0xDD][..], &[0; 18], &v6].concat();
    let cases = [
        (ETHERNET, ethernet(&[0x0800], &packet())),
        (ETHERNET, ethernet(&[0x86DD], &v6)),
        (ETHERNET, ethernet(&[0x8100, 0x0800], &packet())),
        (ETHERNET, ethernet(&[0x88A8, 0x8100, 0x0800], &packet())),
        (ETHERNET, ethernet(&[0x9100, 0x8100, 0x86DD], &v6)),
        (ETHERNET, [ethernet(&[0x0800], &packet()), vec![0; 30]].concat()),
        (113, cooked),
        (113, cooked_tagged),
        (276, cooked_two),
        (RAW_IP, packet()),
        (RAW_IP, v6.clone()),
        (228, packet()),
        (229, v6.clone()),
        (0, [&[2, 0, 0, 0][..], &packet()].concat()),
        (0, [&[0, 0, 0, 30][..], &v6].concat()),
        (108, [&[0, 0, 0, 2][..], &packet()].concat()),
    ];
    for (link_type, frame) in cases {
        let file = pcap(link_type, std::slice::from_ref(&frame));
        assert_eq!(payloads(&file), [b"payload".to_vec()], "link type {link_type}: {frame:X?}");
    }
}

#[test]
fn ip_options_and_extension_headers_are_passed_over() {
    let options = ipv4_with(17, &[1; 8], 0, &udp(1, b"v4"));
    let hop_by_hop = [&[60, 0, 0, 0, 0, 0, 0, 0][..], &[17, 0, 0, 0, 0, 0, 0, 0], &udp(1, b"v6")];
    let extended = ipv6(0, &hop_by_hop.concat());
    let file = pcap(RAW_IP, &[options, extended]);
    assert_eq!(payloads(&file), [b"v4".to_vec(), b"v6".to_vec()]);
}

#[test]
fn fragments_of_ipv4_are_put_together_in_any_order() {
    let whole = udp(6000, b"a payload of several fragments");
    let parts = [
        ipv4_with(17, &[], MORE, &whole[..16]),
        ipv4_with(17, &[], MORE | 2, &whole[16..32]),
        ipv4_with(17, &[], 4, &whole[32..]),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let frames = order.map(|index: usize| ethernet(&[0x0800], &parts[index]));
        let (packets, statistics) = read(&pcap(ETHERNET, &frames));
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].bytes, b"a payload of several fragments");
        assert_eq!((packets[0].timestamp_ns, packets[0].missing_bytes), (Some(2_000_000_000), 0));
        assert_eq!((statistics.fragments, statistics.fragmented_incomplete), (3, 0));
    }
    let (packets, statistics) = read(&pcap(RAW_IP, &parts[..2]));
    assert!(packets.is_empty());
    assert_eq!(statistics.fragmented_incomplete, 1);
}

#[test]
fn fragments_of_ipv6_are_put_together() {
    let whole = udp(6000, b"a payload of several fragments");
    let fragment = |offset: u16, more: u16, payload: &[u8]| {
        let field = (offset | more).to_be_bytes();
        ipv6(44, &[&[17, 0], &field[..], &[0, 0, 0, 9], payload].concat())
    };
    let frames = [fragment(16, 0, &whole[16..]), fragment(0, 1, &whole[..16])];
    assert_eq!(payloads(&pcap(RAW_IP, &frames)), [b"a payload of several fragments".to_vec()]);
}

#[test]
fn what_is_no_payload_is_counted_by_its_reason() {
    let frames = [
        ethernet(&[0x0806], &[0; 28]),
        ethernet(&[0x0800], &ipv4(1, &[8, 0, 0, 0])),
        ethernet(&[0x0800], &[0x45, 0]),
        vec![2; 9],
        ethernet(&[0x0800], &ipv4(17, &[1, 2, 3])),
        datagram(b"the one"),
    ];
    let (packets, statistics) = read(&pcap(ETHERNET, &frames));
    assert_eq!(packets.len(), 1);
    assert_eq!((statistics.records, statistics.not_ip, statistics.not_udp_or_tcp), (6, 1, 1));
    assert_eq!((statistics.malformed, statistics.skipped()), (3, 5));
}

#[test]
fn only_the_destination_asked_for_is_handed_out() {
    let frames = [
        ipv4(17, &udp(6000, b"wanted")),
        ipv4(17, &udp(6001, b"other port")),
        ipv6(17, &udp(6000, b"other address")),
    ];
    let file = pcap(RAW_IP, &frames);
    let options = CaptureOptions::new()
        .format(CaptureFormat::Pcap)
        .destination_port(6000)
        .destination_address(IpAddr::from([239, 1, 2, 3]));
    let (packets, statistics, error) = read_with(&file, options).unwrap();
    assert!(error.is_none());
    assert_eq!(packets.len(), 1);
    assert_eq!(packets[0].bytes, b"wanted");
    assert_eq!(statistics.filtered_out, 2);
}
