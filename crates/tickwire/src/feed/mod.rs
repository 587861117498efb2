//! `tickwire feed`: check, show and import feed files.

mod import;
mod show;

use crate::failure::{Failure, Outcome};
use crate::files;
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_feed_config::{ConfigErrors, FeedConfig, LoadError};

/// Check, show and import feed files, which describe the channels of a feed.
#[derive(Debug, clap::Args)]
pub struct FeedArgs {
    #[command(subcommand)]
    command: FeedCommand,
}

#[derive(Debug, clap::Subcommand)]
enum FeedCommand {
    /// Report everything that is wrong in feed files and the template files they name, as
    /// FILE:line:column: text.
    Check {
        /// Feed files (TOML).
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    Import(import::ImportArgs),
    /// Print the channels of a feed file with their addresses and settings.
    Show {
        /// Feed file (TOML).
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Runs the command.
pub fn run(args: &FeedArgs) -> Result<Outcome, Failure> {
    match &args.command {
        FeedCommand::Check { files } => check(files),
        FeedCommand::Import(args) => import::run(args),
        FeedCommand::Show { file } => {
            let mut out = files::create(None)?;
            show::write(&load(file)?, &mut out)?;
            out.flush()?;
            Ok(Outcome::Clean)
        }
    }
}

/// Reads a feed file. The failure lists all its errors, one per line.
pub fn load(path: &Path) -> Result<FeedConfig, Failure> {
    FeedConfig::load(path).map_err(|error| match error {
        LoadError::Config(errors) => Failure::Data(format!(
            "the feed file cannot be used:\n{}",
            error_lines(path, &errors).join("\n")
        )),
        LoadError::Read(error) => Failure::file("read", path.display(), &error),
        error => Failure::Data(format!("{} {error}", path.display())),
    })
}

/// Errors as `FILE:line:column: text`, so that editors jump there.
fn error_lines(path: &Path, errors: &ConfigErrors) -> Vec<String> {
    let name = files::name_of(path);
    let line = |error: &tickwire_feed_config::ConfigError| match error.line {
        0 => format!("{name}: {}", error.message),
        line => format!("{name}:{line}:{}: {}", error.column, error.message),
    };
    let more = (errors.omitted > 0).then(|| format!("and {} more", errors.omitted));
    errors.errors.iter().map(line).chain(more).collect()
}

fn check(paths: &[PathBuf]) -> Result<Outcome, Failure> {
    let mut out = files::create(None)?;
    let mut flawed = false;
    for path in paths {
        match FeedConfig::load(path) {
            Ok(config) => {
                let problems = template_problems(&config)?;
                problems.iter().try_for_each(|problem| writeln!(out, "{problem}"))?;
                flawed |= !problems.is_empty();
                if problems.is_empty() {
                    let (name, count) = (path.display(), config.channels.len());
                    let plural = if count == 1 { "" } else { "s" };
                    writeln!(out, "{name}: {count} channel{plural}, no errors")?;
                }
            }
            Err(LoadError::Config(errors)) => {
                let lines = error_lines(path, &errors);
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
                flawed = true;
            }
            Err(LoadError::Read(error)) => {
                return Err(Failure::file("read", path.display(), &error));
            }
            Err(error) => {
                writeln!(out, "{}: the file {error}", path.display())?;
                flawed = true;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::flawed_if(flawed))
}

/// Errors in the template files. Each set of files is checked once.
fn template_problems(config: &FeedConfig) -> Result<Vec<String>, Failure> {
    let mut seen: Vec<Vec<PathBuf>> = Vec::new();
    let mut problems = Vec::new();
    for channel in &config.channels {
        let paths = config.templates(channel);
        if seen.contains(&paths) {
            continue;
        }
        match files::read_all_templates(&paths) {
            Ok(_) => {}
            Err(Failure::Data(text)) => problems.push(text),
            Err(failure) => return Err(failure),
        }
        seen.push(paths);
    }
    Ok(problems)
}
