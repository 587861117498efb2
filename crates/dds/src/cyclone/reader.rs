//! Readers.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::batch::SampleBatch;
use super::domain::Parent;
use super::entity::{OwnedEntity, checked};
use super::ffi;
use super::qos::OwnedQos;
use super::topic;
use super::wait_set::{self, Matching};
use crate::{DdsError, DdsOperation, ParticipantId, Qos, RawReader, RawSample, StructType};

/// Reads the bytes of samples of one type from one topic.
pub struct CycloneRawReader {
    // Fields are dropped in this order, the reverse of creation. Samples come before the domain, which owns their
    // memory.
    batch: SampleBatch,
    set: OwnedEntity,
    condition: OwnedEntity,
    matching: Matching,
    entity: OwnedEntity,
    _topic: OwnedEntity,
    _parent: Parent,
    held: Arc<AtomicUsize>,
}

impl CycloneRawReader {
    pub(super) fn create(
        parent: Parent,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self, DdsError> {
        let qos = OwnedQos::of(qos, of.encoding)?;
        let topic = topic::create(parent.handle(), of, topic)?;
        // SAFETY: participant and topic are alive, the QoS set outlives the call, null means no listener.
        let handle = unsafe {
            ffi::dds_create_reader(parent.handle(), topic.handle(), qos.as_ptr(), ptr::null())
        };
        let entity = OwnedEntity::created(DdsOperation::CreateReader, handle)?;
        let matching = Matching::of_reader(&parent, &entity)?;
        // SAFETY: the reader is alive.
        let handle = unsafe { ffi::dds_create_readcondition(entity.handle(), ffi::ANY_STATE) };
        let condition = OwnedEntity::created(DdsOperation::CreateReader, handle)?;
        let set = wait_set::create(&parent)?;
        wait_set::attach(&set, &condition, 0)?;
        Ok(Self {
            set,
            condition,
            matching,
            entity,
            _topic: topic,
            _parent: parent,
            batch: SampleBatch::new(),
            held: Arc::default(),
        })
    }

    pub(super) fn condition(&self) -> &OwnedEntity {
        &self.condition
    }

    pub(super) fn held(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.held)
    }

    /// Returns the participant of a matched writer; `None` if the writer has left.
    fn participant_of(&self, writer: u64) -> Option<ParticipantId> {
        // SAFETY: the reader is alive; the handle is a number that Cyclone looks up.
        let endpoint =
            unsafe { ffi::dds_get_matched_publication_data(self.entity.handle(), writer) };
        // SAFETY: the pointer is null, or an endpoint that belongs to this function until it is freed.
        let participant = unsafe { endpoint.as_ref() }.map(|found| found.participant_key);
        if participant.is_some() {
            // SAFETY: Cyclone allocated the endpoint for this call, and it is freed once.
            unsafe { ffi::dds_builtintopic_free_endpoint(endpoint) };
        }
        participant.map(ParticipantId)
    }
}

impl RawReader for CycloneRawReader {
    type Error = DdsError;

    fn take(&mut self) -> Result<Option<RawSample<'_>>, DdsError> {
        if self.batch.is_empty() && self.batch.refill(self.entity.handle())? == 0 {
            return Ok(None);
        }
        self.held.store(self.batch.left() - 1, Ordering::Relaxed);
        Ok(Some(self.batch.lend()))
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, DdsError> {
        if !self.batch.is_empty() {
            return Ok(true);
        }
        Ok(wait_set::wait(&self.set, &mut [0], timeout)? > 0)
    }

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, DdsError> {
        self.matching.wait(count, timeout)
    }

    fn matched(&self) -> Result<u32, DdsError> {
        self.matching.count()
    }

    fn publishers(&self) -> Result<Vec<ParticipantId>, DdsError> {
        // Cyclone rejects an empty buffer.
        let mut handles = vec![0; 8];
        loop {
            let room = handles.len();
            // SAFETY: the reader is alive and `handles` has room for the given number of handles.
            let count = unsafe {
                ffi::dds_get_matched_publications(self.entity.handle(), handles.as_mut_ptr(), room)
            };
            let count = usize::try_from(checked(DdsOperation::ReadStatus, count)?).unwrap_or(0);
            if count <= room {
                handles.truncate(count);
                break;
            }
            handles.resize(count, 0);
        }
        Ok(handles.into_iter().filter_map(|writer| self.participant_of(writer)).collect())
    }

    fn lost(&self) -> Result<u64, DdsError> {
        let mut status = ffi::LostStatus::default();
        // SAFETY: the reader is alive and `status` is written in place.
        let code =
            unsafe { ffi::dds_get_sample_lost_status(self.entity.handle(), &raw mut status) };
        checked(DdsOperation::ReadStatus, code)?;
        Ok(u64::from(status.total_count))
    }
}
