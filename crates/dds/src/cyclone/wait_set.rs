//! Waits for samples of several readers, and for matches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::domain::Parent;
use super::entity::{OwnedEntity, checked, nanos};
use super::ffi;
use super::reader::CycloneRawReader;
use crate::{DdsError, DdsOperation, WaitSet};

pub(super) fn create(parent: &Parent) -> Result<OwnedEntity, DdsError> {
    // SAFETY: the participant is alive.
    OwnedEntity::created(DdsOperation::CreateWaitSet, unsafe {
        ffi::dds_create_waitset(parent.handle())
    })
}

pub(super) fn attach(
    set: &OwnedEntity,
    entity: &OwnedEntity,
    token: isize,
) -> Result<(), DdsError> {
    // SAFETY: both entities are alive; the token is only a number to Cyclone.
    let code = unsafe { ffi::dds_waitset_attach(set.handle(), entity.handle(), token) };
    checked(DdsOperation::Attach, code).map(|_| ())
}

/// Waits until an attached entity triggers. Writes as many tokens of triggered entities as fit, and returns the number
/// of triggered entities.
pub(super) fn wait(
    set: &OwnedEntity,
    tokens: &mut [isize],
    timeout: Duration,
) -> Result<usize, DdsError> {
    // SAFETY: Cyclone writes at most as many tokens as the slice is long.
    let code = unsafe {
        ffi::dds_waitset_wait(set.handle(), tokens.as_mut_ptr(), tokens.len(), nanos(timeout))
    };
    checked(DdsOperation::Wait, code).map(|count| usize::try_from(count).unwrap_or(0))
}

/// Waits for several readers at once.
pub struct ReaderWaitSet {
    set: OwnedEntity,
    _parent: Parent,
    /// Number of samples that each reader has taken from the middleware and not returned yet.
    held: Vec<Arc<AtomicUsize>>,
    tokens: Vec<isize>,
}

impl ReaderWaitSet {
    pub(super) fn create(parent: Parent) -> Result<Self, DdsError> {
        let set = create(&parent)?;
        Ok(Self { set, _parent: parent, held: Vec::new(), tokens: Vec::new() })
    }
}

impl WaitSet<CycloneRawReader> for ReaderWaitSet {
    type Error = DdsError;

    fn attach(&mut self, reader: &CycloneRawReader) -> Result<usize, DdsError> {
        let index = self.held.len();
        let token = isize::try_from(index).map_err(|_| DdsError::TooLong)?;
        attach(&self.set, reader.condition(), token)?;
        self.held.push(reader.held());
        self.tokens.push(0);
        Ok(index)
    }

    fn wait(&mut self, ready: &mut Vec<usize>, timeout: Duration) -> Result<(), DdsError> {
        ready.clear();
        let holding = |(index, held): (usize, &Arc<AtomicUsize>)| {
            (held.load(Ordering::Relaxed) > 0).then_some(index)
        };
        ready.extend(self.held.iter().enumerate().filter_map(holding));
        if !ready.is_empty() {
            return Ok(());
        }
        let count = wait(&self.set, &mut self.tokens, timeout)?;
        let triggered = self.tokens.iter().take(count);
        ready.extend(triggered.filter_map(|&token| usize::try_from(token).ok()));
        Ok(())
    }
}

/// Tracks the number of matches of one writer or reader.
pub(super) struct Matching {
    set: OwnedEntity,
    entity: ffi::Entity,
    read: unsafe extern "C" fn(ffi::Entity, *mut ffi::MatchedStatus) -> ffi::Return,
}

impl Matching {
    pub(super) fn of_writer(parent: &Parent, writer: &OwnedEntity) -> Result<Self, DdsError> {
        let read = ffi::dds_get_publication_matched_status;
        Self::of(parent, writer, ffi::STATUS_PUBLICATION_MATCHED, read)
    }

    pub(super) fn of_reader(parent: &Parent, reader: &OwnedEntity) -> Result<Self, DdsError> {
        let read = ffi::dds_get_subscription_matched_status;
        let mask = ffi::STATUS_SUBSCRIPTION_MATCHED | ffi::STATUS_SAMPLE_LOST;
        Self::of(parent, reader, mask, read)
    }

    fn of(
        parent: &Parent,
        entity: &OwnedEntity,
        mask: u32,
        read: unsafe extern "C" fn(ffi::Entity, *mut ffi::MatchedStatus) -> ffi::Return,
    ) -> Result<Self, DdsError> {
        // SAFETY: the entity is alive.
        let code = unsafe { ffi::dds_set_status_mask(entity.handle(), mask) };
        checked(DdsOperation::ReadStatus, code)?;
        let set = create(parent)?;
        attach(&set, entity, 0)?;
        Ok(Self { set, entity: entity.handle(), read })
    }

    pub(super) fn count(&self) -> Result<u32, DdsError> {
        let mut status = ffi::MatchedStatus::default();
        // SAFETY: the owner of this value keeps the entity alive, and `status` is written in place.
        let code = unsafe { (self.read)(self.entity, &raw mut status) };
        checked(DdsOperation::ReadStatus, code)?;
        Ok(status.current_count)
    }

    pub(super) fn wait(&self, count: u32, timeout: Duration) -> Result<bool, DdsError> {
        let started = Instant::now();
        loop {
            if self.count()? >= count {
                return Ok(true);
            }
            let Some(left) = timeout.checked_sub(started.elapsed()) else {
                return Ok(false);
            };
            wait(&self.set, &mut [0], left)?;
        }
    }
}
