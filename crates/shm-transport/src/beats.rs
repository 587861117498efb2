//! Heartbeats for readers that cannot see this process because they are in another PID namespace, and a check whether the
//! files still exist.

use crate::error::ShmTransportError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tickwire_host::affinity::spawn_background;
use tickwire_shm::Pulse;

/// Time between two heartbeats. After three seconds without one, readers report the writer as gone.
const EVERY: Duration = Duration::from_millis(500);

/// The heartbeats of a writer.
#[derive(Debug)]
pub struct Heart {
    pulse: Pulse,
    is_removed: AtomicBool,
}

impl Heart {
    pub fn new(pulse: Pulse) -> Self {
        Self { pulse, is_removed: AtomicBool::new(false) }
    }

    /// Returns true if the file of the writer's ring was gone at a heartbeat.
    pub fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Relaxed)
    }

    fn beat(&self) {
        self.pulse.beat();
        if self.pulse.is_removed() {
            self.is_removed.store(true, Ordering::Relaxed);
        }
    }
}

/// A thread that sends the heartbeats of writers. It ends when the last clone of this value is dropped.
#[derive(Clone, Debug)]
pub struct Beats(Sender<Weak<Heart>>);

impl Beats {
    /// Starts the thread.
    pub fn start() -> Result<Self, ShmTransportError> {
        let (added, hearts) = channel();
        spawn_background("shm-beats", move || beat_all(&hearts))
            .map_err(ShmTransportError::Thread)?;
        Ok(Self(added))
    }

    /// Sends these heartbeats until `heart` is dropped.
    pub fn add(&self, heart: &Arc<Heart>) {
        // The thread ends only after this value is dropped, so sending cannot fail.
        let _ = self.0.send(Arc::downgrade(heart));
    }
}

fn beat_all(added: &Receiver<Weak<Heart>>) {
    let (mut hearts, mut due) = (Vec::new(), Instant::now() + EVERY);
    loop {
        match added.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(heart) => hearts.push(heart),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if Instant::now() >= due {
            due = Instant::now() + EVERY;
            hearts.retain(|heart| heart.upgrade().inspect(|heart| heart.beat()).is_some());
        }
    }
}
