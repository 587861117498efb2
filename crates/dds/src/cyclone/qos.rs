//! Conversion of QoS to Cyclone's format.

use std::ffi::{CString, c_char};

use super::entity::nanos;
use super::ffi;
use crate::config::ranged;
use crate::{CdrEncoding, DdsError, Durability, History, Qos, Reliability};

/// Owns one of Cyclone's QoS sets.
pub(super) struct OwnedQos(*mut ffi::DdsQos);

impl OwnedQos {
    /// Converts a QoS for samples in this encoding.
    pub(super) fn of(qos: &Qos, encoding: CdrEncoding) -> Result<Self, DdsError> {
        let (history, depth) = match qos.history {
            History::KeepAll => (ffi::HISTORY_KEEP_ALL, 1),
            History::KeepLast(depth) => (ffi::HISTORY_KEEP_LAST, ranged("depth", depth)?),
        };
        let samples_max = match qos.samples_max {
            Some(limit) => ranged("samples_max", limit)?,
            None => ffi::LENGTH_UNLIMITED,
        };
        let (reliability, max_blocking) = match qos.reliability {
            Reliability::BestEffort => (ffi::RELIABILITY_BEST_EFFORT, 0),
            Reliability::Reliable { max_blocking } => {
                (ffi::RELIABILITY_RELIABLE, nanos(max_blocking))
            }
        };
        let (durability, last_values) = match qos.durability {
            Durability::TransientLocal { depth } => {
                (ffi::DURABILITY_TRANSIENT_LOCAL, ranged("transient-local depth", depth)?)
            }
            Durability::Volatile => (ffi::DURABILITY_VOLATILE, 1),
        };
        let partitions = qos
            .partitions
            .iter()
            .map(|name| CString::new(name.as_str()).map_err(|_| DdsError::TextWithNul))
            .collect::<Result<Vec<_>, _>>()?;
        let any = ffi::LENGTH_UNLIMITED;

        // SAFETY: the call has no preconditions and never returns null; it aborts instead.
        let owned = Self(unsafe { ffi::dds_create_qos() });
        let set = owned.0;
        // SAFETY: `set` is the live QoS set just made, and the setters copy plain values.
        unsafe {
            ffi::dds_qset_history(set, history, depth);
            ffi::dds_qset_resource_limits(set, samples_max, any, any);
            ffi::dds_qset_reliability(set, reliability, max_blocking);
            ffi::dds_qset_durability(set, durability);
            // The history for late readers is separate: a writer that keeps all samples keeps only the last ones for
            // late readers.
            ffi::dds_qset_durability_service(
                set,
                0,
                ffi::HISTORY_KEEP_LAST,
                last_values,
                any,
                any,
                any,
            );
            // When a publisher ends or restarts, the instances of its securities stay alive.
            ffi::dds_qset_writer_data_lifecycle(set, false);
            ffi::dds_qset_writer_batching(set, qos.batching);
        }
        if encoding == CdrEncoding::Xcdr2 {
            let representations = [ffi::DATA_REPRESENTATION_XCDR2];
            // SAFETY: one value is copied.
            unsafe { ffi::dds_qset_data_representation(set, 1, representations.as_ptr()) };
        }
        owned.set_partitions(&partitions)?;
        Ok(owned)
    }

    fn set_partitions(&self, partitions: &[CString]) -> Result<(), DdsError> {
        if partitions.is_empty() {
            return Ok(());
        }
        let count = u32::try_from(partitions.len()).map_err(|_| DdsError::TooLong)?;
        let mut names: Vec<*const c_char> = partitions.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: `names` has `count` strings that live past the call, which copies them.
        unsafe { ffi::dds_qset_partition(self.0, count, names.as_mut_ptr()) };
        Ok(())
    }

    pub(super) fn as_ptr(&self) -> *const ffi::DdsQos {
        self.0
    }
}

impl Drop for OwnedQos {
    fn drop(&mut self) {
        // SAFETY: made by `dds_create_qos` and deleted once.
        unsafe { ffi::dds_delete_qos(self.0) };
    }
}
