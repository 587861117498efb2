//! `tickwire opra`: receives, decodes, encodes, generates and measures packets of OPRA FAST.

#[cfg(feature = "bench")]
mod bench;
mod best;
mod bus;
mod decode;
mod decoder;
mod draft;
mod encode;
mod generate;
mod lines;
mod metrics;
mod print;
mod receive;
mod show;
mod style;
mod vectors;

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand, ValueEnum};
use tickwire_opra::Version;

/// Receive, decode, encode, generate and measure OPRA FAST 2.0 and 1.03
#[derive(Debug, Args)]
pub struct OpraArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    #[cfg(feature = "bench")]
    Bench(bench::BenchArgs),
    Decode(Box<decode::DecodeArgs>),
    Encode(encode::EncodeArgs),
    Generate(generate::GenerateArgs),
    Receive(Box<receive::ReceiveArgs>),
    Vectors(vectors::VectorsArgs),
}

/// Runs `tickwire opra`.
pub fn run(args: &OpraArgs) -> Result<Outcome, Failure> {
    match &args.action {
        #[cfg(feature = "bench")]
        Action::Bench(args) => bench::run(args),
        Action::Decode(args) => decode::run(args),
        Action::Encode(args) => encode::run(args),
        Action::Generate(args) => generate::run(args),
        Action::Receive(args) => receive::run(args),
        Action::Vectors(args) => vectors::run(args),
    }
}

/// OPRA version of the packets to write.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum VersionName {
    /// Packets with a header.
    #[value(name = "2.0")]
    V2,
    /// Packets without a header.
    #[value(name = "1.03")]
    V1,
}

impl VersionName {
    fn version(self) -> Version {
        match self {
            Self::V2 => Version::V2,
            Self::V1 => Version::V1,
        }
    }
}
