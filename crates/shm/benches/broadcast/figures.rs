//! Histograms of times, and the machine that they were measured on.

use hdrhistogram::Histogram;

/// A histogram of times in nanoseconds.
pub struct Times(Histogram<u64>);

impl Times {
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("valid bounds"))
    }

    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(1));
    }

    pub fn quantile(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }
}

/// Prints the idle governor and `guest_halt_poll_ns`, which determine the cost of a wake-up.
pub fn print_machine() {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    let governor = read("/sys/devices/system/cpu/cpuidle/current_governor");
    let halt_poll = read("/sys/module/haltpoll/parameters/guest_halt_poll_ns");
    println!(
        "idle governor {}, guest_halt_poll_ns {}",
        governor.unwrap_or_else(|_| "none".into()),
        halt_poll.unwrap_or_else(|_| "none".into())
    );
}
