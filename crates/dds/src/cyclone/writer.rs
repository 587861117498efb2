//! Writers.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::time::Duration;

use super::domain::Parent;
use super::entity::{Owned, checked, nanos};
use super::ffi;
use super::qos::OwnedQos;
use super::scratch::Scratch;
use super::wait_set::Matching;
use crate::{Attempt, Error, Sample, Writer};

/// Writes samples of one type to one topic.
pub struct CycloneWriter<S> {
    // Dropped in this order: what was made later goes first.
    matching: Matching,
    entity: Owned,
    _topic: Owned,
    _parent: Parent,
    scratch: Scratch,
    _sample: PhantomData<fn(&S)>,
}

impl<S: Sample> CycloneWriter<S> {
    pub(super) fn create(parent: Parent, topic: &str, qos: &OwnedQos) -> Result<Self, Error> {
        let topic = parent.topic::<S>(topic)?;
        // SAFETY: participant and topic are alive, the QoS set lives past the call, null is no listener.
        let handle = unsafe {
            ffi::dds_create_writer(parent.handle(), topic.handle(), qos.as_ptr(), ptr::null())
        };
        let entity = Owned::created(Attempt::CreateWriter, handle)?;
        let matching = Matching::of_writer(&parent, &entity)?;
        Ok(Self {
            matching,
            entity,
            _topic: topic,
            _parent: parent,
            scratch: Scratch::default(),
            _sample: PhantomData,
        })
    }

    fn with_sample(
        &mut self,
        attempt: Attempt,
        sample: &S,
        call: unsafe extern "C" fn(ffi::Entity, *const c_void) -> ffi::Return,
    ) -> Result<(), Error> {
        let writer = self.entity.handle();
        // SAFETY: the writer's topic has the type of `S`, whose C form `lend` keeps until the call ends.
        let code = sample.lend(&mut self.scratch, |memory| unsafe { call(writer, memory) })?;
        checked(attempt, code).map(|_| ())
    }
}

impl<S: Sample> Writer<S> for CycloneWriter<S> {
    fn write(&mut self, sample: &S) -> Result<(), Error> {
        self.with_sample(Attempt::Write, sample, ffi::dds_write)
    }

    fn write_at(&mut self, sample: &S, source_timestamp_ns: i64) -> Result<(), Error> {
        let writer = self.entity.handle();
        // SAFETY: the writer's topic has the type of `S`, whose C form `lend` keeps until the call ends.
        let write = |memory| unsafe { ffi::dds_write_ts(writer, memory, source_timestamp_ns) };
        let code = sample.lend(&mut self.scratch, write)?;
        checked(Attempt::Write, code).map(|_| ())
    }

    fn flush(&mut self) -> Result<(), Error> {
        // SAFETY: the writer is alive.
        let code = unsafe { ffi::dds_write_flush(self.entity.handle()) };
        checked(Attempt::Write, code).map(|_| ())
    }

    fn dispose(&mut self, sample: &S) -> Result<(), Error> {
        self.with_sample(Attempt::Dispose, sample, ffi::dds_dispose)
    }

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error> {
        self.matching.wait(count, timeout)
    }

    fn matched(&self) -> Result<u32, Error> {
        self.matching.count()
    }

    fn wait_acknowledged(&self, timeout: Duration) -> Result<(), Error> {
        // SAFETY: the writer is alive.
        let code = unsafe { ffi::dds_wait_for_acks(self.entity.handle(), nanos(timeout)) };
        checked(Attempt::Wait, code).map(|_| ())
    }
}
