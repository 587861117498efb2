//! Records every datagram of every line as pcapng, with its time in the handler. This time is the
//! kernel's time stamp, unless the handler processed a later timeout before the packet was read:
//! then it is the time of that timeout. A recording therefore replays like the live reception.
//!
//! The receiving thread copies datagrams into chunks ([`Recorder::record`]); another thread writes
//! them. Chunks are reused, and their number is bounded ([`RecordOptions::queue_bytes_max`]). When
//! the disk is slower than the feed until all chunks are full, the receiver waits up to
//! [`RecordOptions::wait_max`] for the writer, while packets collect in the kernel's receive
//! buffer. After that, datagrams are counted as unrecorded until a chunk is free. When a file
//! cannot be written (a full disk), recording ends: the file is truncated after its last whole
//! datagram, the error names it and the bytes written, every later datagram is counted as
//! unrecorded, and receiving continues.
//!
//! Files are named `NAME-000001.pcapng` and so on. A file is closed and the next begun when it
//! would exceed [`RecordOptions::rotate_bytes`], or when it spans [`RecordOptions::rotate_time`].
//! Existing files are never overwritten: numbers continue after the highest one.
//!
//! With [`RecordOptions::from_rings`] a [`TapRecorder`] copies packets at the interfaces instead.
//! The reception then copies nothing, and the files also contain packets that the sockets lose.
//!
//! A datagram longer than its receiver's limit is not received, so it is not recorded; the receiver
//! counts it. The kernel is not asked for the sender's address: frames have the line's SSM source,
//! or 0.0.0.0, and port 0.

mod chunk;
mod files;
mod tap;
mod writer;

pub use files::{DirectoryFiles, RecordFile, RecordFiles};
pub use tap::{TapError, TapRecorder};

use std::error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::affinity::spawn_background;
use crate::multicast::Endpoint;
use chunk::{CHUNK_BYTES, RecordChunk};
use writer::RecordWriter;

/// Least time between two chunks that are passed on before they are full, in nanoseconds.
const FLUSH_NS: u64 = 100_000_000;

/// Options of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// Directory of the files. Created if it does not exist.
    pub directory: PathBuf,
    /// Prefix of the file names. Default `record`.
    pub name: String,
    /// Longest file in bytes, unless one datagram alone is longer. Default 1 GB.
    pub rotate_bytes: u64,
    /// Longest time from the first datagram of a file to its last. Default 1 hour.
    pub rotate_time: Duration,
    /// Most bytes queued between the receiving thread and the writing one. Default 64 MiB.
    pub queue_bytes_max: usize,
    /// Longest wait for the writer when all chunks are in use. Default 100 ms.
    pub wait_max: Duration,
    /// Copies packets at the interfaces ([`TapRecorder`]) instead of recording those that the
    /// sockets receive. Default false.
    pub from_rings: bool,
}

impl RecordOptions {
    /// Returns the defaults, for files in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            name: "record".to_owned(),
            rotate_bytes: 1_000_000_000,
            rotate_time: Duration::from_secs(3600),
            queue_bytes_max: 64 << 20,
            wait_max: Duration::from_millis(100),
            from_rings: false,
        }
    }
}

/// A recorded line: an interface of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLine {
    /// Name of the interface, such as `line A`.
    pub name: String,
    /// Address at which the line is received.
    pub endpoint: Endpoint,
}

/// Error that prevented or ended a recording.
#[derive(Debug)]
pub struct RecordError {
    /// The file or directory.
    pub path: PathBuf,
    /// Bytes of the file that contain whole datagrams.
    pub written_bytes: u64,
    /// The operating system's error.
    pub source: io::Error,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, written_bytes, source } = self;
        write!(f, "cannot record to {} after {written_bytes} bytes: {source}", path.display())
    }
}

impl error::Error for RecordError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Counters of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounters {
    /// Datagrams in files.
    pub recorded: u64,
    /// Datagrams in no file, because the queue stayed full or recording has ended.
    pub unrecorded: u64,
    /// Packets in no file, because a packet ring refused them: fragments, wrong lengths, wrong
    /// checksums.
    pub refused: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// Files begun.
    pub files: u64,
    /// Waits of the receiver for the writer.
    pub waits: u64,
    /// Total time of these waits, in nanoseconds.
    pub waited_ns: u64,
}

/// State that both threads share.
#[derive(Debug, Default)]
struct RecorderState {
    recorded: AtomicU64,
    /// Datagrams that the writing thread could not record.
    unrecorded: AtomicU64,
    bytes: AtomicU64,
    files: AtomicU64,
    error: Mutex<Option<RecordError>>,
}

