//! Standard output for what is shown.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes gathered before they are written.
const GATHERED_BYTES: usize = 64 << 10;

/// Text that is gathered before it is written. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Gathered(Arc<Mutex<Vec<u8>>>);

impl Gathered {
    /// Appends by a closure.
    pub fn append(&self, push: impl FnOnce(&mut Vec<u8>)) {
        push(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Writes what was gathered to standard output if it is much, or if `now` says so.
    pub fn write_out(&self, now: bool) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.is_empty() || (bytes.len() < GATHERED_BYTES && !now) {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(&bytes).and_then(|()| out.flush());
        bytes.clear();
        written
    }
}

impl Write for Gathered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(|gathered| gathered.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
