//! What a feed handler and its sockets count.

use tickwire_feed::arbiter::{ArbiterCounters, Line, LineCounters};
use tickwire_feed::handler::{Adapt, Engine, Handler, HandlerCounters, InputCounters, Source};
use tickwire_feed::recovery::RecoveryCounters;

use super::{Counter, Distribution, Gauge, Metrics};
use crate::multicast::ReceiverCounters;
use crate::reception::View;

/// Least time between two publications.
const PUBLISH_NS: u64 = 250_000_000;

/// A count of a line before or after arbitration, by its place in what is counted.
struct Named<C> {
    name: &'static str,
    help: &'static str,
    count: fn(&C) -> u64,
}

macro_rules! named {
    ($($name:literal, $help:literal, $count:expr;)*) => {
        [$(Named { name: $name, help: $help, count: $count }),*]
    };
}

const SOCKET: [Named<ReceiverCounters>; 4] = named! {
    "net_received_packets", "Packets received", |c| c.packets;
    "net_received_bytes", "Bytes received", |c| c.bytes;
    "net_dropped_packets", "Packets the kernel dropped: the receive buffer was full",
        |c| c.dropped_by_kernel;
    "net_too_long_packets", "Packets dropped because they were longer than the limit", |c| c.too_long;
};

const INPUT: [Named<InputCounters>; 3] = named! {
    "feed_malformed_packets", "Packets not framed as they should be", |c| c.malformed;
    "feed_no_seq_num_packets", "Packets dropped for want of a sequence number", |c| c.no_seq_num;
    "feed_unnumbered_packets", "Packets of messages that have no number", |c| c.unnumbered;
};

const LINE: [Named<LineCounters>; 7] = named! {
    "feed_won_packets", "Packets that were the first with their number, in time", |c| c.won;
    "feed_duplicate_packets", "Packets whose number had come already", |c| c.duplicate;
    "feed_substitute_packets", "Packets taken because the first with their number was not decoded",
        |c| c.substitute;
    "feed_late_packets", "Packets whose number had been given up", |c| c.late;
    "feed_foreign_packets", "Packets of another numbering", |c| c.foreign;
    "feed_out_of_order_packets", "Packets below the highest number of their line",
        |c| c.out_of_order;
    "feed_not_held_packets", "Packets longer than the arbiter holds", |c| c.too_long;
};

const ARBITER: [Named<ArbiterCounters>; 4] = named! {
    "feed_delivered_packets", "Packets delivered in order", |c| c.delivered;
    "feed_declared_gaps", "Gaps declared", |c| c.gaps;
    "feed_missing_seq_nums", "Sequence numbers in gaps", |c| c.gap_seq_nums;
    "feed_numbering_resets", "Changes of the numbering", |c| c.resets;
};

const MESSAGES: [Named<HandlerCounters>; 5] = named! {
    "decode_messages", "Messages decoded", |c| c.messages.decoded;
    "decode_failed_packets", "Packets in which a message could not be decoded",
        |c| c.messages.undecodable;
    "decode_unknown_template_messages", "Messages of templates that are not known",
        |c| c.messages.unknown_template;
    "decode_snapshot_messages", "Messages of the snapshot feed decoded", |c| c.snapshots.decoded;
    "decode_failed_snapshot_packets", "Packets of the snapshot feed given up",
        |c| c.snapshots.undecodable;
};

const RECOVERY: [Named<RecoveryCounters>; 6] = named! {
    "book_applied_updates", "Updates applied to books", |c| c.applied;
    "book_held_updates", "Updates that waited for a snapshot", |c| c.held;
    "book_dropped_updates", "Updates dropped because too many waited", |c| c.dropped;
    "book_recovered_books", "Books that became fresh", |c| c.recovered;
    "book_verified_snapshots", "Snapshots equal to the book they were compared with", |c| c.verified;
    "book_mismatched_snapshots", "Snapshots that showed a book to be wrong", |c| c.mismatches;
};

/// A counter and where its count is found.
struct Counted<C> {
    counter: Counter,
    count: fn(&C) -> u64,
}

/// The counters of one kind.
struct Group<C> {
    counters: Vec<Counted<C>>,
}

