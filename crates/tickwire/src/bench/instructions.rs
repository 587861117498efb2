//! `tickwire bench instructions`: instruction counts of the key kernels, which other load on the machine does
//! not change.
//!
//! The counts of the portable kernels can be recorded in a file and checked against it to catch regressions.
//! They depend on the compiler, so they are compared only if the compiler is the same.

use super::counted;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_kernels::{COMPILER, InstructionCounts, Kernel};

/// Longest file of recorded counts.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// Count the instructions of the key kernels (portable code) with callgrind
///
/// Needs valgrind. The input is generated from a fixed seed.
#[derive(Debug, Args)]
pub struct InstructionsArgs {
    /// Compare with the counts in this file; status 1 if one differs by more than 3 %
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    check: Option<PathBuf>,
    /// Write the counts to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Run one kernel and exit
    #[arg(long, value_name = "NAME", hide = true, requires = "passes")]
    kernel: Option<String>,
    /// Number of runs
    #[arg(long, value_name = "COUNT", hide = true)]
    passes: Option<u64>,
}

/// Runs `tickwire bench instructions`.
pub fn run(args: &InstructionsArgs) -> Result<Outcome, Failure> {
    if let (Some(name), Some(passes)) = (&args.kernel, args.passes) {
        let kernel = Kernel::named(name)
            .ok_or_else(|| Failure::Usage(format!("there is no kernel \"{name}\"")))?;
        kernel.run(passes).map_err(Failure::Data)?;
        return Ok(Outcome::Clean);
    }
    let recorded = args.check.as_deref().map(read).transpose()?;
    if let (Some(recorded), Some(path)) = (&recorded, &args.check)
        && recorded.compiler != COMPILER
    {
        tell!(
            "tickwire: SKIPPED: {} was recorded with {}, this is {COMPILER}; record anew with \
             --record",
            path.display(),
            recorded.compiler
        );
        return Ok(Outcome::Clean);
    }
    counted::check_valgrind()?;
    let program = counted::program()?;
    let counts = InstructionCounts::count(COMPILER, &program, &["bench", "instructions"]);
    let counts = counts.map_err(Failure::Data)?;
    if let Some(path) = &args.record {
        let mut out = files::create(Some(path))?;
        out.write_all(counts.to_json().as_bytes())?;
        out.flush()?;
    }
    let is_off = recorded.as_ref().is_some_and(|recorded| counts.are_off(recorded));
    let none = InstructionCounts { compiler: COMPILER.to_owned(), of_kernels: Vec::new() };
    let mut out = files::create(None)?;
    out.write_all(counts.compared(recorded.as_ref().unwrap_or(&none)).as_bytes())?;
    out.flush()?;
    Ok(Outcome::flawed_if(is_off))
}

fn read(path: &Path) -> Result<InstructionCounts, Failure> {
    let bytes = files::read_whole(path, RECORD_BYTES_MAX, ": is it a file of counts?")?;
    let counts = std::str::from_utf8(&bytes).ok().and_then(InstructionCounts::parse);
    counts.ok_or_else(|| {
        let name = path.display();
        Failure::Data(format!("{name}: no file of counts; record one with --record {name}"))
    })
}
