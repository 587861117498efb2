//! What became of the numbers around the one waited for.

use super::Line;

/// What is remembered of one number: which lines brought it, and whether it was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate(u8);

const ACCEPTED: u8 = 4;

impl Fate {
    fn bit(line: Line) -> u8 {
        1 << line.index()
    }

    pub(super) fn was_seen_on(self, line: Line) -> bool {
        self.0 & Self::bit(line) != 0
    }

    /// Whether a packet with this number was taken, to be delivered now or later.
    pub(super) fn was_accepted(self) -> bool {
        self.0 & ACCEPTED != 0
    }
}

/// Fates of the numbers from `behind` before the next one to those that may be held.
#[derive(Debug)]
pub(super) struct History {
    fates: Vec<Fate>,
    ahead: u64,
}

impl History {
    pub(super) fn new(behind: usize, ahead: usize) -> Self {
        let len = behind.saturating_add(ahead).saturating_add(1);
        Self { fates: vec![Fate::default(); len], ahead: ahead as u64 }
    }

    fn slot(&self, seq_num: u64) -> usize {
        (seq_num % self.fates.len() as u64) as usize
    }

    pub(super) fn fate(&self, seq_num: u64) -> Fate {
        self.fates[self.slot(seq_num)]
    }

    pub(super) fn mark_seen(&mut self, seq_num: u64, line: Line) {
        let slot = self.slot(seq_num);
        self.fates[slot].0 |= Fate::bit(line);
    }

    pub(super) fn mark_accepted(&mut self, seq_num: u64) {
        let slot = self.slot(seq_num);
        self.fates[slot].0 |= ACCEPTED;
    }

    /// Says that a packet with this number is wanted again.
    pub(super) fn unmark_accepted(&mut self, seq_num: u64) {
        let slot = self.slot(seq_num);
        self.fates[slot].0 &= !ACCEPTED;
    }

    /// Moves on by `count` from `next`: the numbers that come into reach have no fate yet.
    pub(super) fn advance(&mut self, next: u64, count: u64) {
        let len = self.fates.len() as u64;
        if count >= len {
            self.clear();
            return;
        }
        let first = next.saturating_add(self.ahead);
        for seq_num in first..first.saturating_add(count) {
            let slot = self.slot(seq_num);
            self.fates[slot] = Fate::default();
        }
    }

    pub(super) fn clear(&mut self) {
        self.fates.fill(Fate::default());
    }
}
