//! From a capture file to the bytes a codec decodes.
//!
//! [`capture`] reads packets from length-prefixed files, raw streams, pcap and pcapng, compressed
//! or not, in bounded memory. [`framing`] knows what an exchange puts around FAST messages: the
//! preamble, the sequence number, chunks, blocks, and where dictionaries are reset.
//!
//! Nothing here decodes a message and nothing opens a file or a socket: bytes come in through
//! [`std::io::Read`] or as slices, and everything the bytes can choose has a named limit.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::capture::{CaptureOptions, CaptureReader, Format};
//! use tickwire_feed::framing::{Framer, Preset};
//!
//! let file = [0, 0, 0, 7, 0, 0, 0, 42, 1, 0xC0, 0x81];
//! let options = CaptureOptions::new().format(Format::U32Be);
//! let mut reader = CaptureReader::open(&file[..], options)?;
//! let mut framer = Framer::new(Preset::Cme.framing());
//!
//! let packet = reader.next_packet()?.expect("one packet");
//! let segment = framer.split(packet.bytes).next().expect("one segment")?;
//! assert_eq!(segment.seq_num, Some(42));
//! assert_eq!(segment.bytes, [0xC0, 0x81]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod capture;
mod endian;
pub mod framing;

pub use endian::Endian;
