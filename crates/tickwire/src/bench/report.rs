//! Options and output that all subjects share.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// How long to measure and where to write what was found.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Seconds to measure, all cases together
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub time: Duration,
    /// Also write the times as a JSON list; - is standard output, instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let seconds = seconds.filter(|seconds| seconds.as_secs() <= 86_400);
    seconds.ok_or_else(|| "expected seconds, 0 to 86400, such as 5 or 0.5".to_owned())
}

impl ReportArgs {
    /// Writes `rows` as a JSON list, an element a line, where it is asked for, and `tables` to standard
    /// output.
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

/// A time for JSON: hundredths of a nanosecond are below what can be told apart.
pub fn rounded(nanos: f64) -> f64 {
    (nanos * 100.0).round() / 100.0
}
