//! Decides which line is wrong when lines that agreed before send different packets with one
//! number.
//!
//! A line that suddenly carries another channel continues at other numbers, perhaps near the right
//! ones, and so skips numbers that the other line sends. The numbers that each line has skipped
//! since the last agreement tell which line is wrong. If they do not tell, the line that delivered
//! first in the epoch is kept; from the second differing copy on, books are stale until the lines
//! agree again.

use super::agreement::CopyComparison;
use super::{Arbiter, Line, LineTrust, OUT_OF_SEQUENCE_MIN, PacketArrival};

/// A line is wrong for certain if it skipped at least this many numbers, and more than twice as
/// many as the other one.
const LEFT_OUT_MIN: u32 = 2;

/// After this many skipped numbers in a row, the next packet waits for the other line's copy.
/// Ordinary losses are shorter.
const LEFT_OUT_TO_WAIT: u64 = 4;

/// Most numbers to go back in search of the last agreement.
const LOOK_BACK: u64 = 256;

/// A dispute: two trusted lines send different packets, until they agree again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dispute {
    /// The line considered wrong.
    pub(super) wrong: Line,
    /// True if the line skipped numbers; otherwise it is unknown which line is wrong.
    pub(super) is_certain: bool,
    /// Number of differing copies.
    copies: u32,
}

/// Differing copies, without an equal one in between, before books are in doubt. A single one may
/// have been damaged in transit.
const COPIES_MIN: u32 = 2;

impl Dispute {
    const fn is_in_doubt(&self) -> bool {
        !self.is_certain && self.copies >= COPIES_MIN
    }
}

impl Arbiter {
    /// True if a dispute proves that a line is wrong.
    pub(super) fn is_wrong_for_certain(&self, line: Line) -> bool {
        self.dispute.is_some_and(|dispute| dispute.wrong == line && dispute.is_certain)
    }

