//! Files of packets that the tool writes.

use crate::failure::Failure;
use crate::files;
use clap::ValueEnum;
use std::fmt::Display;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use tickwire_feed::Endian;
use tickwire_feed::capture::{
    CaptureFormat, PcapWriteError, PcapWriter, PcapngWriter, PrefixedWriteError, PrefixedWriter,
    Suffixes,
};

/// Format of a file of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PacketFormat {
    /// Each packet with a big-endian 32-bit length prefix.
    U32be,
    /// Each packet with a little-endian 32-bit length prefix.
    U32le,
    /// Packets without separators.
    Raw,
    /// UDP datagrams in a pcap file, one microsecond apart.
    Pcap,
    /// UDP datagrams in a pcapng file, one microsecond apart.
    Pcapng,
}

impl PacketFormat {
    /// Returns the format that a file's name stands for, as readers expect it: `.pcap`, `.pcapng`, `.u32le`,
    /// `.fast` and `.raw`, else u32be.
    ///
    /// A name that ends in `.gz` or `.zst` is refused, because packets are written without compression.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let suffixes = Suffixes::of(&path.to_string_lossy());
        if let Some(compression) = suffixes.compression() {
            return Err(Failure::Usage(format!(
                "{}: packets are written without compression: name a file without that suffix, and compress \
                 it with {compression}",
                path.display()
            )));
        }
        let is_pcapng =
            path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("pcapng"));
        Ok(match suffixes.format() {
            Some(CaptureFormat::Pcap) if is_pcapng => Self::Pcapng,
            Some(CaptureFormat::Pcap) => Self::Pcap,
            Some(CaptureFormat::Raw) => Self::Raw,
            Some(CaptureFormat::U32Le) => Self::U32le,
            Some(CaptureFormat::U32Be) | None => Self::U32be,
        })
    }

    /// Returns the format that a file's name stands for, as [`Self::of`] does. Refuses a format
    /// without packet boundaries, because readers must reset the dictionaries before each packet.
    pub fn with_boundaries(path: &Path) -> Result<Self, Failure> {
        let format = Self::of(path)?;
        format.check_boundaries(path)?;
        Ok(format)
    }

    /// Refuses the raw format: it does not show where a packet begins, so a reader cannot reset the
    /// dictionaries there and would decode wrong values.
    pub fn check_boundaries(self, path: &Path) -> Result<(), Failure> {
        if self != Self::Raw {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{}: the raw format has no packet boundaries, and dictionaries are reset before every \
             packet, so readers would decode wrong values: write u32be (x.bin), u32le (x.u32le), \
             pcap (x.pcap) or pcapng (x.pcapng)",
            path.display()
        )))
    }
}

/// Writes packets to a file.
pub struct PacketFile {
    path: PathBuf,
    writer: LayoutWriter,
    /// Number of packets so far.
    count: u64,
    /// True if readers take the whole file for one packet.
    is_single: bool,
}

enum LayoutWriter {
    Prefixed(PrefixedWriter<Box<dyn Write>>),
    Raw(Box<dyn Write>),
    Pcap(PcapWriter<Box<dyn Write>>),
    Pcapng(PcapngWriter<Box<dyn Write>>),
}

/// Addresses of the datagrams in pcap files.
const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 30_001);
const DESTINATION: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, 1), 30_001);
const NANOSECONDS_APART: u64 = 1_000;

