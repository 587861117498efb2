//! The machine of the measurements.

use std::hint::black_box;
use std::time::Instant;

/// Steps of the chain that measures the clock; they take about a quarter of a millisecond.
const STEPS: u32 = 1 << 18;
/// Cycles per step: on today's x86-64 cores a 64-bit multiplication takes three and an exclusive or takes
/// one.
const CYCLES_PER_STEP: f64 = 4.0;
/// Number of runs of the chain; the shortest counts.
const RUNS: u32 = 40;

/// Properties of the machine on which the figures depend.
pub struct MachineProperties {
    /// Name of the CPU.
    pub cpu: String,
    /// Measured clock frequency of a core under load.
    pub clock_ghz: f64,
    /// Commit that this program was built from.
    pub commit: &'static str,
}

impl MachineProperties {
    /// Measures and describes this machine.
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

/// The core clock, measured with a chain of dependent multiplications. The time-stamp counter runs at a
/// different frequency.
fn clock_ghz() -> f64 {
    let chain = || {
        let factor = black_box(0x9e37_79b9_7f4a_7c15_u64);
        let mut value = black_box(1_u64);
        let start = Instant::now();
        for _ in 0..STEPS {
            // The exclusive or keeps the compiler from combining the multiplications.
            value = value.wrapping_mul(factor) ^ 0x55;
        }
        let took = start.elapsed();
        black_box(value);
        took.as_nanos()
    };
    let shortest = (0..RUNS).map(|_| chain()).min().unwrap_or(1).max(1);
    f64::from(STEPS) * CYCLES_PER_STEP / shortest as f64
}
