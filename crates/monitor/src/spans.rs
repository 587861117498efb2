//! Spans of a channel: recovery of gaps, replays, and recovery of books.

use tickwire_feed::arbiter::Gap;
use tickwire_telemetry::spans::{CompletedSpan, SpanIdentity, SpanSink, SpanValue};

use crate::published::ChannelCounts;

/// Turns what the monitor learns of a channel into spans.
#[derive(Debug)]
pub(crate) struct ChannelSpans {
    sink: SpanSink,
    channel: String,
    /// Offset that converts times of the handler's clock to nanoseconds since 1970.
    epoch_ns: u64,
    recovering: Option<BookRecovery>,
}

/// The recovery of books that has not ended.
#[derive(Debug)]
struct BookRecovery {
    since_ns: u64,
    /// Most books that were stale at a publication.
    stale_max: u64,
    /// Counts at its start.
    before: RecoveredCounts,
}

#[derive(Clone, Copy, Debug)]
struct RecoveredCounts {
    recovered: u64,
    by_snapshot: u64,
    snapshot_messages: u64,
}

impl RecoveredCounts {
    fn new(counts: &ChannelCounts) -> Self {
        Self {
            recovered: counts.recovery.recovered,
            by_snapshot: counts.recovery.recovered_by_snapshot,
            snapshot_messages: counts.handler.snapshots.decoded,
        }
    }
}

/// The recovery of a gap, from its declaration to its end. Times are of the handler's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GapRecovery {
    pub(crate) identity: SpanIdentity,
    pub(crate) gap: Gap,
    pub(crate) since_ns: u64,
}

impl ChannelSpans {
    pub(crate) fn new(sink: SpanSink, channel: &str, epoch_ns: u64) -> Self {
        Self { sink, channel: channel.to_owned(), epoch_ns, recovering: None }
    }

    fn send(
        &self,
        name: &'static str,
        identity: SpanIdentity,
        (since_ns, until_ns): (u64, u64),
        attributes: Vec<(&'static str, SpanValue)>,
        error: Option<&str>,
    ) {
        let unix = |ns: u64| self.epoch_ns.saturating_add(ns);
        let channel = ("feed.channel", SpanValue::from(&*self.channel));
        self.sink.send(CompletedSpan {
            name,
            identity,
            start_ns: unix(since_ns),
            end_ns: unix(until_ns.max(since_ns)),
            attributes: std::iter::once(channel).chain(attributes).collect(),
            error: error.map(str::to_owned),
        });
    }

    /// A gap was filled in this way; `None` if it was not, as far as the monitor knows.
    pub(crate) fn gap_ended(&self, recovery: &GapRecovery, filled_by: Option<&str>, now_ns: u64) {
        let mut attributes = gap_attributes(recovery.gap);
        attributes.push(("feed.gap.filled_by", filled_by.unwrap_or("none").into()));
        let error = filled_by.is_none().then_some("the gap was not filled");
        let times = (recovery.since_ns, now_ns);
        self.send("gap recovery", recovery.identity, times, attributes, error);
    }

    /// A replay that began at `since_ns` has ended; `error` tells why it did not fill the gap.
    pub(crate) fn replay_ended(
        &self,
        recovery: &GapRecovery,
        (since_ns, now_ns): (u64, u64),
        error: Option<&str>,
    ) {
        let identity = recovery.identity.child();
        self.send("replay", identity, (since_ns, now_ns), gap_attributes(recovery.gap), error);
    }

    /// Takes the counts of a publication: books are in recovery from the first publication with stale books to the first
    /// without.
    pub(crate) fn count(&mut self, counts: &ChannelCounts) {
        let stale = counts.states.iter().filter(|state| **state != 0).count() as u64;
        match &mut self.recovering {
            None if stale > 0 => {
                let before = RecoveredCounts::new(counts);
                self.recovering =
                    Some(BookRecovery { since_ns: counts.now_ns, stale_max: stale, before });
            }
            Some(recovering) if stale > 0 => {
                recovering.stale_max = recovering.stale_max.max(stale);
            }
            Some(_) => self.end_books(counts, None),
            None => {}
        }
    }

    /// Ends with the last counts; books that are stale then did not recover.
    pub(crate) fn finish(&mut self, counts: &ChannelCounts) {
        self.end_books(counts, Some("books are stale"));
    }

    fn end_books(&mut self, counts: &ChannelCounts, error: Option<&str>) {
        let Some(BookRecovery { since_ns, stale_max, before }) = self.recovering.take() else {
            return;
        };
        let now = RecoveredCounts::new(counts);
        let since = |now: u64, before: u64| SpanValue::from(now.saturating_sub(before));
        let attributes = vec![
            ("feed.books.stale_max", stale_max.into()),
            ("feed.books.recovered", since(now.recovered, before.recovered)),
            ("feed.books.recovered_by_snapshot", since(now.by_snapshot, before.by_snapshot)),
            ("feed.snapshot_messages", since(now.snapshot_messages, before.snapshot_messages)),
        ];
        let times = (since_ns, counts.now_ns);
        self.send("book recovery", SpanIdentity::root(), times, attributes, error);
    }
}

fn gap_attributes(gap: Gap) -> Vec<(&'static str, SpanValue)> {
    vec![("feed.gap.first_seq_num", gap.first.into()), ("feed.gap.seq_num_count", gap.count.into())]
}
