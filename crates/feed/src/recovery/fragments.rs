//! Snapshots reassembled from several messages.

use crate::market::{Instrument, Snapshot, SnapshotFragment, SnapshotLevel};

/// Most levels of all fragments of a snapshot.
const LEVELS_MAX: usize = 1 << 18;

/// Consecutive messages with earlier times that prove that the feed's clock went back.
const LATE_MAX: u32 = 256;

/// Last message on a line of the snapshot feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing useful: the next message may be in the middle of a snapshot.
    Unknown,
    /// A whole message, or the last one of a snapshot; the number after it, if it had one.
    End(Option<u64>),
    /// A fragment; the number after it.
    Middle(Option<u64>),
}

/// Reassembles the fragments of one line. Fragments of a snapshot follow one another on the feed,
/// with consecutive numbers. A snapshot that cannot be proved complete is not used.
#[derive(Debug)]
pub(super) struct Assembly {
    before: Before,
    /// Instrument, LastMsgSeqNumProcessed and RptSeq of the snapshot being assembled.
    of: Option<(Instrument, u64, Option<u64>)>,
    levels: Vec<SnapshotLevel>,
    depth: Option<u32>,
    /// True if this line has ever split a snapshot.
    splits: bool,
    /// Latest SendingTime (52) of the line, and the number of consecutive messages sent before it.
    sent: Option<u64>,
    late: u32,
}

/// Result of a snapshot message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assembled {
    /// The message is a complete snapshot.
    Whole,
    /// The message completes the snapshot whose levels are in [`Assembly::levels`].
    Complete,
    /// More fragments follow.
    Partial,
    /// A message was lost, so this one is not used.
    Incomplete,
}

impl Assembly {
    pub(super) fn new() -> Self {
        Self {
            before: Before::Unknown,
            of: None,
            levels: Vec::new(),
            depth: None,
            splits: false,
            sent: None,
            late: 0,
        }
    }

    pub(super) fn levels(&self) -> &[SnapshotLevel] {
        &self.levels
    }

    pub(super) fn depth(&self) -> Option<u32> {
        self.depth
    }

    /// Records a message that is no snapshot, and its number.
    pub(super) fn note_other(&mut self, seq_num: Option<u64>) {
        self.of = None;
        self.before = match self.before {
            // If other messages come between fragments, the next message may be the rest of a
            // snapshot.
            Before::Middle(_) => Before::Unknown,
            _ => Before::End(seq_num.and_then(|seq_num| seq_num.checked_add(1))),
        };
    }

    /// Records that messages of the line were lost or could not be decoded.
    pub(super) fn note_loss(&mut self) {
        self.of = None;
        self.before = Before::Unknown;
    }

    /// True if a message was overtaken. If numbers restart in each round, its number may be the
    /// next one by chance, and an incomplete book would be accepted as complete.
    fn is_late(&mut self, snapshot: &Snapshot<'_>) -> bool {
        let is_late = snapshot.sending_time.is_some() && snapshot.sending_time < self.sent;
        self.late = if is_late { self.late + 1 } else { 0 };
        if is_late && self.late <= LATE_MAX {
            return true;
        }
        self.sent = snapshot.sending_time.or(self.sent);
        false
    }

