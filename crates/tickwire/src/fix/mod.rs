//! `tickwire fix`: FIX messages and sessions.

mod acceptance;
mod decode;
mod dictionaries;
mod dictionary;
mod generate;
mod input;
mod log;
mod settings;
mod store;
mod trading;
mod validate;
mod versions;

#[cfg(feature = "columns")]
pub use input::InputSeparator;
#[cfg(feature = "columns")]
pub use versions::DictionaryArgs;

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};

/// FIX: decode, validate, generate code, run sessions
#[derive(Debug, Args)]
pub struct FixArgs {
    #[command(subcommand)]
    action: FixCommand,
}

#[derive(Debug, Subcommand)]
enum FixCommand {
    Acceptance(acceptance::AcceptanceArgs),
    Client(Box<trading::client::ClientArgs>),
    Decode(decode::FixDecodeArgs),
    Dictionary(dictionary::DictionaryFileArgs),
    Generate(generate::FixGenerateArgs),
    Log(log::LogArgs),
    Server(Box<trading::server::ServerArgs>),
    Store(store::StoreArgs),
    Soak(trading::soak::FixSoakArgs),
    Validate(validate::ValidateArgs),
}

/// Runs `tickwire fix`.
pub fn run(args: &FixArgs) -> Result<Outcome, Failure> {
    match &args.action {
        FixCommand::Acceptance(args) => acceptance::run(args),
        FixCommand::Client(args) => trading::client::run(args),
        FixCommand::Decode(args) => decode::run(args),
        FixCommand::Dictionary(args) => dictionary::run(args),
        FixCommand::Generate(args) => generate::run(args),
        FixCommand::Log(args) => log::run(args),
        FixCommand::Server(args) => trading::server::run(args),
        FixCommand::Store(args) => store::run(args),
        FixCommand::Soak(args) => trading::soak::run(args),
        FixCommand::Validate(args) => validate::run(args),
    }
}
