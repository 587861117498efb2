//! Packets and the segments that a framer finds in them.

use crate::channels::{Channels, lose_dictionaries};
use crate::place::{MessagePlace, Origin, PacketPlace};
use crate::sink::{CaptureSink, Lost};
use std::fmt::Display;
use std::sync::Arc;
use tickwire_fast::{Decoder, DecoderOptions, Error, Program};
use tickwire_feed::capture::Packet;
use tickwire_feed::framing::{Block, Framing, FramingError, Segment, Segments, next_block};
use tickwire_text::Header;

/// Settings of decoding a capture.
pub(crate) struct Setup {
    pub(crate) program: Arc<Program>,
    pub(crate) options: DecoderOptions,
    pub(crate) framing: Framing,
}

/// State of decoding one packet.
pub(crate) struct Work<'w, S> {
    pub(crate) setup: &'w Setup,
    pub(crate) sink: &'w mut S,
    /// True if the rest of the packet was abandoned.
    is_abandoned: bool,
}

impl<'w, S: CaptureSink> Work<'w, S> {
    pub(crate) fn new(setup: &'w Setup, sink: &'w mut S) -> Self {
        Self { setup, sink, is_abandoned: false }
    }

    /// Handles a message that cannot be decoded.
    pub(crate) fn message_failed(&mut self, place: MessagePlace, error: &Error, lost: Lost) {
        self.is_abandoned |= matches!(lost, Lost::Rest(_));
        self.sink.message_failed(place, error, &self.setup.program, lost);
    }

    /// Handles a packet that is abandoned for another reason.
    pub(crate) fn packet_failed(&mut self, place: PacketPlace, why: impl Display) {
        self.is_abandoned = true;
        self.sink.packet_failed(place, &why);
    }

    /// Decodes a packet that is whole by itself.
    pub(crate) fn datagram(
        &mut self,
        channels: &mut Channels,
        packet: &Packet<'_>,
    ) -> Result<(), S::Error> {
        let place = PacketPlace::of(packet);
        let remark = |text: &str| self.sink.remark(&format!("{place}: {text}"));
        let channel = channels.channel(packet.destination, remark);
        let segments = channel.framer.split(packet.bytes);
        self.segments(&mut channel.decoder, place, Origin::Packet, segments)?;
        if packet.is_truncated() {
            lose_dictionaries(&mut channel.decoder);
            let missing = packet.missing_bytes;
            let why = format_args!("the capture truncated it by {missing} bytes");
            // Its last message may have failed for this reason; the packet is reported only once.
            match self.is_abandoned {
                true => self.sink.packet_is_wrong_too(place, &why),
                false => self.packet_failed(place, why),
            }
        }
        Ok(())
    }

    /// Decodes the segments that a framer found in a packet, or in a stream that the packet belongs
    /// to.
    pub(crate) fn segments(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        origin: Origin,
        segments: Segments<'_>,
    ) -> Result<(), S::Error> {
        for segment in segments {
            match segment {
                Ok(segment) => self.segment(decoder, packet, origin, &segment)?,
                Err(error) => self.packet_failed(packet, error),
            }
        }
        Ok(())
    }

    fn segment(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        origin: Origin,
        segment: &Segment<'_>,
    ) -> Result<(), S::Error> {
        if let Some(seq_num) = segment.seq_num {
            self.sink.numbered(packet, seq_num);
        }
        if segment.reset_before {
            decoder.begin_packet();
        }
        let mut at = 0;
        while at < segment.bytes.len() && self.sink.wants_more() {
            match next_block(&self.setup.framing, segment.bytes, at) {
                Ok(Some(block)) => match self.block(decoder, packet, origin, segment, block)? {
                    Some(end) => at = end,
                    None => return Ok(()),
                },
                Ok(None) => {
                    lose_dictionaries(decoder);
                    let rest = segment.bytes.len() - at;
                    let offset = segment.offset + at;
                    self.packet_failed(
                        packet,
                        format_args!(
                            "offset {offset}: the remaining {rest} bytes are not a complete block"
                        ),
                    );
                    return Ok(());
                }
                Err(error) => {
                    lose_dictionaries(decoder);
                    let offset = segment.offset + error.offset;
                    self.packet_failed(packet, FramingError { offset, ..error });
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Decodes the messages of a block and returns the start of the next one; `None` if a message
    /// failed and the next start is unknown.
    fn block(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        origin: Origin,
        segment: &Segment<'_>,
        block: Block,
    ) -> Result<Option<usize>, S::Error> {
        let mut at = block.start;
        while at < block.end && self.sink.wants_more() {
            let rest = &segment.bytes[at..block.end];
            let offset = (segment.offset + at) as u64;
            match decoder.decode(rest) {
                Ok(decoded) => {
                    let header = Header {
                        preamble: Some(segment.preamble),
                        seq_num: segment.seq_num,
                        ..packet.header(offset, decoded.len)
                    };
                    self.sink.message(&header, &decoded)?;
                    at += decoded.len;
                    if block.is_one_message {
                        break;
                    }
                }
                Err(error) => {
                    let place = MessagePlace { packet, origin, offset };
                    let lost = match block.has_length {
                        true => Lost::Block(block.end - at),
                        false => Lost::Rest(segment.bytes.len() - at),
                    };
                    self.message_failed(place, &error, lost);
                    return Ok(block.has_length.then_some(block.end));
                }
            }
        }
        Ok(Some(at))
    }
}
