//! Archived journals from before resets.
//!
//! An archive begins as a second name (hard link) of the journal, whose first name the new journal
//! then takes. Nothing is copied and neither file is ever incomplete. If the process dies in
//! between, the next one removes the second name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Separator between the journal's name and the archive's number.
const MARK: &str = ".archive-";

/// Returns the archives of a journal with their numbers, oldest first.
fn list(journal: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let folder = journal.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut prefix = journal.file_name().unwrap_or_default().to_owned();
    prefix.push(MARK);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.unwrap_or_else(|| Path::new(".")))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let number = name.strip_prefix(prefix.as_encoded_bytes());
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if let Some(number) = number {
            found.push((number, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Removes the oldest archives until at most `archives_max` are left.
pub(super) fn make_room(journal: &Path, archives_max: usize) -> io::Result<()> {
    let archives = list(journal)?;
    let excess = archives.len().saturating_sub(archives_max);
    archives.iter().take(excess).try_for_each(|(_, path)| fs::remove_file(path))
}

/// Renames a journal to its next archive.
pub(super) fn add(journal: &Path) -> io::Result<PathBuf> {
    let next = list(journal)?.last().map_or(1, |(number, _)| number.saturating_add(1));
    let mut path = journal.to_owned().into_os_string();
    path.push(format!("{MARK}{next:08}"));
    fs::hard_link(journal, &path)?;
    Ok(path.into())
}

/// Removes the name of an archive that is still the journal: the process died before it created the
/// new journal.
pub(super) fn forget_unfinished(journal: &Path, file: &File) -> io::Result<()> {
    let own = file.metadata()?;
    for (_, path) in list(journal)? {
        let other = fs::metadata(&path)?;
        if (other.dev(), other.ino()) == (own.dev(), own.ino()) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Returns the store files in a folder by name: journals, their archives, and files with moved
/// damaged data.
///
/// # Errors
/// If the folder cannot be read.
pub fn store_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kinds = [".journal", ".journal.archive-", ".journal.cut-"];
        if name.ends_with(kinds[0]) || kinds[1..].iter().any(|kind| name.contains(kind)) {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}
