//! The directory of channels: one listing of it serves all readers of a participant.

use crate::config::ShmConfig;
use crate::error::ShmTransportError;
use crate::name::{self, ChannelFile};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tickwire_host::clock::coarse_monotonic_ns;
use tickwire_shm::{ShmError, check_directory};

/// A directory that changed less than this time before it was listed is listed again: times of files have the resolution
/// of the kernel's clock tick, so a later change may leave the same time.
const SETTLED: Duration = Duration::from_millis(50);

/// A directory, its time of change, and its inode, which differs once the directory is created again.
type DirectoryStamp = (u64, u64, i64, i64);

/// The rings of a directory.
#[derive(Clone, Debug, Default)]
pub struct ChannelListing {
    /// Number of the listing: equal numbers have equal names.
    pub number: u64,
    /// Names of the channels that have a ring.
    pub names: Arc<[String]>,
}

/// Lists the channels of a directory, only if it has changed.
#[derive(Debug)]
pub struct ChannelDirectory {
    path: PathBuf,
    owner: u32,
    seen: Mutex<SeenDirectory>,
}

#[derive(Debug, Default)]
struct SeenDirectory {
    /// Time of the last look, of the coarse clock.
    looked_ns: u64,
    /// The directory when it was listed; `None` if it must be listed again.
    stamp: Option<DirectoryStamp>,
    listing: ChannelListing,
}

impl ChannelDirectory {
    pub fn new(config: &ShmConfig) -> Self {
        let (path, owner) = (config.directory.clone(), config.owner);
        Self { path, owner, seen: Mutex::default() }
    }

    /// Returns the channels as they were at most `age_ns` ago; none if the directory does not exist.
    pub fn look(&self, age_ns: u64) -> Result<ChannelListing, ShmTransportError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = coarse_monotonic_ns();
        if age_ns > 0 && seen.listing.number > 0 && now_ns < seen.looked_ns + age_ns {
            return Ok(seen.listing.clone());
        }
        match check_directory(&self.path, self.owner) {
            // The first writer creates it. Until then, it has no channels.
            Err(ShmError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                seen.stamp = None;
                seen.note(Vec::new());
            }
            checked => {
                checked?;
                self.list(&mut seen)?;
            }
        }
        seen.looked_ns = now_ns;
        Ok(seen.listing.clone())
    }

    fn list(&self, seen: &mut SeenDirectory) -> Result<(), ShmTransportError> {
        let failure = |error| ShmTransportError::Directory(self.path.clone(), error);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let metadata = match self.path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failure(error)),
        };
        let (seconds, nanos) = (metadata.mtime(), metadata.mtime_nsec());
        let stamp = (metadata.dev(), metadata.ino(), seconds, nanos);
        if seen.stamp == Some(stamp) {
            return Ok(());
        }
        let changed = Duration::new(seconds.max(0) as u64, nanos as u32);
        let is_settled = now.saturating_sub(changed) > SETTLED;
        seen.note(name::files(&self.path, ChannelFile::Ring)?);
        seen.stamp = is_settled.then_some(stamp);
        Ok(())
    }
}

impl SeenDirectory {
    fn note(&mut self, mut names: Vec<String>) {
        names.sort_unstable();
        if self.listing.number == 0 || *self.listing.names != *names {
            self.listing = ChannelListing { number: self.listing.number + 1, names: names.into() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ChannelDirectory, SETTLED};
    use crate::ShmConfig;
    use std::fs::{File, create_dir, remove_dir_all, remove_file};

    #[test]
    fn a_directory_is_listed_again_only_if_it_has_changed() {
        let path = std::env::temp_dir().join(format!("tickwire-look-{}", std::process::id()));
        let _ = remove_dir_all(&path);
        let directory = ChannelDirectory::new(&ShmConfig::in_directory(&path));
        let look = || directory.look(0).unwrap();
        let is_known = || directory.seen.lock().unwrap().stamp.is_some();
        assert!(look().names.is_empty(), "it does not exist");
        create_dir(&path).unwrap();
        // Each change is seen at once, however quickly they follow each other.
        for number in 0..100 {
            let ring = path.join(format!("{number}.ring"));
            File::create(&ring).unwrap();
            assert_eq!(*look().names, [number.to_string()]);
            assert!(!is_known());
            remove_file(ring).unwrap();
            assert!(look().names.is_empty());
        }
        std::thread::sleep(2 * SETTLED);
        let before = look().number;
        assert!(is_known(), "it is not read again");
        assert_eq!(look().number, before);
        File::create(path.join("last.ring")).unwrap();
        assert_eq!(
            directory.look(u64::MAX >> 1).unwrap().number,
            before,
            "as it was some time ago"
        );
        assert_eq!((look().number, look().names.len()), (before + 1, 1));
        remove_dir_all(&path).unwrap();
        assert!(look().names.is_empty());
    }
}
