use std::cell::Cell;

use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, ArbiterOutput, Line};

use super::*;
use crate::clock::{SECOND_NS, monotonic_ns, unix_ns};

/// Clocks that a test sets. Each reading takes 25 ns.
struct Simulated {
    monotonic_ns: Cell<u64>,
    offset_ns: Cell<u64>,
}

impl Simulated {
    fn new() -> Self {
        let offset_ns = Cell::new(1_700_000_000 * SECOND_NS);
        Self { monotonic_ns: Cell::new(500 * SECOND_NS), offset_ns }
    }

    fn advance_to(&self, ns: u64) {
        self.monotonic_ns.set(self.monotonic_ns.get().max(ns));
    }

    fn step(&self, by_ns: i64) {
        self.offset_ns.set(self.offset_ns.get().wrapping_add_signed(by_ns));
    }

    fn stamp(&self, at_ns: u64) -> u64 {
        at_ns.wrapping_add(self.offset_ns.get())
    }
}

impl Clocks for Simulated {
    fn monotonic_ns(&self) -> u64 {
        self.monotonic_ns.set(self.monotonic_ns.get() + 25);
        self.monotonic_ns.get()
    }

    fn unix_ns(&self) -> u64 {
        self.monotonic_ns() + self.offset_ns.get()
    }
}

const STEPS_NS: [i64; 10] = [
    -3_600_000_000_000,
    -1_000_000_000,
    -50_000_000,
    -3_000_000,
    -40_000,
    40_000,
    3_000_000,
    50_000_000,
    1_000_000_000,
    3_600_000_000_000,
];

#[test]
fn stamps_of_a_stepping_clock_are_never_early_and_late_by_the_time_in_the_socket_at_most() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let clocks = Simulated::new();
        let mut times = KernelTimes::with_clocks(&clocks);
        let mut empty_ns = clocks.monotonic_ns();
        let mut steps = 0;
        for _ in 0..200 {
            // Packets arrive, the time of day may step in between, and the socket is read later.
            let begin_ns = clocks.monotonic_ns.get() + random.u64(1_000..60_000_000);
            let in_socket_ns = if random.u8(..10) == 0 { 100_000_000 } else { 30_000 };
            let mut stamps = Vec::new();
            let mut at_ns = begin_ns;
            let step = random.choice(STEPS_NS).filter(|_| random.u8(..4) == 0).unwrap_or(0);
            let step_at = random.usize(..8);
            for index in 0..random.usize(1..8) {
                if index == step_at && step != 0 {
                    clocks.step(step);
                    steps += 1;
                }
                stamps.push((at_ns, clocks.stamp(at_ns)));
                at_ns += random.u64(..in_socket_ns / 8);
            }
            clocks.advance_to(begin_ns + in_socket_ns);
            let asked_ns = clocks.monotonic_ns();
            let taken_ns = times.check(&clocks);
            for (true_ns, stamp) in stamps {
                let found_ns = times.monotonic_ns(stamp, StampWindow { empty_ns, taken_ns });
                let found_ns =
                    found_ns.unwrap_or_else(|| panic!("seed {seed}: {stamp} not placed"));
                assert!(found_ns + TOLERANCE_NS >= true_ns, "seed {seed}: {found_ns} {true_ns}");
                assert!(found_ns <= taken_ns, "seed {seed}");
                if step.unsigned_abs() > in_socket_ns + TOLERANCE_NS || step == 0 {
                    assert!(found_ns.abs_diff(true_ns) <= TOLERANCE_NS, "seed {seed}: step {step}");
                }
            }
            empty_ns = asked_ns;
        }
        assert!(times.steps() == steps && steps > 0, "seed {seed}: {} of {steps}", times.steps());
    }
}

/// Conversion with an offset that is measured once a second.
struct OnceASecond {
    offset_ns: u64,
    measured_ns: u64,
}

impl OnceASecond {
    fn monotonic_ns(&mut self, clocks: &Simulated, stamp: u64, now_ns: u64) -> u64 {
        if now_ns.saturating_sub(self.measured_ns) > SECOND_NS {
            self.offset_ns = measure(clocks);
            self.measured_ns = now_ns;
        }
        stamp.wrapping_sub(self.offset_ns).min(now_ns)
    }
}

