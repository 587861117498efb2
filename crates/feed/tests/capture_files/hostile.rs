use proptest::collection::vec;
use proptest::prelude::*;
use tickwire_feed::capture::{CaptureFormat, CaptureLimits, CaptureOptions};

use super::build::{
    ETHERNET, Order, datagram, enhanced_packet, ethernet, interface, ipv4_with, pcap, prefixed,
    section, segment, udp,
};
use super::read_with;

/// Files of every kind, to be damaged.
fn sound_files() -> Vec<Vec<u8>> {
    let part =
        |fragment, payload: &[u8]| ethernet(&[0x0800], &ipv4_with(17, &[], fragment, payload));
    let whole = udp(1, &[3; 40]);
    let frames = [
        datagram(b"payload"),
        part(0x2000, &whole[..24]),
        part(3, &whole[24..]),
        segment(0, true, b""),
        segment(5, false, b"fg"),
        segment(1, false, b"bcde"),
    ];
    let order = Order::Big;
    let mut pcapng = [section(order), interface(order, 1, Some(9))].concat();
    frames.iter().for_each(|frame| pcapng.extend(enhanced_packet(order, 0, 1, frame)));
    vec![
        pcap(ETHERNET, &frames),
        pcapng,
        prefixed(Order::Big, &[b"one", b"two", b"three"]),
        prefixed(Order::Little, &[b"one", b"two", b"three"]),
    ]
}

fn read_in_every_format(file: &[u8]) {
    let limits = CaptureLimits { packet_bytes_max: 1 << 16, ..CaptureLimits::default() };
    let formats = CaptureFormat::ALL.map(Some).into_iter().chain([None]);
    for format in formats {
        let mut options = CaptureOptions::new().limits(limits);
        if let Some(format) = format {
            options = options.format(format);
        }
        if let Ok((packets, ..)) = read_with(file, options) {
            let longest = packets.iter().map(|packet| packet.bytes.len()).max().unwrap_or(0);
            assert!(longest <= limits.record_bytes_max);
        }
    }
}

#[test]
fn files_cut_anywhere_never_panic() {
    for file in sound_files() {
        (0..file.len()).for_each(|len| read_in_every_format(&file[..len]));
    }
}

#[test]
fn lengths_of_all_ones_are_refused() {
    for file in sound_files() {
        for offset in 0..file.len().saturating_sub(4) {
            let mut damaged = file.clone();
            damaged[offset..offset + 4].fill(0xFF);
            read_in_every_format(&damaged);
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(file in vec(any::<u8>(), 0..600)) {
        read_in_every_format(&file);
    }

    #[test]
    fn damaged_files_never_panic(
        which in 0_usize..4,
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut file = sound_files().swap_remove(which);
        for (index, byte) in damage {
            let index = index.index(file.len());
            file[index] = byte;
        }
        read_in_every_format(&file);
    }

    #[test]
    fn random_frames_of_every_link_type_never_panic(
        link_type in prop::sample::select(vec![0_u32, 1, 12, 101, 108, 113, 228, 229, 276]),
        frames in vec(vec(any::<u8>(), 0..120), 0..6),
    ) {
        read_in_every_format(&pcap(link_type, &frames));
    }

    #[test]
    fn random_ip_packets_never_panic(
        protocol in prop::sample::select(vec![6_u8, 17, 51, 44]),
        packets in vec((any::<u16>(), vec(any::<u8>(), 0..60)), 0..6),
    ) {
        let frames: Vec<_> = packets
            .iter()
            .map(|(fragment, payload)| ipv4_with(protocol, &[], *fragment, payload))
            .collect();
        read_in_every_format(&pcap(101, &frames));
    }

    #[test]
    fn random_compressed_content_never_panics(bytes in vec(any::<u8>(), 0..300)) {
        for magic in [&[0x1F, 0x8B, 0x08][..], &[0x28, 0xB5, 0x2F, 0xFD]] {
            read_in_every_format(&[magic, &bytes].concat());
        }
    }

    #[test]
    fn segments_in_any_order_give_the_stream(
        lengths in vec(1_usize..20, 1..20),
        shuffle in any::<prop::sample::Index>(),
        start in any::<u32>(),
    ) {
        let stream: Vec<u8> = (0..lengths.iter().sum()).map(|index: usize| index as u8).collect();
        let mut offset = 0;
        let mut frames = vec![segment(start.wrapping_sub(1), true, b"")];
        for len in lengths {
            let payload = &stream[offset..offset + len];
            frames.push(segment(start.wrapping_add(offset as u32), false, payload));
            offset += len;
        }
        let middle = shuffle.index(frames.len() - 1);
        frames[1..].rotate_left(middle);
        let (packets, statistics, error) =
            read_with(&pcap(ETHERNET, &frames), CaptureOptions::new()).unwrap();
        prop_assert!(error.is_none());
        prop_assert_eq!(statistics.tcp_gaps, 0);
        let bytes: Vec<u8> = packets.into_iter().flat_map(|packet| packet.bytes).collect();
        prop_assert_eq!(bytes, stream);
    }
}
