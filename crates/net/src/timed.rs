//! How long decoding takes.

use hdrhistogram::Histogram;
use tickwire_feed::handler::{Decoded, Engine};

use crate::clock::monotonic_ns;
use crate::histogram;

/// An engine that measures each decoded message. It costs two looks at the clock a message, which are
/// part of what it measures.
#[derive(Debug)]
pub struct Timed<E> {
    inner: E,
    times: Histogram<u64>,
}

impl<E> Timed<E> {
    /// An engine around `inner`.
    pub fn new(inner: E) -> Self {
        Self { inner, times: histogram::latency() }
    }

    /// How long messages took, in nanoseconds.
    pub const fn times(&self) -> &Histogram<u64> {
        &self.times
    }

    /// The engine inside.
    pub const fn inner(&self) -> &E {
        &self.inner
    }
}

impl<E: Engine> Engine for Timed<E> {
    type Message = E::Message;
    type Error = E::Error;

    fn begin_packet(&mut self) {
        self.inner.begin_packet();
    }

    fn lose_dictionaries(&mut self) {
        self.inner.lose_dictionaries();
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Decoded<'_, E::Message>, E::Error> {
        let before_ns = monotonic_ns();
        let decoded = self.inner.decode(bytes)?;
        histogram::record(&mut self.times, monotonic_ns().saturating_sub(before_ns));
        Ok(decoded)
    }

    fn is_unknown_template(error: &E::Error) -> bool {
        E::is_unknown_template(error)
    }
}
