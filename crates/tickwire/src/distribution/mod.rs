//! What `publish` and `subscribe` share: how samples travel, what topics are called, what is told.

mod args;
mod latency;
mod numbered;
mod parent;
mod station;
mod topics;

pub use args::DdsArgs;
pub use latency::{DistributionMetrics, Latencies, Row, rows_json, table_of};
pub use numbered::{ByKind, Kind, Numbered};
pub use parent::{ParentArgs, stop_on_signals};
pub use station::{Arrival, Role, Stations};
pub use topics::topic_names;

use crate::console::tell;
use crate::failure::Failure;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

/// The failure of a DDS call.
pub fn dds_failure(error: &tickwire_dds::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Says how far things are: on standard output, or beside it where that is kept for the report.
pub fn say(json: Option<&Path>, text: &str) -> Result<(), Failure> {
    match json {
        Some(path) if crate::files::is_standard(path) => tell!("{text}"),
        _ => writeln!(std::io::stdout(), "{text}")?,
    }
    Ok(())
}

/// Writes a report as JSON, if a file is named.
pub fn write_json(report: &Value, path: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = path {
        let mut out = crate::files::create(Some(path))?;
        writeln!(out, "{report:#}")?;
        out.flush()?;
    }
    Ok(())
}
