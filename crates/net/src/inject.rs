//! Fault injection for lines: loss, duplication, reordering, delay, drift, late packets, silence,
//! and a line that carries another channel.
//!
//! An [`Injector`] takes the packets of one line with their times, and returns the packets to send
//! with their times. It has no I/O, and the same seed gives the same faults for the same packets.
//! Each packet draws the same random numbers whatever the probabilities are, so changing one
//! probability does not move the other faults. [`schedule()`] does this for several lines at once
//! and merges the arrivals.
//!
//! # Examples
//!
//! ```
//! use tickwire_net::inject::{Faults, Injector};
//!
//! let mut injector = Injector::new(Faults { delay_ns: 500, ..Faults::default() }, 1);
//! injector.handle_packet(1_000, b"packet");
//! assert_eq!(injector.poll_packet(1_000), None);
//! assert_eq!(injector.poll_timeout(), Some(1_500));
//! assert_eq!(injector.poll_packet(1_500), Some(&b"packet"[..]));
//! ```

mod faults;
mod schedule;

pub use faults::{FaultCounters, FaultWindow, Faults};
pub use schedule::{Arrival, ClockStep, ScheduledLine, SentPacket, schedule, stamp};

use std::collections::BTreeMap;

use fastrand::Rng;

/// Most packets that wait; a further one is counted and dropped.
pub const PACKETS_WAITING_MAX: usize = 262_144;

/// An overtaken packet: it is sent when enough others have passed it, or when it has waited for
/// long enough.
#[derive(Debug)]
struct Overtaken {
    /// Packets still to pass it.
    left: u32,
    until_ns: u64,
    packet: Vec<u8>,
}

/// Returns the seed of a line, counted from 0, among those that share `seed`. Seeds that are close
/// to each other, or mirror each other, would give lines more or fewer common losses than chance.
pub fn line_seed(seed: u64, line: usize) -> u64 {
    let mut random = Rng::with_seed(seed);
    let mut line_seed = random.u64(..);
    for _ in 0..line {
        line_seed = random.u64(..);
    }
    line_seed
}

/// Injects the faults of one line. See the [module](self).
#[derive(Debug)]
pub struct Injector {
    faults: Faults,
    random: Rng,
    /// Draws late packets, separately, so that the other faults do not depend on them.
    random_late: Rng,
    /// Time of the first packet.
    origin_ns: Option<u64>,
    /// Packets by due time, then in order of arrival.
    delayed: BTreeMap<(u64, u64), Delayed>,
    overtaken: Vec<Overtaken>,
    arrivals: u64,
    latest_due_ns: u64,
    /// The packet returned last, or to be returned once more.
    current: Vec<u8>,
    repeat: bool,
    free: Vec<Vec<u8>>,
    counters: FaultCounters,
}

#[derive(Debug)]
struct Delayed {
    is_twice: bool,
    overtakers: u32,
    packet: Vec<u8>,
}

/// The random numbers of one packet, drawn whether they are needed or not.
struct Draw {
    loss: f64,
    duplicate: f64,
    reorder: f64,
    overtakers: f64,
    jitter: f64,
}

impl Draw {
    fn new(random: &mut Rng) -> Self {
        let mut next = || random.f64();
        Self {
            loss: next(),
            duplicate: next(),
            reorder: next(),
            overtakers: next(),
            jitter: next(),
        }
    }
}

impl Injector {
    /// Creates an injector for a line. Lines that belong together take their seeds from
    /// [`line_seed`].
    pub fn new(faults: Faults, seed: u64) -> Self {
        let mut seeded = Rng::with_seed(seed);
        Self {
            faults,
            random: seeded.fork(),
            random_late: seeded.fork(),
            origin_ns: None,
            delayed: BTreeMap::new(),
            overtaken: Vec::new(),
            arrivals: 0,
            latest_due_ns: 0,
            current: Vec::new(),
            repeat: false,
            free: Vec::new(),
            counters: FaultCounters::default(),
        }
    }

    /// Returns the counters.
    pub const fn counters(&self) -> FaultCounters {
        self.counters
    }

    /// Returns how many packets wait to be returned.
    pub fn packets_waiting(&self) -> usize {
        self.delayed.len() + self.overtaken.len()
    }

    /// Accepts a packet at `now_ns`.
    pub fn handle_packet(&mut self, now_ns: u64, packet: &[u8]) {
        let since_ns = self.since(now_ns);
        let is_inside = |window: Option<FaultWindow>| window.is_some_and(|w| w.contains(since_ns));
        let is_silent = is_inside(self.faults.silence) || is_inside(self.faults.wrong_line);
        self.take(now_ns, since_ns, is_silent, packet);
    }

