//! From packets to the bytes a codec decodes, and from decoded messages to books.
//!
//! [`capture`] reads packets from length-prefixed files, raw streams, pcap and pcapng, compressed
//! or not, in bounded memory. [`framing`] knows what an exchange puts around FAST messages: the
//! preamble, the sequence number, chunks, blocks, and where dictionaries are reset.
//!
//! [`arbiter`] makes one ordered row of packets of the lines A and B and declares what is lost.
//! [`book`] keeps price levels, and [`recovery`] knows which books may be believed and brings the
//! others back by snapshots. [`replay`] asks the exchange for lost messages by TCP. [`handler`] is all of it together, with an engine that decodes.
//!
//! [`parallel`] spreads packets over threads and keeps the order of what comes of them.
//!
//! Nothing here opens a file or a socket or reads a clock: bytes come
//! in through [`std::io::Read`] or as slices, time as an argument, and everything the bytes can
//! choose has a named limit.
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

pub mod arbiter;
pub mod board;
pub mod book;
pub mod capture;
mod endian;
pub mod framing;
pub mod handler;
pub mod market;
#[cfg(feature = "opra")]
pub mod opra;
pub mod parallel;
pub mod recovery;
pub mod replay;

pub use endian::Endian;