impl PacketFile {
    /// Creates a file in the format that its name stands for; `-` is standard output.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Self::create_as(path, PacketFormat::of(path)?)
    }

    /// Creates a file in this format; `-` is standard output.
    pub fn create_as(path: &Path, format: PacketFormat) -> Result<Self, Failure> {
        let out = files::create(Some(path))?;
        let writer = match format {
            PacketFormat::U32be => LayoutWriter::Prefixed(PrefixedWriter::new(out, Endian::Big)),
            PacketFormat::U32le => LayoutWriter::Prefixed(PrefixedWriter::new(out, Endian::Little)),
            PacketFormat::Raw => LayoutWriter::Raw(out),
            PacketFormat::Pcap => {
                LayoutWriter::Pcap(PcapWriter::new(out).map_err(|e| pcap_failure(path, e))?)
            }
            PacketFormat::Pcapng => {
                let mut writer = PcapngWriter::new(out).map_err(|e| pcap_failure(path, e))?;
                let added = writer.add_interface(&DESTINATION.to_string());
                added.map_err(|e| pcap_failure(path, e))?;
                LayoutWriter::Pcapng(writer)
            }
        };
        Ok(Self { path: path.to_owned(), writer, count: 0, is_single: false })
    }

    /// As [`create`](Self::create), for readers that take a raw file for one packet: a second packet in a raw file is
    /// refused.
    pub fn create_separated(path: &Path) -> Result<Self, Failure> {
        let is_single = PacketFormat::of(path)? == PacketFormat::Raw;
        Ok(Self { is_single, ..Self::create(path)? })
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: &[u8]) -> Result<(), Failure> {
        let Self { path, writer, count, is_single } = self;
        if *is_single && *count > 0 {
            return Err(Failure::Usage(format!(
                "{}: a raw file holds one packet: write u32be (x.bin), u32le (x.u32le), pcap (x.pcap) or pcapng (x.pcapng)",
                path.display()
            )));
        }
        let time_ns = *count * NANOSECONDS_APART;
        *count += 1;
        match writer {
            LayoutWriter::Prefixed(writer) => {
                writer.write_packet(packet).map_err(|error| prefixed_failure(path, error))
            }
            LayoutWriter::Raw(out) => Ok(out.write_all(packet)?),
            LayoutWriter::Pcap(writer) => {
                let written = writer.write_datagram(time_ns, SOURCE, DESTINATION, packet);
                written.map_err(|e| pcap_failure(path, e))
            }
            LayoutWriter::Pcapng(writer) => {
                let written = writer.write_datagram(0, time_ns, SOURCE, DESTINATION, packet);
                written.map_err(|e| pcap_failure(path, e))
            }
        }
    }

    /// Writes the output that is still buffered.
    pub fn finish(self) -> Result<(), Failure> {
        let mut out = match self.writer {
            LayoutWriter::Prefixed(writer) => writer.into_inner(),
            LayoutWriter::Raw(out) => out,
            LayoutWriter::Pcap(writer) => writer.into_inner(),
            LayoutWriter::Pcapng(writer) => writer.into_inner(),
        };
        Ok(out.flush()?)
    }
}

fn prefixed_failure(path: &Path, error: PrefixedWriteError) -> Failure {
    match error {
        PrefixedWriteError::Io(error) => error.into(),
        error => packet_failure(path, error),
    }
}

fn pcap_failure(path: &Path, error: PcapWriteError) -> Failure {
    match error {
        PcapWriteError::Io(error) => error.into(),
        error => packet_failure(path, error),
    }
}

/// A packet that the format cannot hold.
fn packet_failure(path: &Path, error: impl Display) -> Failure {
    Failure::Data(format!("{}: {error}", files::name_of(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_stands_for_its_format() {
        for (name, expected) in [
            ("x.pcap", PacketFormat::Pcap),
            ("x.PCAPNG", PacketFormat::Pcapng),
            ("x.raw", PacketFormat::Raw),
            ("x.fast", PacketFormat::Raw),
            ("x.u32le", PacketFormat::U32le),
            ("x.bin", PacketFormat::U32be),
            ("day.1", PacketFormat::U32be),
            ("-", PacketFormat::U32be),
        ] {
            assert_eq!(PacketFormat::of(Path::new(name)).ok(), Some(expected), "{name}");
        }
        for name in ["x.pcap.gz", "x.bin.zst"] {
            let failure = PacketFormat::of(Path::new(name)).expect_err(name);
            assert!(
                matches!(&failure, Failure::Usage(text) if text.contains("without compression")),
                "{name}"
            );
        }
    }
}
