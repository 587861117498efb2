//! Publishes the counters of a feed handler, its sockets and its loop.

use tickwire_feed::arbiter::{Arbiter, ArbiterCounters, Line, LineCounters};
use tickwire_feed::handler::{
    FeedLine, HandlerCounters, HandlerView, InputCounters, PacketHandler,
};
use tickwire_feed::recovery::{RecoveryCounters, StaleReason};
use tickwire_feed::replay::ReplayCounters;

use super::names::{
    ARBITER, EVENTS, EventCount, INPUT, LINE, MESSAGES, NamedCounter, RECORD, RECOVERY, REPLAY,
    SOCKET,
};
use super::{Counter, Distribution, Gauge, Metrics, SecondsGauge};
use tickwire_net::log::EventCounters;
use tickwire_net::multicast::{Receiver, ReceiverCounters};
use tickwire_net::reception::Reception;
use tickwire_net::record::RecordCounters;

/// Minimum time between two publications, in nanoseconds.
const PUBLISH_NS: u64 = 250_000_000;
/// Minimum time between two publications of distributions, in nanoseconds. A distribution is a copy of about 200 KiB,
/// whereas counters are a few words.
const TIMES_NS: u64 = 1_000_000_000;

/// A counter, and the function that reads its value from the counters of a feed.
struct Counted<C> {
    counter: Counter,
    count: fn(&C) -> u64,
}

/// The counters of one kind.
struct CounterGroup<C> {
    counters: Vec<Counted<C>>,
}

impl<C: 'static> CounterGroup<C> {
    fn new(metrics: &Metrics, named: &'static [NamedCounter<C>], labels: &[(&str, &str)]) -> Self {
        let counter = |named: &NamedCounter<C>| Counted {
            counter: metrics.counter(named.name, named.help, labels),
            count: named.count,
        };
        Self { counters: named.iter().map(counter).collect() }
    }

    fn publish(&self, counts: &C) {
        for Counted { counter, count } in &self.counters {
            counter.set(count(counts));
        }
    }
}

/// The counters of one socket and its line.
struct LineMetrics {
    source: FeedLine,
    socket: CounterGroup<ReceiverCounters>,
    /// Metrics of a line of the incremental feed; only these lines are arbitrated.
    line: Option<ArbitratedMetrics>,
    age: SecondsGauge,
    delay: Distribution,
}

/// Metrics of the arbiter for one line.
struct ArbitratedMetrics {
    counters: CounterGroup<LineCounters>,
    lost: Gauge,
    /// Largest distance in sequence numbers by which a packet arrived behind a higher one.
    out_of_order_max: Gauge,
    /// 1 while the line is excluded.
    excluded: Gauge,
}

/// Publishes the counters of a channel's sockets and its arbiter. Call [`publish`](Self::publish)
/// when [`is_due`](Self::is_due) returns true.
pub struct ArbitrationMetrics {
    lines: Vec<LineMetrics>,
    arbiter: CounterGroup<ArbiterCounters>,
    heartbeat_interval: SecondsGauge,
    held: Gauge,
    held_max: Gauge,
    published_ns: u64,
    times_published_ns: u64,
}

/// Publishes the counters of a channel: of its sockets, its feed handler and its events. Call
/// [`publish`](Self::publish) when [`is_due`](Self::is_due) returns true.
pub struct FeedMetrics {
    arbitration: ArbitrationMetrics,
    inputs: Vec<(FeedLine, CounterGroup<InputCounters>)>,
    messages: CounterGroup<HandlerCounters>,
    recovery: CounterGroup<RecoveryCounters>,
    events: Vec<(Counter, EventCount)>,
    /// 1 while new templates wait for a reset.
    staged: Gauge,
    waiting_updates: Gauge,
    fresh: Gauge,
    stale: [Gauge; StaleReason::LABELS.len()],
}

/// Publishes the counters of a replay service.
pub struct ReplayMetrics(CounterGroup<ReplayCounters>);

impl ReplayMetrics {
    /// Registers the counters. If the process has several channels, `channel` becomes a label.
    pub fn new(metrics: &Metrics, channel: Option<&str>) -> Self {
        let labels: Vec<(&str, &str)> = channel.map(|name| ("channel", name)).into_iter().collect();
        Self(CounterGroup::new(metrics, &REPLAY, &labels))
    }

    /// Publishes the counters.
    pub fn publish(&self, counters: &ReplayCounters) {
        self.0.publish(counters);
    }
}

/// Counters of a channel.
pub struct FeedCounts<'c> {
    /// The sockets, each with its line.
    pub inputs: Vec<(FeedLine, &'c Receiver)>,
    /// The counters of the feed handler.
    pub handler: HandlerView<'c>,
    /// Numbers of market events by kind.
    pub events: EventCounters,
}

