//! Readers.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::domain::Parent;
use super::entity::{Owned, checked};
use super::ffi;
use super::qos::OwnedQos;
use super::wait_set::{self, Matching};
use crate::{Attempt, Error, InstanceState, ParticipantId, Reader, Received, Sample};

/// Samples that one call takes from the middleware at most.
const BATCH: usize = 64;

/// Reads samples of one type from one topic.
pub struct CycloneReader<S: Sample> {
    // Dropped in this order: what was made later goes first.
    set: Owned,
    condition: Owned,
    matching: Matching,
    entity: Owned,
    _topic: Owned,
    _parent: Parent,
    batch: Batch<S>,
    held: Arc<AtomicUsize>,
    not_utf8: u64,
}

impl<S: Sample> CycloneReader<S> {
    pub(super) fn create(parent: Parent, topic: &str, qos: &OwnedQos) -> Result<Self, Error> {
        let topic = parent.topic::<S>(topic)?;
        // SAFETY: participant and topic are alive, the QoS set lives past the call, null is no listener.
        let handle = unsafe {
            ffi::dds_create_reader(parent.handle(), topic.handle(), qos.as_ptr(), ptr::null())
        };
        let entity = Owned::created(Attempt::CreateReader, handle)?;
        let matching = Matching::of_reader(&parent, &entity)?;
        // SAFETY: the reader is alive.
        let handle = unsafe { ffi::dds_create_readcondition(entity.handle(), ffi::ANY_STATE) };
        let condition = Owned::created(Attempt::CreateReader, handle)?;
        let set = wait_set::create(&parent)?;
        wait_set::attach(&set, &condition, 0)?;
        Ok(Self {
            set,
            condition,
            matching,
            entity,
            _topic: topic,
            _parent: parent,
            batch: Batch::new(),
            held: Arc::default(),
            not_utf8: 0,
        })
    }

    pub(super) fn condition(&self) -> &Owned {
        &self.condition
    }

    pub(super) fn held(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.held)
    }
}

impl<S: Sample> Reader<S> for CycloneReader<S> {
    fn take(&mut self, received: &mut Received<S>) -> Result<bool, Error> {
        loop {
            if self.batch.is_empty() && self.batch.refill(&self.entity)? == 0 {
                return Ok(false);
            }
            let readable = self.batch.hand_out(received);
            self.held.store(self.batch.left(), Ordering::Relaxed);
            if readable {
                return Ok(true);
            }
            self.not_utf8 = self.not_utf8.saturating_add(1);
        }
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        if !self.batch.is_empty() {
            return Ok(true);
        }
        Ok(wait_set::wait(&self.set, &mut [0], timeout)? > 0)
    }

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error> {
        self.matching.wait(count, timeout)
    }

    fn matched(&self) -> Result<u32, Error> {
        self.matching.count()
    }

    fn participant_of(&self, writer: u64) -> Option<ParticipantId> {
        // SAFETY: the reader is alive; the handle is a number that Cyclone looks up.
        let endpoint =
            unsafe { ffi::dds_get_matched_publication_data(self.entity.handle(), writer) };
        // SAFETY: null, or an endpoint of ours until it is freed.
        let participant = unsafe { endpoint.as_ref() }.map(|found| found.participant_key);
        if participant.is_some() {
            // SAFETY: Cyclone made it for this call and it is freed once.
            unsafe { ffi::dds_builtintopic_free_endpoint(endpoint) };
        }
        participant.map(ParticipantId)
    }

    fn lost(&self) -> Result<u64, Error> {
        let mut status = ffi::LostStatus::default();
        // SAFETY: the reader is alive and `status` is written in place.
        let code =
            unsafe { ffi::dds_get_sample_lost_status(self.entity.handle(), &raw mut status) };
        checked(Attempt::ReadStatus, code)?;
        Ok(u64::from(status.total_count))
    }

    fn not_utf8(&self) -> u64 {
        self.not_utf8
    }
}

/// Samples in Cyclone's form, taken together and handed out one by one.
///
/// Cyclone reuses the memory, so a warm reader of samples without strings does not allocate.
struct Batch<S: Sample> {
    memory: Box<[MaybeUninit<S::Memory>]>,
    infos: Box<[ffi::SampleInfo; BATCH]>,
    next: usize,
    end: usize,
}

// SAFETY: the memory and what it points to is owned by the batch alone and comes from the allocator of
// the process, which any thread may use.
unsafe impl<S: Sample> Send for Batch<S> {}

impl<S: Sample> Batch<S> {
    fn new() -> Self {
        let memory = (0..BATCH).map(|_| MaybeUninit::zeroed()).collect();
        Self { memory, infos: Box::new([ffi::SampleInfo::default(); BATCH]), next: 0, end: 0 }
    }

    fn is_empty(&self) -> bool {
        self.next == self.end
    }

    fn left(&self) -> usize {
        self.end - self.next
    }

    fn refill(&mut self, reader: &Owned) -> Result<usize, Error> {
        let mut samples = [ptr::null_mut::<c_void>(); BATCH];
        for (pointer, memory) in samples.iter_mut().zip(&mut self.memory) {
            *pointer = memory.as_mut_ptr().cast();
        }
        // SAFETY: `samples` has BATCH pointers to memory of the reader's type, each zero or filled by
        // Cyclone before, and `infos` has room for as many.
        let code = unsafe {
            ffi::dds_take(
                reader.handle(),
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
    fn hand_out(&mut self, received: &mut Received<S>) -> bool {
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
