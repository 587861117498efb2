//! Signs of life for readers that cannot see this process: those in another process namespace.

use crate::error::Error;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_shm::Pulse;

/// Time between two signs of life; readers take a writer for gone after three seconds without one.
const EVERY: Duration = Duration::from_millis(500);

/// A thread that says for writers that they live. It ends when the last clone of this is dropped.
#[derive(Clone, Debug)]
pub struct Beats(Sender<Weak<Pulse>>);

impl Beats {
    /// Starts the thread.
    pub fn start() -> Result<Self, Error> {
        let (added, pulses) = channel();
        let thread = thread::Builder::new().name("shm-beats".to_owned());
        thread.spawn(move || beat_all(&pulses)).map_err(Error::Thread)?;
        Ok(Self(added))
    }

    /// Beats as long as the pulse is there.
    pub fn add(&self, pulse: &Arc<Pulse>) {
        // The thread ends only after this value.
        let _ = self.0.send(Arc::downgrade(pulse));
    }
}

fn beat_all(added: &Receiver<Weak<Pulse>>) {
    let (mut pulses, mut due) = (Vec::new(), Instant::now() + EVERY);
    loop {
        match added.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(pulse) => pulses.push(pulse),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if Instant::now() >= due {
            due = Instant::now() + EVERY;
            pulses.retain(|pulse| pulse.upgrade().inspect(|pulse| pulse.beat()).is_some());
        }
    }
}
