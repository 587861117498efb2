//! Times of the decoders and the encoder. They run alternately, so that the machine's state affects all
//! alike.

use super::trace::{Trace, digest};
use crate::failure::Failure;
use crate::opra::decoder::{DecoderName, OpraDecoder};
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
use tickwire_opra::{Decode, OpraEncodeError, OpraEncoder, OpraMessage, OpraVersion, bottom_up};

/// Passes over the trace that threads make between two clock reads: enough to make the time to start them
/// negligible.
const PASSES_OF_THREADS: u32 = 4;

/// Measured work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredWork {
    /// Packets to messages.
    Decode(DecoderName),
    /// Decodes packets and encodes their messages again.
    Transcode,
}

/// A kind of work on a number of threads, and its shortest time so far.
pub struct Contestant {
    /// The work.
    pub work: MeasuredWork,
    /// Number of threads.
    pub threads: usize,
    /// Time for the whole trace, the shortest of all passes.
    pub shortest: Duration,
    /// Passes made.
    pub passes: u32,
}

/// Every kind of work that this CPU can run, for each number of threads.
pub fn contestants(threads: &[usize]) -> Vec<Contestant> {
    let decoders = DecoderName::DISTINCT.into_iter().filter(|name| name.available().is_some());
    let works: Vec<MeasuredWork> =
        decoders.map(MeasuredWork::Decode).chain([MeasuredWork::Transcode]).collect();
    let new = |threads: usize| {
        let contestant =
            move |work| Contestant { work, threads, shortest: Duration::MAX, passes: 0 };
        works.clone().into_iter().map(contestant)
    };
    threads.iter().flat_map(|threads| new(*threads)).collect()
}

/// Compares the messages of all decoders.
///
/// # Errors
/// [`Failure::Data`] if one differs from the reference.
pub fn check(trace: &Trace) -> Result<(), Failure> {
    for name in DecoderName::DISTINCT {
        let Some(mut decoder) = name.available() else { continue };
        if digest(&mut decoder, &trace.packets)? != (trace.messages, trace.digest) {
            return Err(Failure::Data(format!(
                "{name} differs from the reference: please report this error"
            )));
        }
    }
    Ok(())
}

/// Runs all contestants alternately over the trace until `time` has passed, each at least three times.
pub fn measure(
    contestants: &mut [Contestant],
    trace: &Trace,
    time: Duration,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut round = 0;
    while round < 3 || start.elapsed() < time {
        for contestant in &mut *contestants {
            let took = match contestant.threads {
                1 => pass(contestant.work, &trace.packets)?,
                threads => pass_on_threads(contestant.work, &trace.packets, threads)?,
            };
            contestant.shortest = contestant.shortest.min(took);
            contestant.passes += 1;
        }
        round += 1;
    }
    Ok(())
}

/// One pass over all packets on this thread.
fn pass(work: MeasuredWork, packets: &[Vec<u8>]) -> Result<Duration, Failure> {
    let mut worker = RateWorker::new(work)?;
    let start = Instant::now();
    worker.run(packets);
    Ok(start.elapsed())
}

/// The mean time of a pass over all packets by several threads, each with a part of the packets.
fn pass_on_threads(
    work: MeasuredWork,
    packets: &[Vec<u8>],
    threads: usize,
) -> Result<Duration, Failure> {
    let parts: Vec<&[Vec<u8>]> = packets.chunks(packets.len().div_ceil(threads).max(1)).collect();
    let workers: Result<Vec<RateWorker>, Failure> =
        parts.iter().map(|_| RateWorker::new(work)).collect();
    let barrier = Barrier::new(parts.len());
    let (start, end) = thread::scope(|scope| {
        let barrier = &barrier;
        let mut running = Vec::with_capacity(parts.len());
        for (part, mut worker) in parts.into_iter().zip(workers?) {
            running.push(scope.spawn(move || {
                barrier.wait();
                let start = Instant::now();
                (0..PASSES_OF_THREADS).for_each(|_| worker.run(part));
                (start, Instant::now())
            }));
        }
        let times = running.into_iter().filter_map(|thread| thread.join().ok());
        times
            .reduce(|(start, end), (s, e)| (start.min(s), end.max(e)))
            .ok_or_else(|| Failure::Data("no thread finished".to_owned()))
    })?;
    Ok((end - start) / PASSES_OF_THREADS)
}

/// State of a thread.
enum RateWorker {
    Decode(OpraDecoder),
    Transcode(Box<(bottom_up::BottomUpDecoder, OpraEncoder)>),
}

impl RateWorker {
    fn new(work: MeasuredWork) -> Result<Self, Failure> {
        Ok(match work {
            MeasuredWork::Decode(name) => Self::Decode(name.decoder()?),
            MeasuredWork::Transcode => {
                let encoder = OpraEncoder::new(OpraVersion::V2);
                Self::Transcode(Box::new((bottom_up::BottomUpDecoder::new(), encoder)))
            }
        })
    }

    /// Errors are ignored: the trace has been decoded before.
    fn run(&mut self, packets: &[Vec<u8>]) {
        match self {
            Self::Decode(OpraDecoder::Reference(decoder)) => decode(&mut **decoder, packets),
            Self::Decode(OpraDecoder::BottomUp(decoder)) => decode(&mut **decoder, packets),
            Self::Decode(OpraDecoder::Grammar(decoder)) => decode(&mut **decoder, packets),
            Self::Transcode(pair) => {
                let (decoder, encoder) = &mut **pair;
                transcode(decoder, encoder, packets);
            }
        }
    }
}

/// Decodes all packets. Every message's record is hidden from the optimiser.
///
/// Each decoder gets its own instance of this function, as in a program that uses only one: in a common
/// function the code of each decoder depends on the others.
#[inline(never)]
pub fn decode(decoder: &mut impl Decode, packets: &[Vec<u8>]) {
    for packet in packets {
        let decoded = decoder.decode_packet(packet, |message| {
            black_box(message);
        });
        _ = black_box(decoded);
    }
}

fn transcode(
    decoder: &mut bottom_up::BottomUpDecoder,
    encoder: &mut OpraEncoder,
    packets: &[Vec<u8>],
) {
    for packet in packets {
        encoder.begin(1);
        let push = |message: OpraMessage<'_>| {
            let pushed: Result<(), OpraEncodeError> = encoder.push(black_box(&message));
            _ = black_box(pushed);
        };
        _ = black_box(decoder.decode_packet(packet, push));
        _ = black_box(encoder.finish());
    }
}
