//! Channels that killed processes left behind.

use crate::error::Error;
use crate::name::{self, ChannelFile};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tickwire_shm::{Channel, Error as ShmError};

/// Channels that killed writers left behind, and the memory that their files hold. The next participant that makes a writer
/// in the same directory removes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftChannels {
    /// Number of channels.
    pub channels: u64,
    /// Size of their files in bytes.
    pub bytes: u64,
}

impl LeftChannels {
    /// Finds the channels of a directory whose writers hold no lock any more. Changes nothing. Channels whose lock this user
    /// may not open do not count: only their owner and root can tell. Counts only channels of this transport; others are
    /// continued by their next writer.
    ///
    /// # Errors
    /// [`Error::Directory`] if the directory exists and cannot be read.
    pub fn find(directory: &Path) -> Result<Self, Error> {
        let mut left = Self::default();
        for name in names(directory)? {
            if Channel::in_directory(directory, &name)?.is_abandoned() {
                left.channels += 1;
                left.bytes += bytes(directory, &name)?;
            }
        }
        Ok(left)
    }
}

/// Returns the names of this transport's channels in a directory, whatever files they have.
fn names(directory: &Path) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    // A ring has no lock only if somebody removed it by hand.
    for file in [ChannelFile::Ring, ChannelFile::Lock] {
        let found = name::files(directory, file)?.into_iter();
        names.extend(found.filter(|name| name::is_of_transport(name)));
    }
    Ok(names)
}

/// Returns the memory that a channel's files hold.
fn bytes(directory: &Path, name: &str) -> Result<u64, Error> {
    let failure = |error| Error::Directory(directory.to_owned(), error);
    let mut bytes = 0;
    for entry in directory.read_dir().map_err(failure)? {
        let entry = entry.map_err(failure)?;
        let rest =
            entry.file_name().to_str().and_then(|file| file.strip_prefix(name).map(str::to_owned));
        if rest.is_some_and(|rest| rest.starts_with('.'))
            // Another process may have removed it meanwhile.
            && let Ok(metadata) = entry.metadata()
        {
            bytes += metadata.blocks() * 512;
        }
    }
    Ok(bytes)
}

/// Removes the channels of a directory whose writers were killed, also while they created or removed files. A living writer
/// holds its lock, so its channel stays; readers that have a removed one open can read it to its end.
pub fn remove_left(directory: &Path) -> Result<(), Error> {
    for name in names(directory)? {
        match Channel::in_directory(directory, &name)?.remove() {
            Ok(()) | Err(ShmError::Busy { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
