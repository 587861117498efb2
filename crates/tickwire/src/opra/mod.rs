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
use tickwire_opra::OpraVersion;

/// Receive, decode, encode, generate and measure OPRA FAST 2.0 and 1.03
#[derive(Debug, Args)]
pub struct OpraArgs {
    #[command(subcommand)]
    action: OpraCommand,
}

#[derive(Debug, Subcommand)]
enum OpraCommand {
    #[cfg(feature = "bench")]
    Bench(bench::OpraBenchArgs),
    Decode(Box<decode::OpraDecodeArgs>),
    Encode(encode::OpraEncodeArgs),
    Generate(generate::OpraGenerateArgs),
    Receive(Box<receive::OpraReceiveArgs>),
    Vectors(vectors::OpraVectorsArgs),
}

/// Runs `tickwire opra`.
pub fn run(args: &OpraArgs) -> Result<Outcome, Failure> {
    match &args.action {
        #[cfg(feature = "bench")]
        OpraCommand::Bench(args) => bench::run(args),
        OpraCommand::Decode(args) => decode::run(args),
        OpraCommand::Encode(args) => encode::run(args),
        OpraCommand::Generate(args) => generate::run(args),
        OpraCommand::Receive(args) => receive::run(args),
        OpraCommand::Vectors(args) => vectors::run(args),
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
    fn version(self) -> OpraVersion {
        match self {
            Self::V2 => OpraVersion::V2,
            Self::V1 => OpraVersion::V1,
        }
    }
}
