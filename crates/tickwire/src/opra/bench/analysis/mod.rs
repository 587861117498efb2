//! Cost analysis: repeats the tables of the 2009 study of OPRA decoders on this machine.

mod blocks;
mod latency;
mod parts;
mod profile;
mod stages;

use super::machine::MachineProperties;
use super::trace::Trace;
use crate::failure::Failure;
use serde_json::Value;
use std::time::Duration;

pub use blocks::run_block;

/// Result of the analysis.
pub struct Analysis {
    /// Tables for people.
    pub text: String,
    /// The same tables as JSON objects.
    pub objects: Vec<Value>,
}

/// Measures blocks, parts and latencies; `time` is for all of them together. With `counts` also counts
/// instructions.
pub fn analyse(
    trace: &Trace,
    machine: &MachineProperties,
    time: Duration,
    counts: bool,
) -> Result<Analysis, Failure> {
    let profile = profile::MessageProfile::of(trace)?;
    let blocks = blocks::measure(time / 4, counts)?;
    let parts = parts::measure(trace, time / 2)?;
    let latencies = latency::measure(trace)?;
    let mut analysis = Analysis { text: profile.table(), objects: Vec::new() };
    blocks::report(&blocks, machine, &mut analysis);
    parts::report(&parts, profile.peak_ns(&blocks), trace, machine, &mut analysis);
    latency::report(&latencies, trace, &mut analysis);
    stages::report(&mut analysis)?;
    Ok(analysis)
}
