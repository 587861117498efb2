//! The ring of samples: writing to it, and a reader's position in it.

use crate::cell::{self, CellContent, CellLabel, SampleBuffer};
use crate::error::Damage;
use crate::layout::{Geometry, SEQ_NUM_LIMIT, header};
use crate::memory::{Memory, MemoryMut};

/// Fetches the cache lines of sample `seq_num` for writing, all at once. Readers that wait for the sample have taken them;
/// without this, the stores would fetch one after the other.
#[inline]
pub fn prepare(ring: &impl MemoryMut, geometry: &Geometry, seq_num: u64, len: usize) {
    ring.prepare(geometry.slot(seq_num), Geometry::words_of(len));
}

/// Writes sample `seq_num` into its slot. The caller must then advance the head.
#[inline]
pub fn write(
    ring: &impl MemoryMut,
    geometry: &Geometry,
    seq_num: u64,
    label: CellLabel,
    bytes: &[u8],
) {
    cell::write(ring, geometry.slot(seq_num), seq_num, label, bytes);
}

/// Publishes all samples below `head`, the next sequence number.
#[inline]
pub fn advance(ring: &impl MemoryMut, head: u64) {
    ring.release();
    ring.store(header::HEAD, head);
}

/// Returns the head; everything stored before it is visible to the caller.
pub fn head(ring: &impl Memory) -> Result<u64, Damage> {
    let head = ring.load(header::HEAD);
    ring.acquire();
    match head < SEQ_NUM_LIMIT {
        true => Ok(head),
        false => Err(Damage::Head),
    }
}

/// Result of reading the next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingStep {
    /// The next sample, in the buffer.
    Sample(CellLabel),
    /// The writer lapped the reader: the samples from the first number to before the second are lost.
    Gap(u64, u64),
    /// The next sample is not published yet.
    Nothing,
}

/// A reader's position in the ring.
#[derive(Clone, Copy, Debug)]
pub struct RingCursor {
    /// Sequence number of the next sample to read.
    pub next: u64,
}

impl RingCursor {
    /// Reads the next sample into the buffer. The caller moves past it with [`RingCursor::advance`].
    ///
    /// If the slot holds a later sample than the next one, the writer has lapped the reader. The reader then resumes
    /// half a ring behind the head, so that it is not lapped again at once.
    #[inline]
    pub fn read(
        &self,
        ring: &impl Memory,
        geometry: &Geometry,
        buffer: &mut SampleBuffer,
    ) -> Result<RingStep, Damage> {
        match cell::read(ring, geometry.slot(self.next), self.next, buffer) {
            CellContent::Sample(label) => Ok(RingStep::Sample(label)),
            CellContent::Lock(lock) if lock <= cell::written(self.next) => Ok(RingStep::Nothing),
            CellContent::Lock(lock) => self.skip(ring, geometry, lock),
            CellContent::Length(_) => Err(Damage::Length),
        }
    }

    /// Moves past the sample or gap that was read.
    #[inline]
    pub fn advance(&mut self, step: RingStep) {
        match step {
            RingStep::Sample(_) => self.next += 1,
            RingStep::Gap(_, to) => self.next = to,
            RingStep::Nothing => {}
        }
    }

    #[cold]
    fn skip(&self, ring: &impl Memory, geometry: &Geometry, lock: u64) -> Result<RingStep, Damage> {
        // The writer advances the head to n before it locks n's slot. Once the lock has been seen, the head is
        // therefore at least n.
        ring.acquire();
        let head = head(ring)?;
        let later = (lock - 1) / 2;
        let is_possible = lock < 2 * SEQ_NUM_LIMIT
            && (later - self.next).is_multiple_of(geometry.slots)
            && head >= later;
        if !is_possible {
            return Err(Damage::Head);
        }
        Ok(RingStep::Gap(self.next, head - geometry.slots / 2))
    }

    /// Checks that head and slot agree that the next sample is not there; for a reader that has waited long.
    ///
    /// The head may be one behind, because a slot is written before the head is advanced.
    pub fn check_idle(&self, ring: &impl Memory, geometry: &Geometry) -> Result<(), Damage> {
        let head = head(ring)?;
        let lock = ring.load(geometry.slot(self.next));
        match head + 1 < self.next || (head > self.next && lock < cell::written(self.next)) {
            true => Err(Damage::Head),
            false => Ok(()),
        }
    }
}
