use tickwire_feed::capture::{CaptureOptions, CaptureReader};

use super::build::{ETHERNET, datagram, ethernet, ipv4_with, pcap, segment, udp};

/// For each packet, whether reading can resume after it.
fn marks(frames: &[Vec<u8>]) -> Vec<bool> {
    let file = pcap(ETHERNET, frames);
    let mut reader = CaptureReader::open(&file[..], CaptureOptions::new()).unwrap();
    let mut marks = Vec::new();
    while reader.next_packet().unwrap().is_some() {
        marks.push(reader.mark().is_some());
    }
    marks
}

#[test]
fn nothing_is_marked_while_a_datagram_waits_for_fragments() {
    let whole = udp(6000, b"a payload of several fragments");
    let first = ethernet(&[0x0800], &ipv4_with(17, &[], 0x2000, &whole[..16]));
    let last = ethernet(&[0x0800], &ipv4_with(17, &[], 2, &whole[16..]));
    let packet = datagram(b"whole");
    let frames = [packet.clone(), first, packet.clone(), last, packet];
    assert_eq!(marks(&frames), [true, false, true, true]);
}

#[test]
fn nothing_is_marked_behind_a_segment_of_tcp() {
    let packet = datagram(b"whole");
    let frames = [packet.clone(), segment(1, true, b""), packet.clone(), packet];
    assert_eq!(marks(&frames), [true, false, false]);
}
