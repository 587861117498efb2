//! Reads packets from capture files, and writes them.
//!
//! [`CaptureReader`] reads any [`Read`](std::io::Read). It decompresses gzip and zstd, recognised
//! by the first bytes (feature `compressed`; an error without it), detects the format unless the
//! options name it, and returns one [`Packet`] at a time. It holds one record and the data for
//! reassembly, never the whole file; [`CaptureLimits`] bounds both.
//!
//! [`Merge`] orders several captures by time, [`LineMap`] assigns packets to lines, and
//! [`CaptureDriver`] passes them to a feed handler with the capture's times as its clock.
//!
//! The containers pcap and pcapng are parsed here and not by a library, for two reasons: a length
//! must be checked against its limit before anything is buffered, and the error of a truncated file
//! must give the exact offset and the bytes expected and found. A library parses the headers inside
//! a packet.

#[cfg(feature = "compressed")]
mod compress;
mod compression;
mod decompress;
mod drive;
mod error;
mod format;
mod fragments;
mod frame;
mod lines;
mod link;
mod mark;
mod merge;
mod network;
mod options;
mod packet;
mod pcap;
mod pcap_writer;
mod pcapng;
mod pcapng_writer;
mod prefixed;
mod reader;
mod source;
mod statistics;
mod suffix;
mod survey;
mod tcp;
mod transport;
mod tunnel;
#[cfg(feature = "compressed")]
mod zstd;

#[cfg(feature = "compressed")]
pub use compress::CompressingWriter;
pub use compression::Compression;
pub use decompress::decompressed;
pub use drive::{CaptureDriver, DrivenCounters, OTHER_DESTINATIONS_MAX, OtherPackets};
pub use error::{BlockFault, CaptureError, CapturePart};
pub use format::{AmbiguousFormat, CaptureFormat, GUESS_BYTES, UnknownFormat, guess_format};
pub use lines::LineMap;
pub use mark::CaptureMark;
pub use merge::{Merge, MergeError, MergedPacket};
pub use options::{CaptureLimits, CaptureOptions};
pub use packet::{CaptureKind, Packet, StreamPosition};
pub use pcap_writer::{PcapWriteError, PcapWriter};
pub use pcapng_writer::PcapngWriter;
pub use prefixed::{PrefixedWriteError, PrefixedWriter};
pub use reader::CaptureReader;
pub use statistics::Statistics;
pub use suffix::{Disagreement, Suffixes};
pub use survey::DestinationSurvey;
