//! Measures round trips by the echoes of published samples, on each transport.

use crate::console::tell;
use crate::distribution::{
    DDS, DdsParticipant, DeliveryArgs, Latencies, SHM, TransportParticipants, refused,
};
use crate::failure::Failure;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tickwire_distribution::{
    DeliverySettings, EchoSummary, Echoes, OutletError, Participant, SampleArrival, StationRole,
    Stations, TopicSet,
};
use tickwire_net::Stop;
use tickwire_shm_transport::ShmParticipant;

/// Name of the row of round-trip times.
const ROUND_TRIP: &str = "one way, round trip halved";

/// Readers of the echoes on all transports, created before the first sample.
pub struct Listeners {
    shm: Option<Stations<ShmParticipant>>,
    dds: Option<Stations<DdsParticipant>>,
    are_several: bool,
}

/// Subscribers by topic set that were present before the first sample, by transport; `None` if `--subscribers` did not wait
/// for them.
pub type PresentSubscribers = Option<Vec<(&'static str, Vec<u32>)>>;

impl Listeners {
    /// Makes the readers.
    pub fn new(
        places: &TransportParticipants,
        args: &DeliveryArgs,
        sets: &[TopicSet],
    ) -> Result<Self, Failure> {
        let over_shm = args.over_shm();
        let shm = places.shm.as_ref().map(|place| stations(place, sets, &over_shm));
        let over_dds = args.over_dds(false);
        let dds = places.dds.as_ref().map(|place| stations(place, sets, &over_dds));
        Ok(Self { shm: shm.transpose()?, dds: dds.transpose()?, are_several: places.are_several() })
    }

    /// Waits for the echo writers of the subscribers, up to `patience`, then starts to receive.
    pub fn start(
        self,
        present: PresentSubscribers,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Vec<Echoing>, Failure> {
        let row = |transport: &str| match self.are_several {
            true => format!("{ROUND_TRIP}, {transport}"),
            false => ROUND_TRIP.to_owned(),
        };
        let present = |transport| {
            let of_transport = |(name, counts)| (name == transport).then_some(counts);
            present.iter().flatten().cloned().find_map(of_transport)
        };
        let mut all = Vec::new();
        if let Some(stations) = self.shm {
            all.push(Echoing::start(stations, SHM, row(SHM), present(SHM), patience, stop)?);
        }
        if let Some(stations) = self.dds {
            all.push(Echoing::start(stations, DDS, row(DDS), present(DDS), patience, stop)?);
        }
        Ok(all)
    }
}

fn stations<P: Participant>(
    place: &P,
    sets: &[TopicSet],
    delivery: &DeliverySettings,
) -> Result<Stations<P>, Failure> {
    Stations::new(place, sets, delivery, StationRole::Echoes).map_err(|error| refused(&error))
}

/// Receives the echoes on one transport.
pub struct Echoing {
    pub transport: &'static str,
    echoes: Echoes,
    latencies: Arc<Mutex<Latencies>>,
}

/// Echoes on one transport.
pub struct Heard {
    /// The halved round-trip times.
    pub latencies: Latencies,
    pub summary: EchoSummary,
}

impl Echoing {
    fn start<P: Participant>(
        stations: Stations<P>,
        transport: &'static str,
        row: String,
        present: Option<Vec<u32>>,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Self, Failure>
    where
        Stations<P>: Send + 'static,
    {
        let mut latencies = Latencies::default();
        let row = latencies.add(row);
        let latencies = Arc::new(Mutex::new(latencies));
        let on_echo = {
            let latencies = latencies.clone();
            move |echo: &SampleArrival<'_>| {
                if let Some(round_trip_ns) = echo.age_ns() {
                    let mut latencies = latencies.lock().unwrap_or_else(PoisonError::into_inner);
                    latencies.record(row, round_trip_ns / 2);
                }
            }
        };
        let is_over = || stop.is_set();
        let echoes = Echoes::start(stations, present.clone(), patience, is_over, on_echo);
        let echoes = echoes.map_err(|error| refused(&error))?;
        if let (Some(present), Some(owing)) = (present, echoes.awaited()) {
            let silent = present.iter().zip(owing).map(|(present, owing)| present - owing).max();
            let (silent, present) = (silent.unwrap_or(0), present.into_iter().max().unwrap_or(0));
            if silent > 0 && !stop.is_set() {
                tell!("tickwire: {silent} of {present} subscribers over {transport} do not echo");
            }
        }
        Ok(Self { transport, echoes, latencies })
    }

    /// Waits for the echoes of all samples, as [`Echoes::finish`] does.
    pub fn finish(self, written: &[u64], patience: Duration) -> Result<Heard, Failure> {
        let summary = self.echoes.finish(written, patience);
        let summary = summary.map_err(|error: OutletError| refused(&error))?;
        for why in &summary.refusals {
            tracing::warn!("echoes: {why}");
        }
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Heard { latencies: std::mem::take(&mut *latencies), summary })
    }
}
