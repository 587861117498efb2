//! Gaps, and how each of them was filled.

use std::collections::VecDeque;

use tickwire_feed::arbiter::Gap;
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
    /// True if a snapshot has made a book fresh since the gap.
    had_snapshot: bool,
    /// True if a replay service has sent all that it had of the gap.
    was_replayed: bool,
}

impl TrackedGap {
    fn is_open(&self) -> bool {
        self.state.status != "filled"
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
        if self.known.len() == GAPS_MAX
            && let Some(oldest) = self.known.pop_front()
        {
            self.end_unfilled(&oldest, at_ns);
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
        };
        self.known.push_back(TrackedGap {
            state,
            recovery: GapRecovery { identity: SpanIdentity::root(), gap, since_ns: at_ns },
            replaying_ns: None,
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

    /// Exports the end of a gap that is forgotten, unless it was filled.
    fn end_unfilled(&self, known: &TrackedGap, now_ns: u64) {
        if let Some(spans) = self.spans.as_ref().filter(|_| known.is_open()) {
            spans.gap_ended(&known.recovery, None, now_ns);
        }
    }

    /// Exports the ends of the gaps that are open at the end of the channel.
    pub(crate) fn finish(&mut self, now_ns: u64) {
        let known = std::mem::take(&mut self.known);
        known.iter().for_each(|known| self.end_unfilled(known, now_ns));
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

    /// A replay service is asked for a gap.
    pub(crate) fn replay_begun(&mut self, gap: Gap, now_ns: u64) {
        for known in self.open_ones().filter(|known| known.recovery.gap.first == gap.first) {
            known.state.status = "replaying";
            known.replaying_ns.get_or_insert(now_ns);
        }
    }

    /// The replay of a gap has ended.
    pub(crate) fn replay_done(&mut self, gap: Gap, now_ns: u64) {
        let of_gap = self.open_ones().filter(|known| known.recovery.gap.first == gap.first);
        of_gap.for_each(|known| known.was_replayed = true);
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
            let Some(since_ns) = known.replaying_ns.take() else { continue };
            known.state.status = "open";
            known.was_replayed = true;
            if let Some(spans) = spans {
                spans.replay_ended(&known.recovery, since_ns, now_ns);
            }
        }
    }

    pub(crate) fn note_snapshot(&mut self) {
        self.open_ones().for_each(|known| known.had_snapshot = true);
    }

    /// Fills the open gaps by a sequence reset: what was lost before it no longer matters and is not replayed.
    pub(crate) fn reset(&mut self, now_ns: u64) {
        for known in self.open_ones().filter(|known| known.recovery.since_ns < now_ns) {
            known.replaying_ns = None;
        }
        self.fill(now_ns, |_| "reset");
    }

    /// Fills the open gaps: no book is stale because of a gap any more.
    pub(crate) fn books_are_whole(&mut self, now_ns: u64) {
        self.fill(now_ns, |known| match known {
            TrackedGap { had_snapshot: true, .. } => "snapshots",
            TrackedGap { was_replayed: true, .. } => "replay",
            _ => "updates",
        });
    }

    fn fill(&mut self, now_ns: u64, by: impl Fn(&TrackedGap) -> &'static str) {
        let Self { known, spans, .. } = self;
        let is_filled = |known: &&mut TrackedGap| {
            known.replaying_ns.is_none() && known.recovery.since_ns < now_ns
        };
        for known in known.iter_mut().filter(|known| known.is_open()).filter(is_filled) {
            let filled_by = by(known);
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
    fn gaps_are_bounded_in_number() {
        let mut gaps = Gaps::default();
        (0..1000).for_each(|first| gaps.open(Gap { first, count: 1 }, first, 0));
        assert_eq!(gaps.newest(usize::MAX).len(), GAPS_MAX);
    }
}