/// Records the datagrams of several lines. See the [module](self).
#[derive(Debug)]
pub struct Recorder {
    lines: usize,
    wait_max: Duration,
    chunk: Option<RecordChunk>,
    full: Option<SyncSender<RecordChunk>>,
    empty: Receiver<RecordChunk>,
    /// True if the last wait timed out: the next datagram does not wait again.
    is_behind: bool,
    flushed_ns: u64,
    /// `unrecorded`, `waits` and `waited_ns` of this thread.
    counters: RecordCounters,
    shared: Arc<RecorderState>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Creates the directory and starts the first file with an interface for each line.
    ///
    /// # Errors
    /// [`RecordError`] if the directory or the file cannot be created.
    pub fn start(options: &RecordOptions, lines: &[RecordedLine]) -> Result<Self, RecordError> {
        let files = DirectoryFiles::new(&options.directory, &options.name)?;
        Self::start_with(options, lines, files)
    }

    /// As [`start`](Self::start), for files of any kind.
    ///
    /// # Errors
    /// [`RecordError`] if the first file cannot be created.
    pub fn start_with<F: RecordFiles + Send + 'static>(
        options: &RecordOptions,
        lines: &[RecordedLine],
        files: F,
    ) -> Result<Self, RecordError> {
        let shared = Arc::new(RecorderState::default());
        let mut writer = RecordWriter::new(options, lines, files, shared.clone())?;
        let chunks = (options.queue_bytes_max / CHUNK_BYTES).max(2);
        let (full, to_write) = sync_channel::<RecordChunk>(chunks);
        let (written, empty) = sync_channel(chunks);
        for _ in 0..chunks {
            // The queue has room for all chunks.
            let _ = written.try_send(RecordChunk::default());
        }
        let write = move || {
            for mut chunk in to_write {
                writer.write(&chunk);
                chunk.clear();
                // The receiver may have ended; a chunk that nobody receives is dropped.
                let _ = written.try_send(chunk);
            }
            writer.finish();
        };
        let thread = spawn_background("record", write).map_err(|source| RecordError {
            path: options.directory.clone(),
            written_bytes: 0,
            source,
        })?;
        Ok(Self {
            lines: lines.len(),
            wait_max: options.wait_max,
            chunk: None,
            full: Some(full),
            empty,
            is_behind: false,
            flushed_ns: 0,
            counters: RecordCounters::default(),
            shared,
            thread: Some(thread),
        })
    }

    /// Records a datagram that was received at `received_unix_ns` nanoseconds since 1970. `line` is
    /// the index of its line among those passed to [`start`](Self::start).
    pub fn record(&mut self, line: usize, received_unix_ns: u64, bytes: &[u8]) {
        if line >= self.lines {
            self.counters.unrecorded += 1;
            return;
        }
        if self.chunk.as_ref().is_some_and(|chunk| !chunk.has_room(bytes.len())) {
            self.send();
        }
        if self.chunk.is_none() {
            self.chunk = self.take_empty();
        }
        match &mut self.chunk {
            Some(chunk) => chunk.push(line, received_unix_ns, bytes),
            None => self.counters.unrecorded += 1,
        }
    }

    /// Passes the recorded datagrams to the writer, at most ten times per second; `now_ns` is on
    /// the monotonic clock.
    pub fn flush(&mut self, now_ns: u64) {
        if self.chunk.is_some() && now_ns.saturating_sub(self.flushed_ns) >= FLUSH_NS {
            self.flushed_ns = now_ns;
            self.send();
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> RecordCounters {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let shared = &self.shared;
        RecordCounters {
            recorded: load(&shared.recorded),
            unrecorded: self.counters.unrecorded + load(&shared.unrecorded),
            bytes: load(&shared.bytes),
            files: load(&shared.files),
            ..self.counters
        }
    }

    /// Returns the error that ended the recording, once.
    pub fn take_error(&self) -> Option<RecordError> {
        self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Writes all recorded datagrams and closes the file.
    pub fn finish(&mut self) {
        self.send();
        self.full = None;
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
    }

    /// Sends the chunk to the writer. The queue has room for all chunks, so this does not wait.
    fn send(&mut self) {
        let (Some(chunk), Some(full)) = (self.chunk.take(), &self.full) else { return };
        if let Err(TrySendError::Full(chunk) | TrySendError::Disconnected(chunk)) =
            full.try_send(chunk)
        {
            self.counters.unrecorded += chunk.len();
        }
    }

    /// Returns an empty chunk; waits for one unless the last wait timed out.
    fn take_empty(&mut self) -> Option<RecordChunk> {
        if let Ok(chunk) = self.empty.try_recv() {
            self.is_behind = false;
            return Some(chunk);
        }
        if self.is_behind {
            return None;
        }
        let begin = Instant::now();
        let chunk = self.empty.recv_timeout(self.wait_max).ok();
        self.counters.waits += 1;
        let waited_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counters.waited_ns = self.counters.waited_ns.saturating_add(waited_ns);
        self.is_behind = chunk.is_none();
        chunk
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests;