impl<C: 'static> Group<C> {
    fn new(metrics: &Metrics, named: &'static [Named<C>], labels: &[(&str, &str)]) -> Self {
        let counter = |named: &Named<C>| Counted {
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
    source: Source,
    socket: Group<ReceiverCounters>,
    input: Group<InputCounters>,
    /// Of lines of the incremental feed, which alone are arbitrated.
    line: Option<(Group<LineCounters>, Gauge)>,
    delay: Distribution,
}

/// Publishes what a [`Reception`](crate::reception::Reception) and its handler count. Give each view
/// to [`publish`](Self::publish): it is quick unless a quarter of a second has passed.
pub struct FeedMetrics {
    lines: Vec<LineMetrics>,
    arbiter: Group<ArbiterCounters>,
    messages: Group<HandlerCounters>,
    recovery: Group<RecoveryCounters>,
    held: Gauge,
    published_ns: u64,
}

impl FeedMetrics {
    /// Names all counters, for the lines that have a socket.
    pub fn new(metrics: &Metrics, sources: impl IntoIterator<Item = Source>) -> Self {
        Self {
            lines: sources.into_iter().map(|source| LineMetrics::new(metrics, source)).collect(),
            arbiter: Group::new(metrics, &ARBITER, &[]),
            messages: Group::new(metrics, &MESSAGES, &[]),
            recovery: Group::new(metrics, &RECOVERY, &[]),
            held: metrics.gauge("feed_held_packets", "Packets waiting for those before them", &[]),
            published_ns: 0,
        }
    }

    /// Publishes the counters, unless that was done a moment ago; `also` publishes what else there
    /// is at the same pace.
    pub fn publish<E: Engine, A: Adapt<E::Message>>(
        &mut self,
        view: &View<'_, E, A>,
        also: impl FnOnce(&Handler<E, A>),
    ) {
        if view.now_ns.saturating_sub(self.published_ns) >= PUBLISH_NS {
            self.publish_now(view);
            also(view.handler);
        }
    }

    /// Publishes the counters, as at the end.
    pub fn publish_now<E: Engine, A: Adapt<E::Message>>(&mut self, view: &View<'_, E, A>) {
        self.published_ns = view.now_ns;
        let handler = view.handler;
        for line in &self.lines {
            line.publish(view);
        }
        self.arbiter.publish(&handler.arbiter().counters());
        self.messages.publish(handler.counters());
        self.recovery.publish(&handler.recovery().counters());
        self.held.set(handler.arbiter().packets_held() as u64);
    }
}

impl LineMetrics {
    fn new(metrics: &Metrics, source: Source) -> Self {
        let (feed, line) = match source {
            Source::Incremental(line) => ("incremental", line),
            Source::Snapshot(line) => ("snapshot", line),
        };
        let name = if line == Line::A { "a" } else { "b" };
        let labels = [("feed", feed), ("line", name)];
        let help = "Sequence numbers delivered or given up that the line has not brought";
        let is_arbitrated = matches!(source, Source::Incremental(_));
        let arbitrated = || {
            (
                Group::new(metrics, &LINE, &labels),
                metrics.gauge("feed_lost_seq_nums", help, &labels),
            )
        };
        Self {
            source,
            socket: Group::new(metrics, &SOCKET, &labels),
            input: Group::new(metrics, &INPUT, &labels),
            line: is_arbitrated.then(arbitrated),
            delay: metrics.distribution(
                "net_receive_delay",
                "Time from the kernel's stamp of a packet to its being taken",
                &labels,
            ),
        }
    }

    fn publish<E: Engine, A: Adapt<E::Message>>(&self, view: &View<'_, E, A>) {
        let mut inputs = view.reception.inputs();
        if let Some((_, receiver)) = inputs.find(|(source, _)| *source == self.source) {
            self.socket.publish(&receiver.counters());
            self.delay.publish(receiver.delays());
        }
        let counters = view.handler.counters();
        match self.source {
            Source::Incremental(line) => self.input.publish(&counters.lines[line.index()]),
            Source::Snapshot(line) => self.input.publish(&counters.snapshot_lines[line.index()]),
        }
        if let (Some((group, lost)), Source::Incremental(line)) = (&self.line, self.source) {
            let counters = view.handler.arbiter().line_counters(line);
            group.publish(&counters);
            lost.set(counters.lost);
        }
    }
}
