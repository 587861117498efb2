//! Output of `decode`: messages in a format of the library, or counts in a summary.

use super::summary::TemplateSummary;
use std::io::{self, Write};
use std::time::Duration;
use tickwire_fast::Message;
use tickwire_feed::capture::Packet;
use tickwire_text::{Header, MessageWriter};

/// Takes decoded messages and writes them somewhere.
pub enum DecodeOutput {
    /// Each message.
    Messages(Box<dyn MessageWriter>),
    /// Counts, written at the end.
    Summary(TemplateSummary<Box<dyn Write>>),
}

impl DecodeOutput {
    /// Counts a packet, for a summary.
    pub fn count_packet(&mut self, packet: &Packet<'_>) {
        if let Self::Summary(summary) = self {
            summary.count_packet(packet.destination);
        }
    }

    /// Writes or counts one message.
    pub fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        match self {
            Self::Messages(writer) => writer.write_message(header, message),
            Self::Summary(summary) => {
                summary.count(message, header);
                Ok(())
            }
        }
    }

    /// Writes the remaining output at the end of the input; `time` is the decoding time if it was measured.
    pub fn finish(&mut self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Messages(writer) => writer.flush(),
            Self::Summary(summary) => summary.finish(time),
        }
    }
}
