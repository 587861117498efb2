//! Classifies a packet on arrival: next, held, copy, late, or unexpected.

use super::history::Fate;
use super::place::PacketEpoch;
use super::window::HeldPacket;
use super::{
    Arbiter, ArbiterOutput, Line, OUT_OF_SEQUENCE_MIN, PacketArrival, PacketHeader, Parked,
    SEQ_NUM_MAX,
};

impl Arbiter {
    pub(super) fn note_order(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let counters = &mut self.lines[line.index()];
        counters.received += 1;
        let Some(highest) = self.states[line.index()].highest else { return };
        let behind = highest.saturating_sub(seq_num);
        if behind > 0 && behind <= self.options.behind_max as u64 {
            counters.out_of_order += 1;
            counters.out_of_order_by_max = counters.out_of_order_by_max.max(behind);
        }
    }

    /// Classifies a packet, by epoch first, then by number.
    pub(super) fn sort_packet<'p>(
        &mut self,
        arrival: &PacketArrival<'p>,
    ) -> Option<ArbiterOutput<'p>> {
        let PacketArrival { line, seq_num, packet, .. } = *arrival;
        let is_replayed = self.replaying.is_some();
        let is_waiting = self.parked.is_some() || self.transition.is_some();
        let counters = &mut self.lines[line.index()];
        if packet.len() > self.options.packet_bytes_max {
            counters.too_long += 1;
        } else if seq_num > SEQ_NUM_MAX {
            counters.unexpected += 1;
        } else if is_waiting || (!is_replayed && !self.replay.is_empty()) {
            counters.not_polled += 1;
        } else {
            return self.sort_by_place(arrival);
        }
        None
    }

    /// Finds the epoch of a packet and its position there.
    fn sort_by_place<'p>(&mut self, arrival: &PacketArrival<'p>) -> Option<ArbiterOutput<'p>> {
        self.forget_old_epochs();
        let stand = self.replayed_stand.unwrap_or(self.states[arrival.line.index()].stand());
        let place = self.place_of(arrival, stand);
        if let PacketEpoch::Past(index) = place {
            self.note_past(arrival, index);
            return None;
        }
        let state = &mut self.states[arrival.line.index()];
        if state.epoch < self.epoch {
            state.enter(self.epoch, self.now_ns);
        }
        if place == PacketEpoch::Next {
            self.handle_unexpected(arrival);
            return None;
        }
        if self.replaying.is_none() && self.sort_leap(arrival) {
            return None;
        }
        self.sort_current(arrival)
    }

    /// Handles a packet of the current epoch.
    fn sort_current<'p>(&mut self, arrival: &PacketArrival<'p>) -> Option<ArbiterOutput<'p>> {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let next = *self.next.get_or_insert_with(|| {
            self.first = seq_num;
            seq_num
        });
        if !self.states.iter().any(|state| state.is_trusted) {
            self.states[line.index()].is_trusted = true;
        }
        let fate = self.history.fate(seq_num);
        self.note_repeat(arrival, fate);
        if seq_num < next || fate.was_accepted() {
            self.sort_known(arrival, fate);
            None
        } else {
            self.accept(arrival, next)
        }
    }

    /// Counts packets that a line sends again. If every line that is alive sends nothing else, as when
    /// the sender restarts with packets of this session, the lines are out of sequence. The content
    /// of these packets is known.
    fn note_repeat(&mut self, arrival: &PacketArrival<'_>, fate: Fate) {
        let PacketArrival { line, seq_num, hash, received_ns, .. } = *arrival;
        let state = &mut self.states[line.index()];
        let is_far_back = state.stand().back(seq_num) > self.options.reorder_max;
        if !(is_far_back && fate.is_copy(hash) && fate.was_seen_on(line)) {
            state.repeats = 0;
            return;
        }
        state.repeats = state.repeats.saturating_add(1);
        let only_repeats = |line: Line| {
            !self.is_alive(line) || self.states[line.index()].repeats >= OUT_OF_SEQUENCE_MIN
        };
        if Line::ALL.into_iter().all(only_repeats) {
            self.unexpected_in_a_row = self.unexpected_in_a_row.max(OUT_OF_SEQUENCE_MIN);
            self.unexpected_ns = self.unexpected_ns.max(received_ns);
        }
    }

    /// Handles a number that was accepted or declared lost, or that lies before the first one.
    fn sort_known(&mut self, arrival: &PacketArrival<'_>, fate: Fate) {
        let PacketArrival { line, seq_num, hash, .. } = *arrival;
        let highest = self.states[line.index()].highest;
        let goes_back = highest.is_some_and(|highest| seq_num <= highest);
        let is_copy = fate.is_copy(hash);
        let is_own = fate.was_seen_on(line) && !fate.was_seen_on(line.other());
        let is_repeated = is_own || fate.is_differing_copy_of(line);
        self.note_seen(arrival);
        let counters = &mut self.lines[line.index()];
        if !fate.was_accepted() {
            counters.late += 1;
            self.note_late(arrival);
            if goes_back {
                self.keep(arrival, true);
            }
            return;
        }
        counters.duplicate += 1;
        if !goes_back {
            self.forget_run(line);
        }
        if is_copy && fate.was_seen_on(line.other()) && !fate.was_seen_on(line) {
            self.end_run_by_copy(line, seq_num);
            self.end_dispute(arrival.received_ns);
            self.note_agreement(line);
        } else if !is_copy && !is_repeated {
            self.note_difference(arrival);
        }
    }

    /// Records a number that its line sends for the first time.
    fn note_new(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        if !self.history.fate(seq_num).was_seen_on(line) {
            self.states[line.index()].note_below(seq_num, self.now_ns);
        }
    }

    /// Records that a line sent a number.
    fn note_seen(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        self.note_new(arrival);
        let behind_max = self.options.behind_max as u64;
        let is_remembered =
            self.next.is_some_and(|next| next.saturating_sub(seq_num) <= behind_max);
        self.states[line.index()].note_highest(seq_num);
        if !is_remembered || seq_num < self.first || self.history.fate(seq_num).was_seen_on(line) {
            return;
        }
        if self.next.is_some_and(|next| seq_num < next) {
            let lost = &mut self.lines[line.index()].lost;
            *lost = lost.saturating_sub(1);
        }
        self.history.mark_seen(seq_num, line);
    }

    /// Accepts the first packet with a number.
    fn accept<'p>(&mut self, arrival: &PacketArrival<'p>, next: u64) -> Option<ArbiterOutput<'p>> {
        let PacketArrival { line, seq_num, hash, packet, received_ns } = *arrival;
        let is_in_window = seq_num - next < self.window.span();
        self.note_new(arrival);
        self.states[line.index()].note_highest(seq_num);
        self.forget_run(line);
        if self.is_rejected(line, seq_num, hash) {
            self.lines[line.index()].duplicate += 1;
            self.history.mark_seen(seq_num, line);
            return None;
        }
        if is_in_window && self.window.at(seq_num).is_some() && !self.settle_unconfirmed(arrival) {
            return None;
        }
        if !self.is_heard(line) {
            self.hold_unconfirmed(arrival, is_in_window);
            return None;
        }
        self.top = self.top.max(seq_num + 1);
        self.note_replacement(arrival);
        let is_next = seq_num == next && self.replaying.is_none();
        if is_next && !self.waits_for_copy(line, next, received_ns) {
            self.history.mark_accepted(seq_num, line, hash);
            self.note_delivery(PacketHeader { seq_num, line, received_ns, hash });
            let out_of_sequence = self.out_of_sequence();
            return Some(ArbiterOutput::Deliver {
                seq_num,
                line,
                received_ns,
                out_of_sequence,
                packet,
            });
        }
        let held = self.store(arrival);
        if is_in_window {
            self.hold(seq_num, held);
        } else {
            self.released = self.released.max(seq_num - (self.window.span() - 1));
            self.parked = Some(Parked { seq_num, held });
        }
        None
    }

    /// Copies a packet into a buffer, unless it is already in one.
    pub(super) fn store(&mut self, arrival: &PacketArrival<'_>) -> HeldPacket {
        let PacketArrival { line, received_ns, hash, packet, .. } = *arrival;
        let stored = self.replaying.take();
        stored.unwrap_or_else(|| self.window.store(line, received_ns, hash, packet.bytes()))
    }

    pub(super) fn hold(&mut self, seq_num: u64, held: HeldPacket) {
        self.history.mark_accepted(seq_num, held.line, held.hash);
        self.window.insert(seq_num, held);
        self.counters.held_peak = self.counters.held_peak.max(self.window.held());
    }
}