impl FeedMetrics {
    /// Returns the delays of a line's packets, from the kernel's timestamp until the packet is read; `None` if the line
    /// has no socket.
    pub fn delays(&self, source: FeedLine) -> Option<Distribution> {
        let line = self.arbitration.lines.iter().find(|line| line.source == source)?;
        Some(line.delay.clone())
    }

    /// Registers all counters of the lines that have a socket. If the process has several channels, `channel` becomes a
    /// label.
    pub fn new(
        metrics: &Metrics,
        channel: Option<&str>,
        sources: impl IntoIterator<Item = FeedLine>,
    ) -> Self {
        let sources: Vec<FeedLine> = sources.into_iter().collect();
        let arbitration = ArbitrationMetrics::new(metrics, channel, sources.iter().copied());
        let channel: Vec<(&str, &str)> =
            channel.map(|name| ("channel", name)).into_iter().collect();
        let input =
            |source| (source, CounterGroup::new(metrics, &INPUT, &labels_of(&channel, source)));
        let with = |name, value| [&channel[..], &[(name, value)]].concat();
        let event = |(kind, count)| {
            let help = "Trades, statistics, statuses and definitions in messages";
            (metrics.counter("feed_market_events", help, &with("kind", kind)), count)
        };
        let stale =
            |reason| metrics.gauge("book_stale_books", "Stale books", &with("reason", reason));
        Self {
            arbitration,
            inputs: sources.into_iter().map(input).collect(),
            messages: CounterGroup::new(metrics, &MESSAGES, &channel),
            recovery: CounterGroup::new(metrics, &RECOVERY, &channel),
            events: EVENTS.into_iter().map(event).collect(),
            staged: metrics.gauge(
                "decode_waiting_templates",
                "1 while new templates wait for a reset to take effect",
                &channel,
            ),
            waiting_updates: metrics.gauge(
                "book_waiting_updates",
                "Updates that are waiting for a snapshot",
                &channel,
            ),
            fresh: metrics.gauge("book_fresh_books", "Fresh books", &channel),
            stale: StaleReason::LABELS.map(stale),
        }
    }

    /// Returns true if a quarter of a second has passed since the last publication.
    pub const fn is_due(&self, now_ns: u64) -> bool {
        self.arbitration.is_due(now_ns)
    }

    /// Returns true if the next publication at `now_ns` includes distributions, which happens once
    /// per second.
    pub const fn times_are_due(&self, now_ns: u64) -> bool {
        self.arbitration.times_are_due(now_ns)
    }

    /// Publishes the counters as of `now_ns` on the monotonic clock; once per second, publishes the distributions too.
    pub fn publish(&mut self, now_ns: u64, counts: &FeedCounts<'_>) {
        let FeedCounts { inputs, handler, events } = counts;
        self.arbitration.publish(now_ns, inputs, handler.arbiter);
        for (source, input) in &self.inputs {
            input.publish(handler.counters.input(*source));
        }
        self.messages.publish(handler.counters);
        self.recovery.publish(&handler.recovery.counters());
        self.staged.set(handler.is_replacement_waiting.into());
        self.waiting_updates.set(handler.recovery.updates_held() as u64);
        for (counter, count) in &self.events {
            counter.set(count(events));
        }
        let (fresh, stale) = handler.recovery.states();
        self.fresh.set(fresh as u64);
        for (gauge, count) in self.stale.iter().zip(stale) {
            gauge.set(count as u64);
        }
    }
}

impl ArbitrationMetrics {
    /// Registers all counters of the lines that have a socket. If the process has several channels, `channel` becomes a
    /// label.
    pub fn new(
        metrics: &Metrics,
        channel: Option<&str>,
        sources: impl IntoIterator<Item = FeedLine>,
    ) -> Self {
        let channel: Vec<(&str, &str)> =
            channel.map(|name| ("channel", name)).into_iter().collect();
        let lines = sources.into_iter().map(|source| LineMetrics::new(metrics, &channel, source));
        let heartbeat_interval = "Longest time between two packets of a line; a line that is silent for longer counts as down";
        let held = "Packets held until earlier ones arrive";
        let held_max = "Largest number of packets held at the same time";
        Self {
            lines: lines.collect(),
            arbiter: CounterGroup::new(metrics, &ARBITER, &channel),
            heartbeat_interval: metrics.seconds(
                "feed_heartbeat_interval",
                heartbeat_interval,
                &channel,
            ),
            held: metrics.gauge("feed_held_packets", held, &channel),
            held_max: metrics.gauge("feed_held_packets_max", held_max, &channel),
            published_ns: 0,
            times_published_ns: 0,
        }
    }

