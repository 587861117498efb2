//! Held packets by sequence number, in reused buffers.

use std::collections::VecDeque;

use super::Line;
use super::occupancy::Occupancy;

/// Most sequence numbers that a window spans, whatever the options.
pub(super) const SPAN_MAX: usize = 1 << 24;

/// A held packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldPacket {
    pub(super) line: Line,
    pub(super) received_ns: u64,
    /// Hash of the packet.
    pub(super) hash: u64,
    /// Time since which it waits in the window; may be later than now, if it is examined again.
    since_ns: u64,
    /// True if it has waited for long enough: it is not in the queue of arrivals any more.
    pub(super) is_overdue: bool,
    buffer: usize,
}

impl HeldPacket {
    /// Limits its times to `now_ns`, after the clock was set back.
    pub(super) fn limit_times(&mut self, now_ns: u64) {
        self.received_ns = self.received_ns.min(now_ns);
        self.since_ns = self.since_ns.min(now_ns);
    }
}

/// A ring of slots: number `n` lies in slot `n & mask`. The numbers inside span at most
/// [`span`](Self::span). There are a few more buffers than slots, for packets outside the ring.
///
/// All operations are O(1) in the number of held packets: a bitmap ([`Occupancy`]) finds the next
/// one, and the oldest is at the front of the queue of arrivals.
#[derive(Debug)]
pub(super) struct ReorderWindow {
    slots: Vec<Option<HeldPacket>>,
    taken: Occupancy,
    mask: u64,
    span: u64,
    buffers: Vec<Vec<u8>>,
    free: Vec<usize>,
    held: usize,
    /// Times and numbers of held packets in order of holding; some have been delivered or replaced
    /// since.
    arrivals: VecDeque<(u64, u64)>,
}

impl ReorderWindow {
    pub(super) fn new(span: usize) -> Self {
        let span = span.clamp(1, SPAN_MAX);
        let slots = span.next_power_of_two();
        Self {
            slots: vec![None; slots],
            taken: Occupancy::new(slots),
            mask: slots as u64 - 1,
            span: span as u64,
            buffers: Vec::new(),
            free: Vec::with_capacity(span.saturating_add(1)),
            held: 0,
            arrivals: VecDeque::new(),
        }
    }

