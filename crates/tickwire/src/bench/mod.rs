//! `tickwire bench`: measures the engines on this machine, beside published figures.
//!
//! One module per subject; [`timing`] measures for all of them and [`report`] writes the results.

mod books;
mod cme_day;
mod cme_messages;
pub mod counted;
mod fast;
mod filled_samples;
mod fix_codec;
mod instructions;
pub mod plot;
mod receive;
mod report;
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
    Receive(receive::BenchReceiveArgs),
    CmeDay(cme_day::CmeDayArgs),
    CmeMessages(cme_messages::CmeMessagesArgs),
    Samples(filled_samples::SamplesArgs),
    #[command(name = "fix")]
    FixCodec(fix_codec::FixCodecArgs),
}

/// Runs `tickwire bench`.
pub fn run(args: &BenchArgs) -> Result<Outcome, Failure> {
    match &args.subject {
        Subject::Fast(args) => fast::run(args),
        Subject::Instructions(args) => instructions::run(args),
        Subject::Receive(args) => receive::run(args),
        Subject::CmeDay(args) => cme_day::run(args),
        Subject::CmeMessages(args) => cme_messages::run(args),
        Subject::Samples(args) => filled_samples::run(args),
        Subject::FixCodec(args) => fix_codec::run(args),
    }
}
