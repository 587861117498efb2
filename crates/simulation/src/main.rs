//! Runs any number of seeds of the simulation.
//!
//! `cargo run --release -p tickwire-simulation -- [--seed N] [--seeds N] [--packets N]`
//!
//! `--seed N` alone prints the scenario, the arriving packets and the handler's output.

use std::process::ExitCode;
use tickwire_simulation::{Scenario, ScenarioSize, run_seeds, trace};

/// Default numbers of seeds and packets.
const SEEDS: u64 = 1_000;
const PACKETS: u64 = 2_000;

fn main() -> ExitCode {
    let Some([seed, seeds, packets]) = arguments() else {
        eprintln!("usage: tickwire-simulation [--seed N] [--seeds N] [--packets N]");
        return ExitCode::from(2);
    };
    let first = seed.unwrap_or(0);
    let count = seeds.unwrap_or(if seed.is_some() { 1 } else { SEEDS });
    let size = ScenarioSize { packets_max: packets.unwrap_or(PACKETS) };
    if count == 1 {
        return trace_seed(first, size);
    }
    let summary = run_seeds(first..first.saturating_add(count), size, |violation| {
        println!("{violation}");
    });
    let total = summary.total;
    println!(
        "{} seeds: {} packets in, {} delivered, {} fresh books checked, {} recovered, {} packets replayed; {} seeds violated a guarantee",
        summary.seeds,
        total.packets,
        total.delivered,
        total.books_checked,
        total.recovered,
        total.replayed,
        summary.violations.len()
    );
    ExitCode::from(u8::from(!summary.violations.is_empty()))
}

/// Prints the scenario of a seed, the arriving packets and the handler's output.
fn trace_seed(seed: u64, size: ScenarioSize) -> ExitCode {
    let scenario = Scenario::new(seed, size);
    println!("{scenario:#?}");
    match trace(&scenario) {
        Ok(report) => println!("{report:?}"),
        Err(violation) => {
            println!("{violation}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns the values of `--seed`, `--seeds` and `--packets`; `None` if the command line is
/// invalid.
fn arguments() -> Option<[Option<u64>; 3]> {
    let mut values = [None; 3];
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let index = ["--seed", "--seeds", "--packets"].iter().position(|known| *known == name)?;
        values[index] = Some(arguments.next()?.parse().ok()?);
    }
    Some(values)
}
