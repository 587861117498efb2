//! Capture files of every format, and the framing of their packets.

use crate::choices::Choices;
use tickwire_feed::capture::{CaptureFormat, CaptureLimits, CaptureOptions, CaptureReader};
use tickwire_feed::framing::{Framer, Framing, Preset, read_message_header};

const LIMITS: CaptureLimits = CaptureLimits {
    packet_bytes_max: 4 << 10,
    record_bytes_max: 8 << 10,
    piece_bytes: 64,
    interfaces_max: 8,
    fragmented_datagrams_max: 4,
    fragmented_bytes_max: 16 << 10,
    fragmented_age_ns: 1_000_000_000,
    tcp_flows_max: 4,
    tcp_held_bytes_max: 4 << 10,
    tcp_held_segments_max: 8,
};
/// Fewer than an uncompressed input of a few hundred KiB can hold; only compressed inputs exceed
/// it.
const PACKETS_MAX: usize = 4096;
const MESSAGE_BYTES_MAX: usize = 2 << 10;

/// Reads a capture and splits its packets. The first byte selects the format, the second the
/// framing: that of an exchange, or one whose text precedes the capture.
///
/// # Panics
/// If a packet exceeds the limits, or the printed form of a framing differs from its input.
pub fn capture(data: &[u8]) {
    let mut choices = Choices::new(data);
    let options = CaptureOptions::new().limits(LIMITS);
    let options = match choices.below(CaptureFormat::ALL.len() + 1) {
        0 => options,
        index => options.format(CaptureFormat::ALL[index - 1]),
    };
    let Some(framing) = framing(&mut choices) else { return };
    let mut framer = Framer::new(framing).message_bytes_max(MESSAGE_BYTES_MAX);
    let Ok(mut reader) = CaptureReader::open(choices.rest(), options) else { return };
    for index in 0..PACKETS_MAX {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert!(matches!(reader.next_packet(), Ok(None)), "packets after an error");
                break;
            }
        };
        assert_eq!(packet.index, index as u64);
        assert!(packet.bytes.len() <= LIMITS.fragmented_bytes_max, "{}", packet.bytes.len());
        split(&mut framer, packet.bytes, packet.stream.is_some());
    }
}

fn framing(choices: &mut Choices<'_>) -> Option<Framing> {
    match choices.below(Preset::ALL.len() + 1) {
        0 => {
            let len = choices.below(128);
            let text = std::str::from_utf8(choices.bytes(len)).ok()?;
            let framing: Framing = text.parse().ok()?;
            assert_eq!(framing.to_string().parse(), Ok(framing), "{framing}");
            Some(framing)
        }
        index => Some(Preset::ALL[index - 1].framing()),
    }
}

fn split(framer: &mut Framer, packet: &[u8], is_stream: bool) {
    let header = framer.framing().header_before_message();
    let segments = if is_stream { framer.split_stream(packet) } else { framer.split(packet) };
    let mut bytes = 0;
    for segment in segments {
        let segment = match segment {
            Ok(segment) => segment,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        bytes += segment.bytes.len();
        if let Ok(Some(bounds)) = read_message_header(header, segment.bytes, 0) {
            assert!(bounds.header_bytes <= segment.bytes.len());
        }
    }
    assert!(bytes <= packet.len() + MESSAGE_BYTES_MAX, "{bytes} bytes of {}", packet.len());
}
