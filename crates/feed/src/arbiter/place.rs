//! Assigns packets to epochs.
//!
//! A line sends the packets of all epochs in one order, from which single packets deviate by at
//! most `reorder_max` numbers. Its position in this order is an epoch and the highest number that
//! it has sent there. A packet belongs to the epoch that has an equal packet, else to the epoch in
//! which its number is free and nearest to the position of its line.

use super::unexpected::UnexpectedRun;
use super::{Arbiter, PacketArrival};

/// The epoch of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketEpoch {
    /// The past epoch with this index.
    Past(usize),
    /// The current epoch.
    Current,
    /// An epoch that has not begun, or none.
    Next,
}

/// Reason why a packet may belong to an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// The epoch has an equal packet.
    Equal,
    /// The number is free.
    Free,
}

/// An epoch that a packet may belong to.
#[derive(Clone, Copy, Debug)]
struct EpochCandidate {
    place: PacketEpoch,
    evidence: Evidence,
    /// Numbers between the packet and the position of its line.
    distance: u64,
}

impl EpochCandidate {
    /// True if this candidate is better than `other`. An equal packet beats a free number.
    /// Exception: the free number is the next one of its line, and the equal packet is further away
    /// than `reorder_max`, because two epochs may have equal packets.
    fn beats(&self, other: &Self, reorder_max: u64) -> bool {
        let is_next =
            |free: &Self, equal: &Self| free.distance == 0 && equal.distance > reorder_max;
        match (self.evidence, other.evidence) {
            (Evidence::Equal, Evidence::Free) => !is_next(other, self),
            (Evidence::Free, Evidence::Equal) => is_next(self, other),
            _ => self.distance < other.distance,
        }
    }
}

/// Position of a line: its epoch, and the highest number that it has sent there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stand {
    pub(super) epoch: u64,
    pub(super) highest: Option<u64>,
}

impl Stand {
    /// Returns how far a number is below the highest one.
    pub(super) fn back(&self, seq_num: u64) -> u64 {
        self.highest.map_or(0, |highest| highest.saturating_sub(seq_num))
    }

    fn goes_back(&self, seq_num: u64) -> bool {
        self.highest.is_some_and(|highest| seq_num <= highest)
    }

    /// Returns the number after the highest one, or the first one of the epoch.
    fn expected(&self, first: u64) -> u64 {
        self.highest.map_or(first, |highest| highest.saturating_add(1))
    }
}

impl Arbiter {
    /// Returns the epoch of a packet that arrived when its line was at `stand`.
    pub(super) fn place_of(&self, arrival: &PacketArrival<'_>, stand: Stand) -> PacketEpoch {
        let current = self.past.len();
        let own = self.past.iter().position(|past| past.epoch == stand.epoch).unwrap_or(current);
        let (own_first, own_end) = self.span_of(own);
        let expected = stand.expected(own_first);
        let run = self.states[arrival.line.index()].run;
        let mut best = self.in_own(own, arrival, stand, expected);
        if self.past.is_empty() && run.is_none() {
            return best.map_or(PacketEpoch::Next, |best| best.place);
        }
        let mut offer = |candidate: Option<EpochCandidate>| {
            let is_better = |new: &EpochCandidate| {
                best.is_none_or(|best: EpochCandidate| new.beats(&best, self.options.reorder_max))
            };
            best = candidate.filter(is_better).or(best);
        };
        let mut ahead = own_end.saturating_sub(expected);
        for index in own + 1..=current {
            offer(self.in_later(index, arrival, ahead));
            let (first, end) = self.span_of(index);
            ahead = ahead.saturating_add(end.saturating_sub(first));
        }
        let mut behind = expected.saturating_sub(own_first);
        for index in (0..own).rev() {
            offer(self.in_earlier(index, arrival, behind));
            let (first, end) = self.span_of(index);
            behind = behind.saturating_add(end.saturating_sub(first));
        }
        offer(run.and_then(|run| self.in_run(&run, arrival.seq_num)));
        best.map_or(PacketEpoch::Next, |best| best.place)
    }

    /// Returns the first number of an epoch and the number after its last; the current epoch has
    /// the index after all past ones.
    fn span_of(&self, index: usize) -> (u64, u64) {
        let current = (self.first, self.next.unwrap_or(self.first));
        self.past.get(index).map_or(current, |past| (past.first, past.end))
    }

