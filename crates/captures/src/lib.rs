//! Decodes the FAST messages of captures.
//!
//! A [`CaptureDecoder`] takes the packets of a
//! [`CaptureReader`](tickwire_feed::capture::CaptureReader) and passes messages and errors to a
//! [`CaptureSink`]. Each destination address and port is a channel with its own dictionaries, and
//! so is each TCP stream. A raw file is a stream.
//!
//! # Examples
//!
//! ```
//! use std::convert::Infallible;
//! use std::fmt::Display;
//! use std::sync::Arc;
//! use tickwire_captures::{CaptureDecoder, CaptureSink, LossExtent, MessagePlace, PacketPlace};
//! use tickwire_fast::{DecodedMessage, DecoderOptions, FastError, Program, TemplateSet};
//! use tickwire_feed::capture::{CaptureOptions, CaptureReader};
//! use tickwire_feed::framing::Framing;
//! use tickwire_text::Header;
//!
//! #[derive(Default)]
//! struct Count(usize, usize);
//!
//! impl CaptureSink for Count {
//!     type Error = Infallible;
//!
//!     fn message(&mut self, _: &Header<'_>, _: &DecodedMessage<'_>) -> Result<(), Infallible> {
//!         self.0 += 1;
//!         Ok(())
//!     }
//!
//!     fn message_failed(&mut self, _: MessagePlace, _: &FastError, _: &Program, _: LossExtent) {
//!         self.1 += 1;
//!     }
//!
//!     fn packet_failed(&mut self, _: PacketPlace, _: &dyn Display) {
//!         self.1 += 1;
//!     }
//! }
//!
//! let xml = r#"<templates><template name="T" id="1"><uInt32 name="n"/></template></templates>"#;
//! let program = Arc::new(Program::compile(TemplateSet::parse(xml)?)?);
//! // Two length-prefixed packets: a message, and half of one.
//! let file = b"\x03\0\0\0\xC0\x81\x85\x02\0\0\0\xC0\x81";
//! let mut reader = CaptureReader::open(&file[..], CaptureOptions::new())?;
//! let mut decoder = CaptureDecoder::new(program, DecoderOptions::default(), Framing::default());
//! let mut count = Count::default();
//! while let Some(packet) = decoder.next_packet(&mut reader)? {
//!     decoder.decode(&packet, &mut count)?;
//! }
//! decoder.finish(&mut count)?;
//! assert_eq!((count.0, count.1), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod channels;
mod checked_dictionaries;
mod datagram;
mod decoder;
pub mod explain;
mod gaps;
mod place;
pub mod plan;
mod recent;
mod sample;
mod selection;
mod session_check;
mod session_starts;
mod sink;
mod streams;
mod work;

pub use channels::{CaptureChannel, Channels, lose_dictionaries};
pub use datagram::not_a_datagram;
pub use decoder::CaptureDecoder;
pub use gaps::SequenceGaps;
pub use place::{MessagePlace, OffsetBase, PacketPlace};
pub use sample::{CaptureSample, FoundFraming, SampledChannel, UnknownFraming};
pub use selection::{Selection, UnknownTemplate};
pub use session_starts::SessionStarts;
pub use sink::{CaptureSink, LossExtent};
