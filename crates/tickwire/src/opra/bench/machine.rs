//! Machine of the measurements.

use std::hint::black_box;
use std::time::Instant;

/// Steps of the chain that measures the clock: about a quarter of a millisecond.
const STEPS: u32 = 1 << 18;
/// Cycles of a step: a multiplication of 64 bits takes three on today's x86-64 cores, an exclusive or
/// one.
const CYCLES_PER_STEP: f64 = 4.0;
/// Times the chain is run; the shortest counts.
const RUNS: u32 = 40;

/// The machine, as far as figures depend on it.
pub struct Machine {
    /// Name of the CPU.
    pub cpu: String,
    /// The clock of a core under load, measured.
    pub clock_ghz: f64,
    /// The source that this program was built from.
    pub commit: &'static str,
}

impl Machine {
    /// Looks at this machine.
    pub fn look() -> Self {
        Self { cpu: cpu(), clock_ghz: clock_ghz(), commit: env!("TICKWIRE_COMMIT") }
    }
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    let name = model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}

/// The core clock, from a chain of multiplications each of which needs the one before. The time stamp
/// counter would tell another clock.
fn clock_ghz() -> f64 {
    let chain = || {
        let factor = black_box(0x9e37_79b9_7f4a_7c15_u64);
        let mut value = black_box(1_u64);
        let start = Instant::now();
        for _ in 0..STEPS {
            // The exclusive or keeps the multiplications from being drawn together.
            value = value.wrapping_mul(factor) ^ 0x55;
        }
        let took = start.elapsed();
        black_box(value);
        took.as_nanos()
    };
    let shortest = (0..RUNS).map(|_| chain()).min().unwrap_or(1).max(1);
    f64::from(STEPS) * CYCLES_PER_STEP / shortest as f64
}
