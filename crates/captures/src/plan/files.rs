//! The captures of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::PlanError;
use tickwire_feed::capture::Suffixes;

/// Returns the captures of a path, sorted by name: those of a directory and its subdirectories, or
/// the file itself.
///
/// In a directory only files with the suffix of a capture count (`.pcap`, `.pcapng`, `.bin`, also
/// with `.gz`, `.zst` and so on). Names that begin with `.` or `_` and incomplete files
/// (`.partial`) are skipped.
///
/// # Errors
/// [`PlanError`] if the path does not exist, or a directory cannot be listed.
pub fn captures_of(path: &Path) -> Result<Vec<PathBuf>, PlanError> {
    let metadata = fs::metadata(path).map_err(|error| PlanError::new(path, error))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut captures = Vec::new();
    list(path, &mut captures)?;
    captures.sort();
    Ok(captures)
}

fn list(directory: &Path, captures: &mut Vec<PathBuf>) -> Result<(), PlanError> {
    let wrong = |error: std::io::Error| PlanError::new(directory, error);
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(['.', '_']) {
            continue;
        }
        // Links to directories are not followed, because they may form a cycle.
        if entry.file_type().map_err(wrong)?.is_dir() {
            list(&entry.path(), captures)?;
        } else if is_named_as_capture(&name) {
            captures.push(entry.path());
        }
    }
    Ok(())
}

fn is_named_as_capture(name: &str) -> bool {
    let is_other = name.ends_with(".partial") || name.ends_with(super::INDEX_SUFFIX);
    !is_other && Suffixes::of(name).is_of_capture()
}
