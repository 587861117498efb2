//! From packets to samples on the bus: what hangs on the feed handler.

use super::outlet::Outlet;
use crate::distribution::Latencies;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use tickwire_distribution::fill::{Filled, Filler};
use tickwire_fast::Message;
use tickwire_feed::arbiter::Gap;
use tickwire_feed::handler::{Decoded, Delivery, Engine, Fault, Packet, Sink};
use tickwire_host::Throttle;
use tickwire_net::Stop;
use tickwire_net::clock::monotonic_ns;

/// When the message in hand was begun and decoded.
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

/// An engine that notes when each message was begun and decoded.
#[derive(Debug)]
pub struct Stamped<E> {
    engine: E,
    times: Rc<Times>,
}

impl<E> Stamped<E> {
    /// An engine around `engine`.
    pub fn new(engine: E, times: Rc<Times>) -> Self {
        Self { engine, times }
    }
}

impl<E: Engine> Engine for Stamped<E> {
    type Message = E::Message;
    type Error = E::Error;

    fn begin_packet(&mut self) {
        self.engine.begin_packet();
    }

    fn lose_dictionaries(&mut self) {
        self.engine.lose_dictionaries();
    }

    #[inline]
    fn decode(&mut self, packet: Packet<'_>) -> Result<Decoded<'_, E::Message>, E::Error> {
        self.times.began.set(Instant::now());
        let decoded = self.engine.decode(packet)?;
        self.times.decoded.set(Instant::now());
        Ok(decoded)
    }

    fn is_unknown_template(error: &E::Error) -> bool {
        E::is_unknown_template(error)
    }
}

/// What became of the messages of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedCounters {
    /// Messages decoded.
    pub messages: u64,
    /// Sequence number of the first of them; what the feed sent before was missed.
    pub first_seq_num: Option<u64>,
    /// Of templates without sample.
    pub passed_over: u64,
    /// With a value that no sample can hold.
    pub refused: u64,
    /// Sequence numbers that no line brought, or whose packet could not be decoded.
    pub gaps: u64,
    /// Packets, or parts of them, that were wrong.
    pub faults: u64,
}

/// Makes samples of messages and writes them.
pub struct Publishing {
    filler: Filler,
    /// `None` decodes only.
    outlet: Option<Outlet>,
    times: Rc<Times>,
    latencies: Latencies,
    rows: Rows,
    counters: FeedCounters,
    complaints: Throttle,
    is_done: bool,
    failure: Option<tickwire_dds::Error>,
    over: Stop,
}

/// Indexes of the distributions.
struct Rows {
    decode: usize,
    filled: usize,
    published: usize,
}

impl Publishing {
    /// What writes to `outlet`, or without one decodes only.
    pub fn new(filler: Filler, outlet: Option<Outlet>, times: Rc<Times>) -> Self {
        let mut latencies = Latencies::default();
        let rows = Rows {
            decode: latencies.add("decode"),
            filled: latencies.add("decode to sample"),
            published: latencies.add("decode to published"),
        };
        Self {
            filler,
            outlet,
            times,
            latencies,
            rows,
            counters: FeedCounters::default(),
            complaints: Throttle::default(),
            is_done: false,
            failure: None,
            over: Stop::new(),
        }
    }

    /// A flag that is set when nothing more is to be published: the feed is done, or the bus failed.
    pub fn over(&self) -> &Stop {
        &self.over
    }

    /// Whether the feed said that it is done.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// What made the bus fail.
    pub fn failure(&self) -> Option<tickwire_dds::Error> {
        self.failure
    }

    /// What became of the messages.
    pub fn counters(&self) -> &FeedCounters {
        &self.counters
    }

    /// How long messages took.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The writers.
    pub fn outlet(&self) -> Option<&Outlet> {
        self.outlet.as_ref()
    }

    /// The writers, to end with.
    pub fn outlet_mut(&mut self) -> Option<&mut Outlet> {
        self.outlet.as_mut()
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
        let filled = match self.filler.fill(message) {
            Ok(Filled::Done) => {
                self.is_done = true;
                self.over.set();
                return;
            }
            Ok(Filled::Other) => {
                self.counters.passed_over += 1;
                return;
            }
            Ok(filled) => filled,
            Err(error) => {
                self.counters.refused += 1;
                if let Some(held_back) = self.complaints.pass(monotonic_ns()) {
                    tracing::warn!(held_back, "message not published: {error}");
                }
                return;
            }
        };
        let Some(outlet) = &mut self.outlet else { return };
        let filled_at = Instant::now();
        let written = outlet.publish(filled);
        let written_at = Instant::now();
        if let Err(error) = written {
            self.failure = Some(error);
            self.over.set();
        }
        self.record(self.rows.filled, filled_at);
        self.record(self.rows.published, written_at);
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.counters.gaps = self.counters.gaps.saturating_add(gap.count);
    }

    fn handle_fault(&mut self, _fault: &Fault<'_>) {
        self.counters.faults += 1;
    }
}
