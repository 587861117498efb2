//! An entity that is deleted with the value that owns it.

use std::time::Duration;

use super::ffi;
use crate::{Attempt, Error};

/// Owns one Cyclone entity.
#[derive(Debug)]
pub(super) struct Owned(ffi::Entity);

impl Owned {
    /// Takes ownership of what a create function returned.
    pub(super) fn created(attempt: Attempt, handle: ffi::Entity) -> Result<Self, Error> {
        checked(attempt, handle).map(Owned)
    }

    pub(super) fn handle(&self) -> ffi::Entity {
        self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the handle came from a create function and is deleted once, here. Where a parent went
        // first, Cyclone finds no such handle and says so; there is nothing left to do then.
        unsafe { ffi::dds_delete(self.0) };
    }
}

/// Turns a return code into the count or handle it is, or into the error it means.
pub(super) fn checked(attempt: Attempt, code: ffi::Return) -> Result<i32, Error> {
    match code {
        0.. => Ok(code),
        ffi::RETCODE_TIMEOUT => Err(Error::TimedOut { attempt }),
        _ => Err(Error::Middleware { attempt, code }),
    }
}

/// Nanoseconds of `time`; what does not fit is as good as for ever.
pub(super) fn nanos(time: Duration) -> ffi::Duration {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
