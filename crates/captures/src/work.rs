//! Packets and the segments that a framer finds in them.

use crate::channels::{CaptureChannel, Channels};
use crate::checked_dictionaries::CheckedDictionaries;
use crate::place::{MessagePlace, OffsetBase, PacketPlace};
use crate::session_check::SessionCheck;
use crate::sink::{CaptureSink, LossExtent};
use std::fmt::Display;
use std::sync::Arc;
use tickwire_fast::{DecodedMessage, DecoderOptions, FastError, Program};
use tickwire_feed::capture::Packet;
use tickwire_feed::counted;
use tickwire_feed::framing::detect::Unproven;
use tickwire_feed::framing::{BlockBounds, Framing, FramingError, Segment, Segments, next_block};
use tickwire_text::Header;

/// Settings of decoding a capture.
pub(crate) struct Setup {
    pub(crate) program: Arc<Program>,
    pub(crate) options: DecoderOptions,
    pub(crate) framing: Framing,
    /// The check of each new channel and stream.
    pub(crate) check: SessionCheck,
}

/// State of decoding one packet.
pub(crate) struct PacketDecoding<'w, S> {
    pub(crate) setup: &'w Setup,
    pub(crate) sink: &'w mut S,
    /// True if the rest of the packet was abandoned.
    is_abandoned: bool,
}

impl<'w, S: CaptureSink> PacketDecoding<'w, S> {
    pub(crate) fn new(setup: &'w Setup, sink: &'w mut S) -> Self {
        Self { setup, sink, is_abandoned: false }
    }

    /// Handles a message that cannot be decoded.
    pub(crate) fn message_failed(
        &mut self,
        place: MessagePlace,
        error: &FastError,
        lost: LossExtent,
    ) {
        self.is_abandoned |= matches!(lost, LossExtent::Rest(_));
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
        let CaptureChannel { decoder, framer, check, .. } = channel;
        let mut dictionaries = CheckedDictionaries { decoder, check };
        let segments = framer.split(packet.bytes);
        self.segments(&mut dictionaries, place, OffsetBase::Packet, segments)?;
        if packet.is_truncated() {
            dictionaries.lose();
            let missing = counted(packet.missing_bytes, "byte");
            let why = format_args!("the capture truncated it by {missing}");
            // The last message of the packet may have failed because of the truncation; the packet
            // is reported only once.
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
        dictionaries: &mut CheckedDictionaries<'_>,
        packet: PacketPlace,
        origin: OffsetBase,
        segments: Segments<'_>,
    ) -> Result<(), S::Error> {
        for segment in segments {
            match segment {
                Ok(segment) => self.segment(dictionaries, packet, origin, &segment)?,
                Err(error) => self.packet_failed(packet, error),
            }
        }
        Ok(())
    }

    fn segment(
        &mut self,
        dictionaries: &mut CheckedDictionaries<'_>,
        packet: PacketPlace,
        origin: OffsetBase,
        segment: &Segment<'_>,
    ) -> Result<(), S::Error> {
        if let Some(seq_num) = segment.seq_num {
            self.sink.numbered(packet, seq_num);
        }
        if segment.reset_before {
            dictionaries.begin_packet();
        }
        let mut at = 0;
        while at < segment.bytes.len() && self.sink.wants_more() {
            match next_block(&self.setup.framing, segment.bytes, at) {
                Ok(Some(block)) => {
                    match self.block(dictionaries, packet, origin, segment, block)? {
                        Some(end) => at = end,
                        None => return Ok(()),
                    }
                }
                Ok(None) => {
                    dictionaries.lose();
                    let rest = counted(segment.bytes.len() - at, "byte");
                    let offset = segment.offset + at;
                    self.packet_failed(
                        packet,
                        format_args!("offset {offset}: incomplete block of {rest} at the end"),
                    );
                    return Ok(());
                }
                Err(error) => {
                    dictionaries.lose();
                    let offset = segment.offset + error.offset;
                    self.packet_failed(packet, FramingError { offset, ..error });
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Checks a decoded message with these bytes. Returns true if its values are wrong; the message
    /// must then not reach the sink.
    pub(crate) fn is_refused(
        &mut self,
        check: &mut SessionCheck,
        decoded: &DecodedMessage<'_>,
        bytes: &[u8],
        place: MessagePlace,
        lost: LossExtent,
    ) -> bool {
        let check = match check {
            SessionCheck::None => return false,
            SessionCheck::Values(check) => check,
            SessionCheck::SeqNums(watch) => {
                let unproven = watch.message(decoded.message, bytes, place.packet.index);
                if let Some(unproven) = unproven {
                    self.sink.message_unproven(place, unproven, None);
                }
                return false;
            }
        };
        let was_checked = !check.has_failed();
        let unproven = match check.message(bytes) {
            Ok((_, None)) => return false,
            Ok((_, Some(unproven))) => unproven,
            Err(error) => {
                if was_checked {
                    self.sink.remark(&format!(
                        "warning: {}: the values of this message and of those after it up to the next \
                         reset are not checked, because the check cannot decode it: {}",
                        place.text(),
                        error
                    ));
                }
                return false;
            }
        };
        let is_refused = unproven == Unproven::Restarted;
        let lost = is_refused.then_some(lost);
        self.is_abandoned |= matches!(lost, Some(LossExtent::Rest(_)));
        self.sink.message_unproven(place, unproven, lost);
        is_refused
    }

    /// Decodes the messages of a block and returns the start of the next one; `None` if a message
    /// failed and the next start is unknown.
    fn block(
        &mut self,
        dictionaries: &mut CheckedDictionaries<'_>,
        packet: PacketPlace,
        origin: OffsetBase,
        segment: &Segment<'_>,
        block: BlockBounds,
    ) -> Result<Option<usize>, S::Error> {
        let mut at = block.start;
        while at < block.end && self.sink.wants_more() {
            let rest = &segment.bytes[at..block.end];
            let offset = (segment.offset + at) as u64;
            let place = MessagePlace { packet, origin, offset };
            let lost = match block.has_length {
                true => LossExtent::Block(block.end - at),
                false => LossExtent::Rest(segment.bytes.len() - at),
            };
            let next = block.has_length.then_some(block.end);
            match dictionaries.decoder.decode(rest) {
                Ok(decoded) => {
                    let own = &rest[..decoded.len];
                    if self.is_refused(dictionaries.check, &decoded, own, place, lost) {
                        dictionaries.lose();
                        return Ok(next);
                    }
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
                    dictionaries.check.lose_dictionaries();
                    self.message_failed(place, &error, lost);
                    return Ok(next);
                }
            }
        }
        Ok(Some(at))
    }
}
