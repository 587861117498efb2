//! `tickwire feed import`: exchanges' configuration XML to a feed file.

use super::error_lines;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::{files, output};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use tickwire_feed_config::import::{XML_BYTES_MAX, import};
use tickwire_feed_config::{Address, ChannelConfig};

/// Create a feed file from an exchange's configuration XML: CME's config.xml, MOEX's
/// configuration.xml (SPECTRA and ASTS) or libtrading's.
///
/// Parts that a feed file cannot describe are left out and reported on standard error. Relative
/// paths of templates and captures are relative to the folder of the feed file, which therefore works
/// from any directory.
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
    /// Template file whose path is written to the feed file. Default: templates.xml beside the feed
    /// file.
    #[arg(short, long, value_name = "FILE")]
    templates: Option<PathBuf>,
}

impl ImportArgs {
    /// The folder of the feed file; the current folder if the feed file goes to standard output.
    fn folder(&self) -> &Path {
        if files::is_standard(&self.output) { Path::new(".") } else { folder_of(&self.output) }
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the path of `file` relative to `folder`, which does not depend on the current directory. An
/// absolute path is returned as it is.
fn from_folder(folder: &Path, file: &Path) -> io::Result<PathBuf> {
    if file.is_absolute() {
        return Ok(file.to_owned());
    }
    let resolved = |folder: &Path| folder.canonicalize().or_else(|_| std::path::absolute(folder));
    let (from, name) = (resolved(folder)?, file.file_name().unwrap_or_default());
    let to = resolved(folder_of(file))?.join(name);
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    Ok(up.chain(to.components().skip(shared)).collect())
}

/// Changes the paths of a channel's captures, which are relative to the folder of the configuration.
fn set_captures(channel: &mut ChannelConfig, xml_folder: &Path, folder: &Path) -> io::Result<()> {
    let ChannelConfig { lines, snapshots, definitions, .. } = channel;
    let lines = [lines, snapshots, definitions];
    for address in lines.into_iter().flat_map(|lines| [&mut lines.a, &mut lines.b]) {
        if let Some(Address::Capture(path)) = address {
            *path = from_folder(folder, &xml_folder.join(&*path))?;
        }
    }
    Ok(())
}

pub(super) fn run(args: &ImportArgs) -> Result<Outcome, Failure> {
    output::check(&args.output, args.force, &[&args.file])?;
    let name = files::name_of(&args.file);
    let bytes = files::read_whole(&args.file, XML_BYTES_MAX as u64, "")?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::Data(format!("{name} is not UTF-8 text: convert it first")))?;
    let failed = |error: io::Error| Failure::Usage(format!("the current directory: {error}"));
    let templates = match &args.templates {
        Some(templates) if templates.file_name().is_none() => {
            let templates = templates.display();
            return Err(Failure::Usage(format!("--templates {templates}: name a file")));
        }
        Some(templates) => from_folder(args.folder(), templates).map_err(failed)?,
        None => PathBuf::from("templates.xml"),
    };
    let mut imported = import(&text, &templates).map_err(|errors| {
        Failure::Data(format!(
            "the configuration cannot be imported:\n{}",
            error_lines(&args.file, &errors).join("\n")
        ))
    })?;
    let xml_folder =
        if files::is_standard(&args.file) { Path::new(".") } else { folder_of(&args.file) };
    for channel in &mut imported.config.channels {
        set_captures(channel, xml_folder, args.folder()).map_err(failed)?;
    }
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
