//! Gaps, and how each of them was filled.

use std::collections::VecDeque;

use tickwire_feed::arbiter::Gap;
use tickwire_feed::replay::ReplayFailure;
use tickwire_telemetry::spans::SpanIdentity;

use crate::spans::{ChannelSpans, GapRecovery};
use crate::state::GapState;

/// Number of gaps kept.
const GAPS_MAX: usize = 256;
/// Most packets linked to one gap.
const PACKETS_MAX: usize = 16;

#[derive(Debug)]
struct TrackedGap {
    state: GapState,
    recovery: GapRecovery,
    /// Time since which a replay service sends the gap.
    replaying_ns: Option<u64>,
    /// The first reason why numbers of the gap are not replayed.
    abandoned: Option<ReplayFailure>,
    /// True if a snapshot has made a book fresh since the gap.
    had_snapshot: bool,
    /// True if a replay service has sent the gap.
    was_replayed: bool,
}

impl TrackedGap {
    fn is_open(&self) -> bool {
        self.state.status != "filled"
    }

    /// Ends the replay, if one has begun, and exports its end; `error` tells why it was cut off.
    fn end_replay(&mut self, spans: Option<&ChannelSpans>, now_ns: u64, error: Option<&str>) {
        let Some(since_ns) = self.replaying_ns.take() else { return };
        let abandoned = self.abandoned.take().map(|reason| reason.to_string());
        let error = abandoned.as_deref().or(error);
        self.was_replayed |= error.is_none();
        if let Some(spans) = spans {
            spans.replay_ended(&self.recovery, (since_ns, now_ns), error);
        }
    }
}

/// The last gaps of a channel.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    known: VecDeque<TrackedGap>,
    next_id: u64,
    /// Exports the end of each gap and replay.
    spans: Option<ChannelSpans>,
}

impl Gaps {
    pub(crate) fn open(&mut self, gap: Gap, at_ns: u64, at_ms: u64) {
        if self.known.len() == GAPS_MAX {
            let filled = self.known.iter().position(|known| !known.is_open());
            let forgotten = self.known.remove(filled.unwrap_or(0));
            forgotten.into_iter().for_each(|known| self.end_unfilled(known, at_ns));
        }
        self.next_id += 1;
        let state = GapState {
            id: self.next_id,
            at_ms,
            first: gap.first.to_string(),
            count: gap.count,
            status: "open",
            filled_by: None,
            filled_after_ms: None,
            packets: Vec::new(),
            packets_status: "not_kept",
        };
        self.known.push_back(TrackedGap {
            state,
            recovery: GapRecovery { identity: SpanIdentity::root(), gap, since_ns: at_ns },
            replaying_ns: None,
            abandoned: None,
            had_snapshot: false,
            was_replayed: false,
        });
    }

    fn open_ones(&mut self) -> impl Iterator<Item = &mut TrackedGap> {
        self.known.iter_mut().filter(|known| known.is_open())
    }

    /// Exports spans from now on.
    pub(crate) fn trace(&mut self, spans: ChannelSpans) {
        self.spans = Some(spans);
    }

    /// Exports the end of a gap that is dropped from the list, unless it was filled.
    fn end_unfilled(&self, mut known: TrackedGap, now_ns: u64) {
        if let Some(spans) = self.spans.as_ref().filter(|_| known.is_open()) {
            known.end_replay(Some(spans), now_ns, Some("the replay was not awaited"));
            spans.gap_ended(&known.recovery, None, now_ns);
        }
    }

    /// Exports the ends of the gaps that are open at the end of the channel.
    pub(crate) fn finish(&mut self, now_ns: u64) {
        let known = std::mem::take(&mut self.known);
        known.into_iter().for_each(|known| self.end_unfilled(known, now_ns));
    }

    /// Links a packet to the newest gap that begins at `first`.
    pub(crate) fn link(&mut self, first: u64, packet: u64) {
        let is_meant = |known: &&mut TrackedGap| known.recovery.gap.first == first;
        let Some(known) = self.known.iter_mut().rev().find(is_meant) else { return };
        let packets = &mut known.state.packets;
        if packets.len() < PACKETS_MAX && !packets.contains(&packet) {
            packets.push(packet);
        }
    }

    /// Records that a replay service is asked for a gap.
    pub(crate) fn replay_begun(&mut self, gap: Gap, now_ns: u64) {
        for known in self.open_ones().filter(|known| known.recovery.gap.first == gap.first) {
            known.state.status = "replaying";
            known.replaying_ns.get_or_insert(now_ns);
        }
    }

    /// Records that numbers of a gap are not replayed.
    pub(crate) fn replay_abandoned(&mut self, numbers: Gap, reason: ReplayFailure) {
        let is_meant = |known: &&mut TrackedGap| {
            let gap = known.recovery.gap;
            known.replaying_ns.is_some() && (gap.first..=gap.last()).contains(&numbers.first)
        };
        for known in self.open_ones().filter(is_meant) {
            known.abandoned.get_or_insert(reason);
        }
    }

