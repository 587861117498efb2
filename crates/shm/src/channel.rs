//! Channels: their directories, files and permissions.

use crate::error::{ShmError, ShmOperation};
use crate::fault::kill_point;
use crate::system;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Longest name of a channel.
const NAME_LEN_MAX: usize = 200;

/// Mode of a directory that a writer has created but not yet opened to readers. No umask changes
/// it, and the sticky bit, which means nothing where only the owner may write, distinguishes it
/// from a directory that a user has closed to others.
const UNFINISHED_MODE: u32 = 0o1700;

/// Longest time for which a process that is not the writer holds the writer's lock.
const MOMENT: Duration = Duration::from_millis(100);

/// A channel, named by its directory and its name. It has one writer and any number of readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShmChannel {
    directory: PathBuf,
    name: String,
    /// The only user whose ring is read; without one, the owner of the directory.
    trusted: Option<u32>,
}

/// Who may read a channel. Only the writer's user can write samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The writer's user (mode 0600).
    Owner,
    /// The writer's user and this group; `None` is the group of the writer's process (0640).
    Group(Option<u32>),
    /// Every user (0644).
    Everyone,
}

impl Readers {
    /// Returns the mode of the files that only the writer writes.
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Group(_) => 0o640,
            Self::Everyone => 0o644,
        }
    }

    /// Returns the mode of the waiters file: every user who may read the channel may also write to this file, to raise
    /// the flag.
    fn waiters_mode(self) -> u32 {
        self.mode() | (self.mode() & 0o044) >> 1
    }
}

impl ShmChannel {
    /// Returns the channel `name` in this user's directory, `/dev/shm/tickwire-UID`.
    ///
    /// # Errors
    /// [`ShmError::Name`].
    pub fn new(name: &str) -> Result<Self, ShmError> {
        Self::in_directory(Self::default_directory(system::effective_user()), name)
    }

