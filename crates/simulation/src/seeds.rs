//! Runs many seeds on all CPUs.

use crate::run::{SimulationReport, Violation, run};
use crate::scenario::{Scenario, ScenarioSize};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The combined result of several seeds.
#[derive(Clone, Debug, Default)]
pub struct SeedSummary {
    /// Seeds run.
    pub seeds: u64,
    /// Sums over the seeds without violation.
    pub total: SimulationReport,
    /// The first violation of each failing seed.
    pub violations: Vec<Violation>,
}

impl SeedSummary {
    fn add(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.total.packets += other.total.packets;
        self.total.delivered += other.total.delivered;
        self.total.books_checked += other.total.books_checked;
        self.total.recovered += other.total.recovered;
        self.total.replayed += other.total.replayed;
        self.violations.extend(other.violations);
    }
}

/// Runs the scenario of each seed on as many threads as there are CPUs. Calls `on_violation` for
/// each violation immediately.
pub fn run_seeds(
    seeds: Range<u64>,
    size: ScenarioSize,
    on_violation: impl Fn(&Violation) + Sync,
) -> SeedSummary {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mut summary = SeedSummary::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return summary;
            }
            let mut of_seed = SeedSummary { seeds: 1, ..SeedSummary::default() };
            match run(&Scenario::new(seed, size)) {
                Ok(report) => of_seed.total = report,
                Err(violation) => {
                    on_violation(&violation);
                    of_seed.violations.push(violation);
                }
            }
            summary.add(of_seed);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut summary = SeedSummary::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            summary.add(worker.join().expect("a worker that does not panic"));
        }
    });
    summary
}
