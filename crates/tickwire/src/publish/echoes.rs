//! Receives the echoes of published samples.

use crate::distribution::{DdsParticipant, DeliveryArgs, Latencies, Places, refused};
use crate::failure::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickwire_distribution::{Delivery, Participant, Role, Stations, TopicSet};
use tickwire_net::Stop;
use tickwire_shm_transport::ShmParticipant;

/// Name of the row of round-trip times.
const ROUND_TRIP: &str = "one way, round trip halved";
/// Interval at which the thread checks whether it should end.
const TICK: Duration = Duration::from_millis(20);
/// Time without an echo after which no more are expected.
const QUIET: Duration = Duration::from_millis(500);

/// Readers of the echoes on all transports, created before the first sample.
pub struct Listeners {
    shm: Option<Stations<ShmParticipant>>,
    dds: Option<Stations<DdsParticipant>>,
    are_several: bool,
}

impl Listeners {
    /// Makes the readers.
    pub fn new(places: &Places, args: &DeliveryArgs, sets: &[TopicSet]) -> Result<Self, Failure> {
        let over_shm = args.over_shm();
        let shm = places.shm.as_ref().map(|place| stations(place, sets, &over_shm));
        let over_dds = args.over_dds(false);
        let dds = places.dds.as_ref().map(|place| stations(place, sets, &over_dds));
        Ok(Self { shm: shm.transpose()?, dds: dds.transpose()?, are_several: places.are_several() })
    }

    /// Waits up to `timeouts` (shared memory, DDS) for the subscribers' writers, then starts to receive.
    pub fn start(self, timeouts: [Duration; 2], stop: &Stop) -> Result<Vec<Echoes>, Failure> {
        let name = |transport: &str| match self.are_several {
            true => format!("{ROUND_TRIP}, {transport}"),
            false => ROUND_TRIP.to_owned(),
        };
        let mut all = Vec::new();
        if let Some(stations) = self.shm {
            all.push(Echoes::start(stations, "shm", name("shm"), timeouts[0], stop)?);
        }
        if let Some(stations) = self.dds {
            all.push(Echoes::start(stations, "dds", name("dds"), timeouts[1], stop)?);
        }
        Ok(all)
    }
}

fn stations<P: Participant>(
    place: &P,
    sets: &[TopicSet],
    delivery: &Delivery,
) -> Result<Stations<P>, Failure> {
    Stations::new(place, sets, delivery, Role::Echoes).map_err(|error| refused(&error))
}

/// A thread that measures round trips.
pub struct Echoes {
    /// Its transport.
    pub transport: &'static str,
    thread: JoinHandle<Result<Latencies, Failure>>,
    count: Arc<AtomicU64>,
    over: Stop,
}

impl Echoes {
    /// Waits for the subscribers' writers, then starts to receive.
    fn start<P: Participant>(
        stations: Stations<P>,
        transport: &'static str,
        name: String,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Self, Failure>
    where
        Stations<P>: Send + 'static,
    {
        if !timeout.is_zero() {
            let matched = stations.wait_matched(timeout, || stop.is_set());
            matched.map_err(|error| refused(&error))?;
        }
        let (count, over) = (Arc::new(AtomicU64::new(0)), Stop::new());
        let thread = {
            let (count, over) = (count.clone(), over.clone());
            std::thread::spawn(move || measure(stations, &name, &count, &over))
        };
        Ok(Self { transport, thread, count, over })
    }

    /// Waits for the echoes of `expected` samples as long as they arrive. Returns the halved round-trip times
    /// and the number of echoes.
    pub fn finish(self, expected: u64, stop: &Stop) -> Result<(Latencies, u64), Failure> {
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

fn measure<P: Participant>(
    mut stations: Stations<P>,
    name: &str,
    count: &AtomicU64,
    over: &Stop,
) -> Result<Latencies, Failure> {
    let mut latencies = Latencies::default();
    let row = latencies.add(name);
    while !over.is_set() {
        let received = stations.receive(TICK, |arrival| {
            if let Some(round_trip_ns) = arrival.age_ns() {
                latencies.record(row, round_trip_ns / 2);
            }
            count.fetch_add(1, Ordering::Relaxed);
        });
        received.map_err(|error| refused(&error))?;
    }
    Ok(latencies)
}
