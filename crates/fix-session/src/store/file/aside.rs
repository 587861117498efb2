//! The unreadable end of a journal: moved to a separate file, never deleted.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::create::open_locked;
use super::format::corrupt;
use super::scan::{JournalScan, Tail};
use crate::error::StoreError;
use crate::files::private_file;

/// The unreadable end of a journal, moved to a separate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedAside {
    /// Offset in the journal.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The file that contains it now.
    pub path: PathBuf,
}

/// Moves the bytes after the last complete frame, which ends at `end`, to the file
/// `NAME.journal.cut-END`.
pub(super) fn move_aside(
    mut journal: &File,
    path: &Path,
    end: u64,
    len: u64,
) -> io::Result<MovedAside> {
    let aside = (0..)
        .map(|number| {
            let mut name = path.to_owned().into_os_string();
            name.push(format!(".cut-{end}"));
            if number > 0 {
                name.push(format!(".{number}"));
            }
            PathBuf::from(name)
        })
        .map(|path| (private_file().write(true).create_new(true).open(&path), path))
        .find(
            |(made, _)| !matches!(made, Err(error) if error.kind() == io::ErrorKind::AlreadyExists),
        );
    let Some((made, path)) = aside else { return Err(io::ErrorKind::AlreadyExists.into()) };
    let mut aside = made?;
    journal.seek(SeekFrom::Start(end))?;
    io::copy(&mut journal.take(len), &mut aside)?;
    aside.sync_all()?;
    journal.set_len(end)?;
    Ok(MovedAside { offset: end, len, path })
}

/// Returns the error for a journal that is damaged after the last complete frame.
pub(super) fn damaged(end: u64, next: Option<u64>) -> io::Error {
    let what = match next {
        Some(next) => format!("it is damaged from offset {end} to {next}, where commits follow"),
        None => format!(
            "it is damaged from offset {end} to its end, not merely truncated: the unreadable part may contain sequence numbers that were used"
        ),
    };
    corrupt(format!(
        "{what}; restore the file from a copy, or agree with the counterparty on sequence numbers and discard everything after the last complete commit (`tickwire fix store cut FILE`)"
    ))
}

/// Discards everything after the last complete commit of a journal: moves it to a file beside the
/// journal. Returns `None` if nothing follows. The journal must not be in use.
///
/// # Errors
/// If it cannot be opened, is in use, or is not a journal.
pub fn cut_store(path: &Path) -> Result<Option<MovedAside>, StoreError> {
    let cut = || {
        let journal = open_locked(path)?;
        let mut scan = JournalScan::new(journal.try_clone()?)?;
        while scan.next_frame()?.is_some() {}
        if scan.tail()? == Tail::Clean {
            return Ok(None);
        }
        let end = scan.end();
        let len = journal.metadata()?.len().saturating_sub(end);
        move_aside(&journal, path, end, len).map(Some)
    };
    cut().map_err(|error| StoreError::new(format!("cut {}", path.display()), error))
}
