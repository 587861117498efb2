//! Reading a capture to its end.

use super::block::{Block, next_block};
use super::output::{Output, Place};
use super::report::Report;
use super::selection::Selection;
use super::streams::Streams;
use crate::failure::Failure;
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_fast::{Decoded, Decoder, DecoderOptions, Program};
use tickwire_feed::capture::{CaptureReader, Kind, Packet};
use tickwire_feed::framing::{Framer, Framing, FramingError, Segment, Segments};

/// Longest raw file that is taken as one packet.
const PACKET_BYTES_MAX: usize = 16 << 20;

/// One decoding of one capture.
pub struct Run<'r> {
    pub program: Arc<Program>,
    pub options: DecoderOptions,
    pub framing: Framing,
    pub selection: Selection,
    pub output: Box<dyn Output>,
    /// Messages still to be written.
    pub left: u64,
    pub report: Report<'r>,
    /// Whether to measure and print the speed.
    pub timed: bool,
}

/// A packet as errors name it.
#[derive(Clone, Copy, Debug)]
pub struct PacketPlace {
    /// Index of the packet.
    pub index: u64,
    /// Offset of its first byte in the file.
    pub file_offset: u64,
}

impl PacketPlace {
    /// The place of a packet.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self { index: packet.index, file_offset: packet.file_offset }
    }
}

impl fmt::Display for PacketPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {} (file offset {})", self.index, self.file_offset)
    }
}

impl Run<'_> {
    /// Decodes until the capture or the limit ends, and prints the counts.
    pub fn decode_all(
        &mut self,
        mut reader: CaptureReader<impl Read>,
        quiet: bool,
    ) -> Result<(), Failure> {
        let mut decoder = Decoder::with_options(self.program.clone(), self.options);
        let mut framer = Framer::new(self.framing);
        let mut streams = Streams::default();
        // A preamble is found from the start of a packet on: a raw file with one is one packet.
        let whole = reader.kind() == Kind::Stream && self.framing.preamble_bytes() > 0;
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
            self.report.packets += 1;
            self.report.bytes += packet.bytes.len() as u64;
            let start = self.timed.then(Instant::now);
            match packet.stream {
                Some(position) if !whole => streams.piece(self, &packet, position)?,
                _ => {
                    let place = PacketPlace::of(&packet);
                    self.segments(&mut decoder, place, framer.split(packet.bytes))?;
                    if packet.is_truncated() {
                        let missing = packet.missing_bytes;
                        let why = format!("the capture cut {missing} bytes off its end");
                        self.report.packet_failed(place, why);
                    }
                }
            }
            time += start.map_or(Duration::ZERO, |start| start.elapsed());
        }
        if self.left > 0 {
            streams.finish(self)?;
        }
        self.output.finish(self.timed.then_some(time))?;
        let findings = streams.findings(decoder.findings());
        self.report.finish(&findings, quiet);
        Ok(())
    }

    /// Writes a message unless the filter leaves it out.
    pub fn take(&mut self, place: &Place<'_>, decoded: &Decoded<'_>) -> Result<(), Failure> {
        self.report.messages += 1;
        if self.selection.contains(decoded.message) {
            self.output.message(place, decoded.message)?;
            self.left -= 1;
        }
        Ok(())
    }

    /// Decodes what a framer found.
    pub fn segments(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        segments: Segments<'_>,
    ) -> Result<(), Failure> {
        for segment in segments {
            match segment {
                Ok(segment) => self.segment(decoder, packet, &segment)?,
                Err(error) => self.report.packet_failed(packet, error),
            }
        }
        Ok(())
    }

    fn segment(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        segment: &Segment<'_>,
    ) -> Result<(), Failure> {
        if segment.reset_before {
            decoder.begin_packet();
        }
        let mut at = 0;
        while at < segment.bytes.len() && self.left > 0 {
            match next_block(&self.framing, segment.bytes, at) {
                Ok(Some(block)) => match self.block(decoder, packet, segment, block)? {
                    Some(end) => at = end,
                    None => return Ok(()),
                },
                Ok(None) => {
                    let rest = segment.bytes.len() - at;
                    let offset = segment.offset + at;
                    self.report.packet_failed(
                        packet,
                        format_args!("offset {offset}: the {rest} bytes left are no whole block"),
                    );
                    return Ok(());
                }
                Err(error) => {
                    let offset = segment.offset + error.offset;
                    self.report.packet_failed(packet, FramingError { offset, ..error });
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Decodes the messages of a block and returns where they end; `None` if one failed.
    fn block(
        &mut self,
        decoder: &mut Decoder,
        packet: PacketPlace,
        segment: &Segment<'_>,
        block: Block,
    ) -> Result<Option<usize>, Failure> {
        let mut at = block.start;
        while at < block.end && self.left > 0 {
            let rest = &segment.bytes[at..block.end];
            let offset = segment.offset + at;
            match decoder.decode(rest) {
                Ok(decoded) => {
                    let place = Place {
                        packet: packet.index,
                        preamble: segment.preamble,
                        offset: offset as u64,
                        len: decoded.len,
                    };
                    self.take(&place, &decoded)?;
                    at += decoded.len;
                    if block.is_one_message {
                        break;
                    }
                }
                Err(error) => {
                    let error = error.shifted(offset);
                    self.report.message_failed(
                        packet,
                        &error,
                        &self.program,
                        segment.bytes.len() - at,
                    );
                    return Ok(None);
                }
            }
        }
        Ok(Some(at))
    }
}
