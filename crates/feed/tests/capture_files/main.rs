//! Capture files built byte by byte, and the packets that the reader returns.

mod build;
#[cfg(feature = "compressed")]
mod compressed;
mod hostile;
mod marks;
mod network;
mod pcap;
mod prefixed;
mod tcp;

use std::net::SocketAddr;

use tickwire_feed::capture::{CaptureError, CaptureOptions, CaptureReader, Packet, Statistics};

/// A packet, with its bytes, as a value to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Observed {
    bytes: Vec<u8>,
    file_offset: u64,
    timestamp_ns: Option<u64>,
    destination: Option<SocketAddr>,
    missing_bytes: usize,
    /// Flow, offset and lost bytes.
    stream: Option<(u64, u64, u64)>,
}

impl From<Packet<'_>> for Observed {
    fn from(packet: Packet<'_>) -> Self {
        Self {
            bytes: packet.bytes.to_vec(),
            file_offset: packet.file_offset,
            timestamp_ns: packet.timestamp_ns,
            destination: packet.destination,
            missing_bytes: packet.missing_bytes,
            stream: packet.stream.map(|stream| (stream.flow, stream.offset, stream.lost_bytes)),
        }
    }
}

/// Reads a whole file: the packets, the counters, and the error at its end, if any.
fn read_with(
    file: &[u8],
    options: CaptureOptions,
) -> Result<(Vec<Observed>, Statistics, Option<CaptureError>), CaptureError> {
    let mut reader = CaptureReader::open(file, options)?;
    let mut packets = Vec::new();
    let error = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => {
                assert_eq!(packet.index, packets.len() as u64);
                packets.push(Observed::from(packet));
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(matches!(reader.next_packet(), Ok(None)), "a reader at its end stays there");
    assert_eq!(reader.statistics().packets, packets.len() as u64);
    Ok((packets, *reader.statistics(), error))
}

/// Reads a whole file that has no error.
fn read(file: &[u8]) -> (Vec<Observed>, Statistics) {
    let (packets, statistics, error) = read_with(file, CaptureOptions::new()).unwrap();
    assert!(error.is_none(), "{error:?}");
    (packets, statistics)
}

/// Reads a whole file and returns the bytes of its packets.
fn payloads(file: &[u8]) -> Vec<Vec<u8>> {
    read(file).0.into_iter().map(|packet| packet.bytes).collect()
}
