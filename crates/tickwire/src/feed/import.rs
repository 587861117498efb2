//! `tickwire feed import`: exchanges' configuration XML to a feed file.

use super::error_lines;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::{files, output};
use std::io::Write;
use std::path::PathBuf;
use tickwire_feed_config::import::{XML_BYTES_MAX, import};

/// Create a feed file from an exchange's configuration XML: CME's config.xml, MOEX's
/// configuration.xml (SPECTRA and ASTS) or libtrading's.
///
/// Parts that a feed file cannot describe are left out and reported on standard error.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// Configuration XML; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Feed file to write; - is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the output file if it exists.
    #[arg(long)]
    force: bool,
    /// Template file to name in the feed file, relative to it.
    #[arg(short, long, value_name = "FILE", default_value = "templates.xml")]
    templates: PathBuf,
}

pub(super) fn run(args: &ImportArgs) -> Result<Outcome, Failure> {
    output::check(&args.output, args.force, &[&args.file])?;
    let name = files::name_of(&args.file);
    let bytes = files::read_whole(&args.file, XML_BYTES_MAX as u64, "")?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::Data(format!("{name} is not UTF-8 text: convert it first")))?;
    let imported = import(&text, &args.templates).map_err(|errors| {
        Failure::Data(format!(
            "the configuration cannot be imported:\n{}",
            error_lines(&args.file, &errors).join("\n")
        ))
    })?;
    let mut out = files::create(Some(&args.output))?;
    writeln!(out, "# Imported from {name} ({}).", imported.format)?;
    for note in &imported.notes {
        writeln!(out, "# {note}")?;
    }
    write!(out, "{}", imported.config.to_toml())?;
    out.flush()?;
    for note in &imported.notes {
        tell!("tickwire: {name}: {note}");
    }
    Ok(Outcome::Clean)
}
