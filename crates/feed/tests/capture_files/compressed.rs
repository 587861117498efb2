use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tickwire_feed::capture::{CaptureError, CaptureOptions};

use super::build::{ETHERNET, Order, datagram, pcap, prefixed};
use super::{payloads, read_with};

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    compress_to_vec(content, CompressionLevel::Fastest)
}

#[test]
fn compressed_captures_are_read_like_plain_ones() {
    let files = [
        prefixed(Order::Big, &[b"one", b"two"]),
        prefixed(Order::Little, &[b"one", b"two"]),
        pcap(ETHERNET, &[datagram(b"one"), datagram(b"two")]),
    ];
    for file in &files {
        let plain = payloads(file);
        assert_eq!(plain, [b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(payloads(&gzip(file)), plain);
        assert_eq!(payloads(&zstd(file)), plain);
        let (first, second) = file.split_at(9);
        assert_eq!(payloads(&[gzip(first), gzip(second)].concat()), plain);
        assert_eq!(payloads(&[zstd(first), zstd(second)].concat()), plain);
    }
}

#[test]
fn a_compressed_file_cut_short_gives_what_it_can_and_then_an_error() {
    let noise: Vec<u8> =
        (0..60_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let packets: Vec<&[u8]> = noise.chunks(500).collect();
    let file = gzip(&prefixed(Order::Big, &packets));
    let (seen, _, error) = read_with(&file[..file.len() / 2], CaptureOptions::new()).unwrap();
    assert!(seen.len() > 10 && seen.len() < packets.len(), "{}", seen.len());
    assert!(matches!(error, Some(CaptureError::Read { .. })), "{error:?}");
}

#[test]
fn a_bomb_is_read_in_pieces() {
    let zeros = vec![0; 64 << 20];
    let bomb = gzip(&zeros);
    assert!(bomb.len() < 100_000);
    let options = CaptureOptions::new().format(tickwire_feed::capture::CaptureFormat::Raw);
    let mut reader = tickwire_feed::capture::CaptureReader::open(&bomb[..], options).unwrap();
    let mut bytes = 0;
    while let Some(packet) = reader.next_packet().unwrap() {
        assert!(packet.bytes.len() <= 64 << 10);
        bytes += packet.bytes.len();
    }
    assert_eq!(bytes, zeros.len());
}
