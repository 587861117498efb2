//! How long decoding takes.

use hdrhistogram::Histogram;
use tickwire_feed::handler::{Decoded, Engine, Packet};

use crate::clock::monotonic_ns;
use crate::histogram;

/// An engine that measures the decoding of one message in N. A measurement takes two readings of the clock,
/// about 50 ns, which are part of what it measures.
#[derive(Debug)]
pub struct Timed<E> {
    inner: E,
    every: u32,
    /// Messages until the next one that is measured.
    left: u32,
    times: Histogram<u64>,
}

impl<E> Timed<E> {
    /// An engine around `inner` that measures one message in `every`, the first among them; 0 measures none.
    pub fn new(inner: E, every: u32) -> Self {
        Self { inner, every, left: u32::from(every > 0), times: histogram::latency() }
    }

    /// One message in this many is measured.
    pub const fn every(&self) -> u32 {
        self.every
    }

    /// How long the messages measured took, in nanoseconds.
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

    fn decode(&mut self, packet: Packet<'_>) -> Result<Decoded<'_, E::Message>, E::Error> {
        if self.left != 1 {
            self.left = self.left.saturating_sub(1);
            return self.inner.decode(packet);
        }
        self.left = self.every;
        let before_ns = monotonic_ns();
        let decoded = self.inner.decode(packet)?;
        histogram::record(&mut self.times, monotonic_ns().saturating_sub(before_ns));
        Ok(decoded)
    }

    fn is_unknown_template(error: &E::Error) -> bool {
        E::is_unknown_template(error)
    }
}
