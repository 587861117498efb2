//! Where in the journal to look for a message: a mark every so many bytes, in memory.
//!
//! Marks are made from the journal, so they cannot be lost or disagree with it; for a journal of a gigabyte
//! they take some hundred kilobytes.

/// Bytes of the journal between marks.
const SPACING: u64 = 32 << 10;

/// Numbers, ascending, each with the frame from which on its message can be.
#[derive(Debug, Default)]
pub(super) struct Marks {
    marks: Vec<(u64, u64)>,
}

impl Marks {
    pub fn clear(&mut self) {
        self.marks.clear();
    }

    /// Takes note of a message in the frame at `at`.
    pub fn note(&mut self, seq_num: u64, at: u64) {
        let is_due = self.marks.last().is_none_or(|(_, last)| at - last >= SPACING);
        if is_due {
            self.marks.push((seq_num, at));
        }
    }

    /// Takes note that numbers from `seq_num` on are used again from the frame at `at` on.
    pub fn cut(&mut self, seq_num: u64, at: u64) {
        let kept = self.marks.partition_point(|(known, _)| *known < seq_num);
        self.marks.truncate(kept);
        self.marks.push((seq_num, at));
    }

    /// Returns the last frame from which on the message with that number can be.
    pub fn find(&self, seq_num: u64) -> Option<u64> {
        let after = self.marks.partition_point(|(known, _)| *known <= seq_num);
        Some(self.marks.get(after.checked_sub(1)?)?.1)
    }
}