    /// Returns the channel `name` in a directory, for example in that of another user.
    ///
    /// # Errors
    /// [`ShmError::Name`].
    pub fn in_directory(directory: impl Into<PathBuf>, name: &str) -> Result<Self, ShmError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_valid = (1..=NAME_LEN_MAX).contains(&name.len())
            && name.bytes().all(is_allowed)
            && !name.starts_with('.');
        match is_valid {
            true => Ok(Self { directory: directory.into(), name: name.to_owned(), trusted: None }),
            false => Err(ShmError::Name(name.to_owned())),
        }
    }

    /// Restricts reading to a ring and a directory that this user owns, even if the path is changed later.
    #[must_use]
    pub fn trusting(self, user: u32) -> Self {
        Self { trusted: Some(user), ..self }
    }

    /// Returns the directory of a user's channels if none is named.
    pub fn default_directory(user: u32) -> PathBuf {
        PathBuf::from(format!("/dev/shm/tickwire-{user}"))
    }

    /// The channel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The channel's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns true while the ring's file exists: a writer has opened the channel and not ended it. A writer that was
    /// killed leaves it open.
    pub fn is_open(&self) -> bool {
        self.ring_path().exists()
    }

    /// Returns true if no process holds the writer's lock, so that nothing will be written. False if the lock cannot be
    /// examined: its file is readable only for the writer's user.
    pub fn is_abandoned(&self) -> bool {
        match options().read(true).open(self.path("lock")) {
            // A shared lock, so that several readers can check at once. Closing the file releases
            // it.
            Ok(file) => file.try_lock_shared().is_ok(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        }
    }

    /// Removes the files that a killed writer left behind.
    ///
    /// # Errors
    /// [`ShmError::Busy`] while a writer lives; errors of the operating system.
    pub fn remove(&self) -> Result<(), ShmError> {
        if !self.directory.exists() {
            return Ok(());
        }
        let lock = self.lock()?;
        self.remove_files(&lock)
    }

    pub(crate) fn ring_path(&self) -> PathBuf {
        self.path("ring")
    }

    pub(crate) fn waiters_path(&self) -> PathBuf {
        self.path("waiters")
    }

    pub(crate) fn segment_path(&self, segment: usize) -> PathBuf {
        self.path(&format!("values.{segment}"))
    }

    fn path(&self, kind: &str) -> PathBuf {
        self.directory.join(format!("{}.{kind}", self.name))
    }

    /// Creates the directory if it is missing, or finishes one whose writer was killed while it created it. Checks that
    /// only this user can write to it, so that no other user can have planted a file there.
    pub(crate) fn prepare_directory(&self) -> Result<(), ShmError> {
        let (directory, user) = (&self.directory, system::effective_user());
        if let Some(owner) = self.trusted.filter(|owner| *owner != user) {
            // Readers that trust the owner would not read channels of this user.
            return Err(ShmError::Directory { path: directory.clone(), owner });
        }
        kill_point();
        match DirBuilder::new().mode(UNFINISHED_MODE).create(directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(failure(ShmOperation::Create, directory)(error));
            }
            _ => {}
        }
        check_directory(directory, user)?;
        kill_point();
        let metadata =
            fs::symlink_metadata(directory).map_err(failure(ShmOperation::Open, directory))?;
        if metadata.mode() & 0o7777 == UNFINISHED_MODE {
            // Other users may enter the directory whatever the umask is; the modes of the files
            // decide who reads. Opened without following a link: if others may write to the parent,
            // the path may lead elsewhere by now.
            let permitted = options().read(true).open(directory).and_then(|opened| {
                match opened.metadata()?.uid() == user {
                    true => opened.set_permissions(Permissions::from_mode(0o755)),
                    false => Err(ErrorKind::PermissionDenied.into()),
                }
            });
            permitted.map_err(failure(ShmOperation::Permit, directory))?;
        }
        Ok(())
    }

    /// Checks that the trusted user owns the ring and its directory, and that nobody else can write to that directory.
    pub(crate) fn check_ring(&self, ring: &File) -> Result<(), ShmError> {
        let path = self.ring_path();
        let metadata = ring.metadata().map_err(failure(ShmOperation::Open, &path))?;
        let owner = self.trusted.unwrap_or(metadata.uid());
        match metadata.uid() == owner {
            true => check_directory(&self.directory, owner),
            false => Err(ShmError::Directory { path: self.directory.clone(), owner }),
        }
    }

    /// Takes the writer's lock, which the kernel releases when the process ends, even by SIGKILL.
    ///
    /// The lock is on a file of its own that readers cannot open, because any holder of a descriptor can lock a file.
    pub(crate) fn lock(&self) -> Result<WriterLock, ShmError> {
        let path = self.path("lock");
        loop {
            kill_point();
            let file = options().read(true).write(true).create(true).mode(0o600).open(&path);
            let file = file.map_err(failure(ShmOperation::Lock, &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(ShmError::Busy { pid: 0 }),
                Err(TryLockError::Error(error)) => {
                    return Err(failure(ShmOperation::Lock, &path)(error));
                }
            }
            // A writer that ends removes the lock's file. If that happened after this process opened it, the lock is on
            // a file that no longer has a name, and protects nothing.
            let locked = file.metadata().map_err(failure(ShmOperation::Lock, &path))?;
            match fs::symlink_metadata(&path) {
                Ok(named) if named.ino() == locked.ino() => return Ok(WriterLock { _file: file }),
                _ => {}
            }
        }
    }

    /// Takes the writer's lock. Others hold it for a moment to see whether a writer has it or to remove what a killed
    /// writer left, even for a new channel whose lock they find first; this waits for them.
    pub(crate) fn lock_to_write(&self) -> Result<WriterLock, ShmError> {
        let begun = Instant::now();
        loop {
            match self.lock() {
                Err(ShmError::Busy { .. }) if begun.elapsed() < MOMENT => {
                    thread::sleep(MOMENT / 100)
                }
                locked => return locked,
            }
        }
    }

    /// Removes all files, the lock last, so that whoever looks for locks finds every channel that has files.
    pub(crate) fn remove_files(&self, _lock: &WriterLock) -> Result<(), ShmError> {
        remove(&self.ring_path())?;
        remove(&self.waiters_path())?;
        remove(&self.path("new"))?;
        self.remove_segments()?;
        remove(&self.path("lock"))
    }

    /// Removes the segments of last values, the last one first: if this is interrupted, the numbers of the rest still
    /// have no holes.
    pub(crate) fn remove_segments(&self) -> Result<(), ShmError> {
        let segments = (0..).map(|segment| self.segment_path(segment));
        let found = segments.take_while(|path| path.symlink_metadata().is_ok());
        found.collect::<Vec<_>>().iter().rev().try_for_each(|path| remove(path))
    }

    /// Creates a file of `words` zeros, reserves space for the first `reserved` of them and passes it to `fill`; then sets
    /// its mode and group and gives it its name, so that nobody sees it half written.
    pub(crate) fn create<T>(
        &self,
        path: &Path,
        (words, reserved): (usize, usize),
        readers: Readers,
        is_waiters: bool,
        fill: impl FnOnce(&File, &Path) -> Result<T, ShmError>,
    ) -> Result<T, ShmError> {
        let new = self.path("new");
        remove(&new)?;
        let create = || {
            let file = options().read(true).write(true).create_new(true).mode(0o600).open(&new);
            let file = file.map_err(failure(ShmOperation::Create, path))?;
            kill_point();
            let reserve = |()| system::reserve(&file, 0..reserved as u64 * 8);
            file.set_len(words as u64 * 8)
                .and_then(reserve)
                .map_err(failure(ShmOperation::Reserve, path))?;
            kill_point();
            let filled = fill(&file, path)?;
            permit(&file, path, readers, is_waiters)?;
            kill_point();
            fs::rename(&new, path).map_err(failure(ShmOperation::Create, path))?;
            Ok(filled)
        };
        // The error is the one that matters; if the file stays, the next writer removes it.
        create().inspect_err(|_| drop(remove(&new)))
    }
}