    /// Returns the candidate in the epoch of the packet's line.
    fn in_own(
        &self,
        own: usize,
        arrival: &PacketArrival<'_>,
        stand: Stand,
        expected: u64,
    ) -> Option<EpochCandidate> {
        let PacketArrival { seq_num, hash, .. } = *arrival;
        let (history, place) = match self.past.get(own) {
            Some(past) => (&past.history, PacketEpoch::Past(own)),
            None => (&self.history, PacketEpoch::Current),
        };
        let distance = seq_num.abs_diff(expected);
        let fate = history.fate(seq_num);
        if fate.is_copy(hash) {
            return Some(EpochCandidate { place, evidence: Evidence::Equal, distance });
        }
        let is_free = if fate.was_accepted() {
            // The packet differs from the known one: the other line's copy differs, unless this
            // line goes back.
            !stand.goes_back(seq_num)
                || fate.is_differing_copy_of(arrival.line)
                    && stand.back(seq_num) <= self.options.reorder_max
        } else if let Some(past) = self.past.get(own) {
            stand.back(seq_num) <= self.options.reorder_max && past.may_have(seq_num)
        } else {
            self.may_take(seq_num, stand)
        };
        is_free.then_some(EpochCandidate { place, evidence: Evidence::Free, distance })
    }

    /// True if a free number fits the current epoch, in which its line is.
    fn may_take(&self, seq_num: u64, stand: Stand) -> bool {
        let Some(next) = self.next else { return true };
        let reorder_max = self.options.reorder_max;
        let back = stand.back(seq_num);
        if seq_num < next {
            let is_near = next - seq_num <= self.options.behind_max as u64;
            let is_backward = stand.goes_back(seq_num) || stand.highest.is_none();
            return back <= reorder_max && (is_near || !is_backward);
        }
        let ahead = seq_num - next;
        let leap = stand.highest.map_or(0, |highest| seq_num.saturating_sub(highest));
        self.is_within_reach(seq_num)
            && !(ahead >= self.window.span() && leap > reorder_max)
            && (back <= reorder_max || ahead <= reorder_max || self.is_awaited(seq_num, next))
    }

    /// True if a packet after this number waits for it or for an earlier one.
    fn is_awaited(&self, seq_num: u64, next: u64) -> bool {
        self.window.first_at_or_behind(seq_num, next).is_some()
    }

    /// True if a number is not too far above those accepted in the current epoch.
    fn is_within_reach(&self, seq_num: u64) -> bool {
        let top = self.top.max(self.next.unwrap_or(0));
        let ahead_max = self.options.ahead_max.max(self.window.span());
        seq_num.saturating_sub(top) < ahead_max
    }

    /// Returns the candidate in an epoch after that of the packet's line; `ahead` numbers lie
    /// between the line's position and that epoch.
    fn in_later(
        &self,
        index: usize,
        arrival: &PacketArrival<'_>,
        ahead: u64,
    ) -> Option<EpochCandidate> {
        let PacketArrival { seq_num, hash, .. } = *arrival;
        let (first, end) = self.span_of(index);
        let (history, place, is_within) = match self.past.get(index) {
            Some(past) => (&past.history, PacketEpoch::Past(index), seq_num < end),
            None => (&self.history, PacketEpoch::Current, self.is_within_reach(seq_num)),
        };
        let fate = history.fate(seq_num);
        let distance = ahead.saturating_add(seq_num.saturating_sub(first));
        let evidence = if fate.is_copy(hash) { Evidence::Equal } else { Evidence::Free };
        let is_free = !fate.was_accepted() && seq_num >= first && is_within;
        (evidence == Evidence::Equal || is_free).then_some(EpochCandidate {
            place,
            evidence,
            distance,
        })
    }

    /// Returns the candidate in an epoch before that of the packet's line, which has sent `behind`
    /// numbers since.
    fn in_earlier(
        &self,
        index: usize,
        arrival: &PacketArrival<'_>,
        behind: u64,
    ) -> Option<EpochCandidate> {
        let PacketArrival { seq_num, hash, .. } = *arrival;
        let past = self.past.get(index)?;
        let fate = past.history.fate(seq_num);
        let distance = behind.saturating_add(past.end.saturating_sub(seq_num).max(1));
        let evidence = if fate.is_copy(hash) { Evidence::Equal } else { Evidence::Free };
        // A line that entered its epoch longer ago than the hold time sends no packets of an
        // earlier one.
        let entered_ns = self.states[arrival.line.index()].entered_ns;
        let is_fresh = arrival.received_ns <= entered_ns.saturating_add(self.options.hold_ns);
        let is_free = !fate.was_accepted()
            && is_fresh
            && seq_num >= past.first
            && past.may_have(seq_num)
            && distance <= self.options.reorder_max;
        let place = PacketEpoch::Past(index);
        (evidence == Evidence::Equal || is_free).then_some(EpochCandidate {
            place,
            evidence,
            distance,
        })
    }

    /// Returns the candidate in the run of numbers by which the line seems to have left the current
    /// epoch.
    fn in_run(&self, run: &UnexpectedRun, seq_num: u64) -> Option<EpochCandidate> {
        let distance = seq_num.abs_diff(run.highest.saturating_add(1));
        let candidate =
            EpochCandidate { place: PacketEpoch::Next, evidence: Evidence::Free, distance };
        run.is_continued_by(seq_num, self.window.span(), self.options.reorder_max)
            .then_some(candidate)
    }
}
