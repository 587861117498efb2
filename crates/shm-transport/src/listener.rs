//! A reader with its own thread, which passes samples to a listener.

use crate::error::Error;
use crate::reader::{SharedSources, ShmRawReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickwire_distribution::{Listener, RawReader, RawSample};

/// Longest single wait; the thread checks after each one whether it must end.
const PIECE: Duration = Duration::from_millis(20);

/// Passes samples to a listener until it is dropped.
#[derive(Debug)]
pub struct ShmListener {
    sources: SharedSources,
    is_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ShmListener {
    pub(crate) fn start(
        mut reader: ShmRawReader,
        mut on_sample: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<Self, Error> {
        let sources = reader.sources().clone();
        let is_ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_ended);
        let thread = std::thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                match reader.take() {
                    Ok(Some(sample)) => on_sample(&sample),
                    Ok(None) => drop(reader.wait(PIECE)),
                    // A damaged channel is skipped from now on. Its remaining samples are lost, which sequence numbers
                    // show.
                    Err(_) => std::thread::sleep(PIECE),
                }
            }
        });
        Ok(Self { sources, is_ended, thread: Some(thread) })
    }
}

impl Listener for ShmListener {
    type Error = Error;

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error> {
        let begun = Instant::now();
        while self.matched()? < count {
            if begun.elapsed() >= timeout {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(true)
    }

    fn matched(&self) -> Result<u32, Error> {
        Ok(self.sources.lock().matched() as u32)
    }
}

impl Drop for ShmListener {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in `on_sample` ends only the listener's thread.
            let _ = thread.join();
        }
    }
}
