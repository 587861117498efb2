//! Schedules of packets in a replay.
//!
//! A [`ReplaySchedule`] returns times since the start of the replay, so a late packet does not delay
//! later ones, and the replay does not drift. It has no clock; a [`Waiter`] has one, and sleeps
//! until a time.

use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use crate::Stop;
use crate::clock::{SECOND_NS, monotonic_ns};

/// Pace of the packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// The same time between any two packets, in nanoseconds.
    Gap {
        /// Nanoseconds between two packets.
        gap_ns: u64,
    },
    /// As fast as they can be sent.
    Maximum,
    /// The times of the capture, divided by `speed`. Packets without a time, and packets whose time
    /// is before that of an earlier one, are sent with the previous packet.
    Original {
        /// 1 is as captured, 10 is ten times as fast; positive.
        speed: f64,
    },
    /// This many packets per second, evenly spaced.
    Rate {
        /// Packets per second; 0 counts as 1.
        packets_per_second: u64,
    },
}

/// The times of the packets of one replay, in order.
#[derive(Clone, Copy, Debug)]
pub struct ReplaySchedule {
    pace: Pace,
    origin_ns: Option<u64>,
    packets: u64,
    due_ns: u64,
}

impl ReplaySchedule {
    /// Creates a schedule. `origin_ns` is the capture's time that counts as the start; `None` takes
    /// the time of the first packet that has one. Replays that belong together, such as lines A and
    /// B, share one.
    pub const fn new(pace: Pace, origin_ns: Option<u64>) -> Self {
        Self { pace, origin_ns, packets: 0, due_ns: 0 }
    }

    /// Returns the due time of the next packet, in nanoseconds since the start; never before that
    /// of the previous packet. `timestamp_ns` is the packet's time in the capture.
    pub fn next_due_ns(&mut self, timestamp_ns: Option<u64>) -> u64 {
        let index = self.packets;
        self.packets += 1;
        let due_ns = match self.pace {
            Pace::Gap { gap_ns } => index.saturating_mul(gap_ns),
            Pace::Maximum => 0,
            Pace::Original { speed } => self.scaled(timestamp_ns, speed),
            Pace::Rate { packets_per_second } => {
                let ns = u128::from(index) * u128::from(SECOND_NS);
                u64::try_from(ns / u128::from(packets_per_second.max(1))).unwrap_or(u64::MAX)
            }
        };
        self.due_ns = self.due_ns.max(due_ns);
        self.due_ns
    }

    fn scaled(&mut self, timestamp_ns: Option<u64>, speed: f64) -> u64 {
        let Some(timestamp_ns) = timestamp_ns else { return 0 };
        let origin_ns = *self.origin_ns.get_or_insert(timestamp_ns);
        let since_ns = timestamp_ns.saturating_sub(origin_ns);
        // A replay at a speed that is not positive would never end. The cast saturates at 64 bits.
        if speed > 0.0 { (since_ns as f64 / speed) as u64 } else { 0 }
    }
}

/// Longest single sleep, so that a stop is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// Sleeps precisely until a time.
#[derive(Clone, Debug)]
pub struct Waiter {
    stop: Stop,
    spin_ns: u64,
}

impl Waiter {
    /// Creates a waiter that ends when `stop` is set. The calling thread asks the kernel not to
    /// batch its wake-ups with others.
    pub fn new(stop: Stop) -> Self {
        // If the kernel refuses, the thread wakes up to 50 microseconds later.
        let _ = nix::sys::prctl::set_timerslack(1);
        Self { stop, spin_ns: 0 }
    }

    /// Sets how long before a time the thread stops sleeping and spins: spinning uses a CPU and is
    /// exact to less than a microsecond.
    pub fn spin(mut self, spin: Duration) -> Self {
        self.spin_ns = u64::try_from(spin.as_nanos()).unwrap_or(u64::MAX);
        self
    }

    /// Waits until `moment_ns` on the clock of [`monotonic_ns`], and returns the time. Returns
    /// earlier only if it is stopped.
    pub fn wait_until(&self, moment_ns: u64) -> u64 {
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= moment_ns || self.stop.is_set() {
                return now_ns;
            }
            if moment_ns - now_ns <= self.spin_ns {
                std::hint::spin_loop();
                continue;
            }
            let piece_ns = now_ns.saturating_add(SLEEP_MAX.as_nanos() as u64);
            let until = Duration::from_nanos((moment_ns - self.spin_ns).min(piece_ns));
            // A signal ends the sleep early; the loop checks the clock again.
            let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
            let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &TimeSpec::from(until));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dues(pace: Pace, origin_ns: Option<u64>, times: &[Option<u64>]) -> Vec<u64> {
        let mut schedule = ReplaySchedule::new(pace, origin_ns);
        times.iter().map(|&time| schedule.next_due_ns(time)).collect()
    }

    #[test]
    fn a_fixed_gap_counts_from_the_start() {
        assert_eq!(dues(Pace::Gap { gap_ns: 1000 }, None, &[None; 4]), [0, 1000, 2000, 3000]);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_does_not_drift() {
        let mut schedule = ReplaySchedule::new(Pace::Rate { packets_per_second: 3 }, None);
        let due_ns = (0..=3_000).map(|_| schedule.next_due_ns(None)).last();
        assert_eq!(due_ns, Some(1_000 * SECOND_NS));
    }

    #[test]
    fn original_times_are_scaled_from_the_common_origin() {
        let times = [Some(5_000), None, Some(9_000), Some(8_000), Some(15_000)];
        let double = Pace::Original { speed: 2.0 };
        assert_eq!(dues(double, None, &times), [0, 0, 2_000, 2_000, 5_000]);
        assert_eq!(dues(double, Some(1_000), &times), [2_000, 2_000, 4_000, 4_000, 7_000]);
    }

    #[test]
    fn speeds_that_cannot_be_do_no_harm() {
        for speed in [0.0, -1.0, f64::NAN] {
            assert_eq!(dues(Pace::Original { speed }, None, &[Some(0), Some(9)]), [0, 0]);
        }
    }

    proptest! {
        #[test]
        fn packets_are_never_due_before_those_ahead_of_them(
            times in proptest::collection::vec(proptest::option::of(any::<u64>()), 0..50),
            speed in proptest::num::f64::ANY,
            number: u64,
        ) {
            let paces = [
                Pace::Gap { gap_ns: number },
                Pace::Maximum,
                Pace::Original { speed },
                Pace::Rate { packets_per_second: number },
            ];
            for pace in paces {
                prop_assert!(dues(pace, None, &times).is_sorted());
            }
        }
    }

    #[test]
    fn a_waiter_is_not_early_and_stops_when_told() {
        for waiter in [Waiter::new(Stop::new()), Waiter::new(Stop::new()).spin(SLEEP_MAX)] {
            let moment_ns = monotonic_ns() + 2_000_000;
            assert!(waiter.wait_until(moment_ns) >= moment_ns);
        }
        let stop = Stop::new();
        stop.set();
        assert!(Waiter::new(stop).wait_until(u64::MAX) < u64::MAX);
    }
}
