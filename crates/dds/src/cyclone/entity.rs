//! A Cyclone entity that is deleted when its owner is dropped.

use std::time::Duration;

use super::ffi;
use crate::{Attempt, Error};

/// Owns one Cyclone entity.
#[derive(Debug)]
pub(super) struct Owned(ffi::Entity);

impl Owned {
    /// Takes ownership of the result of a create function.
    pub(super) fn created(attempt: Attempt, handle: ffi::Entity) -> Result<Self, Error> {
        checked(attempt, handle).map(Owned)
    }

    pub(super) fn handle(&self) -> ffi::Entity {
        self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the handle came from a create function and is deleted once, here. If its parent was deleted
        // first, Cyclone reports an unknown handle, and nothing is left to do.
        unsafe { ffi::dds_delete(self.0) };
    }
}

/// Returns the count or handle that a return code stands for, or its error.
pub(super) fn checked(attempt: Attempt, code: ffi::Return) -> Result<i32, Error> {
    match code {
        0.. => Ok(code),
        ffi::RETCODE_TIMEOUT => Err(Error::TimedOut { attempt }),
        _ => Err(Error::Middleware { attempt, code }),
    }
}

/// Converts `time` to nanoseconds; a time that does not fit becomes infinite.
pub(super) fn nanos(time: Duration) -> ffi::Duration {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
