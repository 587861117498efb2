//! Channels, clocks and pacing of the benchmark.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tickwire_shm::{ReaderWait, Schema, ShmChannel, ShmReader, ShmWriter, Start, WriterOptions};

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds since the first call.
pub fn clock_ns() -> u64 {
    EPOCH.elapsed().as_nanos() as u64
}

/// Pins the thread to this CPU, if it exists.
pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu).expect("a CPU number");
    if let Err(error) = sched_setaffinity(Pid::from_raw(0), &set) {
        eprintln!("not pinned to CPU {cpu}: {error}");
    }
}

fn channel(name: &str) -> (ShmChannel, Schema) {
    let channel = ShmChannel::new(&format!("bench-{name}-{}", std::process::id()));
    (channel.expect("a name"), Schema::new("Bytes", b"bytes").expect("a name"))
}

pub fn open_writer(name: &str, bytes: usize, slots: u64) -> ShmWriter {
    let (channel, schema) = channel(name);
    let options = WriterOptions { sample_bytes: bytes, slots, ..WriterOptions::default() };
    ShmWriter::open(&channel, &schema, &options).expect("a channel")
}

pub fn open_reader(name: &str, wait: ReaderWait) -> ShmReader {
    let (channel, schema) = channel(name);
    ShmReader::open(&channel, &schema, Start::Now, wait).expect("a channel")
}

/// Keeps a rate by spinning on the clock. After a late turn, the next ones follow at once until the rate is met again.
pub struct Pace {
    gap_ns: f64,
    next: f64,
}

impl Pace {
    pub fn new(rate: u64) -> Self {
        let gap_ns = Duration::from_secs(1).as_nanos() as f64 / rate as f64;
        Self { gap_ns, next: clock_ns() as f64 }
    }

    /// Waits for the next turn and returns the time in nanoseconds.
    pub fn wait(&mut self) -> u64 {
        loop {
            let now = clock_ns();
            if now as f64 >= self.next {
                self.next += self.gap_ns;
                return now;
            }
            std::hint::spin_loop();
        }
    }
}
