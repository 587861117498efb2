//! Logs the faults of a feed, at most one per second or the first few of each kind.

use std::fmt::Display;

use tickwire_feed::arbiter::{Gap, Line, LineCounters, LineEvent};
use tickwire_feed::handler::{Delivery, Fault, Sink};
use tickwire_feed::market::{MarketEvent, Snapshot};
use tickwire_feed::recovery::{BookChange, Recovery, SnapshotOutcome};
use tickwire_feed::replay::ReplayFailure;
use tickwire_host::Throttle;

use crate::clock::{SECOND_NS, monotonic_ns};

/// Market events by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounters {
    /// Trades.
    pub trades: u64,
    /// Statistics.
    pub statistics: u64,
    /// Trading statuses.
    pub statuses: u64,
    /// Definitions of instruments.
    pub definitions: u64,
    /// Events without their own counter.
    pub others: u64,
}

impl EventCounters {
    /// Returns each count with its label in metrics.
    pub const fn labelled(&self) -> [(&'static str, u64); 5] {
        [
            ("trade", self.trades),
            ("statistic", self.statistics),
            ("status", self.statuses),
            ("definition", self.definitions),
            ("other", self.others),
        ]
    }

    const fn count(&mut self, event: &MarketEvent<'_>) {
        *match event {
            MarketEvent::Trade(_) => &mut self.trades,
            MarketEvent::Statistic(_) => &mut self.statistics,
            MarketEvent::Status(_) => &mut self.statuses,
            MarketEvent::Definition(..) => &mut self.definitions,
            _ => &mut self.others,
        } += 1;
    }
}

/// How many messages of each kind are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLimit {
    /// The first this many: equal in every run over the same captures.
    First(u32),
    /// One per second of the monotonic clock.
    #[default]
    OneASecond,
}

/// Log state of one kind of fault.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    throttle: Throttle,
    logged: u32,
}

/// A sink that passes everything on, counts market events, and logs gaps, resets and faults.
#[derive(Debug)]
pub struct Logged<S> {
    inner: S,
    limit: LogLimit,
    /// Name of the channel, as a prefix of each text.
    channel: Option<String>,
    gaps: Kind,
    resets: Kind,
    faults: Kind,
    lines: Kind,
    events: EventCounters,
}

impl<S> Logged<S> {
    /// Creates a sink around `inner`.
    pub fn new(inner: S) -> Self {
        let (gaps, resets, faults, lines) = Default::default();
        let (limit, channel, events) = Default::default();
        Self { inner, limit, channel, gaps, resets, faults, lines, events }
    }

    /// Sets how much is logged.
    #[must_use]
    pub fn limit(self, limit: LogLimit) -> Self {
        Self { limit, ..self }
    }

    /// Sets the name of the channel, a prefix of each text.
    #[must_use]
    pub fn channel(self, channel: Option<&str>) -> Self {
        Self { channel: channel.map(str::to_owned), ..self }
    }

    /// Returns the counters of market events.
    pub const fn events(&self) -> EventCounters {
        self.events
    }

    /// Returns the inner sink.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    /// Returns the inner sink.
    pub const fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Returns the inner sink.
    pub fn into_inner(self) -> S {
        self.inner
    }

    fn warn(&mut self, kind: fn(&mut Self) -> &mut Kind, text: impl Display) {
        let limit = self.limit;
        let kind = kind(self);
        let held_back = match limit {
            LogLimit::OneASecond => kind.throttle.pass(monotonic_ns()),
            LogLimit::First(max) => {
                kind.logged = kind.logged.saturating_add(1);
                (kind.logged <= max).then_some(0)
            }
        };
        let Some(held_back) = held_back else { return };
        let is_last = limit == LogLimit::First(kind.logged);
        let separator = if self.channel.is_some() { ": " } else { "" };
        let channel = self.channel.as_deref().unwrap_or_default();
        match held_back {
            0 => tracing::warn!("{channel}{separator}{text}"),
            held_back => tracing::warn!(held_back, "{channel}{separator}{text}"),
        }
        if is_last {
            tracing::warn!(
                "{channel}{separator}further messages of this kind are counted, not logged"
            );
        }
    }
}

/// Warns of lines whose copies of packets differ, at most once per second.
#[derive(Clone, Debug, Default)]
pub struct DifferingWatch {
    /// Name of the channel, as a prefix of the text.
    channel: Option<String>,
    /// Count by line.
    seen: [u64; 2],
    looked_ns: Option<u64>,
}

impl DifferingWatch {
    /// Creates a watch. With several channels, `channel` names its own.
    pub fn new(channel: Option<&str>) -> Self {
        Self { channel: channel.map(str::to_owned), ..Self::default() }
    }

    /// Compares the counters of lines A and B, at most once per second, and logs changes.
    pub fn observe(&mut self, now_ns: u64, lines: impl FnOnce() -> [LineCounters; 2]) {
        if let Some(text) = self.poll(now_ns, lines) {
            let separator = if self.channel.is_some() { ": " } else { "" };
            tracing::warn!("{}{separator}{text}", self.channel.as_deref().unwrap_or_default());
        }
    }

