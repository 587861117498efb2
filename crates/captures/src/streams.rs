//! Byte streams: raw files and TCP, cut anywhere.

use crate::channels::lose_dictionaries;
use crate::checked_dictionaries::CheckedDictionaries;
use crate::place::{MessagePlace, OffsetBase, PacketPlace};
use crate::recent::RecentValues;
use crate::session_check::SessionCheck;
use crate::sink::{CaptureSink, LossExtent};
use crate::work::PacketDecoding;
use std::fmt::Display;
use std::ops::Add;
use tickwire_fast::{Decoder, Findings, MissingBytes, Step};
use tickwire_feed::capture::{Packet, StreamPosition};
use tickwire_feed::counted;
use tickwire_feed::framing::{Envelope, Framer, next_block};

/// Longest incomplete message that is held, in bytes.
const HELD_BYTES_MAX: usize = 4 << 20;
/// Most streams followed at the same time; a further one replaces the stream that is silent
/// longest.
const STREAMS_MAX: usize = 256;

/// The streams of a capture, each with its own decoder.
pub(crate) struct CaptureStreams {
    by_flow: RecentValues<u64, CaptureStream>,
    /// Findings of the dropped streams.
    findings: Findings,
}

struct CaptureStream {
    decoder: Decoder,
    check: SessionCheck,
    /// Finds packets in the stream, if the framing has packets in streams.
    framer: Option<Framer>,
    /// Bytes that are not decoded yet.
    held: Vec<u8>,
    /// Offset of the first of them in the stream.
    offset: u64,
    /// Start of the incomplete message in the buffer, and its missing bytes.
    cut: Option<(usize, MissingBytes)>,
    /// True if decoding has ended, because the position of the next message is unknown.
    is_abandoned: bool,
    last: PacketPlace,
    /// The packet that messages are attributed to.
    packet: u64,
}

impl Default for CaptureStreams {
    fn default() -> Self {
        Self { by_flow: RecentValues::new(STREAMS_MAX), findings: Findings::default() }
    }
}

impl CaptureStreams {
    /// Adds the next piece of a stream and decodes the complete messages.
    pub(crate) fn piece<S: CaptureSink>(
        &mut self,
        work: &mut PacketDecoding<'_, S>,
        packet: &Packet<'_>,
        position: StreamPosition,
    ) -> Result<(), S::Error> {
        let place = PacketPlace::of(packet);
        let stream = self.by_flow.find_or_begin(position.flow, |old| {
            if let Some((flow, old)) = old {
                self.findings = self.findings + *old.decoder.findings();
                old.report_rest(work, flow);
            }
            CaptureStream::new(work, place, position)
        });
        stream.last = place;
        if packet.source.is_some() {
            stream.packet = place.index;
        }
        if position.lost_bytes > 0 {
            stream.lose(work, position);
        }
        if let Some(framer) = &mut stream.framer {
            let place = PacketPlace { index: stream.packet, ..place };
            let segments = framer.split_stream(packet.bytes);
            let mut dictionaries =
                CheckedDictionaries { decoder: &mut stream.decoder, check: &mut stream.check };
            work.segments(&mut dictionaries, place, OffsetBase::Stream, segments)?;
            stream.is_abandoned |= framer.is_lost();
            return Ok(());
        }
        if stream.is_abandoned {
            return Ok(());
        }
        stream.held.extend_from_slice(packet.bytes);
        if stream.may_go_on() {
            stream.decode(work)?;
        }
        Ok(())
    }

    /// Decodes the held bytes at the end of the capture, and reports streams that end inside a
    /// message.
    pub(crate) fn finish<S: CaptureSink>(
        &mut self,
        work: &mut PacketDecoding<'_, S>,
    ) -> Result<(), S::Error> {
        for (flow, stream) in self.by_flow.iter_mut() {
            stream.decode(work)?;
            if work.sink.wants_more() {
                stream.report_rest(work, *flow);
            }
        }
        Ok(())
    }

    /// Returns the findings of the decoders of all streams.
    pub(crate) fn findings(&self) -> Findings {
        let streams = self.by_flow.values().map(|stream| *stream.decoder.findings());
        streams.fold(self.findings, Findings::add)
    }
}

impl CaptureStream {
    fn new<S: CaptureSink>(
        work: &mut PacketDecoding<'_, S>,
        place: PacketPlace,
        position: StreamPosition,
    ) -> Self {
        // FIXT messages are found wherever a stream begins; a packet without a length is one piece.
        let has_lengths = work.setup.framing.length_field().is_some()
            || work.setup.framing.packet_envelope() == Envelope::Counted;
        let is_found_anywhere = work.setup.framing.has_packet_headers() && !has_lengths;
        if position.joined_midway && !is_found_anywhere {
            work.sink.remark(&format!(
                "{place}: the capture does not show the start of stream {}; its values are right only if this packet starts with a message or its preamble and the dictionaries were empty",
                position.flow
            ));
        }
        Self {
            decoder: Decoder::with_options(work.setup.program.clone(), work.setup.options),
            check: work.setup.check.clone(),
            framer: work
                .setup
                .framing
                .has_packet_headers()
                .then(|| Framer::new(work.setup.framing)),
            held: Vec::new(),
            offset: position.offset,
            cut: None,
            is_abandoned: false,
            last: place,
            packet: place.index,
        }
    }

