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

/// Number of messages of each kind that are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLimit {
    /// The first messages, up to this number: the log is equal in every run over the same captures.
    First(u32),
    /// One per second of the monotonic clock. Of the resets and changes of state held back, the latest
    /// is logged once the second is over.
    #[default]
    OneASecond,
}

/// Log state of one kind of message.
#[derive(Debug, Default)]
struct MessageLogState {
    throttle: Throttle,
    logged: u32,
    /// The latest text held back, of kinds whose last text must be logged.
    latest: Option<String>,
}

impl MessageLogState {
    /// Returns the number of texts held back before, if this one may be logged.
    fn pass(&mut self, limit: LogLimit, now_ns: u64) -> Option<u64> {
        match limit {
            LogLimit::OneASecond => self.throttle.pass(now_ns),
            LogLimit::First(max) => {
                self.logged = self.logged.saturating_add(1);
                (self.logged <= max).then_some(0)
            }
        }
    }

    /// Returns the latest text held back and the number of those before it, if it may be logged.
    fn take_held_back(&mut self, now_ns: u64) -> Option<(u64, String)> {
        self.latest.as_ref()?;
        let held_back = self.throttle.pass_held_back(now_ns)?;
        self.latest.take().map(|text| (held_back - 1, text))
    }
}

/// The kinds of messages, each with a limit of its own.
#[derive(Debug, Default)]
struct Kinds {
    gaps: MessageLogState,
    faults: MessageLogState,
    differing: MessageLogState,
    resets: MessageLogState,
    silence: MessageLogState,
    sequence: MessageLogState,
    /// Silence of lines A and B.
    line_silence: [MessageLogState; 2],
    /// Trust in lines A and B.
    line_trust: [MessageLogState; 2],
}

impl Kinds {
    fn of_line(&mut self, event: &LineEvent) -> &mut MessageLogState {
        match event {
            LineEvent::Differing { .. } => &mut self.differing,
            LineEvent::Excluded { line, .. } | LineEvent::Resumed { line } => {
                &mut self.line_trust[line.index()]
            }
            LineEvent::Silent { line, .. } | LineEvent::Heard { line, .. } => {
                &mut self.line_silence[line.index()]
            }
        }
    }

    /// Returns the kinds whose last text must be logged.
    fn states(&mut self) -> impl Iterator<Item = &mut MessageLogState> {
        let Self { resets, silence, sequence, line_silence, line_trust, .. } = self;
        [resets, silence, sequence].into_iter().chain(line_silence).chain(line_trust)
    }
}

/// A sink that passes everything on, counts market events, and logs gaps, resets, faults and changes of
/// state: silence, and trust in lines.
///
/// While it runs, call [`write_held_back`](Self::write_held_back) at least once a second, and
/// [`finish`](Self::finish) at the end.
#[derive(Debug)]
pub struct Logged<S> {
    inner: S,
    limit: LogLimit,
    /// Name of the channel, as a prefix of each text.
    channel: Option<String>,
    kinds: Kinds,
    events: EventCounters,
}

