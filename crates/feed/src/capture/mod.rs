//! Reads packets from capture files, and writes them.
//!
//! [`CaptureReader`] takes any [`Read`](std::io::Read), decompresses it where its first bytes say
//! gzip or zstd (feature `compressed`; an error without it), guesses the format unless it is named, and hands out one [`Packet`] at a time. It
//! holds one record plus what reassembly needs, never the file: each of those has a limit in
//! [`Limits`].
//!
//! [`Merge`] puts several captures in the order of their times, [`LineMap`] tells lines apart, and
//! [`CaptureDriver`] hands the packets to a feed handler with the capture's times as its clock.
//!
//! The containers of pcap and pcapng are parsed here rather than by a library because a length must
//! be checked against its limit before anything is buffered, and because a file that stops early
//! must be reported with the exact offset, bytes wanted and bytes found. The headers inside a
//! packet are parsed by a library.

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
pub use error::{BlockFault, CaptureError, Part};
pub use format::{AmbiguousFormat, Format, GUESS_BYTES, UnknownFormat, guess_format};
pub use lines::LineMap;
pub use mark::Mark;
pub use merge::{Merge, MergeError, MergedPacket};
pub use options::{CaptureOptions, Limits};
pub use packet::{Kind, Packet, StreamPosition};
pub use pcap_writer::{PcapWriteError, PcapWriter};
pub use pcapng_writer::PcapngWriter;
pub use prefixed::{PrefixedWriteError, PrefixedWriter};
pub use reader::CaptureReader;
pub use statistics::Statistics;
pub use suffix::{Disagreement, Suffixes};
pub use survey::Survey;
