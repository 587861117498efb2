//! Measures the time to decode a message, and the time to apply it to books.

use hdrhistogram::Histogram;
use tickwire_feed::handler::{BufferedPacket, EngineMessage, FeedEngine};
use tickwire_feed::market::{Adapt, MarketDataError, MarketSink};
use tickwire_net::clock::monotonic_ns;
use tickwire_net::histogram;

/// An engine that measures the decoding of one message in N. A measurement reads the clock twice, which takes
/// about 50 ns and is included in the result.
#[derive(Debug)]
pub struct Timed<E> {
    inner: E,
    every: u32,
    /// Messages until the next measured one.
    left: u32,
    times: Histogram<u64>,
}

impl<E> Timed<E> {
    /// Wraps `inner` and measures one message in `every`, beginning with the first; 0 measures none.
    pub fn new(inner: E, every: u32) -> Self {
        Self { inner, every, left: u32::from(every > 0), times: histogram::latency() }
    }

    /// Returns the measured decoding times in nanoseconds.
    pub const fn times(&self) -> &Histogram<u64> {
        &self.times
    }
}

impl<E: FeedEngine> FeedEngine for Timed<E> {
    type Message = E::Message;
    type Error = E::Error;

    fn begin_packet(&mut self) {
        self.inner.begin_packet();
    }

    fn reset_dictionaries(&mut self) {
        self.inner.reset_dictionaries();
    }

    fn lose_dictionaries(&mut self) {
        self.inner.lose_dictionaries();
    }

    fn decode(
        &mut self,
        packet: BufferedPacket<'_>,
    ) -> Result<EngineMessage<'_, E::Message>, E::Error> {
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

/// An adapter that measures how long it takes to apply one message in N to the books, including the output of its
/// events. A measurement reads the clock twice, which takes about 50 ns and is included in the result.
#[derive(Debug)]
pub struct TimedBooks<A> {
    inner: A,
    every: u32,
    /// Messages until the next measured one.
    left: u32,
    times: Histogram<u64>,
}

impl<A> TimedBooks<A> {
    /// Wraps `inner` and measures one message in `every`, beginning with the first; 0 measures none.
    pub fn new(inner: A, every: u32) -> Self {
        Self { inner, every, left: u32::from(every > 0), times: histogram::latency() }
    }

    /// Returns the measured times in nanoseconds.
    pub const fn times(&self) -> &Histogram<u64> {
        &self.times
    }
}

impl<M: ?Sized, A: Adapt<M>> Adapt<M> for TimedBooks<A> {
    #[inline]
    fn adapt<S: MarketSink>(
        &mut self,
        message: &M,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError> {
        let is_measured = self.left == 1;
        self.left = if is_measured { self.every } else { self.left.saturating_sub(1) };
        let before_ns = is_measured.then(monotonic_ns);
        let adapted = self.inner.adapt(message, seq_num, sink);
        if let Some(before_ns) = before_ns {
            histogram::record(&mut self.times, monotonic_ns().saturating_sub(before_ns));
        }
        adapted
    }

    fn has_sending_times(&self) -> bool {
        self.inner.has_sending_times()
    }

    fn sending_time(&self, message: &M) -> Option<u64> {
        self.inner.sending_time(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use tickwire_feed::market::{Instrument, InstrumentKey, NoBooks};

    struct Bytes;

    impl FeedEngine for Bytes {
        type Message = str;
        type Error = Infallible;

        fn begin_packet(&mut self) {}

        fn reset_dictionaries(&mut self) {}

        fn lose_dictionaries(&mut self) {}

        fn decode(&mut self, _: BufferedPacket<'_>) -> Result<EngineMessage<'_, str>, Infallible> {
            Ok(EngineMessage { message: "", len: 1, seq_num: None })
        }

        fn is_unknown_template(error: &Infallible) -> bool {
            match *error {}
        }
    }

    struct Nobody;

    impl MarketSink for Nobody {
        fn instrument(&mut self, _: InstrumentKey<'_>) -> Option<Instrument> {
            None
        }
    }

    #[test]
    fn books_are_measured_like_messages() {
        for (every, measured) in [(0, 0), (1, 10), (4, 3), (100, 1)] {
            let mut timed = TimedBooks::new(NoBooks, every);
            (0..10).for_each(|seq_num| timed.adapt(&(), seq_num, &mut Nobody).unwrap());
            assert_eq!(timed.times().len(), measured, "every {every}");
        }
    }

    #[test]
    fn one_message_in_so_many_is_measured_beginning_with_the_first() {
        for (every, measured) in [(0, 0), (1, 10), (4, 3), (100, 1)] {
            let mut timed = Timed::new(Bytes, every);
            for _ in 0..10 {
                timed.decode(BufferedPacket::from(&[0_u8][..])).unwrap();
            }
            assert_eq!(timed.times().len(), measured, "every {every}");
        }
    }
}
