//! Gaps that a replay may fill.

use std::collections::VecDeque;

use super::instrument::LastGap;
use crate::arbiter::Gap;

/// Most gaps that can be filled at the same time; older gaps need snapshots.
const OPEN_MAX: usize = 64;

#[derive(Clone, Copy, Debug)]
struct OpenGap {
    gap: Gap,
    last: LastGap,
}

/// The unfilled gaps of the channel.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenGaps {
    open: VecDeque<OpenGap>,
    /// The last gap that can no longer be filled.
    floor: LastGap,
    /// Gaps opened in all.
    count: u64,
}

/// An open gap, and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Around {
    pub(super) before: LastGap,
    pub(super) own: LastGap,
}

/// The gaps around a gap that was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilledGap {
    /// The gap before it.
    pub(super) before: LastGap,
    /// The first number of the gap after it.
    pub(super) next_first: Option<u64>,
}

impl OpenGaps {
    /// Records a gap after all others.
    pub(super) fn open(&mut self, gap: Gap) -> LastGap {
        self.count = self.count.saturating_add(1);
        let last = LastGap { end: gap.last().saturating_add(1), count: self.count };
        if self.open.len() >= OPEN_MAX
            && let Some(oldest) = self.open.pop_front()
        {
            self.floor = oldest.last;
        }
        self.open.push_back(OpenGap { gap, last });
        last
    }

    /// Records that everything sent before `first` is unknown and cannot be filled.
    pub(super) fn begin(&mut self, first: u64) -> LastGap {
        self.count = self.count.saturating_add(1);
        self.floor = LastGap { end: first, count: self.count };
        self.floor
    }

    /// Records that an unknown number of packets around `first` is lost: open gaps can no longer be
    /// filled.
    pub(super) fn lose(&mut self, first: u64) -> LastGap {
        self.open.clear();
        self.begin(first)
    }

    /// Returns the open gap that contains this number; `None` if there is none.
    pub(super) fn around(&self, seq_num: u64) -> Option<Around> {
        let has = |open: &OpenGap| (open.gap.first..=open.gap.last()).contains(&seq_num);
        let index = self.open.iter().rposition(has)?;
        Some(Around { before: self.last_before(index), own: self.open.get(index)?.last })
    }

    fn last_before(&self, index: usize) -> LastGap {
        let before = index.checked_sub(1).and_then(|index| self.open.get(index));
        before.map_or(self.floor, |before| before.last)
    }

    /// Removes a gap that was filled; `None` if it is not open.
    pub(super) fn fill(&mut self, gap: Gap) -> Option<FilledGap> {
        let index = self.open.iter().rposition(|open| open.gap == gap)?;
        let before = self.last_before(index);
        self.open.remove(index);
        let next_first = self.open.get(index).map(|next| next.gap.first);
        Some(FilledGap { before, next_first })
    }

    /// The last gap.
    pub(super) fn last(&self) -> LastGap {
        self.last_before(self.open.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_in_any_order() {
        let mut gaps = OpenGaps::default();
        let gap = |first| Gap { first, count: 2 };
        let last: Vec<LastGap> = [10, 20, 30].map(|first| gaps.open(gap(first))).to_vec();
        assert_eq!(gaps.around(9), None);
        let first = Around { before: LastGap::default(), own: last[0] };
        assert_eq!(gaps.around(11), Some(first));
        assert_eq!(gaps.around(20), Some(Around { before: last[0], own: last[1] }));
        let filled = gaps.fill(gap(20)).unwrap();
        assert_eq!(filled, FilledGap { before: last[0], next_first: Some(30) });
        assert_eq!(gaps.last(), last[2]);
        assert_eq!(gaps.fill(gap(20)), None);
        gaps.fill(gap(30)).unwrap();
        assert_eq!(gaps.last(), last[0]);
        gaps.fill(gap(10)).unwrap();
        assert_eq!(gaps.last(), LastGap::default());
        assert_eq!(gaps.open(gap(40)).count, 4, "counts are never used twice");
    }

    #[test]
    fn a_gap_that_was_forgotten_stays_a_gap() {
        let mut gaps = OpenGaps::default();
        let gap = |index: u64| Gap { first: 10 * index, count: 1 };
        let first = gaps.open(gap(1));
        for index in 2..=OPEN_MAX as u64 + 1 {
            gaps.open(gap(index));
        }
        assert_eq!(gaps.fill(gap(1)), None);
        for index in 2..=OPEN_MAX as u64 + 1 {
            gaps.fill(gap(index)).unwrap();
        }
        assert_eq!(gaps.last(), first);
    }
}
