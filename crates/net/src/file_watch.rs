//! Watches files that belong together, and prepares their new contents on its own thread.
//!
//! A [`FileWatch`] checks the files' modification times and lengths at an interval, and at once
//! when [`look_now`](FileWatch::look_now) is called, for example after a signal. A changed file is
//! read once two consecutive checks find the same time and length, so that no file is read while it
//! is being written; the other files are not read until then. A file that is missing in 30
//! consecutive checks is reported once. Unchanged content is ignored. A function of the caller
//! prepares new contents on the watching thread: template files, for example, are parsed and
//! compiled while the decoder runs.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use crate::affinity::spawn_background;
use crate::{HostError, SystemOperation};

/// Default interval between checks.
pub const INTERVAL_DEFAULT: Duration = Duration::from_secs(1);

/// Consecutive checks without the file before its absence is reported: programs replace files by
/// removing them first.
const MISSING_LOOKS: u32 = 30;

/// Most prepared contents that wait to be taken.
const PREPARED_MAX: usize = 4;

/// Reason why new contents cannot be used.
#[derive(Debug)]
pub enum WatchError<E> {
    /// A file cannot be read, or is longer than the limit.
    Read(io::Error),
    /// The caller's function refused them.
    Refused(E),
}

impl<E: fmt::Display> fmt::Display for WatchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot be read: {error}"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for WatchError<E> {}

/// Watched files. Dropping this ends the thread.
pub struct FileWatch<T, E> {
    looks: Option<SyncSender<()>>,
    prepared: Receiver<Result<T, WatchError<E>>>,
    thread: Option<JoinHandle<()>>,
}

impl<T, E> fmt::Debug for FileWatch<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWatch").finish_non_exhaustive()
    }
}

impl<T: Send + 'static, E: Send + 'static> FileWatch<T, E> {
    /// Watches these files, with their present contents. When any has changed, passes the contents
    /// of all, at most `bytes_max` bytes each, to `prepare` in this order.
    ///
    /// # Errors
    /// The operating system's error if the thread cannot be started.
    pub fn start(
        files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>,
        bytes_max: u64,
        interval: Duration,
        prepare: impl Fn(&[&[u8]]) -> Result<T, E> + Send + 'static,
    ) -> Result<Self, HostError> {
        let (looks, asked) = sync_channel(1);
        let (sender, prepared) = sync_channel(PREPARED_MAX);
        let watched =
            |(path, content)| WatchedFile { path, bytes_max, content, seen: None, missing: 0 };
        let files = files.into_iter().map(watched).collect();
        // The files may have changed since they were read: the first check compares.
        let mut watched = WatchedSet { files, is_new: false };
        let run = move || {
            loop {
                let is_asked = match asked.recv_timeout(interval) {
                    Ok(()) => true,
                    Err(RecvTimeoutError::Timeout) => false,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                let result = match watched.look(is_asked) {
                    Ok(None) => continue,
                    Ok(Some(contents)) => prepare(&contents).map_err(WatchError::Refused),
                    Err(error) => Err(WatchError::Read(error)),
                };
                // If the channel is full because nobody takes contents, the next change tries
                // again.
                if let Err(TrySendError::Disconnected(_)) = sender.try_send(result) {
                    return;
                }
            }
        };
        let thread = spawn_background("file-watch", run);
        let thread = thread.map_err(|source| HostError::of(SystemOperation::StartWatch, source))?;
        Ok(Self { looks: Some(looks), prepared, thread: Some(thread) })
    }

    /// Checks the files now, whatever their times are.
    pub fn look_now(&self) {
        if let Some(looks) = &self.looks {
            // The channel is full, so a check is already due.
            let _ = looks.try_send(());
        }
    }

    /// Returns new contents, or the reason why they cannot be used. Does not block.
    pub fn poll(&self) -> Option<Result<T, WatchError<E>>> {
        self.prepared.try_recv().ok()
    }
}

impl<T, E> Drop for FileWatch<T, E> {
    fn drop(&mut self) {
        self.looks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns a flag that SIGHUP sets, for [`FileWatch::look_now`].
///
/// # Errors
/// The operating system's error if the signal cannot be caught.
pub fn on_hangup() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, flag.clone())?;
    Ok(flag)
}

/// Modification time and length.
type FileStamp = (Option<SystemTime>, u64);

struct WatchedSet {
    files: Vec<WatchedFile>,
    /// True if there is new content that was not yet passed on.
    is_new: bool,
}

impl WatchedSet {
    /// Returns the contents of all files, if any is new and none is being written.
    fn look(&mut self, by_force: bool) -> io::Result<Option<Vec<&[u8]>>> {
        let mut is_moving = false;
        for file in &mut self.files {
            match file.look(by_force)? {
                Look::Same => {}
                Look::Moving => is_moving = true,
                Look::New => self.is_new = true,
            }
        }
        if is_moving || !std::mem::take(&mut self.is_new) {
            return Ok(None);
        }
        Ok(Some(self.files.iter().map(|file| &file.content[..]).collect()))
    }
}

/// Result of checking a file.
enum Look {
    Same,
    /// It is being written or is missing.
    Moving,
    /// It has new content, and its time and length no longer change.
    New,
}

struct WatchedFile {
    path: PathBuf,
    bytes_max: u64,
    /// Content at the last read.
    content: Vec<u8>,
    /// State at the last check, and true if the content was read then.
    seen: Option<(FileStamp, bool)>,
    /// Consecutive checks that did not find it.
    missing: u32,
}

impl WatchedFile {
    /// Checks for new content; with `by_force`, without waiting until it stops changing.
    fn look(&mut self, by_force: bool) -> io::Result<Look> {
        let stamp = match stamp(&self.path) {
            Ok(stamp) => stamp,
            Err(error) => {
                self.missing = self.missing.saturating_add(1);
                self.seen = None;
                let is_told = self.missing == 1 && by_force || self.missing == MISSING_LOOKS;
                let name = self.path.display();
                let error = || io::Error::new(error.kind(), format!("{name}: {error}"));
                return if is_told { Err(error()) } else { Ok(Look::Moving) };
            }
        };
        self.missing = 0;
        let is_read = match self.seen {
            Some((seen, is_read)) if seen == stamp => is_read,
            _ => {
                self.seen = Some((stamp, false));
                if !by_force {
                    return Ok(Look::Moving);
                }
                false
            }
        };
        if is_read && !by_force {
            return Ok(Look::Same);
        }
        self.seen = Some((stamp, true));
        let content = read(&self.path, self.bytes_max)?;
        if content == self.content {
            return Ok(Look::Same);
        }
        self.content = content;
        Ok(Look::New)
    }
}

fn stamp(path: &Path) -> io::Result<FileStamp> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.modified().ok(), metadata.len()))
}

fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > bytes_max {
        let message = format!("longer than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const TICK: Duration = Duration::from_millis(20);

    fn file(name: &str, content: &[u8]) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tickwire-watch-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Replaces the file atomically: a file written in place would be empty for a moment, and the
    /// watch might read it then.
    fn replace(path: &Path, content: &[u8]) {
        let new = path.with_extension("new");
        std::fs::write(&new, content).unwrap();
        std::fs::rename(&new, path).unwrap();
    }

    fn watch(path: &Path, current: &[u8]) -> FileWatch<String, String> {
        watch_all(&[(path, current)])
    }

    fn watch_all(files: &[(&Path, &[u8])]) -> FileWatch<String, String> {
        let prepare = |contents: &[&[u8]]| match contents.concat().as_slice() {
            b"bad" => Err("is bad".to_owned()),
            content => Ok(String::from_utf8_lossy(content).into_owned()),
        };
        let files = files.iter().map(|(path, current)| (path.to_path_buf(), current.to_vec()));
        FileWatch::start(files, 10, TICK, prepare).unwrap()
    }

    fn wait(watch: &FileWatch<String, String>) -> Result<String, String> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if let Some(found) = watch.poll() {
                return found.map_err(|error| error.to_string());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("nothing after 30 s");
    }

    #[test]
    fn new_content_is_prepared_once_and_errors_are_told() {
        let path = file("changes", b"old");
        let watch = watch(&path, b"old");
        std::thread::sleep(5 * TICK);
        assert!(watch.poll().is_none(), "nothing has changed");
        replace(&path, b"new");
        assert_eq!(wait(&watch), Ok("new".to_owned()));
        replace(&path, b"bad");
        assert_eq!(wait(&watch), Err("is bad".to_owned()));
        replace(&path, b"0123456789x");
        assert!(wait(&watch).unwrap_err().contains("longer than 10 bytes"));
        // Removed and rewritten, as editors do.
        std::fs::remove_file(&path).unwrap();
        std::thread::sleep(3 * TICK);
        replace(&path, b"newer");
        assert_eq!(wait(&watch), Ok("newer".to_owned()));
        std::thread::sleep(5 * TICK);
        assert!(watch.poll().is_none());
    }

    #[test]
    fn files_that_change_together_are_prepared_together() {
        let [one, two] = ["one", "two"].map(|name| file(name, b"old "));
        let watch = watch_all(&[(&one, b"old "), (&two, b"old ")]);
        for round in 0..5 {
            let content = format!("new{round} ");
            for path in [&one, &two] {
                replace(path, content.as_bytes());
            }
            assert_eq!(wait(&watch), Ok(content.repeat(2)));
        }
        replace(&two, b"last");
        assert_eq!(wait(&watch), Ok("new4 last".to_owned()));
    }

    #[test]
    fn a_file_that_is_gone_for_good_is_told_of_once() {
        let [stays, goes] = ["stays", "goes"].map(|name| file(name, b"old "));
        let watch = watch_all(&[(&stays, b"old "), (&goes, b"old ")]);
        std::fs::remove_file(&goes).unwrap();
        replace(&stays, b"new ");
        assert!(wait(&watch).unwrap_err().contains(&goes.display().to_string()));
        std::thread::sleep(2 * MISSING_LOOKS * TICK);
        assert!(watch.poll().is_none());
        replace(&goes, b"back");
        assert_eq!(wait(&watch), Ok("new back".to_owned()));
    }

    #[test]
    fn a_change_before_the_watch_is_found_too() {
        let path = file("before", b"new");
        assert_eq!(wait(&watch(&path, b"old")), Ok("new".to_owned()));
    }

    #[test]
    fn a_look_by_force_does_not_wait_for_the_interval() {
        let path = file("force", b"old");
        let interval = Duration::from_secs(3600);
        let prepare = |contents: &[&[u8]]| Ok::<_, String>(contents.concat());
        let files = [(path.clone(), b"old".to_vec())];
        let watch = FileWatch::start(files, 10, interval, prepare).unwrap();
        replace(&path, b"new");
        watch.look_now();
        let begun = Instant::now();
        let found = loop {
            if let Some(found) = watch.poll() {
                break found;
            }
            assert!(begun.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(found.unwrap(), b"new");
    }
}
