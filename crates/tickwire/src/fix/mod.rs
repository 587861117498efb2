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
pub use input::Separator;
#[cfg(feature = "columns")]
pub use versions::DictionaryArgs;

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};

/// FIX: decode, validate, generate code, run sessions
#[derive(Debug, Args)]
pub struct FixArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Acceptance(acceptance::AcceptanceArgs),
    Client(Box<trading::client::ClientArgs>),
    Decode(decode::DecodeArgs),
    Dictionary(dictionary::DictionaryFileArgs),
    Generate(generate::GenerateArgs),
    Log(log::LogArgs),
    Server(Box<trading::server::ServerArgs>),
    Store(store::StoreArgs),
    Soak(trading::soak::SoakArgs),
    Validate(validate::ValidateArgs),
}

/// Runs `tickwire fix`.
pub fn run(args: &FixArgs) -> Result<Outcome, Failure> {
    match &args.action {
        Action::Acceptance(args) => acceptance::run(args),
        Action::Client(args) => trading::client::run(args),
        Action::Decode(args) => decode::run(args),
        Action::Dictionary(args) => dictionary::run(args),
        Action::Generate(args) => generate::run(args),
        Action::Log(args) => log::run(args),
        Action::Server(args) => trading::server::run(args),
        Action::Store(args) => store::run(args),
        Action::Soak(args) => trading::soak::run(args),
        Action::Validate(args) => validate::run(args),
    }
}
