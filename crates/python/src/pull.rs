//! Reads a capture incrementally.

use crate::fault::DecodeFault;
use crate::warnings::Warnings;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use tickwire_captures::plan::{self, CaptureSplit, SplitReader};
use tickwire_captures::{
    CaptureDecoder, CaptureSample, CaptureSink, LossExtent, MessagePlace, OffsetBase, PacketPlace,
    Selection,
};
use tickwire_fast::{DecodedMessage, DecoderOptions, FastError, Message, Program};
use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader};
use tickwire_feed::framing::Framing;
use tickwire_feed::framing::detect::Unproven;
use tickwire_text::Header;

/// A file, with its format and its split, if given.
#[derive(Clone)]
pub struct CaptureFile {
    pub path: PathBuf,
    pub format: Option<CaptureFormat>,
    pub split: Option<Arc<CaptureSplit>>,
}

/// A capture with decoding options.
#[derive(Clone)]
pub struct CaptureJob {
    pub source: CaptureFile,
    pub framing: Framing,
    /// Packets before which another session begins, by index.
    pub reset_at: Vec<u64>,
    /// True if the framing was detected, so that the bytes of each message must confirm its values.
    pub checks_values: bool,
    pub program: Arc<Program>,
    pub selection: Selection,
    /// Range of capture times, nanoseconds since 1970-01-01 UTC; messages without a time are always included.
    pub times: Range<u64>,
    pub warnings: Warnings,
}

impl CaptureFile {
    /// Opens the capture or split at its start. Pipes are refused: each reading opens the file again.
    pub fn open(&self) -> Result<SplitReader, String> {
        if let Some(split) = &self.split {
            return split.open().map_err(|error| error.to_string());
        }
        let Self { path, format, .. } = self;
        let name = path.display();
        let failed = |error| format!("cannot open {name}: {error}");
        if fs::metadata(path).map_err(failed)?.file_type().is_fifo() {
            return Err(format!(
                "{name} is a pipe, but a capture is read more than once: write it to a file first"
            ));
        }
        let file = File::open(path).map_err(failed)?;
        let file = file.take(u64::MAX);
        let mut options = CaptureOptions::new().file_name(path.to_string_lossy());
        if let Some(format) = format {
            options = options.format(*format);
        }
        CaptureReader::open(file, options).map_err(|error| format!("{name}: {error}"))
    }

    /// Returns the first packets, to detect the framing.
    pub fn sample(&self) -> Result<CaptureSample, String> {
        /// As many as `tickwire decode --framing auto` samples.
        const PACKETS_MAX: usize = 1000;
        let mut sample = CaptureSample::new(PACKETS_MAX);
        let mut reader = self.open()?;
        // Errors of the file are reported when it is decoded.
        while let Ok(Some(packet)) = reader.next_packet() {
            sample.add(&packet);
            if sample.is_full() {
                break;
            }
        }
        Ok(sample)
    }
}

/// Receives the selected messages.
pub trait Take {
    /// Takes a message; returns a fault if it cannot be taken.
    fn take(&mut self, header: &Header<'_>, message: &Message) -> Result<(), Box<DecodeFault>>;
}

/// A capture being decoded.
pub struct CapturePuller<T> {
    reader: SplitReader,
    split: Option<Arc<CaptureSplit>>,
    decoder: CaptureDecoder,
    sink: PullSink<T>,
    skips: bool,
    is_ended: bool,
    /// Packets read so far.
    pub packets: u64,
    /// Packets that were not decoded, because they are outside the time range.
    pub packets_skipped: u64,
}

/// Destination of a capture's messages.
struct PullSink<T> {
    selection: Selection,
    times: Range<u64>,
    take: T,
    faults: Vec<DecodeFault>,
    warnings: Warnings,
}

impl<T: Take> CapturePuller<T> {
    /// Opens a capture.
    pub fn new(job: &CaptureJob, take: T) -> Result<Self, String> {
        let reset = job.framing.reset_policy().into();
        let options = DecoderOptions::default().reset(reset);
        let CaptureJob { selection, times, warnings, reset_at, .. } = job.clone();
        let mut decoder =
            CaptureDecoder::new(job.program.clone(), options, job.framing).reset_at(reset_at);
        if job.checks_values {
            decoder = decoder.check_values();
        }
        Ok(Self {
            reader: job.source.open()?,
            split: job.source.split.clone(),
            decoder,
            sink: PullSink { selection, times, take, faults: Vec::new(), warnings },
            skips: plan::stands_alone(&job.framing),
            is_ended: false,
            packets: 0,
            packets_skipped: 0,
        })
    }

