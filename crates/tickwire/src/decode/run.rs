//! Reading a capture to its end.

use super::output::Output;
use super::place::{MessagePlace, Origin, PacketPlace};
use super::report::{Lost, Report};
use super::selection::Selection;
use super::streams::Streams;
use crate::channels::{Channels, lose_dictionaries};
use crate::failure::Failure;
use crate::findings;
use crate::options::Sample;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_fast::{Decoded, Decoder, DecoderOptions, Findings, Program};
use tickwire_feed::capture::{CaptureReader, Kind, Packet, StreamPosition};
use tickwire_feed::framing::{Block, Framing, FramingError, Segment, Segments, next_block};
use tickwire_text::Header;

/// Longest raw file that is taken as one packet.
const PACKET_BYTES_MAX: usize = 16 << 20;

/// One decoding of one capture.
pub struct Run<'r> {
    pub program: Arc<Program>,
    pub options: DecoderOptions,
    pub framing: Framing,
    pub selection: Selection,
    pub output: Output,
    /// Messages still to be written.
    pub left: u64,
    pub report: Report<'r>,
    /// First packets, to judge by whether the framing is right.
    pub sample: Sample,
    /// What decoders let pass.
    pub findings: Findings,
    /// Whether to measure and print the speed.
    pub timed: bool,
}

impl Run<'_> {
    /// Decodes until the capture or the limit ends.
    pub fn decode_all(&mut self, mut reader: CaptureReader<impl Read>) -> Result<(), Failure> {
        let mut channels = Channels::new(self.program.clone(), self.options, self.framing);
        let mut streams = Streams::default();
        // Without a length in its preamble, a packet ends where the raw file does.
        let whole = reader.kind() == Kind::Stream
            && self.framing.preamble_bytes() > 0
            && self.framing.length_field().is_none();
        let mut time = Duration::ZERO;
        let mut read = 0;
        while self.left > 0 {
            let next = match whole {
                true if read > 0 => Ok(None),
                true => reader.read_whole(PACKET_BYTES_MAX).map(Some),
                false => reader.next_packet(),
            };
            read += 1;
            let packet = match next {
                Ok(Some(packet)) => packet,
                Ok(None) => break,
                Err(error) => {
                    self.report.error(&error.to_string());
                    break;
                }
            };
            let start = self.timed.then(Instant::now);
            match packet.stream {
                Some(position) if !whole => self.piece(&mut streams, &packet, position)?,
                _ => self.datagram(&mut channels, &packet)?,
            }
            time += start.map_or(Duration::ZERO, |start| start.elapsed());
        }
        if self.left > 0 {
            streams.finish(self)?;
        }
        self.report.capture(reader.statistics());
        self.output.finish(self.timed.then_some(time))?;
        self.findings = findings::sum(channels.findings(), streams.findings());
        Ok(())
    }

    /// Prints the counts.
    pub fn finish(&mut self, quiet: bool) {
        self.report.finish(&self.findings, quiet);
    }

    /// Writes a message unless the filter leaves it out.
    pub fn take(&mut self, header: &Header<'_>, decoded: &Decoded<'_>) -> Result<(), Failure> {
        self.report.counts.messages += 1;
        if self.selection.contains(decoded.message) {
            self.output.write_message(header, decoded.message)?;
            self.left -= 1;
        }
        Ok(())
    }

    /// Decodes a packet that is a piece of a stream.
    pub fn piece(
        &mut self,
        streams: &mut Streams,
        packet: &Packet<'_>,
        position: StreamPosition,
    ) -> Result<(), Failure> {
        self.report.counts.packet(packet);
        streams.piece(self, packet, position)
    }

    /// Decodes a packet that is whole by itself.
    pub fn datagram(
        &mut self,
        channels: &mut Channels,
        packet: &Packet<'_>,
    ) -> Result<(), Failure> {
        self.report.counts.packet(packet);
        self.sample.add(packet);
        let place = PacketPlace::of(packet);
        let remark = |text: &str| self.report.remark(&format!("{place}: {text}"));
        let channel = channels.channel(packet.destination, remark);
        let segments = channel.framer.split(packet.bytes);
        let given_up = self.report.packets_given_up();
        self.segments(&mut channel.decoder, place, Origin::Packet, segments)?;
        if packet.is_truncated() {
            lose_dictionaries(&mut channel.decoder);
            let missing = packet.missing_bytes;
            let why = format!("the capture cut {missing} bytes off its end");
            // Its last message may have failed for that, and the packet is given up once.
            match self.report.packets_given_up() > given_up {
                true => self.report.error(&format!("{place}: {why}")),
                false => self.report.packet_failed(place, why),
            }
        }
        Ok(())
    }

    /// Decodes what a framer found in a packet, or in a stream that the packet is a piece of.
    pub fn segments(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        origin: Origin,
        segments: Segments<'_>,
    ) -> Result<(), Failure> {
        for segment in segments {
            match segment {
                Ok(segment) => self.segment(decoder, packet, origin, &segment)?,
                Err(error) => self.report.packet_failed(packet, error),
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
    ) -> Result<(), Failure> {
        if segment.reset_before {
            decoder.begin_packet();
        }
        let mut at = 0;
        while at < segment.bytes.len() && self.left > 0 {
            match next_block(&self.framing, segment.bytes, at) {
                Ok(Some(block)) => match self.block(decoder, packet, origin, segment, block)? {
                    Some(end) => at = end,
                    None => return Ok(()),
                },
                Ok(None) => {
                    lose_dictionaries(decoder);
                    let rest = segment.bytes.len() - at;
                    let offset = segment.offset + at;
                    self.report.packet_failed(
                        packet,
                        format_args!("offset {offset}: the {rest} bytes left are no whole block"),
                    );
                    return Ok(());
                }
                Err(error) => {
                    lose_dictionaries(decoder);
                    let offset = segment.offset + error.offset;
                    self.report.packet_failed(packet, FramingError { offset, ..error });
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Decodes the messages of a block and returns where the next one starts; `None` if a message
    /// failed and that is not known.
    fn block(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        origin: Origin,
        segment: &Segment<'_>,
        block: Block,
    ) -> Result<Option<usize>, Failure> {
        let mut at = block.start;
        while at < block.end && self.left > 0 {
            let rest = &segment.bytes[at..block.end];
            let offset = (segment.offset + at) as u64;
            match decoder.decode(rest) {
                Ok(decoded) => {
                    let header = packet.header(segment.preamble, offset, decoded.len);
                    self.take(&header, &decoded)?;
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
                    self.report.message_failed(place, &error, &self.program, lost);
                    return Ok(block.has_length.then_some(block.end));
                }
            }
        }
        Ok(Some(at))
    }
}
