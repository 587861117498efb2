//! The digest of a capture, by which a table identifies its source.

use super::table_files::TableTarget;
use crate::failure::Failure;
use crate::files;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tickwire_arrow::{EncoderQueue, Encoders};

/// Bytes read at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Least bytes that an encoder thread hashes at a time, unless they are the last.
const HASHED_BYTES_MIN: usize = 256 << 10;

/// SHA-256 of a capture. It is computed while the capture is decoded, so that a file that is larger than memory is
/// read only once, unless the tables need the digest at their start. If there are encoder threads, they compute it.
pub struct InputDigest {
    path: PathBuf,
    file: File,
    hash: Arc<Mutex<RunningHash>>,
    known: Option<String>,
}

/// SHA-256 of the bytes that were read.
struct RunningHash {
    encoders: Encoders,
    /// `None` if the digest is known.
    queue: Option<Arc<EncoderQueue<Sha256, Vec<u8>>>>,
    /// Bytes for the queue.
    next: Vec<u8>,
}

impl RunningHash {
    fn new(encoders: &Encoders) -> Self {
        let queue = EncoderQueue::new(Sha256::new(), |hash: &mut Sha256, bytes: Vec<u8>| {
            hash.update(&bytes);
        });
        Self { encoders: encoders.clone(), queue: Some(queue), next: Vec::new() }
    }

    fn update(&mut self, bytes: &[u8]) {
        let Some(queue) = &self.queue else { return };
        if !self.encoders.has_threads() {
            if let Some(mut hash) = queue.state() {
                hash.update(bytes);
            }
            return;
        }
        self.next.extend_from_slice(bytes);
        if self.next.len() >= HASHED_BYTES_MIN {
            self.enqueue();
        }
    }

    fn enqueue(&mut self) {
        let next = std::mem::take(&mut self.next);
        if let Some(queue) = &self.queue {
            self.encoders.make_room();
            let len = next.len();
            queue.push(&self.encoders, next, len);
        }
    }

    /// Returns the hash of all bytes; `None` if it was returned before, or after a panic.
    fn finish(&mut self) -> Option<Sha256> {
        self.enqueue();
        self.queue.take()?.finish(&self.encoders)
    }
}

impl InputDigest {
    /// Opens a capture whose messages go to a target.
    pub fn open(path: &Path, target: &TableTarget) -> Result<Self, Failure> {
        let file = files::open_file(path)?;
        let hash = Arc::new(Mutex::new(RunningHash::new(target.encoders())));
        let mut digest = Self { path: path.to_owned(), file, hash, known: None };
        if target.needs_metadata_first() {
            digest.known = Some(digest.of_rest()?);
            digest.file = files::open_file(path)?;
        }
        Ok(digest)
    }

    /// The digest in hex, if it was computed before decoding.
    pub fn known(&self) -> Option<&str> {
        self.known.as_deref()
    }

    /// Reads the capture from its start.
    pub fn reader(&self) -> Result<HashedFile, Failure> {
        let file = self.file.try_clone();
        let file = file.map_err(|error| Failure::file("open", self.path.display(), &error))?;
        Ok(HashedFile { file, hash: Arc::clone(&self.hash) })
    }

    /// Hashes the bytes that the reader left unread, and returns the digest in hex.
    pub fn finish(mut self) -> Result<String, Failure> {
        match self.known.take() {
            Some(known) => Ok(known),
            None => self.of_rest(),
        }
    }

    fn of_rest(&self) -> Result<String, Failure> {
        let mut rest = self.reader()?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match rest.read(&mut piece) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::file("read", self.path.display(), &error)),
            }
        }
        let hash = locked(&self.hash).finish();
        let failed = || Failure::Data(format!("{}: SHA-256 failed", self.path.display()));
        hash.map(hex).ok_or_else(failed)
    }
}

/// A file whose bytes are hashed when they are read.
pub struct HashedFile {
    /// Shares its position with the digest's handle.
    file: File,
    hash: Arc<Mutex<RunningHash>>,
}

impl Read for HashedFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buf)?;
        locked(&self.hash).update(&buf[..read]);
        Ok(read)
    }
}

fn locked(hash: &Mutex<RunningHash>) -> MutexGuard<'_, RunningHash> {
    hash.lock().unwrap_or_else(PoisonError::into_inner)
}

/// SHA-256 of a text, in hex.
pub fn sha256_of(text: &[u8]) -> String {
    hex(Sha256::new_with_prefix(text))
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
