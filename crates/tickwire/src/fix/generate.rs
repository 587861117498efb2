//! `tickwire fix generate`: Rust types from a dictionary.

use super::versions;
use crate::failure::{Failure, Outcome};
use crate::{files, output};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use tickwire_fix_codegen::{FixCodegenError, FixGenerator};

/// Generate Rust types for the messages of a dictionary
///
/// The generated source depends only on the crate tickwire-fix. In build scripts use
/// tickwire_fix_codegen::build.
#[derive(Debug, Args)]
pub struct FixGenerateArgs {
    /// Dictionary: a QuickFIX or Orchestra file, or the name of a built-in one, such as FIX44
    #[arg(value_name = "DICT")]
    dictionary: PathBuf,
    /// Dictionary of header and trailer, for FIX 5.0 and later. Default: FIXT11
    #[arg(long, value_name = "DICT")]
    session: Option<PathBuf>,
    /// Refuse dictionaries with flaws that other engines ignore. Default: warn about them
    #[arg(long)]
    strict: bool,
    /// Only these messages, by name or MsgType
    #[arg(long, value_name = "NAME", value_delimiter = ',', num_args = 1..)]
    only: Vec<String>,
    /// Output file. Default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
}

/// Runs `tickwire fix generate`.
pub fn run(args: &FixGenerateArgs) -> Result<Outcome, Failure> {
    let mut inputs = vec![args.dictionary.as_path()];
    inputs.extend(args.session.as_deref());
    output::check_all(&[args.output.as_deref()], args.force, &inputs)?;
    let application = versions::read(&args.dictionary, args.strict)?;
    let session = match &args.session {
        Some(path) => Some(versions::read(path, args.strict)?),
        None if application.header().is_empty() => {
            Some(versions::read("FIXT11".as_ref(), args.strict)?)
        }
        None => None,
    };
    let name = args.dictionary.file_name().unwrap_or(args.dictionary.as_os_str());
    let mut generator =
        FixGenerator::new(&application).session(session.as_ref().unwrap_or(&application)).note(
            &format!("Made of {} by tickwire fix generate; do not edit.", name.to_string_lossy()),
        );
    if !args.only.is_empty() {
        generator = generator.messages(args.only.iter().cloned());
    }
    let source = generator.generate().map_err(|error| match error {
        FixCodegenError::UnknownMessage(_) => Failure::Usage(error.to_string()),
        error => Failure::Data(error.to_string()),
    })?;
    let mut out = files::create(args.output.as_deref())?;
    out.write_all(source.as_bytes())?;
    Ok(out.flush().map(|()| Outcome::Clean)?)
}