    /// Handles missing bytes: packets can be found again afterwards, messages cannot.
    fn lose<S: CaptureSink>(&mut self, work: &mut PacketDecoding<'_, S>, position: StreamPosition) {
        let StreamPosition { lost_bytes, flow, .. } = position;
        if let Some(framer) = &mut self.framer {
            framer.clear();
            lose_dictionaries(&mut self.decoder);
            self.check.lose_dictionaries();
        }
        let lost = counted(lost_bytes, "byte");
        let goes_on = self.framer.as_ref().is_some_and(|framer| !framer.is_lost());
        if goes_on {
            work.packet_failed(
                self.last,
                format_args!("{lost} missing before it in stream {flow}"),
            );
        } else if !self.is_abandoned {
            self.give_up(
                work,
                format_args!(
                    "{lost} missing before it in stream {flow}; the rest of the \
                     stream is abandoned, because the start of the next message or packet is unknown"
                ),
            );
            self.held = Vec::new();
        }
    }

    fn decode<S: CaptureSink>(&mut self, work: &mut PacketDecoding<'_, S>) -> Result<(), S::Error> {
        let mut at = 0;
        self.cut = None;
        while work.sink.wants_more() && !self.is_abandoned && at < self.held.len() {
            match self.block(work, at)? {
                Some(end) if end > at => at = end,
                _ => break,
            }
        }
        self.held.drain(..at);
        self.offset += at as u64;
        if !self.is_abandoned && self.held.len() > HELD_BYTES_MAX {
            self.give_up(
                work,
                format_args!(
                    "a message is longer than {HELD_BYTES_MAX} bytes; the stream is abandoned"
                ),
            );
        }
        if self.is_abandoned {
            self.held = Vec::new();
        }
        if let Some((start, _)) = &mut self.cut {
            *start -= at;
        }
        Ok(())
    }

    /// True if the received bytes may complete a message.
    fn may_go_on(&mut self) -> bool {
        match &mut self.cut {
            Some((start, missing)) => missing.may_go_on(&self.held[*start..]),
            None => true,
        }
    }

    /// Decodes the block at `at` and returns the start of the next one; `None` if the block is
    /// incomplete, or if a message failed and the next start is unknown.
    fn block<S: CaptureSink>(
        &mut self,
        work: &mut PacketDecoding<'_, S>,
        at: usize,
    ) -> Result<Option<usize>, S::Error> {
        let block = match next_block(&work.setup.framing, &self.held, at) {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(None),
            Err(error) => {
                let offset = self.offset + error.offset as u64;
                let why = format!("stream offset {offset}: {}", error.kind);
                self.give_up(work, why);
                return Ok(None);
            }
        };
        if block.is_one_message && block.start == self.held.len() {
            // No byte of the message has arrived; its header is read again with the next piece.
            return Ok(None);
        }
        let held_len = self.held.len();
        let lost_at = |at: usize| match block.has_length {
            true => LossExtent::Block(block.end - at),
            false => LossExtent::Rest(held_len - at),
        };
        let mut at = block.start;
        while at < block.end && work.sink.wants_more() {
            let step = match block.has_length {
                true => self.decoder.decode(&self.held[at..block.end]).map(Step::Message),
                false => self.decoder.decode_stream(&self.held[at..]),
            };
            match step {
                Ok(Step::Message(decoded)) => {
                    let offset = self.offset + at as u64;
                    let own = &self.held[at..at + decoded.len];
                    let place =
                        MessagePlace { packet: self.last, origin: OffsetBase::Stream, offset };
                    let lost = lost_at(at);
                    if work.is_refused(&mut self.check, &decoded, own, place, lost) {
                        lose_dictionaries(&mut self.decoder);
                        self.is_abandoned = !block.has_length;
                        return Ok(block.has_length.then_some(block.end));
                    }
                    let packet = PacketPlace { index: self.packet, ..self.last };
                    work.sink.message(&packet.header(offset, decoded.len), &decoded)?;
                    at += decoded.len;
                }
                Ok(Step::NeedMore(missing)) => {
                    self.cut = Some((at, missing));
                    return Ok((!block.is_one_message).then_some(at));
                }
                Err(error) => {
                    let offset = self.offset + at as u64;
                    let place =
                        MessagePlace { packet: self.last, origin: OffsetBase::Stream, offset };
                    self.check.lose_dictionaries();
                    work.message_failed(place, &error, lost_at(at));
                    self.is_abandoned = !block.has_length;
                    return Ok(block.has_length.then_some(block.end));
                }
            }
            if block.is_one_message {
                break;
            }
        }
        Ok(Some(at))
    }

    fn give_up<S: CaptureSink>(&mut self, work: &mut PacketDecoding<'_, S>, why: impl Display) {
        self.is_abandoned = true;
        work.packet_failed(self.last, why);
    }

    /// Reports held bytes that will not be decoded, at the end of the stream.
    fn report_rest<S: CaptureSink>(&self, work: &mut PacketDecoding<'_, S>, flow: u64) {
        if self.is_abandoned {
            return;
        }
        let waiting = self.framer.as_ref().map_or(0, Framer::waiting_bytes);
        if waiting > 0 {
            let waiting = counted(waiting, "byte");
            work.packet_failed(
                self.last,
                format_args!("stream {flow} ends inside a packet: {waiting} skipped"),
            );
        }
        if !self.held.is_empty() {
            let (len, offset) = (counted(self.held.len(), "byte"), self.offset);
            work.packet_failed(
                self.last,
                format_args!(
                    "stream {flow} ends inside a message: {len} at offset {offset} skipped"
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests;
