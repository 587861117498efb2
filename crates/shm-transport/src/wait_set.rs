//! Waits for the channels of several readers at once.

use crate::error::Error;
use crate::reader::{SharedSources, ShmRawReader};
use crate::sources::SCAN_NS;
use std::time::{Duration, Instant};
use tickwire_distribution::WaitSet;
use tickwire_shm::Reader;

/// Longest single wait; new writers are looked for after each one.
const PIECE: Duration = Duration::from_millis(20);

/// Waits for several readers at once.
#[derive(Debug, Default)]
pub struct ShmWaitSet(Vec<SharedSources>);

impl WaitSet<ShmRawReader> for ShmWaitSet {
    type Error = Error;

    fn attach(&mut self, reader: &ShmRawReader) -> Result<usize, Error> {
        self.0.push(reader.sources().clone());
        Ok(self.0.len() - 1)
    }

    fn wait(&mut self, ready: &mut Vec<usize>, timeout: Duration) -> Result<(), Error> {
        wait(&self.0, ready, timeout)
    }
}

/// Waits until at least one of these has a sample to take, and puts the indexes of those that have one into `ready`.
pub fn wait(all: &[SharedSources], ready: &mut Vec<usize>, timeout: Duration) -> Result<(), Error> {
    ready.clear();
    let begun = Instant::now();
    loop {
        let mut locked: Vec<_> = all.iter().map(SharedSources::lock).collect();
        for (index, sources) in locked.iter_mut().enumerate() {
            // Look for new channels even if other readers keep ending the wait early.
            sources.scan_when_due()?;
            if sources.has_event() {
                ready.push(index);
            }
        }
        let left = timeout.saturating_sub(begun.elapsed());
        if !ready.is_empty() || left.is_zero() {
            return Ok(());
        }
        let mut readers: Vec<&mut Reader> =
            locked.iter_mut().flat_map(|sources| sources.readers()).collect();
        match Reader::wait_any(&mut readers, left.min(PIECE)) {
            Ok(true) => {}
            // The first of them looks for new channels, the others use what it has found.
            Ok(false) => locked.iter_mut().try_for_each(|sources| sources.scan(SCAN_NS / 2))?,
            // The error does not say which channel it is of: check each.
            Err(_) => locked.iter_mut().for_each(|sources| sources.check()),
        }
    }
}
