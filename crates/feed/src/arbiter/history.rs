//! Records of the numbers around the next one: who sent them, and whether a packet was accepted.

use super::Line;

/// Most numbers remembered, whatever the options. They take 1 GiB.
const LEN_MAX: usize = 1 << 26;

/// A packet with this number was accepted, for delivery now or later.
const ACCEPTED: u64 = 4;
/// The number lies inside a packet that begins with a lower number.
const INSIDE: u64 = 8;
/// The lines sent different packets with this number.
const DIFFERS: u64 = 16;
const FLAGS: u64 = 0xFF;
/// The lines that sent the number.
const LINES: u64 = 3;

/// Record of one number: the lines that sent it, whether it was accepted, and the upper 56 bits of
/// its packet's hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fate(u64);

impl Fate {
    fn bit(line: Line) -> u64 {
        1 << line.index()
    }

    pub(super) fn was_seen_on(self, line: Line) -> bool {
        self.0 & Self::bit(line) != 0
    }

    /// True if a packet with this number and hash was accepted.
    pub(super) fn is_copy(self, hash: u64) -> bool {
        self.0 & (ACCEPTED | INSIDE) == ACCEPTED && (self.0 ^ hash) & !FLAGS == 0
    }

    /// True if a packet with this number was accepted, for delivery now or later.
    pub(super) fn was_accepted(self) -> bool {
        self.0 & ACCEPTED != 0
    }

    pub(super) fn is_inside(self) -> bool {
        self.0 & INSIDE != 0
    }

    /// True if a line sent a packet with this number that may differ from the accepted one; a
    /// further packet may repeat it.
    pub(super) fn is_differing_copy_of(self, line: Line) -> bool {
        self.0 & DIFFERS != 0 && self.was_seen_on(line)
    }

    /// True if both lines sent the same packet with this number.
    pub(super) fn is_agreed(self) -> bool {
        self.0 & (LINES | DIFFERS) == LINES
    }
}

/// Fates of the numbers from `behind` before the next one to those that may be held.
///
/// A ring with 16 bytes per number: the number plus one (0 marks a free entry), then its [`Fate`].
/// Numbers that enter the range overwrite those that leave it, so nothing is cleared as the window
/// moves.
#[derive(Debug)]
pub(super) struct FateHistory {
    entries: Vec<[u64; 2]>,
    mask: u64,
}

impl FateHistory {
    pub(super) fn new(behind: usize, ahead: usize) -> Self {
        let len = behind.saturating_add(ahead).saturating_add(1).min(LEN_MAX).next_power_of_two();
        Self { entries: vec![[0; 2]; len], mask: len as u64 - 1 }
    }

    pub(super) fn fate(&self, seq_num: u64) -> Fate {
        let [tag, fate] = self.entries[(seq_num & self.mask) as usize];
        if tag == seq_num + 1 { Fate(fate) } else { Fate::default() }
    }

    fn change(&mut self, seq_num: u64, change: impl FnOnce(u64) -> u64) {
        let entry = &mut self.entries[(seq_num & self.mask) as usize];
        let fate = if entry[0] == seq_num + 1 { entry[1] } else { 0 };
        *entry = [seq_num + 1, change(fate)];
    }

    pub(super) fn mark_seen(&mut self, seq_num: u64, line: Line) {
        self.change(seq_num, |fate| fate | Fate::bit(line));
    }

    /// Records that the lines sent different packets with this number.
    pub(super) fn mark_differing(&mut self, seq_num: u64) {
        self.change(seq_num, |fate| fate | DIFFERS);
    }

    /// Records that a packet of `line` with this number was accepted.
    pub(super) fn mark_accepted(&mut self, seq_num: u64, line: Line, hash: u64) {
        self.change(seq_num, |fate| {
            (fate & (LINES | DIFFERS)) | Fate::bit(line) | ACCEPTED | (hash & !FLAGS)
        });
    }

    /// Records that a number lies inside an accepted packet, whose lines are in `fate`.
    pub(super) fn mark_inside(&mut self, seq_num: u64, fate: Fate) {
        self.change(seq_num, |own| ((own | fate.0) & LINES) | ACCEPTED | INSIDE);
    }

    /// Records that a packet with this number is expected again.
    pub(super) fn unmark_accepted(&mut self, seq_num: u64) {
        self.change(seq_num, |fate| fate & !ACCEPTED);
    }
}
