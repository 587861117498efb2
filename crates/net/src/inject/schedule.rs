//! Packets of several lines with their faults, merged into the order of their arrival.

use super::{Faults, Injector, line_seed};

/// A sent packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket<'p> {
    /// Sending time, in nanoseconds.
    pub sent_ns: u64,
    /// The packet.
    pub bytes: &'p [u8],
}

/// A line: its packets and its faults.
#[derive(Clone, Debug)]
pub struct ScheduledLine<'p> {
    /// Its packets, ascending by time.
    pub packets: Vec<SentPacket<'p>>,
    /// Packets of another channel, ascending by time, which [`Faults::wrong_line`] admits.
    pub other: Vec<SentPacket<'p>>,
    /// Faults of the line.
    pub faults: Faults,
}

/// A step of the receiver's clock: from `at_ns` on it is ahead by `by_ns` more, or behind if
/// negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// True time of the step, in nanoseconds.
    pub at_ns: u64,
    /// Nanoseconds added; negative for a step back.
    pub by_ns: i64,
}

/// A packet that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// True time, in nanoseconds.
    pub at_ns: u64,
    /// Receiver's clock at that time.
    pub stamp_ns: u64,
    /// Index of its line.
    pub line: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Passes the packets of all lines through their injectors. Arrivals are in the order of true time,
/// those of lower lines first; line `i` takes its faults from [`line_seed`]`(seed, i)`.
pub fn schedule(lines: &[ScheduledLine<'_>], steps: &[ClockStep], seed: u64) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for (line, scheduled) in lines.iter().enumerate() {
        let mut injector = Injector::new(scheduled.faults, line_seed(seed, line));
        let mut pass =
            InjectionPass { injector: &mut injector, line, steps, arrivals: &mut arrivals };
        let (mut own, mut other) = (scheduled.packets.iter(), scheduled.other.iter());
        let (mut next_own, mut next_other) = (own.next(), other.next());
        loop {
            match (next_own, next_other) {
                (Some(packet), other) if other.is_none_or(|o| packet.sent_ns <= o.sent_ns) => {
                    pass.drain(packet.sent_ns);
                    pass.injector.handle_packet(packet.sent_ns, packet.bytes);
                    next_own = own.next();
                }
                (_, Some(packet)) => {
                    pass.drain(packet.sent_ns);
                    pass.injector.handle_other(packet.sent_ns, packet.bytes);
                    next_other = other.next();
                }
                // A line's own packets without others match the first arm.
                (_, None) => break,
            }
        }
        pass.drain(u64::MAX);
    }
    arrivals.sort_by_key(|arrival| (arrival.at_ns, arrival.line));
    arrivals
}

/// Returns the receiver's clock at `at_ns`.
pub fn stamp(steps: &[ClockStep], at_ns: u64) -> u64 {
    let taken = steps.iter().filter(|step| step.at_ns <= at_ns);
    taken.fold(at_ns, |stamp_ns, step| stamp_ns.saturating_add_signed(step.by_ns))
}

struct InjectionPass<'a> {
    injector: &'a mut Injector,
    line: usize,
    steps: &'a [ClockStep],
    arrivals: &'a mut Vec<Arrival>,
}

impl InjectionPass<'_> {
    /// Returns everything that is due by `now_ns`, each with its time.
    fn drain(&mut self, now_ns: u64) {
        let mut at_ns = 0;
        while let Some(due_ns) = self.injector.poll_timeout().filter(|due_ns| *due_ns <= now_ns) {
            // 0 means at once: no earlier than the previous packet.
            at_ns = due_ns.max(at_ns);
            while let Some(packet) = self.injector.poll_packet(at_ns) {
                self.arrivals.push(Arrival {
                    at_ns,
                    stamp_ns: stamp(self.steps, at_ns),
                    line: self.line,
                    bytes: packet.to_vec(),
                });
            }
        }
    }
}