    /// Returns true if a quarter of a second has passed since the last publication.
    pub const fn is_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.published_ns) >= PUBLISH_NS
    }

    /// Returns true if a second has passed since the distributions were last published.
    const fn times_are_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.times_published_ns) >= TIMES_NS
    }

    /// Publishes the counters as of `now_ns` on the monotonic clock; once per second, publishes the distributions too.
    pub fn publish(&mut self, now_ns: u64, inputs: &[(FeedLine, &Receiver)], arbiter: &Arbiter) {
        self.published_ns = now_ns;
        let times_are_due = self.times_are_due(now_ns);
        if times_are_due {
            self.times_published_ns = now_ns;
        }
        for (source, receiver) in inputs {
            if let Some(line) = self.lines.iter().find(|line| line.source == *source) {
                line.publish(now_ns, receiver, arbiter);
                if times_are_due {
                    line.delay.publish(receiver.delays());
                }
            }
        }
        let counters = arbiter.counters();
        self.arbiter.publish(&counters);
        self.heartbeat_interval.set_ns(arbiter.options().silent_after_ns);
        self.held.set(arbiter.packets_held() as u64);
        self.held_max.set(counters.held_peak as u64);
    }
}

/// Returns the labels of a line: its channel if that has a name, its feed and its letter.
fn labels_of<'c>(channel: &[(&'c str, &'c str)], source: FeedLine) -> Vec<(&'c str, &'c str)> {
    let (feed, line) = match source {
        FeedLine::Definitions(line) => ("definitions", line),
        FeedLine::Incremental(line) => ("incremental", line),
        FeedLine::Snapshot(line) => ("snapshot", line),
    };
    let name = if line == Line::A { "a" } else { "b" };
    [channel, &[("feed", feed), ("line", name)]].concat()
}

impl LineMetrics {
    fn new(metrics: &Metrics, channel: &[(&str, &str)], source: FeedLine) -> Self {
        let labels = labels_of(channel, source);
        let help = "Sequence numbers, delivered or declared lost, that the line has not received";
        let is_arbitrated = matches!(source, FeedLine::Incremental(_));
        let excluded = "1 while packets that only this line has are not delivered";
        let out_of_order = "Largest distance of an out-of-order packet below the highest sequence number of its line";
        let arbitrated = || ArbitratedMetrics {
            counters: CounterGroup::new(metrics, &LINE, &labels),
            lost: metrics.gauge("feed_lost_seq_nums", help, &labels),
            out_of_order_max: metrics.gauge("feed_out_of_order_max", out_of_order, &labels),
            excluded: metrics.gauge("feed_line_excluded", excluded, &labels),
        };
        Self {
            source,
            socket: CounterGroup::new(metrics, &SOCKET, &labels),
            line: is_arbitrated.then(arbitrated),
            age: metrics.seconds(
                "feed_line_age",
                "Time since the last packet of the line, or since its socket was opened",
                &labels,
            ),
            delay: metrics.distribution(
                "net_receive_delay",
                "Time from the kernel's time stamp of a packet to its read, for a sample of packets",
                &labels,
            ),
        }
    }

    fn publish(&self, now_ns: u64, receiver: &Receiver, arbiter: &Arbiter) {
        self.socket.publish(&receiver.counters());
        self.age.set_ns(now_ns.saturating_sub(receiver.last_packet_ns()));
        if let (Some(arbitrated), FeedLine::Incremental(line)) = (&self.line, self.source) {
            let counters = arbiter.line_counters(line);
            arbitrated.counters.publish(&counters);
            arbitrated.lost.set(counters.lost);
            arbitrated.out_of_order_max.set(counters.out_of_order_by_max);
            arbitrated.excluded.set(arbiter.is_excluded(line).into());
        }
    }
}

/// Publishes the counters of a receive loop: those of its clock and its recorder.
pub struct LoopMetrics {
    clock_steps: Counter,
    recording: CounterGroup<RecordCounters>,
    waited: SecondsGauge,
}

impl LoopMetrics {
    /// Registers the counters. If the process has several loops, `thread` becomes a label.
    pub fn new(metrics: &Metrics, thread: Option<&str>) -> Self {
        let labels: Vec<(&str, &str)> = thread.map(|name| ("thread", name)).into_iter().collect();
        let steps = "Detected steps of the system clock";
        let waited = "Time that reception has waited for the disk";
        Self {
            clock_steps: metrics.counter("net_clock_steps", steps, &labels),
            recording: CounterGroup::new(metrics, &RECORD, &labels),
            waited: metrics.seconds("record_waited", waited, &labels),
        }
    }

    /// Publishes the counters.
    pub fn publish<H: PacketHandler<S>, S>(&self, reception: &Reception<H, S>) {
        self.clock_steps.set(reception.clock_steps());
        if let Some(counters) = reception.recorded() {
            self.recording.publish(&counters);
            self.waited.set_ns(counters.waited_ns);
        }
    }
}

#[cfg(test)]
mod tests;
