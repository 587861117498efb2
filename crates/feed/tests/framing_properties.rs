//! Framers on random bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use tickwire_feed::Endian;
use tickwire_feed::framing::{Framer, Framing, MessageHeader, Preset, read_message_header};

/// Splits packets and checks that segments lie within the input.
fn split_all(framing: Framing, packets: &[Vec<u8>]) {
    let mut framer = Framer::new(framing).message_bytes_max(100);
    let longest = packets.iter().map(Vec::len).max().unwrap_or(0);
    for packet in packets {
        for segment in framer.split(packet).flatten() {
            assert!(segment.offset <= packet.len());
            assert!(segment.bytes.len() <= longest.max(100));
            assert_eq!(segment.preamble.len(), framing.preamble_bytes());
        }
    }
}

/// Returns the output of a framer for a stream in these pieces: segments with their offsets, and
/// errors.
fn found<'p>(framing: Framing, pieces: impl Iterator<Item = &'p [u8]>) -> Vec<String> {
    let mut framer = Framer::new(framing).message_bytes_max(100);
    let mut found = Vec::new();
    for piece in pieces {
        found.extend(framer.split_stream(piece).map(|segment| format!("{segment:?}")));
    }
    found.push(format!("{} {}", framer.waiting_bytes(), framer.is_lost()));
    found
}

fn number(digits: Vec<u8>) -> String {
    digits.iter().map(|digit| char::from(b'0' + digit % 10)).collect()
}

proptest! {
    #[test]
    fn random_packets_never_panic(packets in vec(vec(any::<u8>(), 0..60), 0..8)) {
        Preset::ALL.into_iter().for_each(|preset| split_all(preset.framing(), &packets));
    }

    #[test]
    fn a_stream_of_packets_gives_the_same_however_it_is_cut(
        packets in vec((0_u8..3, 0_u8..4, 0_u8..4, 0_u8..12, vec(any::<u8>(), 0..12)), 0..20),
        cuts in vec(1_usize..20, 1..10),
        reset in prop::sample::select(vec!["never", "packet", "message", "template"]),
    ) {
        let mut stream = Vec::new();
        for (seq_num, count, number, wrong, bytes) in packets {
            // Occasionally a length differs from the number of bytes.
            let len = if wrong == 0 { 3 } else { bytes.len() as u8 };
            stream.extend([0, 0, 0, seq_num, 0, count, 0, number, 0, len]);
            stream.extend(bytes);
        }
        for preset in [Preset::B3Umdf, Preset::SzseStep] {
            let framing: Framing = format!("{preset},reset={reset}").parse().unwrap();
            let whole = found(framing, std::iter::once(&stream[..]));
            let mut rest = &stream[..];
            let pieces = cuts.iter().cycle().map_while(|&cut| {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                rest = behind;
                (!piece.is_empty()).then_some(piece)
            });
            prop_assert_eq!(found(framing, pieces), whole);
        }
    }

    #[test]
    fn random_chunks_never_panic(
        chunks in vec((0_u8..3, 0_u8..4, 0_u8..4, 0_u8..6, vec(any::<u8>(), 0..6)), 0..20),
    ) {
        let packets: Vec<Vec<u8>> = chunks
            .into_iter()
            .map(|(seq_num, count, number, len, bytes)| {
                [&[0, 0, 0, seq_num, 0, count, 0, number, 0, len][..], &bytes].concat()
            })
            .collect();
        split_all(Preset::B3Umdf.framing(), &packets);
    }

    #[test]
    fn random_fixt_fields_never_panic(
        fields in vec((prop::sample::select(vec!["8", "34", "95", "96", "10", "x"]),
            vec(any::<u8>(), 0..22)), 0..12),
        cut in 1_usize..40,
    ) {
        let mut packet = b"8=FIXT.1.1\x01".to_vec();
        for (tag, digits) in fields {
            packet.extend(format!("{tag}={}\x01", number(digits)).bytes());
        }
        let mut framer = Framer::new(Preset::SzseStep.framing()).message_bytes_max(50);
        packet.chunks(cut).for_each(|piece| {
            framer.split_stream(piece).flatten().for_each(|segment| {
                assert_eq!(packet.get(segment.offset..).unwrap()[..segment.bytes.len()], *segment.bytes);
            });
        });
        split_all(Preset::SzseStep.framing(), &[packet]);
    }

    #[test]
    fn random_message_headers_never_panic(
        bytes in vec(any::<u8>(), 0..40),
        position in 0_usize..50,
        prefix in 0_usize..6,
        width in 0_usize..=8,
        suffix in 0_usize..6,
    ) {
        let headers = [
            MessageHeader::None,
            MessageHeader::Encoded { prefix_fields: prefix, suffix_fields: suffix },
            MessageHeader::Fixed {
                prefix_bytes: prefix,
                length_bytes: width,
                endian: Endian::Big,
                suffix_bytes: suffix,
            },
        ];
        for header in headers {
            if let Ok(Some(bounds)) = read_message_header(header, &bytes, position) {
                prop_assert!(bounds.header_bytes <= bytes.len().saturating_sub(position));
            }
        }
    }

    #[test]
    fn random_texts_never_panic(text in "[a-z0-9:=,/-]{0,40}") {
        if let Ok(framing) = text.parse::<Framing>() {
            prop_assert_eq!(framing.to_string().parse(), Ok(framing));
        }
    }

    #[test]
    fn a_message_cut_into_chunks_comes_back(
        message in vec(any::<u8>(), 2..200),
        cut in any::<prop::sample::Index>(),
        seq_num in any::<u32>(),
    ) {
        let (first, second) = message.split_at(1 + cut.index(message.len() - 1));
        let chunk = |number: u16, bytes: &[u8]| {
            let numbers = [2, number, bytes.len() as u16].map(u16::to_be_bytes).concat();
            [&seq_num.to_be_bytes()[..], &numbers, bytes].concat()
        };
        let mut framer = Framer::new(Preset::B3Umdf.framing());
        prop_assert_eq!(framer.split(&chunk(1, first)).count(), 0);
        let last = chunk(2, second);
        let segment = framer.split(&last).next().unwrap().unwrap();
        prop_assert_eq!(segment.bytes, message);
        prop_assert_eq!(segment.seq_num, Some(u64::from(seq_num)));
    }
}
