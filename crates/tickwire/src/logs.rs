//! Logs to standard error, at the requested level.

use crate::console;
use crate::failure::Failure;
use crate::journal;
use std::env;
use std::io::{self, IsTerminal};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Environment variable that sets the log level if the command line does not.
pub const VARIABLE: &str = "TICKWIRE_LOG";

/// Common prefix of the crates of the machine-code compiler.
const COMPILER: &str = "cranelift";

/// Format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line, also for notes such as the monitor's address.
    Json,
}

/// Writes logs to standard error, filtered by `filter`, else by the environment variable, else warnings and
/// errors only.
pub fn begin(filter: Option<&str>, format: LogFormat) -> Result<(), Failure> {
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
    // Cranelift logs whole functions at level info.
    let targets = match text.contains(COMPILER) {
        true => targets,
        false => targets.with_target(COMPILER, LevelFilter::WARN),
    };
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(journal::LogWriter)
        // Otherwise a log line that cannot be written, as on a full disk, would panic the logging thread.
        .log_internal_errors(false);
    if format == LogFormat::Json {
        console::write_json();
    }
    let layer = match format {
        LogFormat::Text => layer.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    // If another subscriber is already set, logs go there.
    let _ = tracing_subscriber::registry().with(layer).with(targets).try_init();
    Ok(())
}
