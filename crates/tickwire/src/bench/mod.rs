//! `tickwire bench`: measures the engines on this machine, beside published figures.
//!
//! One module per subject; [`timing`] measures for all of them and [`report`] writes the results.

mod books;
pub mod counted;
mod fast;
mod instructions;
pub mod plot;
mod receive;
mod report;
mod seed_000;
mod seed_001;
mod seed_003;
mod seed_004;
pub mod timing;

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};

/// Measure the engines on this machine
///
/// Times are the minimum of many short passes; the cases are interleaved. Pin the command to one
/// core: taskset -c 1 tickwire bench ...
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    Fast(Box<fast::FastArgs>),
    Instructions(instructions::InstructionsArgs),
    Receive(receive::ReceiveArgs),
    #[command(name = "seed-000")]
    Seed000(seed_000::Seed000Args),
    #[command(name = "seed-001")]
    Seed001(seed_001::Seed001Args),
    #[command(name = "seed-003")]
    Seed003(seed_003::Seed003Args),
    #[command(name = "seed-004")]
    Seed004(seed_004::Seed004Args),
}

/// Runs `tickwire bench`.
pub fn run(args: &BenchArgs) -> Result<Outcome, Failure> {
    match &args.subject {
        Subject::Fast(args) => fast::run(args),
        Subject::Instructions(args) => instructions::run(args),
        Subject::Receive(args) => receive::run(args),
        Subject::Seed000(args) => seed_000::run(args),
        Subject::Seed001(args) => seed_001::run(args),
        Subject::Seed003(args) => seed_003::run(args),
        Subject::Seed004(args) => seed_004::run(args),
    }
}
