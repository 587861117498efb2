//! Logs to standard error, at the requested level.

use crate::failure::Failure;
use std::env;
use std::io::{self, IsTerminal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The variable that says what is logged where the command line does not.
pub const VARIABLE: &str = "TICKWIRE_LOG";

/// How the crates that compile machine code begin.
const COMPILER: &str = "cranelift";

/// Sends logs to standard error: those that `filter` lets through, else the variable, else warnings.
pub fn begin(filter: Option<&str>) -> Result<(), Failure> {
    let (from, text) = match (filter, env::var(VARIABLE)) {
        (Some(text), _) => ("--log", text.to_owned()),
        (None, Ok(text)) => (VARIABLE, text),
        (None, Err(_)) => ("", "warn".to_owned()),
    };
    let targets: Targets = text.parse().map_err(|error| {
        Failure::Usage(format!(
            "{from}: {error}; say off, error, warn, info, debug or trace, also for one part: \
             warn,tickwire_net=debug"
        ))
    })?;
    // The compiler of machine code logs whole functions as information.
    let targets = match text.contains(COMPILER) {
        true => targets,
        false => targets.with_target(COMPILER, LevelFilter::WARN),
    };
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        // Else a line that finds no room, on a full disk, is a panic of the thread that logs.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    // Something else in the process may have taken the logs: then they go there.
    let _ = tracing_subscriber::registry().with(layer).with(targets).try_init();
    Ok(())
}
