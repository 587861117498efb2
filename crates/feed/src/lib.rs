//! Feed handling: from packets to decoded messages, and from messages to order books.
//!
//! | module | task |
//! |---|---|
//! | [`capture`] | reads packets from length-prefixed files, raw streams, pcap and pcapng, plain or compressed, in bounded memory |
//! | [`framing`] | the bytes around FAST messages: preamble, sequence number, chunks, blocks, dictionary resets |
//! | [`arbiter`] | merges lines A and B to one sequence of packets and declares gaps |
//! | [`book`] | price levels of one instrument |
//! | [`recovery`] | freshness of books; recovers stale ones by snapshots |
//! | [`replay`] | requests lost messages from the exchange over TCP |
//! | [`handler`] | combines all of these with a decoding engine |
//! | [`parallel`] | distributes packets over threads and keeps the order of the results |
//!
//! The crate opens no files or sockets and reads no clock. Bytes come in through [`std::io::Read`]
//! or as slices, and time as an argument. Everything that input can choose has a named limit.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader};
//! use tickwire_feed::framing::{Framer, Preset};
//!
//! let file = [0, 0, 0, 7, 0, 0, 0, 42, 1, 0xC0, 0x81];
//! let options = CaptureOptions::new().format(CaptureFormat::U32Be);
//! let mut reader = CaptureReader::open(&file[..], options)?;
//! let mut framer = Framer::new(Preset::Cme.framing());
//!
//! let packet = reader.next_packet()?.expect("one packet");
//! let segment = framer.split(packet.bytes).next().expect("one segment")?;
//! assert_eq!(segment.seq_num, Some(42));
//! assert_eq!(segment.bytes, [0xC0, 0x81]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `compressed`, on by default | Captures compressed with gzip or zstd. |
//! | `opra` | OPRA lines: arbitration and decoding. |
//! | `tcp-replay`, on by default | The client of a TCP replay service. |

#![forbid(unsafe_code)]

pub mod arbiter;
pub mod board;
pub mod book;
pub mod capture;
mod counted;
mod digest;
mod endian;
pub mod framing;
pub mod handler;
pub mod market;
#[cfg(feature = "opra")]
pub mod opra;
pub mod parallel;
pub mod recovery;
pub mod replay;

#[doc(hidden)]
pub use counted::counted;
pub use endian::Endian;