impl<S> Logged<S> {
    /// Creates a sink around `inner`.
    pub fn new(inner: S) -> Self {
        let (limit, channel, kinds, events) = Default::default();
        Self { inner, limit, channel, kinds, events }
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

    /// Returns the inner sink, after [`finish`](Self::finish).
    pub fn into_inner(mut self) -> S {
        self.finish();
        self.inner
    }

    /// Logs the latest reset and changes of state that were held back, if the limit allows it at `now_ns`.
    pub fn write_held_back(&mut self, now_ns: u64) {
        let Self { kinds, channel, .. } = self;
        for (held_back, text) in kinds.states().filter_map(|kind| kind.take_held_back(now_ns)) {
            write(channel.as_deref(), held_back, text);
        }
    }

    /// Logs the latest reset and changes of state that are held back, regardless of the limit, and
    /// restarts all limits.
    pub fn finish(&mut self) {
        self.write_held_back(u64::MAX);
        self.kinds = Kinds::default();
    }

    fn warn(&mut self, kind: impl FnOnce(&mut Kinds) -> &mut MessageLogState, text: impl Display) {
        let kind = kind(&mut self.kinds);
        let Some(held_back) = kind.pass(self.limit, monotonic_ns()) else { return };
        write(self.channel.as_deref(), held_back, text);
        if self.limit == LogLimit::First(kind.logged) {
            let text = "further messages of this kind are counted, not logged";
            write(self.channel.as_deref(), 0, text);
        }
    }

    /// Warns of a reset or a change of state. If the text is held back, it is kept until the next one.
    fn warn_of_state(
        &mut self,
        kind: impl Fn(&mut Kinds) -> &mut MessageLogState,
        text: impl Display,
    ) {
        self.warn(&kind, &text);
        let kind = kind(&mut self.kinds);
        kind.latest = kind.throttle.is_holding_back().then(|| text.to_string());
    }
}

/// Logs a text with the name of its channel as a prefix, if there are several.
fn write(channel: Option<&str>, held_back: u64, text: impl Display) {
    let separator = if channel.is_some() { ": " } else { "" };
    let channel = channel.unwrap_or_default();
    match held_back {
        0 => tracing::warn!("{channel}{separator}{text}"),
        held_back => tracing::warn!(held_back, "{channel}{separator}{text}"),
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
            write(self.channel.as_deref(), 0, text);
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
                let excluded = counters.excluded;
                texts.push(format!(
                    "line {line:?}: {more} packets differ from the other line's with the same numbers; \
                     {excluded} of this line alone are excluded: does it carry another channel?"
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
        self.warn(
            |kinds| &mut kinds.gaps,
            format_args!("{count} lost from sequence number {first}"),
        );
        self.inner.handle_gap(gap);
    }

    fn handle_reset(&mut self, seq_num: u64) {
        let text = format_args!("sequence numbers restart at {seq_num}");
        self.warn_of_state(|kinds| &mut kinds.resets, text);
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
        self.warn_of_state(|kinds| &mut kinds.silence, text);
        self.inner.handle_silence(is_silent, since_ns);
    }

    fn handle_out_of_sequence(&mut self, is_out_of_sequence: bool) {
        let text = match is_out_of_sequence {
            true => "all packets have old or unexpected sequence numbers: books are stale",
            false => "packets are in sequence again",
        };
        self.warn_of_state(|kinds| &mut kinds.sequence, text);
        self.inner.handle_out_of_sequence(is_out_of_sequence);
    }

    fn handle_line(&mut self, event: &LineEvent) {
        // In live reception, single differing copies are only counted; `DifferingWatch` reports
        // them.
        match event {
            LineEvent::Differing { .. } if self.limit == LogLimit::OneASecond => {}
            LineEvent::Differing { .. } => self.warn(|kinds| kinds.of_line(event), event),
            _ => self.warn_of_state(|kinds| kinds.of_line(event), event),
        }
        self.inner.handle_line(event);
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.warn(|kinds| &mut kinds.faults, fault);
        self.inner.handle_fault(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::{Debug, Write as _};
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::span;

    /// The lines of a log.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    /// Text of an event: its message, then other fields.
    #[derive(Default)]
    struct EventText(String);

    impl Visit for EventText {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            let name = field.name();
            if name == "message" {
                self.0 = format!("{value:?}{}", self.0);
            } else {
                write!(self.0, " {name}={value:?}").expect("a string takes everything");
            }
        }
    }

    impl tracing::Subscriber for Log {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let mut text = EventText::default();
            event.record(&mut text);
            self.0.lock().expect("no panic holds it").push(text.0);
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    /// Returns the lines that `work` logs.
    fn lines_of(work: impl FnOnce()) -> Vec<String> {
        let log = Log::default();
        tracing::subscriber::with_default(log.clone(), work);
        let mut lines = log.0.lock().expect("no panic holds it");
        std::mem::take(&mut *lines)
    }

    #[test]
    fn the_last_change_of_each_state_is_logged() {
        let mut logged = Logged::new(Counting::default());
        let (line, since_ns) = (Line::B, Some(0));
        let lines = lines_of(|| {
            logged.handle_silence(true, 0);
            logged.handle_silence(false, 0);
            logged.handle_reset(1);
            logged.handle_line(&LineEvent::Silent { line: Line::A, since_ns, at_ns: 1 });
            logged.handle_line(&LineEvent::Silent { line, since_ns, at_ns: 1 });
            logged.handle_line(&LineEvent::Heard { line, at_ns: 1 });
            logged.write_held_back(monotonic_ns());
        });
        let silent = |line| {
            format!("line {line} is silent: packets missing on the other line are not waited for")
        };
        let expected =
            ["the channel is silent", "sequence numbers restart at 1", &silent("A"), &silent("B")];
        assert_eq!(lines, expected);
        let lines = lines_of(|| {
            logged.write_held_back(monotonic_ns() + SECOND_NS);
            logged.write_held_back(monotonic_ns() + 2 * SECOND_NS);
        });
        assert_eq!(lines, ["the channel is no longer silent", "line B sends again"]);
    }

    #[test]
    fn what_is_held_back_is_logged_at_the_end() {
        let lines = lines_of(|| {
            let mut logged = Logged::new(Counting::default());
            (1..=4).for_each(|seq_num| logged.handle_reset(seq_num));
            logged.into_inner();
        });
        let restarts = |seq_num| format!("sequence numbers restart at {seq_num}");
        assert_eq!(lines, [restarts(1), format!("{} held_back=2", restarts(4))]);
    }

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
        let lines = |differing, excluded| {
            let b = LineCounters { differing, excluded, ..LineCounters::default() };
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
