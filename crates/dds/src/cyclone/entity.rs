//! A Cyclone entity that is deleted when its owner is dropped.

use std::time::Duration;

use super::ffi;
use crate::{DdsError, DdsOperation};

/// Owns one Cyclone entity.
#[derive(Debug)]
pub(super) struct OwnedEntity(ffi::Entity);

impl OwnedEntity {
    /// Takes ownership of the result of a create function.
    pub(super) fn created(attempt: DdsOperation, handle: ffi::Entity) -> Result<Self, DdsError> {
        checked(attempt, handle).map(OwnedEntity)
    }

    pub(super) fn handle(&self) -> ffi::Entity {
        self.0
    }
}

impl Drop for OwnedEntity {
    fn drop(&mut self) {
        // SAFETY: the handle came from a create function and is deleted once, here. If its parent was deleted
        // first, Cyclone reports an unknown handle, and nothing is left to do.
        unsafe { ffi::dds_delete(self.0) };
    }
}

/// Returns the count or handle that a return code stands for, or its error.
pub(super) fn checked(attempt: DdsOperation, code: ffi::Return) -> Result<i32, DdsError> {
    match code {
        0.. => Ok(code),
        ffi::RETCODE_TIMEOUT => Err(DdsError::TimedOut { attempt }),
        _ => Err(DdsError::Middleware { attempt, code }),
    }
}

/// Converts `time` to nanoseconds; a time that does not fit becomes infinite.
pub(super) fn nanos(time: Duration) -> ffi::Duration {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