    /// Records that the replay of a gap has ended.
    pub(crate) fn replay_done(&mut self, gap: Gap, now_ns: u64) {
        self.end_replays_of(now_ns, |first| first == gap.first);
    }

    /// Ends the replays of all gaps except those that begin at these numbers.
    pub(crate) fn end_replays(&mut self, replaying: &[u64], now_ns: u64) {
        self.end_replays_of(now_ns, |first| !replaying.contains(&first));
    }

    fn end_replays_of(&mut self, now_ns: u64, is_over: impl Fn(u64) -> bool) {
        let Self { known, spans, .. } = self;
        let open = known.iter_mut().filter(|known| known.is_open());
        for known in open.filter(|known| is_over(known.recovery.gap.first)) {
            known.state.status = "open";
            known.end_replay(spans.as_ref(), now_ns, None);
        }
    }

    pub(crate) fn note_snapshot(&mut self) {
        self.open_ones().for_each(|known| known.had_snapshot = true);
    }

    /// Fills the open gaps by a sequence reset: what was lost before it no longer matters and is not replayed.
    pub(crate) fn reset(&mut self, now_ns: u64) {
        let Self { known, spans, .. } = self;
        let is_before =
            |known: &&mut TrackedGap| known.is_open() && known.recovery.since_ns < now_ns;
        for known in known.iter_mut().filter(is_before) {
            known.end_replay(spans.as_ref(), now_ns, Some("the sequence numbers restarted"));
        }
        self.fill(now_ns, |_| Some("reset"));
    }

    /// Fills the open gaps: no book is stale because of a gap any more.
    pub(crate) fn books_are_whole(&mut self, now_ns: u64) {
        self.fill(now_ns, |known| match known {
            TrackedGap { had_snapshot: true, .. } => Some("snapshots"),
            TrackedGap { was_replayed: true, .. } => Some("replay"),
            _ => Some("updates"),
        });
    }

    /// Fills the open gaps that a replay service has sent. In a process without books nothing else
    /// shows that they are filled.
    pub(crate) fn fill_replayed(&mut self, now_ns: u64) {
        self.fill(now_ns, |known| known.was_replayed.then_some("replay"));
    }

    /// Fills the open gaps for which `by` tells how.
    fn fill(&mut self, now_ns: u64, by: impl Fn(&TrackedGap) -> Option<&'static str>) {
        let Self { known, spans, .. } = self;
        let is_filled = |known: &&mut TrackedGap| {
            known.replaying_ns.is_none() && known.recovery.since_ns < now_ns
        };
        for known in known.iter_mut().filter(|known| known.is_open()).filter(is_filled) {
            let Some(filled_by) = by(known) else { continue };
            known.state.status = "filled";
            known.state.filled_by = Some(filled_by);
            known.state.filled_after_ms = Some((now_ns - known.recovery.since_ns) / 1_000_000);
            if let Some(spans) = spans {
                spans.gap_ended(&known.recovery, Some(filled_by), now_ns);
            }
        }
    }