    fn poll(&mut self, now_ns: u64, lines: impl FnOnce() -> [LineCounters; 2]) -> Option<String> {
        let is_due = |last_ns: u64| now_ns.saturating_sub(last_ns) >= SECOND_NS;
        if !self.looked_ns.is_none_or(is_due) {
            return None;
        }
        self.looked_ns = Some(now_ns);
        let mut texts = Vec::new();
        let lines = Line::ALL.into_iter().zip(lines()).zip(&mut self.seen);
        for ((line, counters), seen) in lines {
            let more =
                counters.differing.saturating_sub(std::mem::replace(seen, counters.differing));
            if more > 0 {
                let aside = counters.put_aside;
                texts.push(format!(
                    "line {line:?}: {more} packets differ from the other line's with the same numbers; \
                     {aside} of this line alone are put aside: does it carry another channel?"
                ));
            }
        }
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

impl<M: ?Sized, S: Sink<M>> Sink<M> for Logged<S> {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        self.inner.handle_message(delivery, message);
    }

    fn handle_replayed(&mut self, delivery: &Delivery, message: &M) {
        self.inner.handle_replayed(delivery, message);
    }

    fn handle_replay_begun(&mut self, gap: Gap) {
        self.inner.handle_replay_begun(gap);
    }

    fn handle_replay_abandoned(&mut self, gap: Gap, reason: ReplayFailure) {
        self.inner.handle_replay_abandoned(gap, reason);
    }

    fn handle_replay_done(&mut self, gap: Gap) {
        self.inner.handle_replay_done(gap);
    }

    fn handle_gap(&mut self, gap: Gap) {
        let Gap { first, count } = gap;
        self.warn(|log| &mut log.gaps, format_args!("{count} lost from sequence number {first}"));
        self.inner.handle_gap(gap);
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.warn(|log| &mut log.resets, format_args!("sequence numbers restart at {seq_num}"));
        self.inner.handle_reset(seq_num);
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        self.inner.handle_book(change, recovery);
    }

    fn handle_event(&mut self, delivery: &Delivery, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.events.count(event);
        self.inner.handle_event(delivery, event, recovery);
    }

    fn handle_snapshot(
        &mut self,
        snapshot: &Snapshot<'_>,
        outcome: SnapshotOutcome,
        recovery: &Recovery,
    ) {
        self.inner.handle_snapshot(snapshot, outcome, recovery);
    }

    fn handle_silence(&mut self, is_silent: bool, since_ns: u64) {
        let text =
            if is_silent { "the channel is silent" } else { "the channel is no longer silent" };
        self.warn(|log| &mut log.resets, text);
        self.inner.handle_silence(is_silent, since_ns);
    }

    fn handle_line(&mut self, event: &LineEvent) {
        // Live, single differing copies are only counted; `DifferingWatch` reports them.
        let is_watched = self.limit == LogLimit::OneASecond;
        if !is_watched || !matches!(event, LineEvent::Differing { .. }) {
            self.warn(|log| &mut log.lines, event);
        }
        self.inner.handle_line(event);
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.warn(|log| &mut log.faults, fault);
        self.inner.handle_fault(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Counting {
        replayed: Vec<u64>,
        gaps: u64,
        abandoned: u64,
        done: u64,
    }

    impl Sink<str> for Counting {
        fn handle_message(&mut self, _: &Delivery, _: &str) {}

        fn handle_replayed(&mut self, delivery: &Delivery, _: &str) {
            self.replayed.extend(delivery.seq_num);
        }

        fn handle_replay_abandoned(&mut self, gap: Gap, _: ReplayFailure) {
            self.abandoned += gap.count;
        }

        fn handle_replay_done(&mut self, gap: Gap) {
            self.done += gap.count;
        }

        fn handle_gap(&mut self, gap: Gap) {
            self.gaps += gap.count;
        }
    }

    #[test]
    fn replayed_messages_and_gaps_are_passed_on() {
        let mut logged = Logged::new(Counting::default());
        logged.handle_gap(Gap { first: 5, count: 2 });
        let delivery = |seq_num| Delivery {
            seq_num: Some(seq_num),
            line: Line::A,
            received_ns: 0,
            index: 0,
            offset: 0,
            len: 0,
        };
        logged.handle_replayed(&delivery(5), "five");
        logged.handle_replayed(&delivery(6), "six");
        logged.handle_replay_abandoned(Gap { first: 6, count: 1 }, ReplayFailure::Timeout);
        logged.handle_replay_done(Gap { first: 5, count: 2 });
        let Counting { replayed, gaps, abandoned, done } = logged.into_inner();
        assert_eq!((replayed, gaps, abandoned, done), (vec![5, 6], 2, 1, 2));
    }

    #[test]
    fn copies_that_differ_are_warned_of_once_a_second() {
        let mut watch = DifferingWatch::default();
        let lines = |differing, put_aside| {
            let b = LineCounters { differing, put_aside, ..LineCounters::default() };
            move || [LineCounters::default(), b]
        };
        assert_eq!(watch.poll(0, lines(0, 0)), None);
        assert_eq!(watch.poll(1, lines(9, 0)), None, "within the second");
        let text = watch.poll(SECOND_NS, lines(9, 4)).expect("a warning");
        assert!(
            text.starts_with("line B: 9 packets differ") && text.contains("4 of this line"),
            "{text}"
        );
        assert_eq!(watch.poll(2 * SECOND_NS, lines(9, 4)), None, "nothing new");
    }
}
