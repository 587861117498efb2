//! `tickwire bench instructions`: what the key kernels cost, in a unit that no neighbour disturbs.
//!
//! The counts of the portable kernels can be kept in a file and compared with it, so that none creeps
//! up unseen. Another compiler makes other code: counts are compared only if the compiler is the same.

mod kernel;

use super::callgrind;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::table::{Align, Table};
use clap::Args;
use kernel::Kernel;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The compiler that built this program.
const COMPILER: &str = env!("TICKWIRE_RUSTC");
/// Longest file of recorded counts.
const RECORD_BYTES_MAX: u64 = 1 << 20;
/// How far a count may be from the recorded one, in per cent, either way.
const TOLERANCE_PERCENT: f64 = 3.0;

/// Instructions of the key kernels, portable code, counted by callgrind
///
/// Needs valgrind. The feeds are made up here, the same each time.
#[derive(Debug, Args)]
pub struct InstructionsArgs {
    /// Compare with the counts recorded in this file; status 1 if one is off by more than 3 %
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    check: Option<PathBuf>,
    /// Record the counts in this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Run one kernel, and nothing else
    #[arg(long, value_name = "NAME", hide = true, requires = "passes")]
    kernel: Option<String>,
    /// How often to run it
    #[arg(long, value_name = "COUNT", hide = true)]
    passes: Option<u64>,
}

/// Runs `tickwire bench instructions`.
pub fn run(args: &InstructionsArgs) -> Result<Outcome, Failure> {
    if let (Some(name), Some(passes)) = (&args.kernel, args.passes) {
        let kernel = Kernel::named(name)
            .ok_or_else(|| Failure::Usage(format!("there is no kernel \"{name}\"")))?;
        kernel.run(passes)?;
        return Ok(Outcome::Clean);
    }
    let recorded = match &args.check {
        Some(path) => match read(path)? {
            Recorded::Counts(counts) => counts,
            Recorded::OtherCompiler(other) => {
                anstream::eprintln!(
                    "tickwire: SKIPPED: {} was recorded with {other}, this is {COMPILER}; record \
                     anew with --record",
                    path.display()
                );
                return Ok(Outcome::Clean);
            }
        },
        None => Map::new(),
    };
    if !callgrind::is_available() {
        return Err(Failure::Usage("valgrind is not installed: it counts instructions".to_owned()));
    }
    let mut counts = Map::new();
    for kernel in Kernel::ALL {
        let of_pass =
            callgrind::instructions_of_a_pass(&["bench", "instructions", "--kernel", kernel.name])?;
        let of_message = (of_pass / kernel.messages as f64 * 10.0).round() / 10.0;
        counts.insert(kernel.name.to_owned(), json!(of_message));
    }
    if let Some(path) = &args.record {
        let mut out = files::create(Some(path))?;
        writeln!(out, "{:#}", json!({"compiler": COMPILER, "instructions_per_message": counts}))?;
        out.flush()?;
    }
    print(&counts, &recorded)?;
    Ok(Outcome::flawed_if(args.check.is_some() && is_off(&counts, &recorded)))
}

/// What a file of counts holds.
enum Recorded {
    /// Instructions a message by kernel.
    Counts(Map<String, Value>),
    /// Counts of code that this compiler does not make.
    OtherCompiler(String),
}

fn read(path: &Path) -> Result<Recorded, Failure> {
    let bytes = files::read_whole(path, RECORD_BYTES_MAX, ": is it a file of counts?")?;
    let wrong = || {
        let name = path.display();
        Failure::Data(format!("{name}: no file of counts; record one with --record {name}"))
    };
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    let compiler = value["compiler"].as_str().ok_or_else(wrong)?;
    if compiler != COMPILER {
        return Ok(Recorded::OtherCompiler(compiler.to_owned()));
    }
    let counts = value["instructions_per_message"].as_object().ok_or_else(wrong)?;
    Ok(Recorded::Counts(counts.clone()))
}

/// How far a count is from the recorded one, in per cent; `None` where none is recorded.
fn change(now: &Value, recorded: Option<&Value>) -> Option<f64> {
    let (now, before) = (now.as_f64()?, recorded?.as_f64()?);
    Some((now / before - 1.0) * 100.0)
}

/// Whether one of the kernels is not as it was, or they are not the same ones.
fn is_off(counts: &Map<String, Value>, recorded: &Map<String, Value>) -> bool {
    counts.len() != recorded.len()
        || counts.iter().any(|(name, now)| {
            change(now, recorded.get(name)).is_none_or(|change| change.abs() > TOLERANCE_PERCENT)
        })
}

fn print(counts: &Map<String, Value>, recorded: &Map<String, Value>) -> Result<(), Failure> {
    let columns =
        [("kernel", Align::Left), ("instructions/message", Align::Right), ("change", Align::Right)];
    let mut table = Table::new(&columns);
    for (name, now) in counts {
        let change = change(now, recorded.get(name));
        let change = change.map_or_else(|| "-".to_owned(), |change| format!("{change:+.1} %"));
        table.row(vec![name.clone(), now.to_string(), change]);
    }
    let mut out = files::create(None)?;
    write!(out, "{table}")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[(&str, f64)]) -> Map<String, Value> {
        values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    }

    #[test]
    fn a_count_out_of_bounds_or_without_a_record_is_off() {
        let recorded = counts(&[("a", 100.0), ("b", 200.0)]);
        assert!(!is_off(&counts(&[("a", 102.9), ("b", 194.1)]), &recorded));
        assert!(is_off(&counts(&[("a", 103.1), ("b", 200.0)]), &recorded));
        assert!(is_off(&counts(&[("a", 96.9), ("b", 200.0)]), &recorded));
        assert!(is_off(&counts(&[("a", 100.0), ("c", 200.0)]), &recorded));
        assert!(is_off(&counts(&[("a", 100.0)]), &recorded));
    }
}
