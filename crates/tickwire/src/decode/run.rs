//! Reading a capture to its end.

use super::output::DecodeOutput;
use super::report::DecodeReport;
use super::report_doubt;
use crate::failure::Failure;
use crate::packet_range::PacketRange;
use std::fmt::Display;
use std::io::Read;
use std::time::{Duration, Instant};
use tickwire_captures::plan::stands_alone;
use tickwire_captures::{
    CaptureDecoder, CaptureSample, CaptureSink, LossExtent, MessagePlace, PacketPlace, Selection,
    SequenceGaps,
};
use tickwire_fast::{DecodedMessage, FastError, Findings, Program};
use tickwire_feed::capture::{CaptureReader, Packet, Statistics};
use tickwire_feed::framing::Framing;
use tickwire_feed::framing::detect::{PACKETS_MIN, Unproven};
use tickwire_text::Header;

/// Output and report of one capture.
pub struct DecodeRun<'r> {
    pub selection: Selection,
    pub output: DecodeOutput,
    /// The packets whose messages and errors are wanted.
    pub packets: PacketRange,
    /// Number of messages still to be written.
    pub left: u64,
    pub report: DecodeReport<'r>,
    /// Gaps in the sequence numbers of preambles.
    pub gaps: SequenceGaps,
    /// First packets, used to judge whether the framing is right.
    pub sample: CaptureSample,
    /// Findings of the decoders.
    pub findings: Findings,
    /// True if the speed is measured and printed.
    pub timed: bool,
}

impl DecodeRun<'_> {
    /// Decodes until the capture, the wanted packets or the limit ends. Returns the counters of the reader.
    pub fn decode_all(
        &mut self,
        decoder: &mut CaptureDecoder,
        mut reader: CaptureReader<impl Read>,
        framing: &Framing,
    ) -> Result<Statistics, Failure> {
        let stands_alone = stands_alone(framing);
        let mut time = Duration::ZERO;
        let mut read = 0;
        let mut is_cut_short = false;
        while self.left > 0 {
            let packet = match decoder.next_packet(&mut reader) {
                Ok(Some(packet)) => packet,
                Ok(None) => break,
                Err(error) => {
                    self.report.error(&error.to_string());
                    break;
                }
            };
            if self.packets.is_before(packet.index) {
                is_cut_short = true;
                break;
            }
            read += 1;
            self.sample.add(&packet);
            if stands_alone && packet.stream.is_none() && !self.packets.contains(packet.index) {
                continue;
            }
            let start = self.timed.then(Instant::now);
            self.packet(decoder, &packet)?;
            time += start.map_or(Duration::ZERO, |start| start.elapsed());
            // Prints the likely cause before a large number of errors.
            if read == PACKETS_MIN as u64 && self.report.errors() == read {
                report_doubt(&mut self.report, decoder.program(), framing, &self.sample);
            }
        }
        // Streams go on after the range: a message that is incomplete here is no error.
        if self.left > 0 && !is_cut_short {
            decoder.finish(self)?;
        }
        self.report.check_range(&self.packets, read);
        self.report.capture(reader.statistics());
        self.output.finish(self.timed.then_some(time))?;
        self.findings = decoder.findings();
        Ok(*reader.statistics())
    }

    /// Decodes a packet.
    pub fn packet(
        &mut self,
        decoder: &mut CaptureDecoder,
        packet: &Packet<'_>,
    ) -> Result<(), Failure> {
        if self.packets.contains(packet.index) {
            self.report.counts.packet(packet);
            self.output.count_packet(packet);
        }
        decoder.decode(packet, self)
    }

    /// Prints the counts.
    pub fn finish(&mut self, quiet: bool) {
        self.report.finish(&self.findings, quiet);
    }
}

impl CaptureSink for DecodeRun<'_> {
    type Error = Failure;

    /// Writes a message unless the filter excludes it.
    fn message(
        &mut self,
        header: &Header<'_>,
        decoded: &DecodedMessage<'_>,
    ) -> Result<(), Failure> {
        if !header.packet.is_none_or(|index| self.packets.contains(index)) {
            return Ok(());
        }
        self.report.message(header.packet);
        self.gaps.note_message();
        if self.selection.contains(decoded.message) {
            self.output.write_message(header, decoded.message)?;
            self.left -= 1;
        }
        Ok(())
    }

    fn wants_more(&self) -> bool {
        self.left > 0
    }

    fn numbered(&mut self, packet: PacketPlace, seq_num: u64) {
        if self.packets.contains(packet.index) {
            self.gaps.note(packet.destination, seq_num);
        }
    }

    fn message_failed(
        &mut self,
        place: MessagePlace,
        error: &FastError,
        program: &Program,
        lost: LossExtent,
    ) {
        if self.packets.contains(place.packet.index) {
            self.report.message_failed(place, error, program, lost);
        }
    }

    fn packet_failed(&mut self, place: PacketPlace, why: &dyn Display) {
        if self.packets.contains(place.index) {
            self.report.packet_failed(place, why);
        }
    }

    fn message_unproven(&mut self, place: MessagePlace, why: Unproven, lost: Option<LossExtent>) {
        if self.packets.contains(place.packet.index) || lost.is_some() {
            self.report.message_unproven(place, why, lost);
        }
    }

    fn packet_is_wrong_too(&mut self, place: PacketPlace, why: &dyn Display) {
        if self.packets.contains(place.index) {
            self.report.error(&format!("{place}: {why}"));
        }
    }

    fn remark(&mut self, text: &str) {
        self.report.remark(text);
    }
}
