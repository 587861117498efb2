use tickwire_feed::capture::{CaptureLimits, CaptureOptions};

use super::build::{ETHERNET, Order, pcap, pcap_header, pcap_record, segment};
use super::{Observed, read, read_with};

/// Offset, lost bytes and bytes of each piece.
fn pieces(packets: &[Observed]) -> Vec<(u64, u64, &[u8])> {
    let piece = |packet: &Observed| packet.stream.map(|(_, offset, lost)| (offset, lost));
    packets
        .iter()
        .map(|packet| (piece(packet).unwrap(), packet.bytes.as_slice()))
        .map(|((offset, lost), bytes)| (offset, lost, bytes))
        .collect()
}

#[test]
fn reordered_and_repeated_segments_give_the_stream_once() {
    let frames = [
        segment(99, true, b""),
        segment(103, false, b"def"),
        segment(100, false, b"abc"),
        segment(103, false, b"def"),
        segment(104, false, b"efgh"),
    ];
    let (packets, statistics) = read(&pcap(ETHERNET, &frames));
    assert_eq!(pieces(&packets), [(0, 0, &b"abc"[..]), (3, 0, b"def"), (6, 0, b"gh")]);
    assert_eq!(packets[1].timestamp_ns, Some(1_000_000_000));
    assert_eq!((statistics.tcp_retransmitted, statistics.tcp_gaps), (1, 0));
}

#[test]
fn a_hole_that_is_never_filled_is_told_at_the_end() {
    let frames = [segment(0, false, b"ab"), segment(5, false, b"f"), segment(6, false, b"g")];
    let (packets, statistics) = read(&pcap(ETHERNET, &frames));
    assert_eq!(pieces(&packets), [(0, 0, &b"ab"[..]), (5, 3, b"f"), (6, 0, b"g")]);
    assert_eq!((statistics.tcp_gaps, statistics.tcp_lost_bytes), (1, 3));
}

#[test]
fn a_hole_is_given_up_when_the_limit_is_reached() {
    let frames: Vec<_> = (0..20).map(|index| segment(index * 2, false, b"xy")).collect();
    let frames = [&frames[..1], &frames[2..]].concat();
    let limits = CaptureLimits { tcp_held_segments_max: 4, ..CaptureLimits::default() };
    let options = CaptureOptions::new().limits(limits);
    let (packets, statistics, _) = read_with(&pcap(ETHERNET, &frames), options).unwrap();
    assert_eq!(packets.len(), 19);
    assert_eq!(pieces(&packets)[1], (4, 2, &b"xy"[..]));
    assert_eq!((statistics.tcp_gaps, statistics.tcp_lost_bytes), (1, 2));
}

#[test]
fn bytes_cut_off_by_the_capture_are_a_hole() {
    let frame = segment(0, false, b"abcdef");
    let file = [
        pcap_header(Order::Little, 0xA1B2_C3D4, ETHERNET),
        pcap_record(Order::Little, (0, 0), frame.len(), &frame[..frame.len() - 2]),
        {
            let next = segment(6, false, b"gh");
            pcap_record(Order::Little, (0, 0), next.len(), &next)
        },
    ]
    .concat();
    let (packets, statistics) = read(&file);
    assert_eq!(pieces(&packets), [(0, 0, &b"abcd"[..]), (6, 2, b"gh")]);
    assert_eq!(statistics.truncated, 1);
}
