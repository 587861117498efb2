//! From packets to samples on the bus: the engine and the sink of the feed handler.

use super::samples::{Became, PublishRefusal, SampleConverter};
use crate::distribution::Latencies;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use tickwire_distribution::{OutletError, Outlets};
use tickwire_fast::Message;
use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::handler::{BufferedPacket, Delivery, EngineMessage, Fault, FeedEngine, Sink};
use tickwire_host::Throttle;
use tickwire_monitor::Tap;
use tickwire_net::Stop;
use tickwire_net::clock::monotonic_ns;

/// Name of the times from the first byte of a message until it is decoded.
pub const DECODE: &str = "decode";
/// Name of the times from the first byte of a message until its samples are written.
pub const PUBLISHED: &str = "decode to published";

/// Times at which decoding of the current message began and ended.
#[derive(Debug)]
pub struct Times {
    began: Cell<Instant>,
    decoded: Cell<Instant>,
}

impl Default for Times {
    fn default() -> Self {
        let now = Instant::now();
        Self { began: Cell::new(now), decoded: Cell::new(now) }
    }
}

/// An engine that records when decoding of each message begins and ends.
#[derive(Debug)]
pub struct StampingEngine<E> {
    engine: E,
    times: Rc<Times>,
}

impl<E> StampingEngine<E> {
    /// Wraps `engine`.
    pub fn new(engine: E, times: Rc<Times>) -> Self {
        Self { engine, times }
    }
}

impl<E: FeedEngine> FeedEngine for StampingEngine<E> {
    type Message = E::Message;
    type Error = E::Error;

    fn begin_packet(&mut self) {
        self.engine.begin_packet();
    }

    fn reset_dictionaries(&mut self) {
        self.engine.reset_dictionaries();
    }

    fn lose_dictionaries(&mut self) {
        self.engine.lose_dictionaries();
    }

    #[inline]
    fn decode(
        &mut self,
        packet: BufferedPacket<'_>,
    ) -> Result<EngineMessage<'_, E::Message>, E::Error> {
        self.times.began.set(Instant::now());
        let decoded = self.engine.decode(packet)?;
        self.times.decoded.set(Instant::now());
        Ok(decoded)
    }

    fn is_unknown_template(error: &E::Error) -> bool {
        E::is_unknown_template(error)
    }
}

/// Counters of a feed's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedCounters {
    /// Messages decoded.
    pub messages: u64,
    /// Sequence number of the first decoded message; the feed's earlier messages were missed.
    pub first_seq_num: Option<u64>,
    /// Messages of templates without a sample.
    pub passed_over: u64,
    /// Messages with a value that no sample can hold.
    pub refused: u64,
    /// Sequence numbers that arrived on no line, or whose packet could not be decoded.
    pub gaps: u64,
    /// Packets, or parts of them, that were malformed.
    pub faults: u64,
}

/// Converts messages to samples and writes them.
pub struct Publishing {
    samples: SampleConverter,
    /// `None` decodes only.
    publisher: Option<Outlets>,
    times: Rc<Times>,
    latencies: Latencies,
    rows: LatencyIndexes,
    counters: FeedCounters,
    complaints: Throttle,
    is_done: bool,
    failure: Option<OutletError>,
    over: Stop,
    /// Connection to the monitor, if there is one.
    tap: Option<Tap>,
}

/// Indexes of the distributions.
struct LatencyIndexes {
    decode: usize,
    filled: usize,
    published: usize,
}

impl Publishing {
    /// Writes to `publisher`, or only decodes if there is none.
    pub fn new(samples: SampleConverter, publisher: Option<Outlets>, times: Rc<Times>) -> Self {
        let mut latencies = Latencies::default();
        let rows = LatencyIndexes {
            decode: latencies.add(DECODE),
            filled: latencies.add("decode to sample"),
            published: latencies.add(PUBLISHED),
        };
        Self {
            samples,
            publisher,
            times,
            latencies,
            rows,
            counters: FeedCounters::default(),
            complaints: Throttle::default(),
            is_done: false,
            failure: None,
            over: Stop::new(),
            tap: None,
        }
    }

    /// Publishes the feed to a monitor from now on.
    pub fn set_tap(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// Returns the connection to the monitor.
    pub const fn tap_mut(&mut self) -> Option<&mut Tap> {
        self.tap.as_mut()
    }

    fn tap(&mut self, hand_over: impl FnOnce(&mut Tap)) {
        if let Some(tap) = &mut self.tap {
            hand_over(tap);
        }
    }

    /// A flag that is set when nothing more will be published: the feed is done, or the bus failed.
    pub fn over(&self) -> &Stop {
        &self.over
    }

    /// True if the feed sent its Done message.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The error of the bus, if it failed.
    pub fn failure(&self) -> Option<&OutletError> {
        self.failure.as_ref()
    }

    /// Counters of the messages.
    pub fn counters(&self) -> &FeedCounters {
        &self.counters
    }

    /// Times of the messages.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The writers.
    pub fn publisher(&self) -> Option<&Outlets> {
        self.publisher.as_ref()
    }

    /// The writers, for ending them.
    pub fn publisher_mut(&mut self) -> Option<&mut Outlets> {
        self.publisher.as_mut()
    }

    fn record(&mut self, row: usize, until: Instant) {
        let elapsed = until.saturating_duration_since(self.times.began.get());
        self.latencies.record(row, elapsed.as_nanos() as u64);
    }
}

impl Sink<Message> for Publishing {
    fn handle_message(&mut self, delivery: &Delivery, message: &Message) {
        if self.over.is_set() {
            return;
        }
        if self.counters.messages == 0 {
            self.counters.first_seq_num = delivery.seq_num;
        }
        self.counters.messages += 1;
        self.record(self.rows.decode, self.times.decoded.get());
        let mut filled_at = None;
        let done = match &mut self.publisher {
            Some(publisher) => self.samples.publish(message, publisher, || {
                filled_at = Some(Instant::now());
            }),
            None => self.samples.check(message),
        };
        let written_at = Instant::now();
        match done {
            Ok(Became::Done) => {
                self.is_done = true;
                self.over.set();
            }
            Ok(Became::Nothing) => self.counters.passed_over += 1,
            Ok(Became::Samples) => {
                if let Some(filled_at) = filled_at {
                    self.record(self.rows.filled, filled_at);
                    self.record(self.rows.published, written_at);
                }
            }
            Err(PublishRefusal::Message(why)) => {
                self.counters.refused += 1;
                if let Some(held_back) = self.complaints.pass(monotonic_ns()) {
                    tracing::warn!(held_back, "message not published: {why}");
                }
            }
            Err(PublishRefusal::Write(error)) => {
                self.failure = Some(error);
                self.over.set();
            }
        }
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.counters.gaps = self.counters.gaps.saturating_add(gap.count);
        self.tap(|tap| tap.gap(gap));
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.tap(|tap| tap.reset(seq_num));
    }

    fn handle_silence(&mut self, is_silent: bool, _since_ns: u64) {
        self.tap(|tap| tap.silence(is_silent));
    }

    fn handle_line(&mut self, event: &LineEvent) {
        self.tap(|tap| tap.line(event));
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.counters.faults += 1;
        self.tap(|tap| tap.fault(fault));
    }
}
