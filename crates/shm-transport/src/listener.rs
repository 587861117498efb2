//! A reader with its own thread, which passes samples to a listener.

use crate::error::ShmTransportError;
use crate::reader::ShmRawReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickwire_distribution::{Listener, RawReader, RawSample};

/// Longest single wait; the thread checks after each one whether it must end.
const PIECE: Duration = Duration::from_millis(20);

/// Passes samples to a listener until it is dropped.
#[derive(Debug)]
pub struct ShmListener {
    /// Writers that match. The thread holds the lock of its channels while it waits, so it publishes their number.
    matched: Arc<AtomicU32>,
    is_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ShmListener {
    pub(crate) fn start(
        mut reader: ShmRawReader,
        mut on_sample: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<Self, ShmTransportError> {
        let matched = Arc::new(AtomicU32::new(reader.matched()?));
        let is_ended = Arc::new(AtomicBool::new(false));
        let (flag, count) = (Arc::clone(&is_ended), Arc::clone(&matched));
        let thread = std::thread::spawn(move || {
            let mut samples = 0_u8;
            while !flag.load(Ordering::Relaxed) {
                match reader.take() {
                    Ok(Some(sample)) => {
                        on_sample(&sample);
                        samples = samples.wrapping_add(1);
                    }
                    Ok(None) => {
                        drop(reader.wait(PIECE));
                        samples = 0;
                    }
                    // A damaged channel is skipped from now on. Its remaining samples are lost, which sequence numbers
                    // show.
                    Err(_) => std::thread::sleep(PIECE),
                }
                if samples == 0
                    && let Ok(writers) = reader.matched()
                {
                    count.store(writers, Ordering::Relaxed);
                }
            }
        });
        Ok(Self { matched, is_ended, thread: Some(thread) })
    }
}

impl Listener for ShmListener {
    type Error = ShmTransportError;

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, ShmTransportError> {
        let begun = Instant::now();
        while self.matched()? < count {
            if begun.elapsed() >= timeout {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(true)
    }

    fn matched(&self) -> Result<u32, ShmTransportError> {
        Ok(self.matched.load(Ordering::Relaxed))
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
