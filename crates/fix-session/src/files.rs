//! Files that hold what a session said: nobody but their owner may read them.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Owner alone.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Returns options for files that only their owner can read and write, if they are made now. The mode of
/// files that exist is left as it is: somebody may have chosen it.
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
