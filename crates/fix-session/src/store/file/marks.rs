//! In-memory index of the journal: the position of one message per [`SPACING`] bytes.
//!
//! The index is rebuilt from the journal, so it cannot be lost or disagree with it. For a journal
//! of a gigabyte it needs some hundred kilobytes.

/// Bytes of the journal between two marks.
const SPACING: u64 = 32 << 10;

/// Sequence numbers, ascending, each with the offset of the frame at or after which its message is.
#[derive(Debug, Default)]
pub(super) struct SeqNumMarks {
    marks: Vec<(u64, u64)>,
}

impl SeqNumMarks {
    pub fn clear(&mut self) {
        self.marks.clear();
    }

    /// Records a message in the frame at offset `at`.
    pub fn note(&mut self, seq_num: u64, at: u64) {
        let is_due = self.marks.last().is_none_or(|(_, last)| at - last >= SPACING);
        if is_due {
            self.marks.push((seq_num, at));
        }
    }

    /// Records that the frames from offset `at` on reuse the numbers from `seq_num` on.
    pub fn cut(&mut self, seq_num: u64, at: u64) {
        let kept = self.marks.partition_point(|(known, _)| *known < seq_num);
        self.marks.truncate(kept);
        self.marks.push((seq_num, at));
    }

    /// Returns the offset of the last frame at or after which the first message with this number or
    /// a later one can be; `None` if there are no messages.
    pub fn find(&self, seq_num: u64) -> Option<u64> {
        let after = self.marks.partition_point(|(known, _)| *known <= seq_num);
        Some(self.marks.get(after.saturating_sub(1))?.1)
    }

    /// Returns the first number that later frames reuse, if `seq_num` in the frame at offset `at`
    /// is one of the reused numbers.
    pub fn used_again(&self, seq_num: u64, at: u64) -> Option<u64> {
        let after = self.marks.partition_point(|(known, _)| *known <= seq_num);
        let (from, frame) = self.marks.get(after.checked_sub(1)?)?;
        (*frame > at).then_some(*from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_at_every_so_many_bytes() {
        let mut marks = SeqNumMarks::default();
        for seq_num in 1..=1000 {
            marks.note(seq_num, 24 + seq_num * SPACING / 4);
        }
        assert_eq!(marks.marks.len(), 250);
        assert_eq!((marks.find(0), SeqNumMarks::default().find(1)), (Some(24 + SPACING / 4), None));
        for seq_num in 1..=1000 {
            // Messages are a quarter of the spacing apart: the mark is its own or that of one of
            // the three before.
            let first = seq_num - (seq_num - 1) % 4;
            assert_eq!(marks.find(seq_num), Some(24 + first * SPACING / 4), "{seq_num}");
        }
    }
}