/// Checks that only `owner` can write to a directory of channels, and that it is not a symbolic link.
///
/// # Errors
/// [`ShmError::Directory`]; errors of the operating system, such as [`io::ErrorKind::NotFound`] if the directory is
/// missing.
pub fn check_directory(directory: &Path, owner: u32) -> Result<(), ShmError> {
    let metadata =
        fs::symlink_metadata(directory).map_err(failure(ShmOperation::Open, directory))?;
    match metadata.is_dir() && metadata.uid() == owner && metadata.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(ShmError::Directory { path: directory.to_owned(), owner }),
    }
}

/// Sets group and mode, whatever the umask is.
pub(crate) fn permit(
    file: &File,
    path: &Path,
    readers: Readers,
    is_waiters: bool,
) -> Result<(), ShmError> {
    kill_point();
    let given = match readers {
        Readers::Group(group) => {
            fchown(file, None, Some(group.unwrap_or_else(system::effective_group)))
        }
        _ => Ok(()),
    };
    kill_point();
    let mode = if is_waiters { readers.waiters_mode() } else { readers.mode() };
    given
        .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
        .map_err(failure(ShmOperation::Permit, path))
}

/// The writer's lock, held for as long as the writer lives.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

/// Opens a file of a channel. Rejects symbolic links and devices, and never blocks.
pub(crate) fn open(path: &Path, is_writable: bool) -> Result<File, ShmError> {
    let opened = options().read(true).write(is_writable).open(path);
    let file = opened.map_err(|source| match source.kind() {
        ErrorKind::NotFound => ShmError::NoChannel { path: path.to_owned() },
        _ => failure(ShmOperation::Open, path)(source),
    })?;
    let metadata = file.metadata().map_err(failure(ShmOperation::Open, path))?;
    match metadata.is_file() {
        true => Ok(file),
        false => Err(failure(ShmOperation::Open, path)(ErrorKind::InvalidInput.into())),
    }
}

/// Returns the length of a file in words, rounded up.
pub(crate) fn words(file: &File, path: &Path) -> Result<usize, ShmError> {
    let metadata = file.metadata().map_err(failure(ShmOperation::Open, path))?;
    Ok((metadata.len() / 8) as usize)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

fn remove(path: &Path) -> Result<(), ShmError> {
    kill_point();
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(failure(ShmOperation::Remove, path)(error))
        }
        _ => Ok(()),
    }
}

fn failure(attempt: ShmOperation, path: &Path) -> impl Fn(io::Error) -> ShmError {
    move |source| ShmError::Io { attempt, path: path.to_owned(), source }
}
