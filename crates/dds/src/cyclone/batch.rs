//! Samples on their way out of the middleware.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use super::entity::checked;
use super::ffi;
use crate::{Attempt, Error, InstanceState, ParticipantId, Received, Sample};

/// Samples that one call takes from the middleware at most.
const BATCH: usize = 64;

/// Samples in Cyclone's form, taken together and handed out one by one.
///
/// Cyclone reuses the memory, so a warm reader of samples without strings does not allocate.
pub(super) struct Batch<S: Sample> {
    memory: Box<[MaybeUninit<S::Memory>]>,
    infos: Box<[ffi::SampleInfo; BATCH]>,
    next: usize,
    end: usize,
}

// SAFETY: the memory and what it points to is owned by the batch alone and comes from the allocator of
// the process, which any thread may use.
unsafe impl<S: Sample> Send for Batch<S> {}

impl<S: Sample> Batch<S> {
    pub(super) fn new() -> Self {
        let memory = (0..BATCH).map(|_| MaybeUninit::zeroed()).collect();
        Self { memory, infos: Box::new([ffi::SampleInfo::default(); BATCH]), next: 0, end: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.end
    }

    pub(super) fn left(&self) -> usize {
        self.end - self.next
    }

    /// Takes what `reader` has, at most [`BATCH`] samples; returns how many.
    pub(super) fn refill(&mut self, reader: ffi::Entity) -> Result<usize, Error> {
        let mut samples = [ptr::null_mut::<c_void>(); BATCH];
        for (pointer, memory) in samples.iter_mut().zip(&mut self.memory) {
            *pointer = memory.as_mut_ptr().cast();
        }
        // SAFETY: `samples` has BATCH pointers to memory of the reader's type, each zero or filled by
        // Cyclone before, and `infos` has room for as many.
        let code = unsafe {
            ffi::dds_take(
                reader,
                samples.as_mut_ptr(),
                self.infos.as_mut_ptr(),
                BATCH,
                BATCH as u32,
            )
        };
        let count = if code == ffi::RETCODE_NO_DATA { 0 } else { checked(Attempt::Take, code)? };
        self.next = 0;
        self.end = usize::try_from(count).unwrap_or(0).min(BATCH);
        Ok(self.end)
    }

    /// Copies the next sample; false where its strings are not UTF-8.
    ///
    /// # Panics
    /// Where the batch is empty.
    pub(super) fn hand_out(&mut self, received: &mut Received<S>) -> bool {
        let info = self.infos[self.next];
        received.has_data = info.valid_data;
        received.instance_state = match info.instance_state {
            ffi::INSTANCE_DISPOSED => InstanceState::Disposed,
            ffi::INSTANCE_NO_WRITERS => InstanceState::NoWriters,
            _ => InstanceState::Alive,
        };
        received.source_timestamp_ns = info.source_timestamp;
        received.instance = info.instance_handle;
        received.writer = info.publication_handle;
        received.writer_seq_num = info.writer_seq;
        received.history_end = info.history_end;
        received.participant =
            (info.participant != [0; 16]).then_some(ParticipantId(info.participant));
        // SAFETY: zero at first, which `Layout` promises to be a value, and filled by Cyclone since.
        let memory = unsafe { self.memory[self.next].assume_init_ref() };
        self.next += 1;
        // SAFETY: Cyclone filled this sample in the last `refill`.
        unsafe { received.sample.load(memory) }
    }
}

impl<S: Sample> Drop for Batch<S> {
    fn drop(&mut self) {
        for memory in &mut self.memory {
            // SAFETY: the contents are zero or Cyclone's own, freed once; the memory itself stays ours.
            unsafe {
                ffi::dds_sample_free(
                    memory.as_mut_ptr().cast(),
                    S::descriptor(),
                    ffi::FREE_CONTENTS,
                );
            }
        }
    }
}
