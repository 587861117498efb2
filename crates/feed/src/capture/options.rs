//! Options of reading a capture.

use std::net::IpAddr;

use super::format::CaptureFormat;

/// Limits of the memory that a capture file can make the reader use. The defaults allow about 150
/// MiB in the worst case; ordinary files need some hundred KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Longest packet of a length-prefixed file, in bytes. Default 16 MiB.
    pub packet_bytes_max: usize,
    /// Longest record of a pcap or pcapng file, in bytes. Default 256 KiB, the longest that capture
    /// programs write.
    pub record_bytes_max: usize,
    /// Length of the pieces that a raw stream is returned in, in bytes. Default 64 KiB.
    pub piece_bytes: usize,
    /// Most interfaces that one section of a pcapng file may describe. Default 4096.
    pub interfaces_max: usize,
    /// Most IP datagrams being reassembled from fragments at the same time. Default 64.
    pub fragmented_datagrams_max: usize,
    /// Most bytes held for those datagrams together. Default 4 MiB.
    pub fragmented_bytes_max: usize,
    /// How long fragments wait for the others of their datagram, in nanoseconds of capture time.
    /// Default 30 s.
    pub fragmented_age_ns: u64,
    /// Most TCP streams followed at the same time. Default 256; a further one replaces the stream
    /// that is silent longest.
    pub tcp_flows_max: usize,
    /// Bytes held behind a hole of one TCP stream before the hole is declared lost. Default 256 KiB.
    pub tcp_held_bytes_max: usize,
    /// Segments held behind a hole of one TCP stream before the hole is declared lost. Default 1024.
    pub tcp_held_segments_max: usize,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        Self {
            packet_bytes_max: 16 << 20,
            record_bytes_max: 256 << 10,
            piece_bytes: 64 << 10,
            interfaces_max: 4096,
            fragmented_datagrams_max: 64,
            fragmented_bytes_max: 4 << 20,
            fragmented_age_ns: 30_000_000_000,
            tcp_flows_max: 256,
            tcp_held_bytes_max: 256 << 10,
            tcp_held_segments_max: 1024,
        }
    }
}

/// Options of reading a capture. By default, the format is guessed and every packet is returned.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    pub(super) format: Option<CaptureFormat>,
    pub(super) file_name: Option<String>,
    pub(super) filter: DestinationFilter,
    pub(super) limits: CaptureLimits,
}

/// Selected destinations; `None` selects all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DestinationFilter {
    pub(super) port: Option<u16>,
    pub(super) address: Option<IpAddr>,
}

impl CaptureOptions {
    /// Creates options that guess the format and keep every packet, with the default [`CaptureLimits`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the format, so that nothing is guessed.
    pub fn format(mut self, format: CaptureFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the name of the file, which identifies the format if the first bytes do not.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = Some(name.into());
        self
    }

    /// Keeps only datagrams and segments sent to this port (pcap and pcapng).
    pub fn destination_port(mut self, port: u16) -> Self {
        self.filter.port = Some(port);
        self
    }

    /// Keeps only datagrams and segments sent to this address, of a host or of a multicast group
    /// (pcap and pcapng).
    pub fn destination_address(mut self, address: IpAddr) -> Self {
        self.filter.address = Some(address);
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: CaptureLimits) -> Self {
        self.limits = limits;
        self
    }
}
