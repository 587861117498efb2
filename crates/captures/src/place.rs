//! Positions of packets and messages in error messages.

use std::fmt;
use std::net::SocketAddr;
use tickwire_fast::{FastError, Program};
use tickwire_feed::capture::Packet;
use tickwire_text::Header;

/// Position of a packet in errors and messages.
#[derive(Clone, Copy, Debug)]
pub struct PacketPlace {
    /// Index of the packet.
    pub index: u64,
    /// Offset of its first byte in the file.
    pub file_offset: u64,
    /// Capture time, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
    /// Sender.
    pub source: Option<SocketAddr>,
    /// Receiver.
    pub destination: Option<SocketAddr>,
}

impl PacketPlace {
    /// Returns the place of a packet.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self {
            index: packet.index,
            file_offset: packet.file_offset,
            time_ns: packet.timestamp_ns,
            source: packet.source,
            destination: packet.destination,
        }
    }

    /// Returns the header of a message of `len` bytes at `offset` of this packet or its stream,
    /// without preamble and number.
    pub fn header<'h>(&self, offset: u64, len: usize) -> Header<'h> {
        Header {
            packet: Some(self.index),
            preamble: Some(&[]),
            seq_num: None,
            offset: Some(offset),
            len: Some(len),
            time_ns: self.time_ns,
            source: self.source,
            destination: self.destination,
            line: None,
            channel: None,
        }
    }
}

impl fmt::Display for PacketPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {} (file offset {}", self.index, self.file_offset)?;
        if let Some(destination) = self.destination {
            write!(f, ", to {destination}")?;
        }
        f.write_str(")")
    }
}

/// Base of message offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetBase {
    /// The start of the packet.
    Packet,
    /// The start of the stream that the packet belongs to.
    Stream,
}

/// Position of a message in errors.
#[derive(Clone, Copy, Debug)]
pub struct MessagePlace {
    /// The packet that contains it, or the piece of the stream that completed it.
    pub packet: PacketPlace,
    /// Base of its offset.
    pub origin: OffsetBase,
    /// Its offset.
    pub offset: u64,
}

impl MessagePlace {
    /// Describes the place itself.
    pub fn text(&self) -> String {
        let Self { packet, origin, offset } = self;
        match origin {
            OffsetBase::Packet => format!("{packet}: byte {offset}"),
            OffsetBase::Stream => format!("{packet}, stream offset {offset}"),
        }
    }

    /// Describes an error in the message, with its place; offsets in `error` count from the start
    /// of the message.
    ///
    /// An error's offset has 32 bits, which is enough for a packet. Streams are longer: there the
    /// text has the message's offset, and the error's offset from it.
    pub fn describe(&self, error: &FastError, program: &Program) -> String {
        let Self { packet, offset, .. } = self;
        match self.origin {
            OffsetBase::Packet => {
                let base = usize::try_from(*offset).unwrap_or(usize::MAX);
                format!("{packet}: {}", error.shifted(base).describe(program))
            }
            OffsetBase::Stream => {
                let byte = offset.saturating_add(error.offset() as u64);
                let description = error.describe(program);
                format!("{packet}, stream offset {byte}, in the message at {offset}: {description}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_fast::{FastErrorKind, TemplateSet};

    #[test]
    fn offsets_in_streams_are_right_beyond_32_bits() {
        let set = TemplateSet::parse("<templates/>").expect("templates");
        let program = Program::compile(set).expect("a program");
        let error = FastError::new(FastErrorKind::UnknownTemplate, 2);
        let packet = PacketPlace {
            index: 7,
            file_offset: 9,
            time_ns: None,
            source: None,
            destination: None,
        };
        let place = MessagePlace { packet, origin: OffsetBase::Stream, offset: 5 << 32 };
        let text = place.describe(&error, &program);
        let start = "packet 7 (file offset 9), stream offset 21474836482, in the message at \
                     21474836480: D9: byte 2: ";
        assert!(text.starts_with(start), "{text}");
        let text = MessagePlace { origin: OffsetBase::Packet, offset: 100, ..place }
            .describe(&error, &program);
        assert!(text.starts_with("packet 7 (file offset 9): D9: byte 102: "), "{text}");
        let destination = Some(SocketAddr::from(([239, 1, 1, 1], 5000)));
        let text = PacketPlace { destination, ..packet }.to_string();
        assert_eq!(text, "packet 7 (file offset 9, to 239.1.1.1:5000)");
    }
}
