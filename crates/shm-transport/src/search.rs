//! Searches for publishers in shared memory, for subscribers that choose between transports.

use crate::error::ShmTransportError;
use crate::participant::ShmParticipant;
use std::time::{Duration, Instant};
use tickwire_distribution::{DeliverySettings, Participant, Subscriber, TopicSet};

/// Interval of the searches for a shared-memory publisher, while the subscriber waits on another transport.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Searches for publishers of some topics in shared memory.
///
/// A subscriber that prefers shared memory calls [`look`](Self::look) when it starts. If none is found, it
/// subscribes over another transport and calls [`should_move`](Self::should_move) in its loop.
///
/// # Examples
/// ```
/// use tickwire_distribution::{DeliverySettings, Participant, Quote, TopicSet};
/// use tickwire_shm_transport::{PublisherSearch, ShmConfig, ShmParticipant};
///
/// let directory = std::env::temp_dir().join(format!("tickwire-search-{}", std::process::id()));
/// let place = ShmParticipant::join(ShmConfig::in_directory(directory));
/// let sets = vec![TopicSet::of::<Quote>()];
/// let delivery = DeliverySettings::default();
/// let mut search = PublisherSearch::new(place.clone(), sets, delivery.clone());
/// assert_eq!(search.look()?, (false, vec![]));
///
/// let _writer = place.writer::<Quote>("Quote", &delivery.writer_qos(false))?;
/// assert_eq!(search.look()?, (true, vec![]));
/// # Ok::<(), tickwire_shm_transport::ShmTransportError>(())
/// ```
#[derive(Debug)]
pub struct PublisherSearch {
    place: ShmParticipant,
    sets: Vec<TopicSet>,
    delivery: DeliverySettings,
    looked: Instant,
}

impl PublisherSearch {
    /// Creates the search for publishers of the topics of `sets` in the directory of `place`.
    #[must_use]
    pub fn new(place: ShmParticipant, sets: Vec<TopicSet>, delivery: DeliverySettings) -> Self {
        Self { place, sets, delivery, looked: Instant::now() }
    }

    /// Returns whether one of the topics has a publisher now, and messages for users that say why channels of the
    /// topics cannot be read.
    ///
    /// # Errors
    /// As [`ShmParticipant::raw_reader`](Participant::raw_reader).
    pub fn look(&mut self) -> Result<(bool, Vec<String>), ShmTransportError> {
        self.looked = Instant::now();
        let mut refusals = Vec::new();
        for set in &self.sets {
            // As a reader that conflates, for which no writer waits.
            let qos = self.delivery.reader_qos(set.of.has_key(), true);
            for (_, topic) in set.topics() {
                let (is_there, refused) = self.place.look_for_writer(&set.of, &topic, &qos)?;
                refusals.extend(refused);
                if is_there {
                    return Ok((true, refusals));
                }
            }
        }
        Ok((false, refusals))
    }

    /// Returns true if a subscriber over another transport should move to shared memory: it has no publisher, and one
    /// of its topics has a publisher here. Looks once per second; channels that cannot be read do not count.
    ///
    /// # Errors
    /// Errors of the subscriber's transport.
    pub fn should_move<P: Participant>(
        &mut self,
        subscriber: &Subscriber<P>,
    ) -> Result<bool, P::Error> {
        Ok(self.looked.elapsed() >= LOOK_EVERY
            && !subscriber.has_publisher()?
            && self.look().is_ok_and(|(is_there, _)| is_there)
            // A publisher may have appeared on the other transport meanwhile; it expects this
            // subscriber.
            && !subscriber.has_publisher()?)
    }
}
