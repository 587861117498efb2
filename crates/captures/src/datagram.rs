//! Captures of feeds whose packets are whole datagrams, as OPRA's.

use tickwire_feed::capture::Packet;

/// Why a packet is no whole datagram, if it is none. A raw file is one packet.
pub fn not_a_datagram(packet: &Packet<'_>, is_raw: bool) -> Option<String> {
    match packet.stream {
        _ if packet.is_truncated() => {
            Some(format!("the capture truncated it by {} bytes", packet.missing_bytes))
        }
        Some(_) if !is_raw => Some(
            "part of a TCP stream: OPRA packets are datagrams; select them with --port".to_owned(),
        ),
        _ => None,
    }
}
