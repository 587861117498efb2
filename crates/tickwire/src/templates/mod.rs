//! `tickwire templates`: check, show, compare, sign and generate from template files.

mod generate;
mod show;

use crate::failure::{Failure, Outcome};
use crate::files;
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_fast::template::{Instruction, Template, diff};
use tickwire_fast::{CompileOptions, TemplateId, TemplateSet};
use tickwire_feed::counted;

/// Check, show, compare and sign template files, and generate code from them.
#[derive(Debug, clap::Args)]
pub struct TemplatesArgs {
    #[command(subcommand)]
    command: TemplatesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TemplatesCommand {
    /// Report everything that is wrong in template files, as FILE:line:column: text.
    Check {
        /// Template files.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Compare two template files in words; status 1 if they decode differently.
    Diff {
        /// The old file.
        #[arg(value_name = "OLD")]
        old: PathBuf,
        /// The new file.
        #[arg(value_name = "NEW")]
        new: PathBuf,
        /// Show only differences that decode the same bytes to other values.
        #[arg(long)]
        decoding: bool,
    },
    /// Generate Rust source from templates: structs, a decoder and an encoder.
    Generate(generate::TemplateGenerateArgs),
    /// Print templates as a table: presence-map bit, type, operator and dictionary entry of each
    /// field.
    Show {
        /// Template files; several form one set.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Only this template, by name or id. May be repeated.
        #[arg(long, value_name = "NAME|ID")]
        template: Vec<String>,
    },
    /// Print the signature of a set of templates and of each template: equal signatures decode
    /// equally, whatever the comments and the layout of the files.
    Signature {
        /// Template files; several form one set.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
}

/// Runs the command.
pub fn run(args: &TemplatesArgs) -> Result<Outcome, Failure> {
    let mut out = files::create(None)?;
    let outcome = match &args.command {
        TemplatesCommand::Check { files } => check(files, &mut out)?,
        TemplatesCommand::Diff { old, new, decoding } => compare(old, new, *decoding, &mut out)?,
        TemplatesCommand::Generate(args) => return generate::run(args),
        TemplatesCommand::Show { files, template } => show(files, template, &mut out)?,
        TemplatesCommand::Signature { files } => sign(files, &mut out)?,
    };
    out.flush()?;
    Ok(outcome)
}

fn check(paths: &[PathBuf], out: &mut impl Write) -> Result<Outcome, Failure> {
    let mut flawed = false;
    for path in paths {
        let bytes = files::read_template_bytes(path)?;
        let name = files::name_of(path);
        match TemplateSet::parse_bytes(&bytes) {
            Ok(set) => {
                let fields: usize = set.templates().iter().map(count_fields).sum();
                let templates = set.templates().len();
                let signature = set.signature();
                match files::compile(set, &CompileOptions::default()) {
                    Ok(_) => writeln!(
                        out,
                        "{name}: ok: {}, {}, signature {signature}",
                        counted(templates, "template"),
                        counted(fields, "field")
                    )?,
                    Err(Failure::Usage(text)) => {
                        flawed = true;
                        writeln!(out, "{name}:1:1: {text}")?;
                    }
                    Err(failure) => return Err(failure),
                }
            }
            Err(errors) => {
                flawed = true;
                for error in &errors.errors {
                    writeln!(out, "{}", files::template_error(path, error))?;
                }
                let count = counted(errors.errors.len() + errors.omitted, "error");
                let shown = errors.errors.len();
                match errors.omitted {
                    0 => writeln!(out, "{name}: {count}")?,
                    _ => writeln!(out, "{name}: {count}, the first {shown} shown")?,
                }
            }
        }
    }
    Ok(Outcome::flawed_if(flawed))
}

/// Scalar fields of a template as written, references not expanded.
fn count_fields(template: &Template) -> usize {
    fn count(instructions: &[Instruction]) -> usize {
        let fields = |instruction: &Instruction| match instruction {
            Instruction::Field(_) => 1,
            Instruction::Group(group) => count(&group.instructions),
            Instruction::StaticRef(..) | Instruction::DynamicRef(_) => 0,
        };
        instructions.iter().map(fields).sum()
    }
    count(&template.instructions)
}

fn compare(
    old: &Path,
    new: &Path,
    only_decoding: bool,
    out: &mut impl Write,
) -> Result<Outcome, Failure> {
    let (old, new) = (files::read_templates(old)?, files::read_templates(new)?);
    let mut changes = diff(&old, &new);
    if only_decoding {
        changes.retain(|change| change.changes_decoding);
    }
    for change in &changes {
        writeln!(out, "{change}")?;
    }
    let differs = changes.iter().any(|change| change.changes_decoding);
    let decoding = changes.iter().filter(|change| change.changes_decoding).count();
    match (changes.len(), decoding) {
        (0, _) => writeln!(out, "no differences")?,
        (count, 0) => writeln!(out, "{}; both decode the same", counted(count, "difference"))?,
        (count, decoding) => {
            writeln!(out, "{}, of which {decoding} in decoding", counted(count, "difference"))?;
        }
    }
    Ok(Outcome::flawed_if(differs))
}

fn show(paths: &[PathBuf], names: &[String], out: &mut impl Write) -> Result<Outcome, Failure> {
    let set = files::read_all_templates(paths)?;
    let mut wanted = Vec::new();
    for name in names {
        let by_id = name.parse().ok().and_then(|id| set.by_id(TemplateId(id)));
        let found: Vec<usize> = match by_id {
            Some(index) => vec![index],
            None => set.all_named(name).map(|(index, _)| index).collect(),
        };
        if found.is_empty() {
            return Err(Failure::Usage(format!(
                "{} has no template \"{name}\"; `tickwire templates signature` lists them",
                files::names_of(paths)
            )));
        }
        wanted.extend(found);
    }
    if names.is_empty() {
        wanted = (0..set.templates().len()).collect();
    }
    for (position, index) in wanted.into_iter().enumerate() {
        if position > 0 {
            writeln!(out)?;
        }
        show::write_template(out, &set, index)?;
    }
    Ok(Outcome::Clean)
}

fn sign(paths: &[PathBuf], out: &mut impl Write) -> Result<Outcome, Failure> {
    let set = files::read_all_templates(paths)?;
    writeln!(out, "{}  {}", set.signature(), files::names_of(paths))?;
    for (template, signature) in set.templates().iter().zip(set.signatures()) {
        let id = template.id.map(|id| format!(" ({id})")).unwrap_or_default();
        writeln!(out, "{signature}  {}{id}", template.name)?;
    }
    Ok(Outcome::Clean)
}
