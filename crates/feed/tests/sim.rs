//! Two lines that lose, duplicate, delay and reorder packets, from a seed.
//!
//! `TICKWIRE_SIM_SEED=7 cargo test -p tickwire-feed --test sim` runs one seed alone; without it 200
//! seeds run, or a multiple. A failure prints the command for its seed.

#[path = "sim/books.rs"]
mod books;
#[path = "sim/epochs.rs"]
mod epochs;
#[path = "sim/lines.rs"]
mod lines;
#[path = "sim/random.rs"]
mod random;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs a simulation for every seed, or for the one in the environment.
fn for_each_seed(times: u64, run: impl Fn(u64)) {
    let chosen = std::env::var("TICKWIRE_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = chosen.map_or(0..200 * times, |seed: u64| seed..seed + 1);
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("replay: TICKWIRE_SIM_SEED={seed} cargo test -p tickwire-feed --test sim");
            resume_unwind(panic);
        }
    }
}

#[test]
fn what_arrives_in_time_is_delivered_once_in_order_and_the_rest_is_a_gap() {
    for_each_seed(1, lines::run);
}

#[test]
fn epochs_stay_apart_whatever_the_lines_skew() {
    for_each_seed(4, epochs::run_skewed);
}

#[test]
fn a_fresh_book_is_the_true_book_and_every_book_becomes_fresh_again() {
    for_each_seed(1, books::run);
}
