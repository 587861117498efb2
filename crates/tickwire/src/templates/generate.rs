//! `tickwire templates generate`: a template file as Rust source.

use crate::failure::{Failure, Outcome};
use crate::{files, output};
use std::io::Write;
use std::path::PathBuf;
use tickwire_fast_codegen::{GenerateError, Options, generate};

/// What to generate, and where to.
#[derive(Debug, clap::Args)]
pub struct GenerateArgs {
    /// Template file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File for the module; standard output without it.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace the output file if it exists.
    #[arg(long)]
    force: bool,
    /// Store only these fields, by name, path (MDEntries/MDEntryPx) or id, separated by commas. The
    /// rest is decoded, so that dictionaries stay right, but has no place in the structs.
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    fields: Option<Vec<String>>,
}

/// Runs the command. Nothing is written unless the whole module was generated.
pub fn run(args: &GenerateArgs) -> Result<Outcome, Failure> {
    if let Some(output) = &args.output {
        output::check(output, args.force, &[&args.file])?;
    }
    let xml = files::read_template_bytes(&args.file)?;
    let options = Options { fields: args.fields.clone(), command: Some(command(args)) };
    let source = generate(&xml, &options).map_err(|error| failure(args, error))?;
    let mut out = files::create(args.output.as_deref())?;
    out.write_all(source.as_bytes())?;
    out.flush()?;
    Ok(Outcome::Clean)
}

/// The command as it stands in the head of the module.
fn command(args: &GenerateArgs) -> String {
    let mut command = format!("tickwire templates generate {}", args.file.display());
    if let Some(output) = &args.output {
        command.push_str(&format!(" -o {}", output.display()));
    }
    if let Some(fields) = &args.fields {
        command.push_str(&format!(" --fields {}", fields.join(",")));
    }
    command
}

fn failure(args: &GenerateArgs, error: GenerateError) -> Failure {
    match error {
        GenerateError::Templates(errors) => {
            let lines: Vec<String> = errors
                .errors
                .iter()
                .map(|error| files::template_error(&args.file, error))
                .collect();
            Failure::Data(lines.join("\n"))
        }
        GenerateError::UnknownField { .. } => Failure::Usage(error.to_string()),
        error => Failure::Data(format!("{}: {error}", files::name_of(&args.file))),
    }
}