/// Returns the number of gaps that an arbiter declares if line A loses every seventh packet, B is
/// late by 1 ms, packets arrive every 100 us, and the time of day steps every 300 ms.
fn gaps_of(step_ns: i64, mut convert: impl FnMut(&Simulated, u64, u64) -> u64) -> u64 {
    const PACKETS: u64 = 20_000;
    let clocks = Simulated::new();
    let begin_ns = clocks.monotonic_ns.get() + SECOND_NS;
    let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns: 2_000_000, ..Default::default() });
    let at = |seq_num: u64, line: Line| {
        let behind_ns = if line == Line::B { 1_000_000 } else { 0 };
        (begin_ns + seq_num * 100_000 + behind_ns, line, seq_num)
    };
    let on_a = (1..=PACKETS).filter(|seq_num| seq_num % 7 != 0).map(|n| at(n, Line::A));
    let on_b = (1..=PACKETS).map(|n| at(n, Line::B));
    let mut arrivals: Vec<_> = on_a.chain(on_b).collect();
    arrivals.sort_by_key(|(at_ns, ..)| *at_ns);
    let mut step_at_ns = begin_ns + 300_000_000;
    for (at_ns, line, seq_num) in arrivals {
        if at_ns >= step_at_ns {
            clocks.step(step_ns);
            step_at_ns += 300_000_000;
        }
        let stamp = clocks.stamp(at_ns);
        clocks.advance_to(at_ns + 20_000);
        let received_ns = convert(&clocks, stamp, at_ns);
        let next = arbiter.handle_packet(received_ns, line, seq_num, b"packet".as_slice());
        assert!(!matches!(next, Some(ArbiterOutput::Reset { .. })));
        arbiter.handle_timeout(clocks.monotonic_ns());
        while let Some(output) = arbiter.poll_output() {
            assert!(!matches!(output, ArbiterOutput::Reset { .. }));
        }
    }
    arbiter.counters().gaps
}

#[test]
fn a_step_of_the_time_of_day_declares_no_gaps() {
    for step_ns in STEPS_NS {
        let mut times = KernelTimes::with_clocks(&Simulated::new());
        let mut empty_ns = 0;
        let gaps = gaps_of(step_ns, |clocks, stamp, _| {
            let asked_ns = clocks.monotonic_ns();
            let taken_ns = times.check(clocks);
            let window = StampWindow { empty_ns, taken_ns };
            empty_ns = asked_ns;
            times.monotonic_ns(stamp, window).expect("one step between two checks")
        });
        assert_eq!(gaps, 0, "steps of {step_ns} ns");
    }
    // The control: the same steps with an offset that is measured once a second.
    let mut naive = OnceASecond { offset_ns: 0, measured_ns: 0 };
    let gaps = gaps_of(-50_000_000, |clocks, stamp, _| {
        let now_ns = clocks.monotonic_ns();
        naive.monotonic_ns(clocks, stamp, now_ns)
    });
    assert!(gaps > 0, "a clock that ignores the steps must show gaps");
}

#[test]
fn a_stamp_of_no_known_offset_has_no_time() {
    let clocks = Simulated::new();
    let mut times = KernelTimes::with_clocks(&clocks);
    let empty_ns = clocks.monotonic_ns();
    clocks.step(10_000_000_000);
    let unseen = clocks.stamp(clocks.monotonic_ns());
    clocks.step(-40_000_000_000);
    let taken_ns = times.check(&clocks);
    assert_eq!(times.monotonic_ns(unseen, StampWindow { empty_ns, taken_ns }), None);
}

#[test]
fn stamps_of_this_host_become_monotonic_times() {
    let mut times = KernelTimes::new();
    let (before_ns, stamp, after_ns) = (monotonic_ns(), unix_ns(), monotonic_ns());
    let taken_ns = times.check(&SystemClocks);
    let window = StampWindow { empty_ns: before_ns, taken_ns };
    let between_ns = times.monotonic_ns(stamp, window).expect("within the window");
    assert!(between_ns + 100_000 > before_ns && between_ns < after_ns + 100_000);
}
