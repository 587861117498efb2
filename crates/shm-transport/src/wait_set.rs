//! Waits for the channels of several readers at once.

use crate::error::ShmTransportError;
use crate::reader::{SharedSources, ShmRawReader};
use crate::sources::SCAN_NS;
use std::time::{Duration, Instant};
use tickwire_distribution::WaitSet;
use tickwire_shm::ShmReader;

/// Longest single wait; new writers are looked for after each one.
const PIECE: Duration = Duration::from_millis(20);

/// Waits for several readers at once. A reader that is attached twice keeps its first index.
#[derive(Debug, Default)]
pub struct ShmWaitSet(Vec<(usize, SharedSources)>);

impl WaitSet<ShmRawReader> for ShmWaitSet {
    type Error = ShmTransportError;

    fn attach(&mut self, reader: &ShmRawReader) -> Result<usize, ShmTransportError> {
        let (address, index) = (reader.sources().address(), self.0.len());
        // All sets lock their readers in the same order, so two sets never wait for each other.
        match self.0.binary_search_by_key(&address, |(_, sources)| sources.address()) {
            Ok(at) => Ok(self.0[at].0),
            Err(at) => {
                self.0.insert(at, (index, reader.sources().clone()));
                Ok(index)
            }
        }
    }

    fn wait(&mut self, ready: &mut Vec<usize>, timeout: Duration) -> Result<(), ShmTransportError> {
        wait(&self.0, ready, timeout)
    }
}

/// Waits until at least one of these has a sample to take, and puts the indexes of those that have one into `ready`. They
/// are in the order of their addresses.
pub fn wait(
    all: &[(usize, SharedSources)],
    ready: &mut Vec<usize>,
    timeout: Duration,
) -> Result<(), ShmTransportError> {
    ready.clear();
    let begun = Instant::now();
    loop {
        let mut locked: Vec<_> = all.iter().map(|(_, sources)| sources.lock()).collect();
        for ((index, _), sources) in all.iter().zip(&mut locked) {
            // Look for new channels even if other readers keep ending the wait early.
            sources.scan_when_due()?;
            if sources.has_event() {
                ready.push(*index);
            }
        }
        let left = timeout.saturating_sub(begun.elapsed());
        if !ready.is_empty() || left.is_zero() {
            ready.sort_unstable();
            return Ok(());
        }
        let mut readers: Vec<&mut ShmReader> =
            locked.iter_mut().flat_map(|sources| sources.readers()).collect();
        match ShmReader::wait_any(&mut readers, left.min(PIECE)) {
            Ok(true) => {}
            // The first of them looks for new channels, the others use what it has found.
            Ok(false) => locked.iter_mut().try_for_each(|sources| sources.scan(SCAN_NS / 2))?,
            // The error does not say which channel it is of: check each.
            Err(_) => locked.iter_mut().for_each(|sources| sources.check()),
        }
    }
}
