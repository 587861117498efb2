//! A subscriber over the selected transport.

use super::place::{TransportChoice, TransportPlace};
use std::time::{Duration, Instant};
#[cfg(feature = "dds")]
use tickwire_dds::CycloneParticipant;
use tickwire_distribution::{
    DeliverySettings, Participant, SampleArrival, SampleLedger, Subscriber, SubscriberOptions,
    TopicSet,
};
use tickwire_host::clock::monotonic_ns;
use tickwire_host::{WaitPolicy, WaitStep};
#[cfg(feature = "dds")]
use tickwire_shm_transport::PublisherSearch;
use tickwire_shm_transport::ShmParticipant;

/// The samples to subscribe to.
pub struct SubscriptionRequest {
    pub place: TransportPlace,
    pub sets: Vec<TopicSet>,
    pub delivery: DeliverySettings,
    pub options: SubscriberOptions,
}

impl SubscriptionRequest {
    fn over_shm(&self) -> Result<Over, String> {
        self.over(&self.place.join_shm()).map(Over::Shm)
    }

    fn over<P: Participant>(&self, participant: &P) -> Result<Subscriber<P>, String> {
        let subscriber = Subscriber::new(participant, &self.sets, &self.delivery, &self.options);
        subscriber.map_err(|error| error.to_string())
    }
}

/// A subscriber over the selected transport.
pub enum Over {
    Shm(Subscriber<ShmParticipant>),
    #[cfg(feature = "dds")]
    Dds {
        subscriber: Subscriber<CycloneParticipant>,
        /// With `auto`: the search for publishers in shared memory that arrive later.
        later: Option<Box<MoveToShm>>,
    },
}

/// The search for publishers in shared memory, and the subscriber to create there.
#[cfg(feature = "dds")]
pub struct MoveToShm {
    search: PublisherSearch,
    request: SubscriptionRequest,
}

impl Over {
    /// Subscribes over the requested transport. Also returns warnings about channels that cannot be read.
    #[cfg(feature = "dds")]
    pub fn open(
        request: SubscriptionRequest,
        transport: TransportChoice,
    ) -> Result<(Self, Vec<String>), String> {
        if transport == TransportChoice::Shm {
            return Ok((request.over_shm()?, Vec::new()));
        }
        let (mut search, mut warnings) = (None, Vec::new());
        if transport == TransportChoice::Auto {
            let (sets, delivery) = (request.sets.clone(), request.delivery.clone());
            let mut found = PublisherSearch::new(request.place.join_shm(), sets, delivery);
            match found.look() {
                Ok((true, _)) => return Ok((request.over_shm()?, Vec::new())),
                Ok((false, refusals)) => warnings = refusals,
                Err(error) => warnings.push(error.to_string()),
            }
            search = Some(found);
        }
        warnings.iter_mut().for_each(|text| *text = format!("shared memory: {text}"));
        let participant = request.place.join_dds().map_err(|error| error.to_string())?;
        let subscriber = request.over(&participant)?;
        let later = search.map(|search| Box::new(MoveToShm { search, request }));
        Ok((Self::Dds { subscriber, later }, warnings))
    }

    /// Subscribes over shared memory. Never returns warnings.
    #[cfg(not(feature = "dds"))]
    pub fn open(
        request: SubscriptionRequest,
        transport: TransportChoice,
    ) -> Result<(Self, Vec<String>), String> {
        match transport {
            TransportChoice::Auto | TransportChoice::Shm => Ok((request.over_shm()?, Vec::new())),
            TransportChoice::Dds => {
                Err("this build of tickwire has no DDS: build it with the feature dds, or take \
                 transport=\"shm\""
                    .to_owned())
            }
        }
    }

    /// Returns the name of the transport.
    pub const fn transport(&self) -> &'static str {
        match self {
            Self::Shm(_) => "shm",
            #[cfg(feature = "dds")]
            Self::Dds { .. } => "dds",
        }
    }

    /// Waits at most `timeout` for samples, as `waiting` says, and passes them to `take`.
    pub fn wait(
        &mut self,
        waiting: &mut WaitPolicy,
        timeout: Duration,
        take: impl FnMut(&SampleArrival<'_>),
    ) -> Result<(), String> {
        match self {
            Self::Shm(subscriber) => wait(subscriber, waiting, timeout, take),
            #[cfg(feature = "dds")]
            Self::Dds { subscriber, .. } => wait(subscriber, waiting, timeout, take),
        }
    }

    /// Moves from DDS to shared memory if no publisher has arrived over DDS and there is one in shared memory; returns
    /// true if it did. Searches once per second.
    pub fn move_when_due(&mut self) -> Result<bool, String> {
        #[cfg(feature = "dds")]
        if let Self::Dds { subscriber, later: Some(later) } = self {
            let should_move = later.search.should_move(subscriber);
            if should_move.map_err(|error| error.to_string())? {
                *self = later.request.over_shm()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub fn ledger(&self) -> &SampleLedger {
        match self {
            Self::Shm(subscriber) => subscriber.ledger(),
            #[cfg(feature = "dds")]
            Self::Dds { subscriber, .. } => subscriber.ledger(),
        }
    }

    pub fn is_over(&self) -> bool {
        match self {
            Self::Shm(subscriber) => subscriber.is_over(),
            #[cfg(feature = "dds")]
            Self::Dds { subscriber, .. } => subscriber.is_over(),
        }
    }

    pub fn take_refusals(&mut self) -> Vec<String> {
        match self {
            Self::Shm(subscriber) => subscriber.take_refusals(),
            #[cfg(feature = "dds")]
            Self::Dds { subscriber, .. } => subscriber.take_refusals(),
        }
    }
}

fn wait<P: Participant>(
    subscriber: &mut Subscriber<P>,
    waiting: &mut WaitPolicy,
    timeout: Duration,
    mut take: impl FnMut(&SampleArrival<'_>),
) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let left = timeout.saturating_sub(begun.elapsed());
        let step = waiting.next(monotonic_ns);
        let count = match step {
            WaitStep::Look => subscriber.poll(&mut take),
            WaitStep::Sleep => subscriber.receive(left, &mut take),
        };
        if count.map_err(|error| error.to_string())? > 0 {
            waiting.arrived();
            return Ok(());
        }
        if step == WaitStep::Sleep || left.is_zero() {
            return Ok(());
        }
    }
}
