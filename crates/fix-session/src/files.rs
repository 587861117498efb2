//! Files with the messages of a session, which only their owner may read.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Readable and writable by the owner only.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Returns options that create files which only their owner can read and write. The mode of an
/// existing file is not changed, because an administrator may have set it.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Creates a folder that only its owner can use, and its parents; an existing folder is not
/// changed.
///
/// # Errors
/// If it cannot be created.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}
