//! For build scripts: generates a module from a template file into `OUT_DIR`.

use crate::{GenerateError, GenerateOptions, generate};
use std::path::{Path, PathBuf};

/// Generates a module from a template file and writes it to `OUT_DIR`, under the template file's
/// name with the extension `.rs`. Tells Cargo to run the build script again when the template file
/// changes.
///
/// # Errors
/// Errors of [`generate`], and [`GenerateError::File`] if a file cannot be read or written.
pub fn build(templates: impl AsRef<Path>) -> Result<PathBuf, GenerateError> {
    build_with(templates, &GenerateOptions::default())
}

/// As [`build`], with options.
///
/// # Errors
/// As [`build`].
pub fn build_with(
    templates: impl AsRef<Path>,
    options: &GenerateOptions,
) -> Result<PathBuf, GenerateError> {
    let path = templates.as_ref();
    println!("cargo::rerun-if-changed={}", path.display());
    let failed = |path: &Path, message: String| GenerateError::File { path: path.into(), message };
    let xml = std::fs::read(path).map_err(|error| failed(path, format!("cannot read: {error}")))?;
    let name = path.file_name().map(Path::new).unwrap_or(path);
    let command = format!("tickwire_fast_codegen::build(\"{}\")", name.display());
    let options =
        GenerateOptions { command: options.command.clone().or(Some(command)), ..options.clone() };
    let source = generate(&xml, &options)?;
    let folder = std::env::var_os("OUT_DIR")
        .ok_or_else(|| failed(path, "OUT_DIR is not set: call this from a build script".into()))?;
    let target = Path::new(&folder).join(name).with_extension("rs");
    std::fs::write(&target, source)
        .map_err(|error| failed(&target, format!("cannot write: {error}")))?;
    Ok(target)
}
