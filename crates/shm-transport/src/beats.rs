//! Heartbeats for readers that cannot see this process because they are in another PID namespace.

use crate::error::Error;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tickwire_host::affinity::spawn_background;
use tickwire_shm::Pulse;

/// Time between two heartbeats. After three seconds without one, readers report the writer as gone.
const EVERY: Duration = Duration::from_millis(500);

/// A thread that sends the heartbeats of writers. It ends when the last clone of this value is dropped.
#[derive(Clone, Debug)]
pub struct Beats(Sender<Weak<Pulse>>);

impl Beats {
    /// Starts the thread.
    pub fn start() -> Result<Self, Error> {
        let (added, pulses) = channel();
        spawn_background("shm-beats", move || beat_all(&pulses)).map_err(Error::Thread)?;
        Ok(Self(added))
    }

    /// Sends heartbeats for the pulse until it is dropped.
    pub fn add(&self, pulse: &Arc<Pulse>) {
        // The thread ends only after this value is dropped, so sending cannot fail.
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
