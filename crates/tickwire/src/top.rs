//! `tickwire top`: the monitor's views in a terminal.

use crate::failure::{Failure, Outcome};
use std::path::PathBuf;
use tickwire_monitor::MonitorTarget;
use tickwire_telemetry::http::{HttpAddress, Token};

/// Show a running process in the terminal.
///
/// Reads the API of a process that runs with --monitor, on this machine or, through a tunnel of ssh, on another. Keys: 1
/// to 5 choose a view, up and down a line, Enter explains a packet, / searches instruments, q leaves.
#[derive(Debug, clap::Args)]
pub struct TopArgs {
    /// Port of its monitor on the loopback interface, or ADDRESS:PORT.
    #[arg(value_name = "PORT", default_value = "9100")]
    address: HttpAddress,
    /// File with the token of its monitor, if it has one.
    #[arg(long, value_name = "FILE")]
    monitor_token: Option<PathBuf>,
}

/// Runs the command until the user leaves.
pub fn run(args: &TopArgs) -> Result<Outcome, Failure> {
    let of_file = |path: &PathBuf| {
        Token::of_file(path)
            .map_err(|error| Failure::file("use the token of", path.display(), &error))
    };
    let token = args.monitor_token.as_ref().map(of_file).transpose()?;
    let target = MonitorTarget { address: args.address.0, token };
    tickwire_top::run(target).map_err(|error| Failure::Usage(format!("the terminal: {error}")))?;
    Ok(Outcome::Clean)
}
