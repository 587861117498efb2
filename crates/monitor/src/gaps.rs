//! Gaps, and how each of them was filled.

use std::collections::VecDeque;

use tickwire_feed::arbiter::Gap;

use crate::state::GapState;

/// Number of gaps kept.
const GAPS_MAX: usize = 256;
/// Most packets linked to one gap.
const PACKETS_MAX: usize = 16;

#[derive(Debug)]
struct Known {
    state: GapState,
    at_ns: u64,
    first: u64,
    is_replaying: bool,
    /// True if a snapshot has made a book fresh since the gap.
    had_snapshot: bool,
    /// True if a replay service has sent all that it had of the gap.
    was_replayed: bool,
}

/// The last gaps of a channel.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    known: VecDeque<Known>,
    next_id: u64,
}

impl Gaps {
    pub(crate) fn open(&mut self, gap: Gap, at_ns: u64, at_ms: u64) {
        if self.known.len() == GAPS_MAX {
            self.known.pop_front();
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
        self.known.push_back(Known {
            state,
            at_ns,
            first: gap.first,
            is_replaying: false,
            had_snapshot: false,
            was_replayed: false,
        });
    }

    fn open_ones(&mut self) -> impl Iterator<Item = &mut Known> {
        self.known.iter_mut().filter(|known| known.state.status != "filled")
    }

    /// Links a packet to the newest gap that begins at `first`.
    pub(crate) fn link(&mut self, first: u64, packet: u64) {
        let Some(known) = self.known.iter_mut().rev().find(|known| known.first == first) else {
            return;
        };
        let packets = &mut known.state.packets;
        if packets.len() < PACKETS_MAX && !packets.contains(&packet) {
            packets.push(packet);
        }
    }

    pub(crate) fn replay(&mut self, gap: Gap, is_begun: bool) {
        for known in self.open_ones().filter(|known| known.first == gap.first) {
            known.state.status = if is_begun { "replaying" } else { "open" };
            known.is_replaying = is_begun;
            known.was_replayed |= !is_begun;
        }
    }

    /// Ends the replays of all gaps except those that begin at these numbers.
    pub(crate) fn end_replays(&mut self, replaying: &[u64]) {
        let is_over = |known: &&mut Known| known.is_replaying && !replaying.contains(&known.first);
        for known in self.open_ones().filter(is_over) {
            known.state.status = "open";
            known.is_replaying = false;
            known.was_replayed = true;
        }
    }

    pub(crate) fn note_snapshot(&mut self) {
        self.open_ones().for_each(|known| known.had_snapshot = true);
    }

    /// Fills the open gaps by a sequence reset: what was lost before it no longer matters and is not replayed.
    pub(crate) fn reset(&mut self, now_ns: u64) {
        for known in self.open_ones().filter(|known| known.at_ns < now_ns) {
            known.is_replaying = false;
        }
        self.fill(now_ns, |_| "reset");
    }

    /// Fills the open gaps: no book is stale because of a gap any more.
    pub(crate) fn books_are_whole(&mut self, now_ns: u64) {
        self.fill(now_ns, |known| match known {
            Known { had_snapshot: true, .. } => "snapshots",
            Known { was_replayed: true, .. } => "replay",
            _ => "updates",
        });
    }

    fn fill(&mut self, now_ns: u64, by: impl Fn(&Known) -> &'static str) {
        for known in self.open_ones().filter(|known| !known.is_replaying && known.at_ns < now_ns) {
            known.state.status = "filled";
            known.state.filled_by = Some(by(known));
            known.state.filled_after_ms = Some((now_ns - known.at_ns) / 1_000_000);
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
        gaps.replay(gap(20), true);
        gaps.books_are_whole(7_000_000);
        assert_eq!(gaps.newest(1)[0].status, "replaying");
        gaps.replay(gap(20), false);
        gaps.books_are_whole(8_000_000);
        gaps.open(gap(30), 9_000_000, 0);
        gaps.note_snapshot();
        gaps.books_are_whole(10_000_000);
        gaps.open(gap(40), 11_000_000, 0);
        gaps.reset(12_000_000);
        gaps.open(gap(50), 13_000_000, 0);
        gaps.replay(gap(50), true);
        gaps.end_replays(&[50]);
        assert_eq!(gaps.newest(1)[0].status, "replaying");
        // As if the event that ends the replay had been dropped.
        gaps.end_replays(&[]);
        gaps.books_are_whole(14_000_000);
        gaps.open(gap(60), 15_000_000, 0);
        gaps.replay(gap(60), true);
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
