//! Packets that announce with their own number that an epoch begins.
//!
//! Such a packet does not give the end of the old epoch, so another line may still send packets of
//! it. The line that sends the announcement leaves its epoch at once. The next epoch begins when
//! every line has left, or under the same rules as without an announcement (see
//! [`unexpected`](super::unexpected)).

use super::unexpected::UnexpectedRun;
use super::{Arbiter, Line, PacketArrival, SEQ_NUM_MAX};
use tickwire_fast::BufferedPacket;

impl Arbiter {
    /// Handles a packet that announces an epoch and is its first packet. The epoch begins when
    /// every line that is not silent has sent it, or after the hold time, so that the other line
    /// can still send packets of the old epoch. While the other line continues there, the wait
    /// lasts up to `skew_ns`. Returns false if the packet is not used: the line is not trusted, the
    /// packet cannot be kept, or no epoch has begun, so that none ends.
    pub fn handle_epoch_start<'p>(
        &mut self,
        now_ns: u64,
        line: Line,
        seq_num: u64,
        packet: impl Into<BufferedPacket<'p>>,
    ) -> bool {
        let arrival = self.arrive(now_ns, line, seq_num, packet.into());
        let is_heard = self.is_heard(line);
        let is_waiting =
            self.parked.is_some() || self.transition.is_some() || !self.replay.is_empty();
        let counters = &mut self.lines[line.index()];
        let is_fit = arrival.packet.len() <= self.options.packet_bytes_max;
        let has_begun = self.next.is_some();
        let is_used = is_fit && !is_waiting && is_heard && has_begun && seq_num <= SEQ_NUM_MAX;
        if !is_fit {
            counters.too_long += 1;
        } else if is_waiting {
            counters.not_polled += 1;
        } else {
            counters.unexpected += 1;
        }
        if is_used {
            self.leave_at(&arrival);
        }
        self.handle_timeout(now_ns);
        is_used
    }

    /// Moves a line to the epoch that its packet announces.
    fn leave_at(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let (epoch, now_ns, reach) = (self.epoch, self.now_ns, self.window.span());
        let reorder_max = self.options.reorder_max;
        let state = &mut self.states[line.index()];
        if state.epoch < epoch {
            state.enter(epoch, now_ns);
        }
        self.keep(arrival, false);
        let state = &mut self.states[line.index()];
        let run = state.run.filter(|run| run.is_continued_by(seq_num, reach, reorder_max));
        let mut run = run.unwrap_or(UnexpectedRun::new(seq_num));
        run.take(seq_num);
        state.run = Some(run);
        state.announced_first = Some(seq_num);
        if !state.has_left {
            state.has_left = true;
            state.left_ns = now_ns;
        }
    }

    /// Returns the first number of the next epoch, if a packet announced it on a line that has left
    /// the current epoch.
    pub(super) fn announced_first(&self) -> Option<u64> {
        let left = self.states.iter().filter(|state| state.has_left);
        left.filter_map(|state| state.announced_first).min()
    }

    /// True if a packet has announced an epoch that begins with this number and has not begun yet.
    pub fn is_epoch_announced(&self, seq_num: u64) -> bool {
        self.announced_first() == Some(seq_num)
    }

    /// True if a packet has announced an epoch, and every line that may send one has left the
    /// current epoch.
    pub(super) fn is_start_shown_by_all(&self) -> bool {
        let is_staying = |line: Line| !self.states[line.index()].has_left && self.can_bring(line);
        self.announced_first().is_some() && !Line::ALL.into_iter().any(is_staying)
    }
}
