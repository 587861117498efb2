//! `tickwire fix dictionary`: prints a built-in dictionary, to be changed for a counterparty.

use crate::failure::{Failure, Outcome};
use crate::{files, output};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use tickwire_fix::dictionary::shipped;

/// Print a built-in dictionary, to add a counterparty's fields to it
///
/// The dictionary is XML in QuickFIX's form. Sessions take the changed file as DataDictionary or
/// AppDataDictionary, and commands as --dictionary. Without a name, the names are printed.
#[derive(Debug, Args)]
pub struct DictionaryFileArgs {
    /// Name of the dictionary, such as FIX44; FIX 5.0 and later also need FIXT11
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Output file. Default: standard output
    #[arg(short, long, value_name = "FILE", requires = "name")]
    output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
}

/// Runs `tickwire fix dictionary`.
pub fn run(args: &DictionaryFileArgs) -> Result<Outcome, Failure> {
    output::check_all(&[args.output.as_deref()], args.force, &[])?;
    let names: Vec<&str> = shipped::ALL.iter().map(|(name, _)| *name).collect();
    let text = match &args.name {
        None => names.join("\n") + "\n",
        Some(wanted) => {
            let found = shipped::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            let unknown = || {
                let names = names.join(", ");
                Failure::Usage(format!("{wanted} is not a built-in dictionary ({names})"))
            };
            found.map(|(_, text)| String::clone(text)).ok_or_else(unknown)?
        }
    };
    let mut out = files::create(args.output.as_deref())?;
    out.write_all(text.as_bytes())?;
    Ok(out.flush().map(|()| Outcome::Clean)?)
}
