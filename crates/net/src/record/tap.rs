//! Records from packet rings, on a thread beside the reception.
//!
//! Each line has a ring at its interface, into which the kernel copies the line's datagrams with
//! their time stamps. The recording contains all packets that arrived at the interface, even those
//! that the sockets lose while the reception is slow. The reception copies nothing. Datagrams that
//! find no room in a ring are counted as unrecorded.

use std::error;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};

use super::{RecordCounters, RecordError, RecordOptions, RecordedLine, Recorder};
use crate::Stop;
use crate::affinity::spawn_background;
use crate::clock::{monotonic_ns, unix_ns};
use crate::multicast::interface_index;
use crate::packets::PacketSource;
use crate::packets::ring::{PacketRing, RingOptions};

/// Longest single wait, so that the end is noticed.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// Wait after the end for blocks that were not full, in nanoseconds: the kernel hands them over
/// within some milliseconds.
const LAST_BLOCKS_NS: u64 = 20_000_000;

/// Error that prevented recording from packet rings.
#[derive(Debug)]
pub enum TapError {
    /// A file or directory cannot be created.
    Record(RecordError),
    /// A ring cannot be opened, for example without `CAP_NET_RAW`.
    Ring(io::Error),
}

impl fmt::Display for TapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(error) => error.fmt(f),
            Self::Ring(error) => write!(f, "cannot open a packet ring: {error}"),
        }
    }
}

impl error::Error for TapError {}

/// Records the packets that arrive at the interfaces of several lines.
#[derive(Debug)]
pub struct TapRecorder {
    over: Stop,
    counters: Arc<Mutex<RecordCounters>>,
    thread: Option<JoinHandle<()>>,
}

impl TapRecorder {
    /// Opens a ring for each line, creates the directory and begins the first file. Other sockets
    /// must have joined the lines' groups, and must stay joined.
    ///
    /// # Errors
    /// [`TapError`]; after an error of a ring, no file was created.
    pub fn start(options: &RecordOptions, lines: &[RecordedLine]) -> Result<Self, TapError> {
        let open = |line: &RecordedLine| {
            let interface = interface_index(line.endpoint.interface)?;
            PacketRing::open(interface, line.endpoint.into(), RingOptions::default())
        };
        let rings =
            lines.iter().map(open).collect::<io::Result<Vec<_>>>().map_err(TapError::Ring)?;
        let recorder = Recorder::start(options, lines).map_err(TapError::Record)?;
        let over = Stop::new();
        let counters = Arc::new(Mutex::new(recorder.counters()));
        let mut tap = TapThread { rings, recorder, over: over.clone(), counters: counters.clone() };
        let thread = spawn_background("tap", move || tap.run()).map_err(TapError::Ring)?;
        Ok(Self { over, counters, thread: Some(thread) })
    }

    /// Returns the counters up to the last time at which the rings were empty.
    pub fn counters(&self) -> RecordCounters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records all packets that have arrived, and closes the file.
    pub fn finish(&mut self) {
        self.over.set();
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for TapRecorder {
    fn drop(&mut self) {
        self.finish();
    }
}

/// State of the thread.
struct TapThread {
    rings: Vec<PacketRing>,
    recorder: Recorder,
    over: Stop,
    counters: Arc<Mutex<RecordCounters>>,
}

impl TapThread {
    fn run(&mut self) {
        let mut ends_ns = None;
        loop {
            let now_ns = monotonic_ns();
            if self.over.is_set() {
                ends_ns.get_or_insert(now_ns + LAST_BLOCKS_NS);
            }
            let count = self.take();
            self.recorder.flush(now_ns);
            if count > 0 {
                continue;
            }
            self.publish();
            if ends_ns.is_some_and(|ends_ns| now_ns >= ends_ns) {
                break;
            }
            self.wait(if ends_ns.is_some() { Duration::from_millis(1) } else { WAIT_MAX });
        }
        self.recorder.finish();
        self.publish();
    }

    /// Records a batch of each ring; returns the number of datagrams.
    fn take(&mut self) -> usize {
        let mut taken = 0;
        for (line, ring) in self.rings.iter_mut().enumerate() {
            // The only error is that nothing has arrived.
            let Ok(count) = ring.receive() else { continue };
            taken += count;
            for index in 0..count {
                let Some((meta, buffer)) = ring.datagram(index) else { continue };
                let stamp = meta.received_unix_ns.unwrap_or_else(unix_ns);
                self.recorder.record(line, stamp, buffer.get(..meta.len).unwrap_or_default());
            }
        }
        taken
    }

    fn publish(&self) {
        let mut counters = self.recorder.counters();
        counters.unrecorded += self.rings.iter().filter_map(|ring| ring.dropped()).sum::<u64>();
        counters.refused = self.rings.iter().map(|ring| ring.refused()).sum();
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner) = counters;
    }

    fn wait(&self, timeout: Duration) {
        let descriptors = self.rings.iter().map(|ring| ring.descriptor());
        let mut descriptors: Vec<_> =
            descriptors.map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN)).collect();
        // A signal ends the wait early, and an error skips it: the rings are checked either way.
        let _ = ppoll(&mut descriptors, Some(timeout.into()), None);
    }
}
