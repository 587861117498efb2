//! `tickwire fix store`: inspects and repairs the files of sessions.

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_feed::counted;
use tickwire_fix::UtcTimestamp;
use tickwire_fix_session::{StoreError, StoreReport, check_store, cut_store, store_files};

/// Inspect and repair message stores
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Debug, Subcommand)]
enum StoreAction {
    Check(CheckArgs),
    List(ListArgs),
    Cut(CutArgs),
}

/// Read the journals of message stores and report their numbers and any damage
///
/// Changes nothing; a journal may be in use. The exit status is 1 if one is damaged.
#[derive(Debug, Args)]
struct CheckArgs {
    /// Journals
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// List the journals of a folder: those in use, archives from before a reset, and damaged parts
/// that were moved away
///
/// Changes nothing; journals may be in use. The exit status is 1 if one is damaged.
#[derive(Debug, Args)]
struct ListArgs {
    /// The folder of FileStorePath
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Discard the damaged end of a journal, so that its store can be opened
///
/// Moves everything after the last complete commit to a file beside the journal. Sequence numbers
/// recorded only there are used again: agree on sequence numbers with the counterparty before the
/// session connects. The journal must not be in use.
#[derive(Debug, Args)]
struct CutArgs {
    /// The journal
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs `tickwire fix store`.
pub fn run(args: &StoreArgs) -> Result<Outcome, Failure> {
    match &args.action {
        StoreAction::Check(args) => check(&args.files),
        StoreAction::List(args) => list(&args.folder),
        StoreAction::Cut(args) => cut(&args.file),
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
            // The other journals are reported nevertheless.
            Err(error) => {
                writeln!(out, "  {error}")?;
                flaws += 1;
            }
        }
    }
    for path in &aside {
        let len = std::fs::metadata(path)?.len();
        writeln!(
            out,
            "{}\n  {len} bytes that were not a complete commit, moved away",
            path.display()
        )?;
    }
    Ok(Outcome::flawed_if(flaws > 0))
}

fn check(files: &[PathBuf]) -> Result<Outcome, Failure> {
    let mut out = std::io::stdout().lock();
    let mut flaws = 0;
    for path in files {
        if path.is_dir() {
            let folder = path.display();
            let text = format!("{folder} is a folder: use tickwire fix store list {folder}");
            return Err(Failure::Usage(text));
        }
        let report = check_store(path).map_err(|error| Failure::Data(error.to_string()))?;
        writeln!(out, "{}", path.display())?;
        print(&mut out, &report)?;
        flaws += u64::from(report.damaged > 0);
    }
    Ok(Outcome::flawed_if(flaws > 0))
}

fn cut(path: &Path) -> Result<Outcome, Failure> {
    let failed = |error: StoreError| Failure::Data(error.to_string());
    let aside = cut_store(path).map_err(failed)?;
    let mut out = std::io::stdout().lock();
    match aside {
        None => writeln!(out, "{}: nothing is damaged, nothing was changed", path.display())?,
        Some(aside) => {
            writeln!(
                out,
                "{}: {} bytes from offset {} are in {} now",
                path.display(),
                aside.len,
                aside.offset,
                aside.path.display()
            )?;
            print(&mut out, &check_store(path).map_err(failed)?)?;
        }
    }
    Ok(Outcome::Clean)
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
        "  {} in {}, {}",
        counted(report.messages, "message"),
        counted(report.frames, "commit"),
        counted(report.whole, "byte")
    )?;
    let advice = "the store is not opened; restore the file from a copy, or agree with the counterparty on sequence numbers and discard everything after the last complete commit (tickwire fix store cut FILE)";
    match (report.damaged, report.resumes) {
        (0, _) => {}
        (bytes, _) if report.is_cut_short => writeln!(
            out,
            "  truncated: the last {bytes} bytes are the beginning of a commit; they are moved away when the store is opened"
        )?,
        (_, None) => {
            writeln!(out, "  damaged from offset {} to the end: {advice}", report.whole)?;
        }
        (_, Some(next)) => writeln!(
            out,
            "  damaged from offset {} to {next}, where commits follow: {advice}",
            report.whole
        )?,
    }
    Ok(())
}
