//! Writers.

use std::ptr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::domain::Parent;
use super::entity::{OwnedEntity, checked, nanos};
use super::ffi;
use super::qos::OwnedQos;
use super::topic;
use super::wait_set::Matching;
use crate::{CdrEncoding, DdsError, DdsOperation, Qos, RawWriter, StructType};

/// Writes the bytes of samples of one type to one topic.
pub struct CycloneRawWriter {
    // Fields are dropped in this order, the reverse of creation.
    matching: Matching,
    entity: OwnedEntity,
    _topic: OwnedEntity,
    _parent: Parent,
    /// Cyclone's representation of the type; valid for as long as the writer exists.
    sertype: *const ffi::Sertype,
    encoding: CdrEncoding,
}

// SAFETY: the type is immutable and kept alive by the writer that refers to it; any thread may use it.
unsafe impl Send for CycloneRawWriter {}

impl CycloneRawWriter {
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
            ffi::dds_create_writer(parent.handle(), topic.handle(), qos.as_ptr(), ptr::null())
        };
        let entity = OwnedEntity::created(DdsOperation::CreateWriter, handle)?;
        let matching = Matching::of_writer(&parent, &entity)?;
        let mut sertype = ptr::null();
        // SAFETY: the writer is alive and the result is written in place.
        let code = unsafe { ffi::dds_get_entity_sertype(entity.handle(), &raw mut sertype) };
        checked(DdsOperation::CreateWriter, code)?;
        Ok(Self {
            matching,
            entity,
            _topic: topic,
            _parent: parent,
            sertype,
            encoding: of.encoding,
        })
    }

    fn write_bytes(
        &mut self,
        attempt: DdsOperation,
        bytes: &[u8],
        is_disposal: bool,
        timestamp_ns: i64,
    ) -> Result<(), DdsError> {
        // SAFETY: writer and type are alive. The call reads the bytes and validates them against the type.
        let code = unsafe {
            ffi::tickwire_write(
                self.entity.handle(),
                self.sertype,
                bytes.as_ptr().cast(),
                bytes.len(),
                self.encoding == CdrEncoding::Xcdr2,
                is_disposal,
                timestamp_ns,
            )
        };
        checked(attempt, code).map(|_| ())
    }
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    nanos(since)
}

impl RawWriter for CycloneRawWriter {
    type Error = DdsError;

    fn write(&mut self, sample: &[u8], source_timestamp_ns: Option<i64>) -> Result<(), DdsError> {
        let timestamp_ns = source_timestamp_ns.unwrap_or_else(now_ns);
        self.write_bytes(DdsOperation::Write, sample, false, timestamp_ns)
    }

    fn flush(&mut self) -> Result<(), DdsError> {
        // SAFETY: the writer is alive.
        let code = unsafe { ffi::dds_write_flush(self.entity.handle()) };
        checked(DdsOperation::Write, code).map(|_| ())
    }

    fn dispose(&mut self, key: &[u8]) -> Result<(), DdsError> {
        self.write_bytes(DdsOperation::Dispose, key, true, now_ns())
    }

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, DdsError> {
        self.matching.wait(count, timeout)
    }

    fn matched(&self) -> Result<u32, DdsError> {
        self.matching.count()
    }

    fn wait_acknowledged(&self, timeout: Duration) -> Result<(), DdsError> {
        // SAFETY: the writer is alive.
        let code = unsafe { ffi::dds_wait_for_acks(self.entity.handle(), nanos(timeout)) };
        checked(DdsOperation::Wait, code).map(|_| ())
    }

    /// Returns how many samples the slowest matched reliable reader has still to acknowledge.
    fn backlog(&self) -> Result<Option<u64>, DdsError> {
        // SAFETY: writer and type are alive.
        let count = unsafe { ffi::tickwire_unacknowledged(self.entity.handle(), self.sertype) };
        match u64::try_from(count) {
            Ok(count) => Ok(Some(count)),
            // Codes of errors are small and negative.
            Err(_) => checked(DdsOperation::Wait, count as ffi::Return).map(|_| None),
        }
    }
}