    /// Returns the newest `count` gaps, the newest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<GapState> {
        self.known.iter().rev().take(count).map(|known| known.state.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_telemetry::metrics::Metrics;
    use tickwire_telemetry::spans::SpanSink;

    #[test]
    fn a_gap_tells_how_it_was_filled() {
        let mut gaps = Gaps::default();
        let gap = |first| Gap { first, count: 2 };
        gaps.open(gap(10), 1_000_000, 0);
        gaps.link(10, 7);
        gaps.link(11, 8);
        gaps.books_are_whole(5_000_000);
        gaps.open(gap(20), 6_000_000, 0);
        gaps.replay_begun(gap(20), 6_000_000);
        gaps.books_are_whole(7_000_000);
        assert_eq!(gaps.newest(1)[0].status, "replaying");
        gaps.replay_done(gap(20), 7_000_000);
        gaps.books_are_whole(8_000_000);
        gaps.open(gap(30), 9_000_000, 0);
        gaps.note_snapshot();
        gaps.books_are_whole(10_000_000);
        gaps.open(gap(40), 11_000_000, 0);
        gaps.reset(12_000_000);
        gaps.open(gap(50), 13_000_000, 0);
        gaps.replay_begun(gap(50), 13_000_000);
        gaps.end_replays(&[50], 13_000_000);
        assert_eq!(gaps.newest(1)[0].status, "replaying");
        // As if the event that ends the replay had been dropped.
        gaps.end_replays(&[], 13_000_000);
        gaps.books_are_whole(14_000_000);
        gaps.open(gap(60), 15_000_000, 0);
        gaps.replay_begun(gap(60), 15_000_000);
        gaps.reset(16_000_000);
        let by: Vec<_> = gaps.newest(9).iter().filter_map(|gap| gap.filled_by).collect();
        assert_eq!(by, ["reset", "replay", "reset", "snapshots", "replay", "updates"]);
        let first = gaps.newest(9).pop().unwrap();
        assert_eq!((first.packets, first.filled_after_ms), (vec![7], Some(4)));
    }

    #[test]
    fn without_books_a_replay_alone_fills_gaps() {
        let mut gaps = Gaps::default();
        let gap = |first| Gap { first, count: 2 };
        gaps.open(gap(10), 1_000_000, 0);
        gaps.open(gap(20), 1_000_000, 0);
        gaps.replay_begun(gap(20), 1_000_000);
        gaps.replay_done(gap(20), 2_000_000);
        gaps.fill_replayed(3_000_000);
        let by: Vec<_> = gaps.newest(9).iter().map(|gap| (gap.status, gap.filled_by)).collect();
        assert_eq!(by, [("filled", Some("replay")), ("open", None)]);
    }

    /// Returns gaps that are traced, and the ended spans.
    fn traced() -> (Gaps, impl Fn() -> Vec<(&'static str, Option<String>)>) {
        let (sink, spans) = SpanSink::new(GAPS_MAX * 4, &Metrics::new());
        let mut gaps = Gaps::default();
        gaps.trace(ChannelSpans::new(sink, "futures", 0));
        (gaps, move || spans.try_iter().map(|span| (span.name, span.error)).collect())
    }

    #[test]
    fn a_replay_that_failed_is_an_error_and_fills_nothing() {
        let (mut gaps, ended) = traced();
        let gap = |first| Gap { first, count: 3 };
        // The service sends only a part of the gap.
        gaps.open(gap(10), 1, 0);
        gaps.replay_begun(gap(10), 1);
        gaps.replay_abandoned(Gap { first: 11, count: 2 }, ReplayFailure::NotAvailable);
        gaps.replay_done(gap(10), 2);
        let error = Some(ReplayFailure::NotAvailable.to_string());
        assert_eq!(ended(), [("replay", error)]);
        // The end of a replay that never began.
        gaps.open(gap(20), 3, 0);
        gaps.replay_done(gap(20), 4);
        assert_eq!(ended(), []);
        gaps.open(gap(30), 5, 0);
        gaps.replay_begun(gap(30), 5);
        gaps.replay_done(gap(30), 6);
        gaps.books_are_whole(7);
        let by: Vec<_> = gaps.newest(9).iter().filter_map(|gap| gap.filled_by).collect();
        assert_eq!(by, ["replay", "updates", "updates"]);
        assert_eq!(ended()[0], ("replay", None));
    }

    #[test]
    fn replays_end_with_their_gaps() {
        let (mut gaps, ended) = traced();
        let gap = |first| Gap { first, count: 1 };
        gaps.open(gap(10), 1, 0);
        gaps.replay_begun(gap(10), 1);
        gaps.reset(2);
        let restarted = Some("the sequence numbers restarted".to_owned());
        assert_eq!(ended(), [("replay", restarted), ("gap recovery", None)]);
        let cut_off = [
            ("replay", Some("the replay was not awaited".to_owned())),
            ("gap recovery", Some("the gap was not filled".to_owned())),
        ];
        gaps.open(gap(20), 3, 0);
        gaps.replay_begun(gap(20), 3);
        gaps.finish(4);
        assert_eq!(ended(), cut_off);
        // The oldest gap is dropped while it is replayed.
        gaps.open(gap(30), 5, 0);
        gaps.replay_begun(gap(30), 5);
        (0..GAPS_MAX as u64).for_each(|at| gaps.open(gap(100 + at), 6, 0));
        assert_eq!(ended(), cut_off);
    }

    #[test]
    fn filled_gaps_are_forgotten_first() {
        let (mut gaps, ended) = traced();
        let gap = |first| Gap { first, count: 1 };
        gaps.open(gap(1), 1, 0);
        gaps.replay_begun(gap(1), 1);
        gaps.open(gap(2), 1, 0);
        gaps.books_are_whole(2);
        assert_eq!(ended(), [("gap recovery", None)]);
        (0..GAPS_MAX as u64 - 1).for_each(|at| gaps.open(gap(100 + at), 3, 0));
        assert_eq!(ended(), []);
        let kept = gaps.newest(GAPS_MAX);
        assert_eq!((kept.len(), &*kept[GAPS_MAX - 1].first), (GAPS_MAX, "1"));
        assert!(kept.iter().all(|gap| gap.first != "2"));
    }

    #[test]
    fn gaps_are_bounded_in_number() {
        let mut gaps = Gaps::default();
        (0..1000).for_each(|first| gaps.open(Gap { first, count: 1 }, first, 0));
        assert_eq!(gaps.newest(usize::MAX).len(), GAPS_MAX);
    }
}
