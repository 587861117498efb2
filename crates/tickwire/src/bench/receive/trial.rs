//! One trial: sends packets at a rate through the cables to a receiver and counts the ones that arrive.

use super::cable::{self, Cables};
use super::cpu::CpuTimes;
use super::feed::BenchFeed;
use super::receiver::{OpenReceivers, PacketWork, ReceiverKind};
use crate::failure::Failure;
use nix::net::if_::if_nametoindex;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_host::process::thread_cpu_ns;
use tickwire_host::{Stop, affinity};
use tickwire_net::packets::frames::{FRAMES_MAX, FrameSender};

/// CPU of the sender, then the CPU that network stack and receiver share.
const SENDING_CPU: usize = 0;
pub const RECEIVING_CPU: usize = 1;
/// Time without a packet after which the missing ones count as lost.
const QUIET: Duration = Duration::from_millis(100);

/// Setup of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct TrialSetup<'m> {
    pub cables: &'m Cables,
    pub feed: &'m BenchFeed,
    pub lines: usize,
    pub kind: ReceiverKind,
    pub application: PacketWork,
}

/// When the packets are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sending {
    /// This many packets per second over all lines together, while the receiver runs.
    Paced(f64),
    /// All packets are sent before the receiver starts.
    Before,
}

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialOutcome {
    /// Packets sent on all lines.
    pub sent: u64,
    pub received: u64,
    /// Time from the first sent packet to the last.
    pub sending: Duration,
    /// CPU time of the receiver's thread.
    pub application: Duration,
    /// CPU time of the whole machine, and of its software interrupts.
    pub machine: (Duration, Duration),
    /// Number of decoded messages.
    pub messages: Option<u64>,
}

impl TrialOutcome {
    pub const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Returns the CPU time of the receiver's thread per packet, in nanoseconds.
    pub fn application_ns(&self) -> f64 {
        self.application.as_nanos() as f64 / self.received.max(1) as f64
    }

    /// Returns the number of packets sent per second.
    pub fn rate(&self) -> f64 {
        self.sent as f64 / self.sending.as_secs_f64().max(1e-9)
    }
}

/// Sends the first `packets` of each line and receives them.
pub fn run(
    case: &TrialSetup<'_>,
    packets: usize,
    sending: Sending,
) -> Result<TrialOutcome, Failure> {
    let TrialSetup { cables, feed, lines, kind, application } = *case;
    let packets = packets.min(feed.packets());
    let expected = (packets * lines) as u64;
    let received = AtomicU64::new(0);
    let stop = Stop::new();
    // Both threads wait for each other when the receivers are open and, with `Before`, again when the packets are
    // queued.
    let (open, queued) = (Barrier::new(2), Barrier::new(2));
    let before = CpuTimes::read();
    thread::scope(|scope| {
        let receive = || {
            let prepared = pin(RECEIVING_CPU)
                .and_then(|()| cables.enter_receiving())
                .and_then(|()| OpenReceivers::open(kind, application, feed, lines));
            open.wait();
            if sending == Sending::Before {
                queued.wait();
            }
            let mut receiving = prepared?;
            let begin_ns = thread_cpu_ns();
            receiving.run(&stop, expected, &received)?;
            let cpu = Duration::from_nanos(thread_cpu_ns().saturating_sub(begin_ns));
            Ok::<_, Failure>((cpu, receiving.messages()))
        };
        let receiver = scope.spawn(receive);
        let send = || {
            let senders = pin(SENDING_CPU)
                .and_then(|()| cables.enter_sending())
                .and_then(|()| senders(lines));
            open.wait();
            let sent = senders.map(|senders| send(&senders, feed, packets, sending));
            if sending == Sending::Before {
                queued.wait();
            }
            sent?
        };
        let sender = scope.spawn(send);
        let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        await_rest(&received, expected, || receiver.is_finished());
        stop.set();
        let done = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ((application, messages), sending) = (done?, sent?);
        let received = received.load(Ordering::Relaxed);
        let machine = CpuTimes::read().since(before);
        Ok(TrialOutcome { sent: expected, received, sending, application, machine, messages })
    })
}

/// Waits until all packets have arrived, or none has arrived for [`QUIET`].
fn await_rest(received: &AtomicU64, expected: u64, is_over: impl Fn() -> bool) {
    let (mut last, mut since) = (0, Instant::now());
    while last < expected && since.elapsed() < QUIET && !is_over() {
        let now = received.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn pin(cpu: usize) -> Result<(), Failure> {
    affinity::pin_current_thread(cpu).map_err(|error| Failure::Usage(format!("CPU {cpu}: {error}")))
}

fn senders(lines: usize) -> Result<Vec<FrameSender>, Failure> {
    let open = |line| {
        let name = cable::near(line);
        let opened = if_nametoindex(name.as_str()).map_err(Into::into).and_then(FrameSender::open);
        opened.map_err(|error: std::io::Error| {
            Failure::Usage(format!("cannot send from {name}: {error}"))
        })
    };
    (0..lines).map(open).collect()
}

/// Sends `packets` of each line and returns how long it took.
fn send(
    senders: &[FrameSender],
    feed: &BenchFeed,
    packets: usize,
    sending: Sending,
) -> Result<Duration, Failure> {
    let failed = |error| Failure::Usage(format!("cannot send: {error}"));
    let rate = match sending {
        Sending::Paced(rate) => rate / senders.len() as f64,
        Sending::Before => f64::INFINITY,
    };
    // A burst lasts at most 20 us and has at most the frames of one call.
    let burst = ((rate * 20e-6) as usize).clamp(1, FRAMES_MAX);
    let frames: Vec<Vec<&[u8]>> = (0..senders.len())
        .map(|line| feed.frames(line).iter().take(packets).map(Vec::as_slice).collect())
        .collect();
    let begin = Instant::now();
    let mut at = 0;
    while at < packets {
        let due = Duration::from_secs_f64(at as f64 / rate);
        while begin.elapsed() < due {
            std::hint::spin_loop();
        }
        let end = (at + burst).min(packets);
        for (sender, frames) in senders.iter().zip(&frames) {
            let mut rest = frames.get(at..end).unwrap_or_default();
            while !rest.is_empty() {
                let sent = sender.send(rest).map_err(failed)?;
                rest = rest.get(sent..).unwrap_or_default();
            }
        }
        at = end;
    }
    Ok(begin.elapsed())
}
