//! `tickwire templates generate`: generates Rust source from templates.

use crate::failure::{Failure, Outcome};
use crate::{files, output};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_fast::CompileError;
use tickwire_fast_codegen::{GenerateError, GenerateOptions, generate, generate_set};

/// The input and output of the generator.
#[derive(Debug, clap::Args)]
pub struct TemplateGenerateArgs {
    /// Template files; several form one set.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output file. Default: standard output.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace the output file if it exists.
    #[arg(long)]
    force: bool,
    /// Store only these fields, by name, path (MDEntries/MDEntryPx) or id. The other fields are
    /// decoded, so that dictionaries stay correct, but are not in the structs.
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    fields: Option<Vec<String>>,
}

/// Runs the command. Nothing is written unless the whole module was generated.
pub fn run(args: &TemplateGenerateArgs) -> Result<Outcome, Failure> {
    if let Some(output) = &args.output {
        let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
        output::check(output, args.force, &inputs)?;
    }
    let options = GenerateOptions::default().fields(args.fields.clone()).command(command(args));
    let source = match &args.files[..] {
        // The module of a single file also contains the checksum of its bytes.
        [file] => generate(&files::read_template_bytes(file)?, &options),
        files => generate_set(files::read_all_templates(files)?, &options),
    };
    let source = source.map_err(|error| failure(args, error))?;
    let mut out = files::create(args.output.as_deref())?;
    out.write_all(source.as_bytes())?;
    out.flush()?;
    Ok(Outcome::Clean)
}

/// The command line in the header of the module.
fn command(args: &TemplateGenerateArgs) -> String {
    let files: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    let mut command = format!("tickwire templates generate {}", files.join(" "));
    if let Some(output) = &args.output {
        command.push_str(&format!(" -o {}", output.display()));
    }
    if let Some(fields) = &args.fields {
        command.push_str(&format!(" --fields {}", fields.join(",")));
    }
    command
}

fn failure(args: &TemplateGenerateArgs, error: GenerateError) -> Failure {
    match error {
        GenerateError::Templates(errors) => {
            let lines: Vec<String> = errors
                .errors
                .iter()
                .map(|error| files::template_error(&args.files[0], error))
                .collect();
            Failure::Data(lines.join("\n"))
        }
        GenerateError::Compile(CompileError::UnknownField { .. }) => {
            Failure::Usage(error.to_string())
        }
        error => Failure::Data(format!("{}: {error}", files::names_of(&args.files))),
    }
}