    /// Number of consecutive numbers that fit.
    pub(super) fn span(&self) -> u64 {
        self.span
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    fn slot(&self, seq_num: u64) -> usize {
        (seq_num & self.mask) as usize
    }

    /// Copies a packet into a free buffer.
    pub(super) fn store(
        &mut self,
        line: Line,
        received_ns: u64,
        hash: u64,
        bytes: &[u8],
    ) -> HeldPacket {
        let buffer = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            self.buffers.len() - 1
        });
        if let Some(target) = self.buffers.get_mut(buffer) {
            target.clear();
            target.extend_from_slice(bytes);
        }
        HeldPacket { line, received_ns, hash, since_ns: received_ns, is_overdue: false, buffer }
    }

    pub(super) fn insert(&mut self, seq_num: u64, held: HeldPacket) {
        let slot = self.slot(seq_num);
        self.taken.set(slot);
        match self.slots[slot].replace(held) {
            None => self.held += 1,
            Some(previous) => self.free.push(previous.buffer),
        }
        self.queue(seq_num, held.received_ns);
    }

    /// Makes a held packet wait from `since_ns` on.
    pub(super) fn queue(&mut self, seq_num: u64, since_ns: u64) {
        // Times never decrease from front to back, so the front is the oldest.
        let newest_ns = self.arrivals.back().map_or(0, |(since_ns, _)| *since_ns);
        let since_ns = since_ns.max(newest_ns);
        self.arrivals.push_back((since_ns, seq_num));
        let slot = self.slot(seq_num);
        if let Some(held) = &mut self.slots[slot] {
            held.since_ns = since_ns;
            held.is_overdue = false;
        }
    }

    pub(super) fn at(&self, seq_num: u64) -> Option<&HeldPacket> {
        self.slots[self.slot(seq_num)].as_ref()
    }

    /// Removes a packet and returns it with its buffer.
    pub(super) fn take_out(&mut self, seq_num: u64) -> Option<HeldPacket> {
        let slot = self.slot(seq_num);
        let held = self.slots[slot].take()?;
        self.taken.clear(slot);
        self.held -= 1;
        Some(held)
    }

    /// Removes a packet. The next [`store`](Self::store) may overwrite its buffer.
    pub(super) fn take(&mut self, seq_num: u64) -> Option<HeldPacket> {
        let held = self.take_out(seq_num)?;
        self.free.push(held.buffer);
        Some(held)
    }

    /// Releases the buffer of a stored packet that is not in the window.
    pub(super) fn discard(&mut self, held: HeldPacket) {
        self.free.push(held.buffer);
    }

    pub(super) fn bytes(&self, held: &HeldPacket) -> &[u8] {
        self.buffers.get(held.buffer).map_or(&[], |bytes| bytes)
    }

    /// Returns the lowest number held in a window that begins at `next`.
    pub(super) fn first_from(&self, next: u64) -> Option<u64> {
        let start = self.slot(next);
        let slot = self.taken.next(start).or_else(|| self.taken.next(0))?;
        Some(next + ((slot as u64).wrapping_sub(start as u64) & self.mask))
    }

    /// Returns the lowest number held that is at least `from`, in a window that begins at `next`.
    pub(super) fn first_at_or_behind(&self, from: u64, next: u64) -> Option<u64> {
        let is_inside = from >= next && from - next < self.span;
        self.first_from(from).filter(|seq_num| is_inside && seq_num - next < self.span)
    }

    /// Returns the highest number held in a window that begins at `next`.
    pub(super) fn last_from(&self, next: u64) -> Option<u64> {
        let start = self.slot(next);
        let before = start.checked_sub(1).and_then(|end| self.taken.previous(end));
        let slot = before.or_else(|| self.taken.previous(self.slots.len() - 1))?;
        Some(next + ((slot as u64).wrapping_sub(start as u64) & self.mask))
    }

    /// Returns time and number of the packet held longest in a window that begins at `next`.
    pub(super) fn oldest(&mut self, next: u64) -> Option<(u64, u64)> {
        while let Some((since_ns, seq_num)) = self.arrivals.front().copied() {
            // Another packet may have replaced the queued one.
            let is_waiting = self.at(seq_num).is_some_and(|held| held.since_ns == since_ns);
            if seq_num >= next && is_waiting {
                return Some((since_ns, seq_num));
            }
            self.arrivals.pop_front();
        }
        None
    }

    /// Returns the arrival time of the packet at the front of the queue: the oldest one after a
    /// call of [`oldest`](Self::oldest).
    pub(super) fn oldest_ns(&self) -> Option<u64> {
        self.arrivals.front().map(|(since_ns, _)| *since_ns)
    }

    /// Limits all times to `now_ns`, after the clock was set back.
    pub(super) fn limit_times(&mut self, now_ns: u64) {
        self.arrivals.iter_mut().for_each(|(since_ns, _)| *since_ns = (*since_ns).min(now_ns));
        self.slots.iter_mut().flatten().for_each(|held| held.limit_times(now_ns));
    }

    /// Empties the queue of arrivals, because numbers restart.
    pub(super) fn forget_arrivals(&mut self) {
        self.arrivals.clear();
    }

    /// Removes the front of the queue of arrivals: that packet has waited for long enough.
    pub(super) fn pop_oldest(&mut self) {
        let Some((since_ns, seq_num)) = self.arrivals.pop_front() else { return };
        let slot = self.slot(seq_num);
        if let Some(held) = self.slots[slot].as_mut().filter(|held| held.since_ns == since_ns) {
            held.is_overdue = true;
        }
    }
}