    /// True if two lines that differ both continue, and it is unknown which of them is wrong.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.dispute.is_some_and(|dispute| dispute.is_in_doubt())
            && Line::ALL.into_iter().all(|line| self.is_alive(line))
    }

    /// Records that a copy differs from the accepted packet with its number. The packet of the line
    /// considered right is kept: if the other line's packet was accepted and is still held, it is
    /// replaced.
    pub(super) fn note_difference(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let other = line.other();
        let is_open = Line::ALL.into_iter().all(|line| self.standing(line) == LineTrust::Trusted);
        if self.dispute.is_none() && is_open {
            self.begin_dispute(arrival);
        }
        if let Some(dispute) = &mut self.dispute {
            dispute.copies = dispute.copies.saturating_add(1);
        }
        self.history.mark_differing(seq_num);
        let by_order = if self.leader == Some(line) { other } else { line };
        let wrong = self.dispute.map_or(by_order, |dispute| dispute.wrong);
        let verdict = match self.dispute {
            Some(Dispute { is_certain: true, .. }) => CopyComparison::LeavesOut,
            _ => CopyComparison::Differs,
        };
        self.note_differing(wrong, seq_num, verdict);
        let is_delivered = self.next.is_some_and(|next| seq_num < next);
        let is_doubtful = self
            .dispute
            .is_some_and(|dispute| dispute.is_in_doubt() || dispute.is_certain && wrong == other);
        if is_delivered && is_doubtful {
            self.distrust_deliveries();
        }
        if wrong == line {
            return self.keep_alternative(arrival);
        }
        if !is_delivered && self.window.at(seq_num).is_some_and(|held| held.line == other) {
            self.drop_held(seq_num);
            let held = self.store(arrival);
            self.lines[line.index()].duplicate -= 1;
            *self.taken_counter(line, seq_num) += 1;
            self.hold(seq_num, held);
        }
    }

    fn begin_dispute(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let left_out = self.left_out_before(seq_num);
        let is_certain = |wrong: Line| {
            let own = left_out[wrong.index()];
            own >= LEFT_OUT_MIN && own > 2 * left_out[wrong.other().index()]
        };
        let certain = Line::ALL.into_iter().find(|line| is_certain(*line));
        let by_order = if self.leader == Some(line) { line.other() } else { line };
        let wrong = certain.unwrap_or(by_order);
        self.dispute = Some(Dispute { wrong, is_certain: certain.is_some(), copies: 0 });
        if certain.is_some() {
            self.drop_unconfirmed_of(wrong, seq_num);
            if left_out[wrong.other().index()] > 0 {
                // Packets that only the wrong line sent may have been delivered.
                self.distrust_deliveries();
            }
        }
    }

    /// True if a line skipped several numbers just before this one, and the other line sent all of
    /// them.
    #[inline]
    pub(super) fn has_left_out_before(&self, line: Line, seq_num: u64) -> bool {
        (1..=LEFT_OUT_TO_WAIT).all(|back| {
            let before = self.history.fate(seq_num.saturating_sub(back));
            before.was_seen_on(line.other()) && !before.was_seen_on(line) && !before.is_inside()
        })
    }

    /// True if the packet with the next number waits for the other line's copy: its line skipped
    /// the previous numbers, by loss or because it carries another channel now. The wait is no
    /// longer than for a missing number.
    pub(super) fn waits_for_copy(&self, line: Line, next: u64, received_ns: u64) -> bool {
        let other = line.other();
        self.has_left_out_before(line, next)
            && next >= self.released
            && self.parked.is_none()
            && self.transition.is_none()
            && !self.history.fate(next).was_seen_on(other)
            && self.is_alive(other)
            && self.standing(other) == LineTrust::Trusted
            && self.now_ns < received_ns.saturating_add(self.wait_ns())
    }

    /// Returns by line how many numbers only the other line sent since the last agreement.
    fn left_out_before(&self, seq_num: u64) -> [u32; 2] {
        let mut left_out = [0; 2];
        let from = self.first.max(seq_num.saturating_sub(LOOK_BACK));
        for number in (from..seq_num).rev() {
            let fate = self.history.fate(number);
            if fate.is_agreed() && !fate.is_inside() {
                break;
            }
            for line in Line::ALL {
                let is_missed = fate.was_seen_on(line.other()) && !fate.was_seen_on(line);
                left_out[line.index()] += u32::from(is_missed && !fate.is_inside());
            }
        }
        left_out
    }

    /// Ends a dispute when an equal copy of the current epoch arrives. Also ends the
    /// out-of-sequence state that the dispute began, because no further packet may come, as at the
    /// end of a day.
    pub(super) fn end_dispute(&mut self, received_ns: u64) {
        if self.dispute.take().is_some() && received_ns >= self.unexpected_ns {
            self.note_in_sequence();
        }
    }

    /// Removes from the window the packets of a wrong line that the other line has not sent, except
    /// the one at `but`, which is being compared.
    fn drop_unconfirmed_of(&mut self, wrong: Line, but: u64) {
        let Some(next) = self.next else { return };
        let mut from = next;
        while let Some(seq_num) = self.window.first_at_or_behind(from, next) {
            let is_of_wrong = self.window.at(seq_num).is_some_and(|held| held.line == wrong);
            let is_confirmed = self.history.fate(seq_num).was_seen_on(wrong.other());
            if is_of_wrong && !is_confirmed && seq_num != but {
                self.drop_held(seq_num);
                self.history.unmark_accepted(seq_num);
            }
            from = seq_num + 1;
        }
    }

    /// Makes every book stale until a snapshot, because delivered packets may belong to another
    /// channel.
    fn distrust_deliveries(&mut self) {
        self.unexpected_in_a_row = self.unexpected_in_a_row.max(OUT_OF_SEQUENCE_MIN);
        self.is_unexpected_behind = true;
        self.unexpected_ns = self.now_ns;
    }
}
