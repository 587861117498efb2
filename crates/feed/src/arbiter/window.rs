//! Packets held, by sequence number, in buffers that are used again.

use super::Line;

/// A packet waiting for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) line: Line,
    pub(super) received_ns: u64,
    buffer: usize,
}

/// A ring of slots: number `n` lies in slot `n % len`, so the numbers inside must span at most
/// [`span`](Self::span). A few buffers more than slots exist, for packets outside of them.
#[derive(Debug)]
pub(super) struct Window {
    slots: Vec<Option<Held>>,
    buffers: Vec<Vec<u8>>,
    free: Vec<usize>,
    held: usize,
}

impl Window {
    pub(super) fn new(span: usize) -> Self {
        let span = span.max(1);
        Self {
            slots: vec![None; span],
            buffers: Vec::new(),
            free: Vec::with_capacity(span.saturating_add(1)),
            held: 0,
        }
    }

    /// How many consecutive numbers fit.
    pub(super) fn span(&self) -> u64 {
        self.slots.len() as u64
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    fn slot(&self, seq_num: u64) -> usize {
        (seq_num % self.span()) as usize
    }

    /// Copies a packet into a free buffer.
    pub(super) fn store(&mut self, line: Line, received_ns: u64, bytes: &[u8]) -> Held {
        let buffer = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            self.buffers.len() - 1
        });
        if let Some(target) = self.buffers.get_mut(buffer) {
            target.clear();
            target.extend_from_slice(bytes);
        }
        Held { line, received_ns, buffer }
    }

    pub(super) fn insert(&mut self, seq_num: u64, held: Held) {
        let slot = self.slot(seq_num);
        match self.slots[slot].replace(held) {
            None => self.held += 1,
            Some(previous) => self.free.push(previous.buffer),
        }
    }

    pub(super) fn at(&self, seq_num: u64) -> Option<&Held> {
        self.slots[self.slot(seq_num)].as_ref()
    }

    /// Takes a packet out. Its buffer may be written again by the next [`store`](Self::store).
    pub(super) fn take(&mut self, seq_num: u64) -> Option<Held> {
        let slot = self.slot(seq_num);
        let held = self.slots[slot].take()?;
        self.held -= 1;
        self.free.push(held.buffer);
        Some(held)
    }

    /// Keeps the buffer of a packet that was taken out last: nothing was stored since.
    pub(super) fn keep(&mut self, held: Held) {
        self.free.retain(|buffer| *buffer != held.buffer);
    }

    /// Gives back the buffer of a packet that was stored and not inserted, or kept.
    pub(super) fn discard(&mut self, held: Held) {
        self.free.push(held.buffer);
    }

    pub(super) fn bytes(&self, held: &Held) -> &[u8] {
        self.buffers.get(held.buffer).map_or(&[], |bytes| bytes)
    }

    /// The held numbers from `first` on, with their packets, in order.
    pub(super) fn from(&self, first: u64) -> impl Iterator<Item = (u64, &Held)> {
        let span = if self.held == 0 { 0 } else { self.span() };
        (first..first.saturating_add(span)).filter_map(|n| Some((n, self.at(n)?))).take(self.held)
    }
}
