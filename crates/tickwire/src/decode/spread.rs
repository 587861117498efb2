//! Decoding a capture on several threads, with the output in the order of its packets.

use super::report::{DecodeReport, DeferredReport};
use super::run::DecodeRun;
use super::{DOUBTED_PACKETS, FastDecodeArgs, report_doubt};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::reset_policy;
use crate::progress::Progress;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tickwire_captures::plan::stands_alone;
use tickwire_captures::{CaptureDecoder, CaptureSample, Selection, SequenceGaps};
use tickwire_fast::{Findings, Program};
use tickwire_feed::capture::{CaptureReader, Packet};
use tickwire_feed::framing::{Framing, FramingResetPolicy};
use tickwire_feed::parallel::{Lane, Parallel};

/// A capture to be decoded on several threads.
pub struct ParallelDecode<'s> {
    pub args: &'s FastDecodeArgs,
    pub threads: usize,
    pub framing: Framing,
    pub program: &'s Arc<Program>,
    pub selection: &'s Selection,
}

impl ParallelDecode<'_> {
    /// Decodes the capture to its end, and prints the counts.
    pub fn decode_all(
        &self,
        mut reader: CaptureReader<impl Read>,
        mut out: impl Write,
        progress: &Progress,
    ) -> Result<Outcome, Failure> {
        let Self { args, threads, framing, program, selection } = *self;
        let name = files::name_of(args.input.required_path()?);
        let mut report =
            DecodeReport::new(&name, progress, args.decoder.options(reset_policy(&framing)).limits);
        let begin = || DecodeWorker::new(args, framing, program, selection);
        out.write_all(&begin()?.heading)?;

        let mut broken = None;
        let mut sample = CaptureSample::new(DOUBTED_PACKETS);
        let (wanted, mut read) = (&args.packets, 0);
        let skips = stands_alone(&framing);
        // True once the range ends before the capture does.
        let is_cut_short = AtomicBool::new(false);
        let packets = std::iter::from_fn(|| {
            loop {
                let packet = match reader.next_packet() {
                    Ok(packet) => {
                        let packet = packet?;
                        if wanted.is_before(packet.index) {
                            is_cut_short.store(true, Ordering::Release);
                            return None;
                        }
                        packet
                    }
                    Err(error) => {
                        broken = Some(error.to_string());
                        return None;
                    }
                };
                read += 1;
                sample.add(&packet);
                if !skips || packet.stream.is_some() || wanted.contains(packet.index) {
                    return Some(OwnedPacket::new(packet));
                }
            }
        });
        let ends = Parallel::new(threads).run(
            packets,
            |packet| (lane(&framing, &packet.packet), packet.bytes.len()),
            begin,
            |worker, packet| match worker {
                Ok(worker) => worker.decode(&packet),
                Err(failure) => Err(failure.clone()),
            },
            |worker| worker?.finish(is_cut_short.load(Ordering::Acquire)),
            |piece| {
                let piece = piece?;
                report.take_over(piece.report);
                Ok::<(), Failure>(out.write_all(&piece.text)?)
            },
        )?;
        if let Some(error) = broken {
            report.error(&error);
        }
        let mut found = Findings::default();
        for end in ends {
            let (piece, of_thread) = end?;
            out.write_all(&piece.text)?;
            report.take_over(piece.report);
            found = found + of_thread;
        }
        out.flush()?;
        report.check_range(wanted, read);
        report.capture(reader.statistics());
        if let Some(text) = args.input.none_selected(reader.statistics()) {
            report.error(&text);
        }
        report_doubt(&mut report, program, &framing, &sample);
        report.finish(&found, args.quiet);
        Ok(Outcome::flawed_if(report.is_flawed()))
    }
}

/// Assigns a packet to a thread. If state persists across the packets of a channel, in dictionaries or
/// chunks, the channel belongs to one thread. Streams share one thread, because the remainders of all streams
/// are decoded at the end, in order.
fn lane(framing: &Framing, packet: &Packet<'_>) -> Lane {
    if packet.stream.is_some() {
        return Lane::Key(0);
    }
    let starts_empty =
        matches!(framing.reset_policy(), FramingResetPolicy::Packet | FramingResetPolicy::Message);
    if starts_empty && framing.chunk_fields().is_none() {
        return Lane::Any;
    }
    let mut hasher = DefaultHasher::new();
    packet.destination.hash(&mut hasher);
    Lane::Key(hasher.finish())
}

/// A packet that outlives the reader's buffer.
struct OwnedPacket {
    /// The packet without its bytes.
    packet: Packet<'static>,
    bytes: Vec<u8>,
}

impl OwnedPacket {
    fn new(packet: Packet<'_>) -> Self {
        Self { bytes: packet.bytes.to_vec(), packet: Packet { bytes: &[], ..packet } }
    }
}

/// Output of one packet.
struct PacketOutput {
    text: Vec<u8>,
    report: DeferredReport,
}

/// State of a thread between packets.
struct DecodeWorker {
    run: DecodeRun<'static>,
    decoder: CaptureDecoder,
    text: BufferedText,
    /// Heading of the output, such as the CSV header.
    heading: Vec<u8>,
}

impl DecodeWorker {
    fn new(
        args: &FastDecodeArgs,
        framing: Framing,
        program: &Arc<Program>,
        selection: &Selection,
    ) -> Result<Self, Failure> {
        let text = BufferedText::default();
        let output = args.writer(text.clone(), program, selection)?;
        let heading = text.take();
        let options = args.decoder.options(reset_policy(&framing));
        let run = DecodeRun {
            selection: selection.clone(),
            output,
            packets: args.packets.clone(),
            left: u64::MAX,
            report: DecodeReport::held(options.limits),
            // The reader's thread collects the sample.
            gaps: SequenceGaps::default(),
            sample: CaptureSample::new(0),
            findings: Findings::default(),
            timed: false,
        };
        let mut decoder = CaptureDecoder::new(program.clone(), options, framing);
        decoder = decoder.reset_at(args.sessions.reset_at.clone());
        if args.framing.is_auto() {
            decoder = decoder.check_values();
        }
        Ok(Self { run, decoder, text, heading })
    }

    fn decode(&mut self, owned: &OwnedPacket) -> Result<PacketOutput, Failure> {
        let packet = Packet { bytes: &owned.bytes, ..owned.packet };
        self.run.packet(&mut self.decoder, &packet)?;
        Ok(self.piece())
    }

    /// Reports streams that end inside a message, unless they go on after the wanted packets.
    fn finish(mut self, is_cut_short: bool) -> Result<(PacketOutput, Findings), Failure> {
        if !is_cut_short {
            self.decoder.finish(&mut self.run)?;
        }
        let findings = self.decoder.findings();
        Ok((self.piece(), findings))
    }

    fn piece(&mut self) -> PacketOutput {
        PacketOutput { text: self.text.take(), report: self.run.report.hand_over() }
    }
}

/// Text that is held until its turn to be written comes.
#[derive(Clone, Default)]
struct BufferedText(Rc<RefCell<Vec<u8>>>);

impl BufferedText {
    fn take(&self) -> Vec<u8> {
        self.0.take()
    }
}

impl Write for BufferedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
