//! Listeners, which receive samples on the middleware's own thread.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::batch::SampleBatch;
use super::domain::Parent;
use super::entity::OwnedEntity;
use super::ffi;
use super::qos::OwnedQos;
use super::topic;
use super::wait_set::Matching;
use crate::{DdsError, DdsOperation, Listener, Qos, RawSample, StructType};

/// Passes each sample of one topic to a function as it arrives.
pub struct CycloneListener {
    // Fields are dropped in this order: once the reader is deleted, no callback runs or starts.
    matching: Matching,
    _entity: OwnedEntity,
    _intake: Arc<dyn Send + Sync>,
    _topic: OwnedEntity,
    _parent: Parent,
}

impl CycloneListener {
    pub(super) fn create<F>(
        parent: Parent,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
        on_sample: F,
    ) -> Result<Self, DdsError>
    where
        F: FnMut(&RawSample<'_>) + Send + 'static,
    {
        let qos = OwnedQos::of(qos, of.encoding)?;
        let topic = topic::create(parent.handle(), of, topic)?;
        let intake = Arc::new(Mutex::new(Intake { batch: SampleBatch::new(), on_sample }));
        let callbacks = CycloneCallbacks::new(on_data::<F>, Arc::as_ptr(&intake).cast());
        // SAFETY: participant and topic are alive; Cyclone copies QoS and callbacks. The callbacks' argument outlives
        // the reader, because deleting the reader waits for a running callback.
        let handle = unsafe {
            ffi::dds_create_reader(parent.handle(), topic.handle(), qos.as_ptr(), callbacks.0)
        };
        let entity = OwnedEntity::created(DdsOperation::CreateReader, handle)?;
        let matching = Matching::of_reader(&parent, &entity)?;
        Ok(Self { matching, _entity: entity, _intake: intake, _topic: topic, _parent: parent })
    }
}

impl Listener for CycloneListener {
    type Error = DdsError;

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, DdsError> {
        self.matching.wait(count, timeout)
    }

    fn matched(&self) -> Result<u32, DdsError> {
        self.matching.count()
    }
}

/// State of the callback.
struct Intake<F> {
    batch: SampleBatch,
    on_sample: F,
}

impl<F: FnMut(&RawSample<'_>)> Intake<F> {
    /// Takes all samples of `reader`. If Cyclone reports an error, the samples stay for the next call.
    fn take_all(&mut self, reader: ffi::Entity) {
        while self.batch.refill(reader).is_ok_and(|count| count > 0) {
            while !self.batch.is_empty() {
                (self.on_sample)(&self.batch.lend());
            }
        }
    }
}

/// Called by Cyclone on the thread that received the sample. A panic ends the process here, at the boundary
/// to C.
extern "C" fn on_data<F>(reader: ffi::Entity, argument: *mut c_void)
where
    F: FnMut(&RawSample<'_>) + Send + 'static,
{
    // SAFETY: this is the argument passed by `create`, which the listener keeps until its reader is deleted.
    let intake = unsafe { &*argument.cast_const().cast::<Mutex<Intake<F>>>() };
    // Cyclone makes one call at a time, so the lock is never contended.
    intake.lock().unwrap_or_else(PoisonError::into_inner).take_all(reader);
}

/// Owns a set of callbacks. Cyclone copies them when it creates a reader.
struct CycloneCallbacks(*mut ffi::DdsListener);

impl CycloneCallbacks {
    fn new(on_data: ffi::OnData, argument: *const c_void) -> Self {
        // SAFETY: Cyclone only stores the argument.
        let callbacks = unsafe { ffi::dds_create_listener(argument.cast_mut()) };
        assert!(!callbacks.is_null(), "out of memory");
        // SAFETY: just created, and not shared yet.
        unsafe { ffi::dds_lset_data_available(callbacks, Some(on_data)) };
        Self(callbacks)
    }
}

impl Drop for CycloneCallbacks {
    fn drop(&mut self) {
        // SAFETY: created by `new` and deleted once, here.
        unsafe { ffi::dds_delete_listener(self.0) };
    }
}
