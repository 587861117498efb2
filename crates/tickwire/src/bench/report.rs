//! Options and output that all subjects share.

use crate::failure::Failure;
use crate::files;
use crate::output;
use crate::units::{TimeSpan, span_in};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Measurement time and output of the results.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Time to measure, for all cases together
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = measured)]
    pub time: Duration,
    /// Also write the times as a JSON list; with - to standard output, without the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Replace output files that exist
    #[arg(long)]
    force: bool,
}

fn measured(text: &str) -> Result<Duration, String> {
    span_in("0"..="24h")(text).map(TimeSpan::duration)
}

impl ReportArgs {
    /// Refuses two outputs of the same name, an output that is also an input, and an existing output file
    /// unless `--force` is given. `plot` is written beside the JSON.
    pub fn check(&self, plot: Option<&Path>, inputs: &[&Path]) -> Result<(), Failure> {
        output::check_all(&[self.json.as_deref(), plot], self.force, inputs)
    }

    /// Writes `rows` as a JSON list with one element per line, if requested, and `tables` to standard output.
    pub fn write(&self, tables: &str, rows: &[serde_json::Value]) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            let lines: Vec<String> = rows.iter().map(|row| format!("  {row}")).collect();
            let mut out = files::create(Some(path))?;
            writeln!(out, "[\n{}\n]", lines.join(",\n"))?;
            out.flush()?;
            if files::is_standard(path) {
                return Ok(());
            }
        }
        let mut out = files::create(None)?;
        out.write_all(tables.as_bytes())?;
        Ok(out.flush()?)
    }
}

/// A time for JSON, rounded to hundredths of a nanosecond: finer differences cannot be measured.
pub fn rounded(nanos: f64) -> f64 {
    (nanos * 100.0).round() / 100.0
}
