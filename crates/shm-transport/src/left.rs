//! Channels that killed processes left behind.

use crate::error::ShmTransportError;
use crate::name::{self, ChannelFile};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tickwire_shm::{ShmChannel, ShmError};

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
    /// [`ShmTransportError::Directory`] if the directory exists and cannot be read.
    pub fn find(directory: &Path) -> Result<Self, ShmTransportError> {
        let mut left = Self::default();
        for (name, bytes) in channels(directory)? {
            // A file whose name is not that of a channel belongs to no channel.
            if ShmChannel::in_directory(directory, &name)
                .is_ok_and(|channel| channel.is_abandoned())
            {
                left.channels += 1;
                left.bytes += bytes;
            }
        }
        Ok(left)
    }
}

/// Returns the names of this transport's channels in a directory that have a ring or a lock, with the memory that all their
/// files hold; none if the directory does not exist.
fn channels(directory: &Path) -> Result<BTreeMap<String, u64>, ShmTransportError> {
    let failure = |error| ShmTransportError::Directory(directory.to_owned(), error);
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(failure(error)),
    };
    let mut channels: BTreeMap<String, (bool, u64)> = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(failure)?;
        let file = entry.file_name();
        // The name ends with the number of the writer. Topics may have points, the kinds of files have no dash.
        let number = file.to_str().and_then(|file| Some((file, file.rfind('-')?)));
        let end = number.and_then(|(file, dash)| Some((file, dash + file[dash..].find('.')?)));
        let Some((name, kind)) = end.map(|(file, end)| file.split_at(end)) else { continue };
        if !name::is_of_transport(name) {
            continue;
        }
        let (is_channel, bytes) = channels.entry(name.to_owned()).or_default();
        // A ring has no lock only if somebody removed it by hand.
        *is_channel |= [ChannelFile::Ring, ChannelFile::Lock].iter().any(|of| of.suffix() == kind);
        // Another process may have removed it meanwhile.
        *bytes += entry.metadata().map_or(0, |metadata| metadata.blocks() * 512);
    }
    let found = channels.into_iter().filter(|(_, (is_channel, _))| *is_channel);
    Ok(found.map(|(name, (_, bytes))| (name, bytes)).collect())
}

/// Removes the channels of a directory whose writers were killed, also while they created or removed files. A living writer
/// holds its lock, so its channel stays; readers that have a removed one open can read it to its end. A channel that cannot be
/// removed, for example one of another user, stays, with a warning.
pub fn remove_left(directory: &Path) -> Result<(), ShmTransportError> {
    for name in channels(directory)?.into_keys() {
        let removed =
            ShmChannel::in_directory(directory, &name).and_then(|channel| channel.remove());
        match removed {
            Ok(()) | Err(ShmError::Busy { .. }) => {}
            Err(error) => {
                tracing::warn!("{}: {name} is not removed: {error}", directory.display());
            }
        }
    }
    Ok(())
}
