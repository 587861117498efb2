//! Publishers of the same samples over several transports.

use std::fmt;
use std::time::Duration;

use crate::cdr::SampleEncoder;
use crate::publisher::{Outlet, Publisher, PublisherCounters, wait_for};
use crate::transport::Participant;
use crate::{DeliverySettings, Sample, TopicSet};

/// Error of a transport that is known only at run time, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutletError(String);

impl OutletError {
    #[cold]
    pub(crate) fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for OutletError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OutletError {}

/// A [`Publisher`] on any transport.
trait AnyPublisher: Send {
    fn write(&mut self, set: usize, security: Option<u32>, bytes: &[u8])
    -> Result<(), OutletError>;
    fn finish(&mut self, is_whole: bool, timeout: Duration) -> Result<bool, OutletError>;
    fn complete(&self, every_topic: bool) -> Result<u32, OutletError>;
    fn matched(&self) -> Result<Vec<u32>, OutletError>;
    fn subscribers(&self) -> Result<Vec<u32>, OutletError>;
    fn backlogs(&self) -> Result<Vec<Option<u64>>, OutletError>;
    fn counters(&self) -> &PublisherCounters;
}

impl<P: Participant> AnyPublisher for Publisher<P> {
    #[inline]
    fn write(
        &mut self,
        set: usize,
        security: Option<u32>,
        bytes: &[u8],
    ) -> Result<(), OutletError> {
        self.write(set, security, bytes).map_err(OutletError::of)
    }

    fn finish(&mut self, is_whole: bool, timeout: Duration) -> Result<bool, OutletError> {
        self.finish(is_whole, timeout).map_err(OutletError::of)
    }

    fn complete(&self, every_topic: bool) -> Result<u32, OutletError> {
        self.complete(every_topic).map_err(OutletError::of)
    }

    fn matched(&self) -> Result<Vec<u32>, OutletError> {
        self.matched().map_err(OutletError::of)
    }

    fn subscribers(&self) -> Result<Vec<u32>, OutletError> {
        self.subscribers().map_err(OutletError::of)
    }

    fn backlogs(&self) -> Result<Vec<Option<u64>>, OutletError> {
        self.backlogs().map_err(OutletError::of)
    }

