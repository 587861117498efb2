//! `tickwire fix store`: a look at the files of sessions.

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_fix::UtcTimestamp;
use tickwire_fix_session::{StoreReport, check_store, store_files};

/// Look at message stores
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Debug, Subcommand)]
enum StoreAction {
    Check(CheckArgs),
    List(ListArgs),
}

/// Read the journals of message stores and tell their numbers and what is damaged
///
/// Nothing is changed, and a journal may be in use. The exit status is 1 if one is damaged.
#[derive(Debug, Args)]
struct CheckArgs {
    /// Journals
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Tell of every journal in a folder: those in use, archives of numbers that a reset has ended, and what was moved aside
///
/// Nothing is changed, and journals may be in use. The exit status is 1 if one is damaged.
#[derive(Debug, Args)]
struct ListArgs {
    /// The folder, as in FileStorePath
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs `tickwire fix store`.
pub fn run(args: &StoreArgs) -> Result<Outcome, Failure> {
    match &args.action {
        StoreAction::Check(args) => check(&args.files),
        StoreAction::List(args) => list(&args.folder),
    }
}

fn list(folder: &Path) -> Result<Outcome, Failure> {
    let files = store_files(folder)
        .map_err(|error| Failure::Usage(format!("{}: {error}", folder.display())))?;
    let is_aside = |path: &PathBuf| path.to_string_lossy().contains(".journal.cut-");
    let (aside, journals): (Vec<_>, Vec<_>) = files.into_iter().partition(is_aside);
    let mut out = std::io::stdout().lock();
    let mut flaws = 0;
    for path in &journals {
        writeln!(out, "{}", path.display())?;
        match check_store(path) {
            Ok(report) => {
                print(&mut out, &report)?;
                flaws += u64::from(report.damaged > 0);
            }
            // The others are told all the same.
            Err(error) => {
                writeln!(out, "  {error}")?;
                flaws += 1;
            }
        }
    }
    for path in &aside {
        let len = std::fs::metadata(path)?.len();
        writeln!(out, "{}\n  {len} bytes that were no whole commit, moved aside", path.display())?;
    }
    Ok(Outcome::flawed_if(flaws > 0))
}

fn check(files: &[PathBuf]) -> Result<Outcome, Failure> {
    let mut out = std::io::stdout().lock();
    let mut flaws = 0;
    for path in files {
        let report = check_store(path).map_err(|error| Failure::Data(error.to_string()))?;
        writeln!(out, "{}", path.display())?;
        print(&mut out, &report)?;
        flaws += u64::from(report.damaged > 0);
    }
    Ok(Outcome::flawed_if(flaws > 0))
}

fn print(out: &mut dyn Write, report: &StoreReport) -> Result<(), Failure> {
    let created = UtcTimestamp::from_unix_nanos(report.created_ns);
    let (date, time) = (created.date, created.time);
    writeln!(
        out,
        "  version {}, begun {:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
        report.version,
        date.year(),
        date.month(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second()
    )?;
    writeln!(
        out,
        "  next MsgSeqNum: {} to send, {} expected",
        report.next_sender, report.next_target
    )?;
    writeln!(
        out,
        "  {} messages in {} commits, {} bytes",
        report.messages, report.frames, report.whole
    )?;
    match (report.damaged, report.resumes) {
        (0, _) => {}
        (bytes, None) => writeln!(
            out,
            "  damaged: the last {bytes} bytes are no whole commit; they are moved aside when the store is opened"
        )?,
        (_, Some(u64::MAX)) => {
            writeln!(out, "  damaged from offset {}: the store is not opened", report.whole)?;
        }
        (_, Some(next)) => writeln!(
            out,
            "  damaged from offset {} to {next}, where commits follow: the store is not opened; restore the \
             file from a copy, or move it away and agree with the counterparty on sequence numbers",
            report.whole
        )?,
    }
    Ok(())
}
