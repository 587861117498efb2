use tickwire_feed::Endian;
use tickwire_feed::capture::{
    CaptureError, CaptureFormat, CaptureKind, CaptureLimits, CaptureOptions, CapturePart,
    CaptureReader, PrefixedWriter,
};

use super::build::{Order, prefixed};
use super::{payloads, read_with};

#[test]
fn what_the_writer_writes_the_reader_reads() {
    let packets: [&[u8]; 4] = [b"first", b"", &[7; 100_000], b"last"];
    for (endian, format) in
        [(Endian::Big, CaptureFormat::U32Be), (Endian::Little, CaptureFormat::U32Le)]
    {
        let mut writer = PrefixedWriter::new(Vec::new(), endian);
        packets.iter().for_each(|packet| writer.write_packet(packet).unwrap());
        let file = writer.into_inner();
        let options = CaptureOptions::new().format(format);
        let (seen, statistics, error) = read_with(&file, options).unwrap();
        assert!(error.is_none());
        let bytes: Vec<&[u8]> = seen.iter().map(|packet| packet.bytes.as_slice()).collect();
        assert_eq!(bytes, packets);
        assert_eq!(seen[3].file_offset, 5 + 100_000 + 4 * 4);
        assert_eq!(statistics.bytes, 100_009);
    }
}

#[test]
fn both_orders_are_guessed() {
    for order in Order::BOTH {
        assert_eq!(payloads(&prefixed(order, &[b"ab", b"c"])), [b"ab".to_vec(), b"c".to_vec()]);
    }
}

#[test]
fn a_cut_file_gives_its_whole_packets_and_then_says_where_it_is_cut() {
    let file = prefixed(Order::Big, &[b"first", b"second", b"third"]);
    let options = || CaptureOptions::new().format(CaptureFormat::U32Be);
    let (seen, _, error) = read_with(&file[..file.len() - 2], options()).unwrap();
    assert_eq!(seen.len(), 2);
    let error = error.unwrap();
    assert_eq!(
        error.to_string(),
        "the file ends inside the packet at offset 23: 5 bytes wanted, 3 found"
    );
    let (seen, _, error) = read_with(&file[..file.len() - 7], options()).unwrap();
    assert_eq!(seen.len(), 2);
    let part = CapturePart::RecordHeader;
    assert!(matches!(
        error,
        Some(CaptureError::Truncated { part: p, offset: 19, wanted: 4, found: 2 }) if p == part
    ));
}

#[test]
fn packets_above_the_limit_are_refused_with_their_length() {
    let file = prefixed(Order::Little, &[b"ab", b"0123456789"]);
    let limits = CaptureLimits { packet_bytes_max: 9, ..CaptureLimits::default() };
    let options = CaptureOptions::new().format(CaptureFormat::U32Le).limits(limits);
    let (seen, _, error) = read_with(&file, options).unwrap();
    assert_eq!(seen.len(), 1);
    assert!(matches!(error, Some(CaptureError::PacketTooLong { offset: 6, len: 10, len_max: 9 })));
}

#[test]
fn raw_files_come_in_pieces_of_one_stream_or_whole() {
    let file: Vec<u8> = (0..=255).cycle().map(|byte| byte | 0x80).take(1000).collect();
    let limits = CaptureLimits { piece_bytes: 300, ..CaptureLimits::default() };
    let options = CaptureOptions::new().format(CaptureFormat::Raw).limits(limits);
    let (seen, _, error) = read_with(&file, options).unwrap();
    assert!(error.is_none());
    let places: Vec<_> = seen.iter().map(|packet| packet.stream).collect();
    assert_eq!(places, [0, 300, 600, 900].map(|offset| Some((0, offset, 0))));
    assert_eq!(seen.iter().flat_map(|packet| packet.bytes.clone()).collect::<Vec<_>>(), file);

    let open = || CaptureReader::open(&file[..], CaptureOptions::new()).unwrap();
    assert_eq!((open().format(), open().kind()), (CaptureFormat::Raw, CaptureKind::Stream));
    assert_eq!(open().read_whole(1000).unwrap().bytes, file);
    assert!(matches!(open().read_whole(999), Err(CaptureError::ContentTooLong { len_max: 999 })));
}

#[test]
fn an_empty_file_has_no_packets() {
    for format in CaptureFormat::ALL.into_iter().filter(|format| *format != CaptureFormat::Pcap) {
        let (seen, _, error) = read_with(&[], CaptureOptions::new().format(format)).unwrap();
        assert!(seen.is_empty() && error.is_none());
    }
    assert!(payloads(&[]).is_empty());
}

#[test]
fn an_unclear_format_must_be_named() {
    let file = [0, 0, 0, 9, 1, 2, 3];
    let error = CaptureReader::open(&file[..], CaptureOptions::new()).err().unwrap();
    assert!(error.to_string().contains(": name it"), "{error}");
    let options = CaptureOptions::new().file_name("day.raw");
    assert_eq!(CaptureReader::open(&file[..], options).unwrap().format(), CaptureFormat::Raw);
}
