//! Listening to the echoes of what was published.

use crate::distribution::Latencies;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickwire_dds::{CycloneParticipant, Error};
use tickwire_distribution::{Delivery, Role, Stations, TopicSet};
use tickwire_net::Stop;

/// How often the thread looks whether it should end.
const TICK: Duration = Duration::from_millis(20);
/// Without an echo for so long, no more are waited for.
const QUIET: Duration = Duration::from_millis(500);

/// The readers of echoes, before the first sample.
pub struct Listener {
    stations: Stations<CycloneParticipant>,
}

impl Listener {
    /// Makes the readers.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn new(
        participant: &CycloneParticipant,
        sets: &[TopicSet],
        delivery: &Delivery,
    ) -> Result<Self, Error> {
        Ok(Self { stations: Stations::new(participant, sets, delivery, Role::Echoes)? })
    }

    /// Waits `timeout` for the subscribers' writers, and starts to listen.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn start(self, timeout: Duration, stop: &Stop) -> Result<Echoes, Error> {
        let Self { stations } = self;
        if !timeout.is_zero() {
            stations.wait_matched(timeout, || stop.is_set())?;
        }
        let (count, over) = (Arc::new(AtomicU64::new(0)), Stop::new());
        let thread = {
            let (count, over) = (count.clone(), over.clone());
            std::thread::spawn(move || measure(stations, &count, &over))
        };
        Ok(Echoes { thread, count, over })
    }
}

/// A thread that measures round trips.
pub struct Echoes {
    thread: JoinHandle<Result<Latencies, Error>>,
    count: Arc<AtomicU64>,
    over: Stop,
}

impl Echoes {
    /// Waits for the echoes of `expected` samples as long as they come, and returns the round trips,
    /// halved, and how many arrived.
    ///
    /// # Errors
    /// What the middleware refused.
    pub fn finish(self, expected: u64, stop: &Stop) -> Result<(Latencies, u64), Error> {
        let mut last = (self.count.load(Ordering::Relaxed), Instant::now());
        while last.0 < expected && last.1.elapsed() < QUIET && !stop.is_set() {
            std::thread::sleep(TICK);
            let count = self.count.load(Ordering::Relaxed);
            if count != last.0 {
                last = (count, Instant::now());
            }
        }
        self.over.set();
        let count = self.count.clone();
        let measured = self.thread.join();
        let latencies = measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((latencies, count.load(Ordering::Relaxed)))
    }
}

fn measure(
    mut stations: Stations<CycloneParticipant>,
    count: &AtomicU64,
    over: &Stop,
) -> Result<Latencies, Error> {
    let mut latencies = Latencies::default();
    let row = latencies.add("one way, round trip halved");
    while !over.is_set() {
        stations.receive(TICK, |arrival| {
            if let Some(round_trip_ns) = arrival.age_ns() {
                latencies.record(row, round_trip_ns / 2);
            }
            count.fetch_add(1, Ordering::Relaxed);
        })?;
    }
    Ok(latencies)
}
