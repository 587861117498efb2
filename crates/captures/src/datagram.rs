//! Captures of feeds whose packets are whole datagrams, such as OPRA's.

use tickwire_feed::capture::Packet;
use tickwire_feed::counted;

/// Returns the reason why a packet is not a whole datagram; `None` if it is one. A raw file counts
/// as one packet.
pub fn not_a_datagram(packet: &Packet<'_>, is_raw: bool) -> Option<String> {
    match packet.stream {
        _ if packet.is_truncated() => {
            Some(format!("the capture truncated it by {}", counted(packet.missing_bytes, "byte")))
        }
        Some(_) if !is_raw => Some(
            "part of a TCP stream: OPRA packets are datagrams; select them with --port".to_owned(),
        ),
        _ => None,
    }
}
