//! `tickwire completions` and `tickwire man`: files for shells and for `man`.

use crate::examples::command_line;
use crate::failure::{Failure, Outcome};
use crate::files;
use clap_complete::Shell;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// Shell to complete for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Write man pages, one per command, to a directory.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Directory, created if it does not exist. Existing pages are replaced.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

/// Prints the completion script.
pub fn completions(args: &CompletionsArgs) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line(), "tickwire", &mut script);
    let mut out = files::create(None)?;
    out.write_all(&script)?;
    out.flush()?;
    Ok(Outcome::Clean)
}

/// Writes the man pages.
pub fn man(args: &ManArgs) -> Result<Outcome, Failure> {
    let written = fs::create_dir_all(&args.directory)
        .and_then(|()| clap_mangen::generate_to(command_line(), &args.directory));
    written.map_err(|error| Failure::file("write", args.directory.display(), &error))?;
    Ok(Outcome::Clean)
}