    fn counters(&self) -> &PublisherCounters {
        self.counters()
    }
}

/// Called with the name of a transport that ends.
type OnFailure = dyn FnMut(&'static str, &OutletError) + Send;

/// A publisher on one transport.
struct TransportPublisher {
    name: &'static str,
    publisher: Box<dyn AnyPublisher>,
    /// True once the transport has rejected a sample; its subscribers know that nothing follows.
    has_failed: bool,
}

/// Publishers of the same samples over several transports, which are chosen at run time. Each sample is encoded once.
///
/// A transport that rejects a sample ends: its subscribers are told that publishing was stopped, and the others continue.
///
/// # Examples
/// Shared memory for the subscribers of this host, another transport for those of other hosts. The one that waits less is
/// added first.
/// ```
/// use std::time::Duration;
/// use tickwire_distribution::{DeliverySettings, Outlet, OutletError, Outlets, Participant, Quote, TopicSet};
///
/// fn publish<A, B>(shm: &A, dds: &B, quotes: &[Quote]) -> Result<(), OutletError>
/// where
///     A: Participant + 'static,
///     B: Participant + 'static,
/// {
///     let (sets, delivery) = ([TopicSet::of::<Quote>()], DeliverySettings::default());
///     let patience = Duration::from_secs(10);
///     let mut outlets = Outlets::new(|name, error| eprintln!("{name} ends: {error}"));
///     outlets.add("shm", shm, &sets, &delivery, patience, || false)?;
///     outlets.add("dds", dds, &sets, &delivery, patience, || false)?;
///     outlets.wait_matched(1, patience, || false)?;
///     for quote in quotes {
///         outlets.publish(0, quote)?;
///     }
///     outlets.finish(true, patience)?;
///     Ok(())
/// }
/// ```
pub struct Outlets {
    sides: Vec<TransportPublisher>,
    on_failure: Box<OnFailure>,
    bytes: Vec<u8>,
}

impl Outlets {
    /// Creates an outlet without transports. `on_failure` is called with the name of a transport that ends while another one
    /// continues.
    pub fn new(on_failure: impl FnMut(&'static str, &OutletError) + Send + 'static) -> Self {
        Self { sides: Vec::new(), on_failure: Box::new(on_failure), bytes: Vec::new() }
    }

    /// Adds a transport: creates its [`Publisher`], as [`Publisher::new`] does. The sets are the same for all transports.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn add<P: Participant + 'static>(
        &mut self,
        name: &'static str,
        participant: &P,
        sets: &[TopicSet],
        delivery: &DeliverySettings,
        wait_max: Duration,
        is_over: impl Fn() -> bool + Send + 'static,
    ) -> Result<(), OutletError> {
        let publisher = Publisher::new(participant, sets, delivery, wait_max, is_over);
        let publisher = Box::new(publisher.map_err(OutletError::of)?);
        self.sides.push(TransportPublisher { name, publisher, has_failed: false });
        Ok(())
    }

    #[inline]
    fn write(
        &mut self,
        set: usize,
        security: Option<u32>,
        bytes: &[u8],
    ) -> Result<(), OutletError> {
        for index in 0..self.sides.len() {
            let side = &mut self.sides[index];
            if !side.has_failed
                && let Err(error) = side.publisher.write(set, security, bytes)
            {
                self.fail(index, error)?;
            }
        }
        Ok(())
    }

    /// Ends a transport that rejected a sample. An error if there is no other one.
    #[cold]
    fn fail(&mut self, index: usize, error: OutletError) -> Result<(), OutletError> {
        if self.sides.iter().filter(|side| !side.has_failed).count() <= 1 {
            return Err(error);
        }
        let TransportPublisher { name, publisher, has_failed } = &mut self.sides[index];
        *has_failed = true;
        let error = match publisher.finish(false, Duration::ZERO) {
            Ok(_) => error,
            Err(other) => OutletError(format!(
                "{error}; nor can the end be announced to subscribers: {other}"
            )),
        };
        (self.on_failure)(name, &error);
        Ok(())
    }

    /// Waits until the transports together have `count` subscribers for every topic; false if `timeout` passed or `is_over`
    /// returned true first.
    ///
    /// # Errors
    /// Errors of the transports.
    pub fn wait_matched(
        &self,
        count: u32,
        timeout: Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, OutletError> {
        self.wait(count, true, timeout, is_over)
    }

    /// Like [`wait_matched`](Self::wait_matched), for subscribers that read only some of the topics.
    ///
    /// # Errors
    /// Errors of the transports.
    pub fn wait_subscribers(
        &self,
        count: u32,
        timeout: Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, OutletError> {
        self.wait(count, false, timeout, is_over)
    }

    fn wait(
        &self,
        count: u32,
        every_topic: bool,
        timeout: Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, OutletError> {
        wait_for(count, timeout, is_over, || {
            self.sides.iter().try_fold(0_u32, |sum, side| {
                Ok(sum.saturating_add(side.publisher.complete(every_topic)?))
            })
        })
    }

    /// Returns the number of complete subscribers by topic set, for each transport.
    ///
    /// # Errors
    /// Errors of the transports.
    pub fn subscribers(&self) -> Result<Vec<(&'static str, Vec<u32>)>, OutletError> {
        let of_side = |side: &TransportPublisher| Ok((side.name, side.publisher.subscribers()?));
        self.sides.iter().map(of_side).collect()
    }

    /// Returns the number of matched readers by topic set, over all transports together.
    ///
    /// # Errors
    /// Errors of the transports.
    pub fn matched(&self) -> Result<Vec<u32>, OutletError> {
        let mut sums = Vec::new();
        for side in &self.sides {
            let matched = side.publisher.matched()?;
            sums.resize(matched.len(), 0);
            sums.iter_mut().zip(matched).for_each(|(sum, count): (&mut u32, _)| *sum += count);
        }
        Ok(sums)
    }

    /// Returns for each topic set the largest [backlog](crate::RawWriter::backlog) of all transports; `None` if none has one.
    ///
    /// # Errors
    /// Errors of the transports.
    pub fn backlogs(&self) -> Result<Vec<Option<u64>>, OutletError> {
        let mut most = Vec::new();
        for side in &self.sides {
            let backlogs = side.publisher.backlogs()?;
            most.resize(backlogs.len(), None);
            most.iter_mut().zip(backlogs).for_each(|(most, of)| *most = of.max(*most));
        }
        Ok(most)
    }

    /// Tells the subscribers that the samples are complete or that publishing was stopped early. Returns true if all
    /// subscribers acknowledged everything within `patience`, on the transports with acknowledgements. Ends all transports
    /// even if one fails; those that ended before are left out.
    ///
    /// # Errors
    /// The first error of a transport.
    pub fn finish(&mut self, is_whole: bool, patience: Duration) -> Result<bool, OutletError> {
        let live = self.sides.iter_mut().filter(|side| !side.has_failed);
        let ended: Vec<_> = live.map(|side| side.publisher.finish(is_whole, patience)).collect();
        ended.into_iter().try_fold(true, |all, is_acknowledged| Ok(all & is_acknowledged?))
    }

    /// Returns the names of the transports that rejected a sample and ended while another one continued.
    pub fn failed(&self) -> Vec<&'static str> {
        let failed = self.sides.iter().filter(|side| side.has_failed);
        failed.map(|side| side.name).collect()
    }

    /// Returns the counters of each transport, in the order in which they were added.
    pub fn by_transport(&self) -> Vec<(&'static str, &PublisherCounters)> {
        self.sides.iter().map(|side| (side.name, side.publisher.counters())).collect()
    }

    /// Returns the counters of all transports together. `written` and `unlisted` are maxima, because all transports carry
    /// the same samples; the others are sums.
    #[must_use]
    pub fn counters(&self) -> PublisherCounters {
        let mut sum = PublisherCounters::default();
        for (_, counters) in self.by_transport() {
            let PublisherCounters { written, dropped, unlisted, stalls, stalled_ns } = counters;
            sum.written.resize(written.len(), 0);
            sum.written.iter_mut().zip(written).for_each(|(sum, one)| *sum = (*sum).max(*one));
            sum.dropped += dropped;
            sum.unlisted = sum.unlisted.max(*unlisted);
            sum.stalls += stalls;
            sum.stalled_ns += stalled_ns;
        }
        sum
    }
}

impl Outlet for Outlets {
    type Error = OutletError;

    #[inline]
    fn publish<S: Sample>(&mut self, set: usize, sample: &S) -> Result<(), OutletError> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let mut encoder = SampleEncoder::new(&mut bytes, S::struct_type().encoding);
        let encoded = sample.encode_members(&mut encoder).map_err(OutletError::of);
        let written = encoded.and_then(|()| self.write(set, sample.security(), &bytes));
        self.bytes = bytes;
        written
    }

    #[inline]
    fn publish_bytes(&mut self, set: usize, bytes: &[u8]) -> Result<(), OutletError> {
        self.write(set, None, bytes)
    }
}