    /// Accepts a packet of another channel at `now_ns`: it passes only while the line carries that
    /// channel.
    pub fn handle_other(&mut self, now_ns: u64, packet: &[u8]) {
        let since_ns = self.since(now_ns);
        let is_inside = |window: Option<FaultWindow>| window.is_some_and(|w| w.contains(since_ns));
        if is_inside(self.faults.wrong_line) {
            self.counters.other += 1;
            self.take(now_ns, since_ns, is_inside(self.faults.silence), packet);
        }
    }

    /// Returns the nanoseconds since the first packet.
    fn since(&mut self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(*self.origin_ns.get_or_insert(now_ns))
    }

    fn take(&mut self, now_ns: u64, since_ns: u64, is_silent: bool, packet: &[u8]) {
        let draw = Draw::new(&mut self.random);
        let is_late = self.random_late.f64() < self.faults.late;
        self.counters.taken += 1;
        if is_silent {
            self.counters.silenced += 1;
            return;
        }
        if draw.loss < self.faults.loss {
            self.counters.lost += 1;
            return;
        }
        let is_twice = draw.duplicate < self.faults.duplicate;
        if self.packets_waiting() >= PACKETS_WAITING_MAX {
            self.counters.overflowed += 1 + u64::from(is_twice);
            return;
        }
        self.counters.duplicated += u64::from(is_twice);
        self.counters.late += u64::from(is_late);
        let is_overtaken = draw.reorder < self.faults.reorder && self.faults.reorder_max > 0;
        let overtakers = match is_overtaken {
            true => 1 + (draw.overtakers * f64::from(self.faults.reorder_max)) as u32,
            false => 0,
        };
        let due_ns = self.due_ns(now_ns, since_ns, draw.jitter, is_late);
        let packet = self.copy(packet);
        let delayed =
            Delayed { is_twice, overtakers: overtakers.min(self.faults.reorder_max), packet };
        self.delayed.insert((due_ns, self.arrivals), delayed);
        self.arrivals += 1;
    }

    /// Returns the due time of a packet: after all earlier ones, unless it is late.
    fn due_ns(&mut self, now_ns: u64, since_ns: u64, jitter: f64, is_late: bool) -> u64 {
        let jitter_ns = (jitter * self.faults.jitter_ns as f64) as u64;
        let drift_ns = self.faults.drift_at(since_ns);
        let delays = [self.faults.delay_ns, jitter_ns, drift_ns];
        let due_ns = delays.into_iter().fold(now_ns, u64::saturating_add);
        self.latest_due_ns = self.latest_due_ns.max(due_ns);
        let late_ns = if is_late { self.faults.late_ns } else { 0 };
        self.latest_due_ns.saturating_add(late_ns)
    }

    /// Returns the due time of the next packet; `None` while none waits. It changes with each
    /// packet accepted or polled.
    pub fn poll_timeout(&self) -> Option<u64> {
        if self.repeat || self.overtaken.iter().any(|waiting| waiting.left == 0) {
            return Some(0);
        }
        let delayed = self.delayed.keys().next().map(|(due_ns, _)| *due_ns);
        let overtaken = self.overtaken.iter().map(|waiting| waiting.until_ns).min();
        delayed.into_iter().chain(overtaken).min()
    }

    /// Returns the next packet to send at `now_ns`; `None` if none is due. It is valid until the
    /// next call.
    pub fn poll_packet(&mut self, now_ns: u64) -> Option<&[u8]> {
        if self.repeat {
            self.repeat = false;
            return Some(self.hand_out());
        }
        loop {
            if let Some(index) =
                self.overtaken.iter().position(|w| w.left == 0 || w.until_ns <= now_ns)
            {
                // Not `swap_remove`: packets that waited longest leave first.
                let packet = self.overtaken.remove(index).packet;
                self.become_current(packet);
                return Some(self.hand_out());
            }
            let entry = self.delayed.first_entry().filter(|entry| entry.key().0 <= now_ns)?;
            let Delayed { is_twice, overtakers, packet } = entry.remove();
            if overtakers > 0 {
                if is_twice {
                    let copy = self.copy(&packet);
                    self.overtake(now_ns, overtakers, copy);
                }
                self.overtake(now_ns, overtakers, packet);
                self.counters.reordered += 1;
                continue;
            }
            self.become_current(packet);
            self.repeat = is_twice;
            for waiting in &mut self.overtaken {
                waiting.left = waiting.left.saturating_sub(1);
            }
            return Some(self.hand_out());
        }
    }

    fn overtake(&mut self, now_ns: u64, left: u32, packet: Vec<u8>) {
        let until_ns = now_ns.saturating_add(self.faults.reorder_wait_ns);
        self.overtaken.push(Overtaken { left, until_ns, packet });
    }

    fn become_current(&mut self, packet: Vec<u8>) {
        let old = std::mem::replace(&mut self.current, packet);
        self.free.push(old);
    }

    fn hand_out(&mut self) -> &[u8] {
        self.counters.sent += 1;
        &self.current
    }

    fn copy(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut buffer = self.free.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(packet);
        buffer
    }
}

#[cfg(test)]
mod tests;
