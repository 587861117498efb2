//! Seeded trading days with faults through the whole handler: a run of several seconds.
//!
//! `TICKWIRE_SEED=7` runs one seed alone. For hours:
//! `cargo run --release -p tickwire-simulation -- --seeds 100000 --packets 20000`.

use tickwire_simulation::{Scenario, ScenarioSize, SimulationEngine, run, run_seeds};

const SEEDS: u64 = 50;
const SIZE: ScenarioSize = ScenarioSize { packets_max: 1_000 };

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("TICKWIRE_SEED") {
        Ok(seed) => seed.parse().map(|seed| seed..seed + 1).expect("TICKWIRE_SEED is a number"),
        Err(_) => 0..SEEDS,
    }
}

#[test]
fn fresh_books_are_true_and_what_comes_in_time_is_delivered_once() {
    let seeds = seeds();
    let is_single = seeds.end - seeds.start == 1;
    let summary = run_seeds(seeds, SIZE, |violation| {
        println!("TICKWIRE_SEED={}: {violation}", violation.seed);
    });
    assert!(summary.violations.is_empty(), "seeds that violated a guarantee are above");
    let total = summary.total;
    assert!(is_single || total.books_checked > total.delivered, "{total:?}");
    assert!(is_single || total.recovered > SEEDS, "{total:?}");
    assert!(is_single || total.replayed > SEEDS, "{total:?}");
}

/// The seeds of the test above include both decoders, updates in fragments and TCP replay.
#[test]
fn seeds_draw_every_part_of_a_handler() {
    let scenarios: Vec<Scenario> = (0..SEEDS).map(|seed| Scenario::new(seed, SIZE)).collect();
    for engine in [SimulationEngine::Dynamic, SimulationEngine::Generated] {
        let has = |scenario: &&Scenario| {
            scenario.handler.engine == engine
                && scenario.handler.replay.is_some()
                && scenario.day.transaction_entries_max.is_some()
        };
        assert!(scenarios.iter().find(has).is_some(), "{engine:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let scenario = Scenario::new(3, SIZE);
    assert_eq!(run(&scenario), run(&scenario));
}

#[test]
fn any_bytes_are_a_scenario() {
    let size = ScenarioSize { packets_max: 60 };
    for bytes in [&b""[..], &[0xFF; 7], &[0x5A; 200]] {
        if let Err(violation) = run(&Scenario::from_bytes(bytes, size)) {
            panic!("{bytes:02x?}: {violation}");
        }
    }
}