    /// Returns the receiver of the messages.
    pub fn taken(&mut self) -> &mut T {
        &mut self.sink.take
    }

    /// Returns the errors since the last call.
    pub fn take_faults(&mut self) -> Vec<DecodeFault> {
        std::mem::take(&mut self.sink.faults)
    }

    /// True at the end of the capture.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Decodes the next packet.
    pub fn step(&mut self) {
        let packet = match self.decoder.next_packet(&mut self.reader) {
            Ok(Some(packet)) => packet,
            Ok(None) => {
                let checked = self.split.as_ref().map(|split| split.check_end(&self.reader));
                if let Some(Err(error)) = checked {
                    self.sink.faults.push(DecodeFault::of_file(error.to_string()));
                }
                return self.end();
            }
            Err(error) => {
                self.sink.faults.push(DecodeFault::of_file(error.to_string()));
                return self.end();
            }
        };
        self.packets += 1;
        if self.skips && packet.stream.is_none() && !self.sink.wants_time(packet.timestamp_ns) {
            self.packets_skipped += 1;
            return;
        }
        let Ok(()) = self.decoder.decode(&packet, &mut self.sink);
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_ended, true) {
            let Ok(()) = self.decoder.finish(&mut self.sink);
            let missing = self.reader.statistics().missing();
            self.sink.faults.extend(missing.map(|text| DecodeFault::of_file(text.to_string())));
            if let Some(text) = self.reader.statistics().times_back() {
                self.sink.warnings.note(|| text);
            }
        }
    }
}

impl<T> PullSink<T> {
    fn wants_time(&self, time_ns: Option<u64>) -> bool {
        time_ns.is_none_or(|time_ns| self.times.contains(&time_ns))
    }
}

impl<T: Take> CaptureSink for PullSink<T> {
    type Error = std::convert::Infallible;

    fn message(
        &mut self,
        header: &Header<'_>,
        decoded: &DecodedMessage<'_>,
    ) -> Result<(), Self::Error> {
        if self.selection.contains(decoded.message)
            && self.wants_time(header.time_ns)
            && let Err(fault) = self.take.take(header, decoded.message)
        {
            self.faults.push(*fault);
        }
        Ok(())
    }

    fn message_failed(
        &mut self,
        place: MessagePlace,
        error: &FastError,
        program: &Program,
        _: LossExtent,
    ) {
        self.faults.push(DecodeFault::of_capture(place, error, program));
    }

    fn packet_failed(&mut self, place: PacketPlace, why: &dyn Display) {
        self.faults.push(DecodeFault::of_packet(place, format!("{place}: {why}")));
    }

    fn message_unproven(&mut self, place: MessagePlace, why: Unproven, _: Option<LossExtent>) {
        let packet = match why {
            Unproven::NumberBack { packet, .. } => packet,
            _ => place.packet.index,
        };
        let remedy = match place.origin {
            OffsetBase::Packet => format!("open the capture with reset_at=[{packet}]"),
            OffsetBase::Stream => "open each session as a file of its own".to_owned(),
        };
        let offset = place.offset;
        self.packet_failed(
            place.packet,
            &format_args!("offset {offset}: {why}; if another session begins there, {remedy}"),
        );
    }

    fn packet_is_wrong_too(&mut self, place: PacketPlace, why: &dyn Display) {
        self.packet_failed(place, why);
    }

    fn remark(&mut self, text: &str) {
        self.warnings.note(|| text.to_owned());
    }
}
