//! Byte streams: raw files and TCP, cut anywhere.

use super::block::next_block;
use super::output::Place;
use super::run::{PacketPlace, Run};
use crate::failure::Failure;
use crate::options::is_by_packet;
use std::collections::BTreeMap;
use std::fmt::Display;
use tickwire_fast::{Decoder, Findings, Step};
use tickwire_feed::capture::{Packet, StreamPosition};
use tickwire_feed::framing::Framer;

/// Longest message that is waited for.
const HELD_BYTES_MAX: usize = 4 << 20;
/// Bytes held up to which every new piece is tried; above, only growth by a quarter is.
const TRIED_BYTES_MAX: usize = 4 << 10;
/// Streams followed at the same time; the oldest is let go.
const STREAMS_MAX: usize = 256;

/// The streams of a capture, each with a decoder of its own.
#[derive(Default)]
pub struct Streams {
    by_flow: BTreeMap<u64, Stream>,
    findings: Findings,
}

struct Stream {
    decoder: Decoder,
    /// Finds packets in the stream, where the framing has such.
    framer: Option<Framer>,
    /// Bytes not decoded yet.
    held: Vec<u8>,
    /// Offset of the first of them in the stream.
    offset: u64,
    /// Bytes to hold before decoding is tried again.
    wanted: usize,
    /// Nothing more is decoded: the place of the next message is lost.
    given_up: bool,
    last: PacketPlace,
    /// The packet that messages are said to be of.
    packet: u64,
}

impl Streams {
    /// Takes the next piece of a stream and decodes what is whole.
    pub fn piece(
        &mut self,
        run: &mut Run<'_>,
        packet: &Packet<'_>,
        position: StreamPosition,
    ) -> Result<(), Failure> {
        let place = PacketPlace::of(packet);
        if !self.by_flow.contains_key(&position.flow) {
            self.make_room();
            self.by_flow.insert(position.flow, Stream::new(run, place, position));
        }
        let Some(stream) = self.by_flow.get_mut(&position.flow) else { return Ok(()) };
        stream.last = place;
        if packet.source.is_some() {
            stream.packet = place.index;
        }
        if position.lost_bytes > 0 {
            stream.lose(run, position);
        }
        if let Some(framer) = &mut stream.framer {
            let place = PacketPlace { index: stream.packet, ..place };
            return run.segments(&mut stream.decoder, place, framer.split_stream(packet.bytes));
        }
        if stream.given_up {
            return Ok(());
        }
        stream.held.extend_from_slice(packet.bytes);
        if stream.held.len() >= stream.wanted {
            stream.decode(run)?;
        }
        Ok(())
    }

    /// Decodes what is held, and reports what ends inside a message.
    pub fn finish(&mut self, run: &mut Run<'_>) -> Result<(), Failure> {
        for (flow, stream) in &mut self.by_flow {
            stream.decode(run)?;
            if !stream.given_up && !stream.held.is_empty() && run.left > 0 {
                let (len, offset) = (stream.held.len(), stream.offset);
                run.report.packet_failed(stream.last, format_args!(
                    "stream {flow} ends inside a message: {len} bytes at offset {offset} given up"
                ));
            }
        }
        Ok(())
    }

    /// What all streams' decoders let pass, and another decoder.
    pub fn findings(&self, other: &Findings) -> Findings {
        let streams = self.by_flow.values().map(|stream| *stream.decoder.findings());
        streams.chain([self.findings]).fold(*other, sum)
    }

    fn make_room(&mut self) {
        if self.by_flow.len() >= STREAMS_MAX
            && let Some((_, stream)) = self.by_flow.pop_first()
        {
            self.findings = sum(self.findings, *stream.decoder.findings());
        }
    }
}