    /// Adds a message.
    pub(super) fn take(&mut self, snapshot: &Snapshot<'_>) -> Assembled {
        if snapshot.fragment != SnapshotFragment::Whole && self.is_late(snapshot) {
            return Assembled::Incomplete;
        }
        let is_last = snapshot.fragment != SnapshotFragment::Middle;
        let next = snapshot.seq_num.and_then(|seq_num| seq_num.checked_add(1));
        let after = if is_last { Before::End(next) } else { Before::Middle(next) };
        let before = std::mem::replace(&mut self.before, after);
        if snapshot.fragment == SnapshotFragment::Whole {
            self.of = None;
            return Assembled::Whole;
        }
        self.splits |= !is_last;
        let of = (snapshot.instrument, snapshot.last_seq_num, snapshot.rpt_seq);
        let is_next = |expected: Option<u64>| expected.is_some() && expected == snapshot.seq_num;
        let begins = match before {
            // The first number of the feed, or of a round.
            _ if snapshot.seq_num == Some(1) => true,
            Before::End(expected) => is_next(expected) || snapshot.seq_num.is_none(),
            // Without numbers a loss cannot be detected. A line that never split a snapshot needs
            // no such detection.
            Before::Unknown => snapshot.seq_num.is_none() && !self.splits,
            Before::Middle(_) => false,
        };
        let goes_on = match before {
            Before::Middle(expected) => is_next(expected) && self.of == Some(of),
            _ => false,
        };
        if !begins && !goes_on {
            self.of = None;
            return Assembled::Incomplete;
        }
        if begins && is_last {
            self.of = None;
            return Assembled::Whole;
        }
        if begins {
            self.levels.clear();
            self.depth = None;
            self.of = Some(of);
        }
        if self.levels.len().saturating_add(snapshot.levels.len()) > LEVELS_MAX {
            self.of = None;
            return Assembled::Incomplete;
        }
        self.levels.extend_from_slice(snapshot.levels);
        self.depth = self.depth.max(snapshot.depth);
        if is_last {
            self.of = None;
            return Assembled::Complete;
        }
        Assembled::Partial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seq_num: Option<u64>, last: u64, fragment: SnapshotFragment) -> Snapshot<'static> {
        Snapshot {
            instrument: Instrument(7),
            last_seq_num: last,
            rpt_seq: Some(1),
            sending_time: None,
            seq_num,
            fragment,
            depth: None,
            levels: &[],
        }
    }

    fn run(messages: &[(Option<u64>, u64, SnapshotFragment)]) -> Vec<Assembled> {
        let mut assembly = Assembly::new();
        let take =
            |of: &(Option<u64>, u64, SnapshotFragment)| assembly.take(&message(of.0, of.1, of.2));
        messages.iter().map(take).collect()
    }

    #[test]
    fn consecutive_fragments_are_put_together() {
        use Assembled::{Complete, Partial, Whole};
        use SnapshotFragment::{Last, Middle};
        let messages = [
            (Some(1), 5, Middle),
            (Some(2), 5, Middle),
            (Some(3), 5, Last),
            (Some(4), 6, Last),
            (Some(5), 6, Middle),
            (Some(6), 6, Last),
        ];
        assert_eq!(run(&messages), [Partial, Partial, Complete, Whole, Partial, Complete]);
    }

    #[test]
    fn a_lost_fragment_makes_the_rest_useless_until_the_next_snapshot() {
        use Assembled::{Incomplete, Partial, Whole};
        use SnapshotFragment::{Last, Middle};
        let messages = [
            (Some(8), 5, Last),
            (Some(9), 5, Middle),
            (Some(11), 5, Last),
            (Some(12), 6, Last),
            (Some(13), 6, Middle),
            (Some(14), 7, Last),
        ];
        let expected = [Incomplete, Partial, Incomplete, Whole, Partial, Incomplete];
        assert_eq!(run(&messages), expected);
    }

    #[test]
    fn a_late_fragment_whose_number_is_the_next_by_chance_is_no_snapshot() {
        use Assembled::{Incomplete, Partial, Whole};
        use SnapshotFragment::{Last, Middle};
        let mut assembly = Assembly::new();
        let mut take = |seq_num, sent, fragment| {
            let message = message(Some(seq_num), 5, fragment);
            assembly.take(&Snapshot { sending_time: Some(sent), ..message })
        };
        // The previous round had three fragments; its third one arrives late.
        assert_eq!(take(1, 100, Middle), Partial);
        assert_eq!(take(2, 100, Middle), Partial);
        assert_eq!(take(1, 200, Last), Whole);
        assert_eq!(take(2, 201, Last), Whole);
        assert_eq!(take(3, 100, Last), Incomplete);
        assert_eq!(take(3, 202, Last), Whole);
        // A clock that went back is accepted eventually.
        let refused = (0..300).take_while(|_| take(1, 50, Last) == Incomplete).count();
        assert_eq!(refused, LATE_MAX as usize);
    }

    #[test]
    fn without_numbers_nothing_split_can_be_shown_to_be_complete() {
        use SnapshotFragment::{Last, Middle, Whole};
        let messages = [(None, 5, Last), (None, 5, Middle), (None, 5, Last), (None, 5, Whole)];
        use Assembled::{Incomplete, Partial};
        assert_eq!(run(&messages), [Assembled::Whole, Partial, Incomplete, Assembled::Whole]);
    }
}
