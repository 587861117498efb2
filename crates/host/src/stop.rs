//! A flag that ends loops.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit status of a process that Ctrl-C ended, by the shells' convention: 128 plus the signal
/// number.
const INTERRUPTED: i32 = 128 + SIGINT;

/// A flag that loops check: once it is set, they finish their work and end. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Creates a flag that is clear, and that no signal sets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a flag that Ctrl-C (SIGINT) and SIGTERM set. A second signal ends the process
    /// immediately.
    ///
    /// # Errors
    /// The operating system's error if a signal cannot be caught.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::new();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag clear, then sets it.
            flag::register_conditional_shutdown(signal, INTERRUPTED, stop.flag.clone())?;
            flag::register(signal, stop.flag.clone())?;
        }
        Ok(stop)
    }

    /// Sets the flag.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// True if the flag is set.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_the_same_flag() {
        let stop = Stop::new();
        let other = stop.clone();
        assert!(!other.is_set());
        stop.set();
        assert!(other.is_set());
    }
}