impl Stream {
    fn new(run: &Run<'_>, place: PacketPlace, position: StreamPosition) -> Self {
        if position.joined_midway && !is_by_packet(&run.framing) {
            run.report.remark(&format!(
                "{place}: the capture does not show the start of stream {}; its values are right \
                 only if this packet starts with a message and the dictionaries were empty",
                position.flow
            ));
        }
        Self {
            decoder: Decoder::with_options(run.program.clone(), run.options),
            framer: is_by_packet(&run.framing).then(|| Framer::new(run.framing)),
            held: Vec::new(),
            offset: position.offset,
            wanted: 0,
            given_up: false,
            last: place,
            packet: place.index,
        }
    }

    /// Bytes are missing: packets can be found again, messages cannot.
    fn lose(&mut self, run: &mut Run<'_>, position: StreamPosition) {
        let StreamPosition { lost_bytes, flow, .. } = position;
        if let Some(framer) = &mut self.framer {
            framer.clear();
            run.report.packet_failed(
                self.last,
                format_args!("{lost_bytes} bytes are missing before it in stream {flow}"),
            );
        } else if !self.given_up {
            self.give_up(
                run,
                format_args!(
                    "{lost_bytes} bytes are missing before it in stream {flow}; the rest of the \
                     stream is given up, as the start of the next message is not known"
                ),
            );
        }
    }

    fn decode(&mut self, run: &mut Run<'_>) -> Result<(), Failure> {
        let mut at = 0;
        while run.left > 0 && !self.given_up && at < self.held.len() {
            match self.block(run, at)? {
                Some(end) if end > at => at = end,
                _ => break,
            }
        }
        self.held.drain(..at);
        self.offset += at as u64;
        if self.held.len() > HELD_BYTES_MAX {
            self.give_up(
                run,
                format_args!(
                    "a message is longer than {HELD_BYTES_MAX} bytes; the stream is given up"
                ),
            );
        }
        self.wanted = match self.held.len() {
            len if len <= TRIED_BYTES_MAX => 0,
            len => len + len / 4,
        };
        Ok(())
    }

    /// Decodes the block at `at` and returns where it ends; `None` if it is not whole or failed.
    fn block(&mut self, run: &mut Run<'_>, at: usize) -> Result<Option<usize>, Failure> {
        let block = match next_block(&run.framing, &self.held, at) {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(None),
            Err(error) => {
                let why = format!("stream offset {}: {error}", self.offset);
                self.give_up(run, why);
                return Ok(None);
            }
        };
        let mut at = block.start;
        while at < block.end && run.left > 0 {
            let step = match block.has_length {
                true => self.decoder.decode(&self.held[at..block.end]).map(Step::Message),
                false => self.decoder.decode_stream(&self.held[at..]),
            };
            match step {
                Ok(Step::Message(decoded)) => {
                    let offset = self.offset + at as u64;
                    let place =
                        Place { packet: self.packet, preamble: &[], offset, len: decoded.len };
                    run.take(&place, &decoded)?;
                    at += decoded.len;
                }
                Ok(Step::NeedMore) => return Ok((!block.is_one_message).then_some(at)),
                Err(error) => {
                    self.given_up = true;
                    let error = error.shifted(usize::try_from(self.offset).unwrap_or(0) + at);
                    let rest = self.held.len() - at;
                    run.report.message_failed(self.last, &error, &run.program, rest);
                    return Ok(None);
                }
            }
            if block.is_one_message {
                break;
            }
        }
        Ok(Some(at))
    }

    fn give_up(&mut self, run: &mut Run<'_>, why: impl Display) {
        self.given_up = true;
        self.held = Vec::new();
        run.report.packet_failed(self.last, why);
    }
}

fn sum(a: Findings, b: Findings) -> Findings {
    Findings {
        decimal_range: a.decimal_range + b.decimal_range,
        invalid_utf8: a.invalid_utf8 + b.invalid_utf8,
        overlong_integer: a.overlong_integer + b.overlong_integer,
        overlong_presence_map: a.overlong_presence_map + b.overlong_presence_map,
        presence_map_bits: a.presence_map_bits + b.presence_map_bits,
        overlong_string: a.overlong_string + b.overlong_string,
    }
}
