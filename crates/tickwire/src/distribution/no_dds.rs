//! Replacement for `dds.rs` in builds without DDS.

use crate::failure::Failure;
use std::sync::Arc;
use std::time::Duration;
use tickwire_distribution::types::StructType;
use tickwire_distribution::{
    DeliverySettings, Listener, Participant, ParticipantId, Qos, RawReader, RawSample, RawWriter,
    WaitSet,
};
use tickwire_shm_transport::ShmTransportError;

/// True if this build has DDS.
pub const HAS_DDS: bool = false;

/// Stands for a participant, its writers and its readers. It has no values, because none of these exist.
#[derive(Clone, Debug)]
pub enum DdsParticipant {}

/// Options of DDS only: this build has none.
#[derive(Clone, Debug, clap::Args)]
pub struct DdsArgs {}

impl DdsArgs {
    pub fn first_set(&self) -> Option<&'static str> {
        None
    }

    pub fn join(&self, _domain: u32) -> Result<DdsParticipant, Failure> {
        Err(Failure::Usage("this program is built without DDS: --transport shm".to_owned()))
    }

    pub fn delivery(&self, any: DeliverySettings, _all: bool) -> DeliverySettings {
        any
    }
}

impl Participant for DdsParticipant {
    type Error = ShmTransportError;
    type RawWriter = Self;
    type RawReader = Self;
    type Listener = Self;
    type WaitSet = Self;

    fn raw_writer(&self, _: &Arc<StructType>, _: &str, _: &Qos) -> Result<Self, ShmTransportError> {
        match *self {}
    }

    fn raw_reader(&self, _: &Arc<StructType>, _: &str, _: &Qos) -> Result<Self, ShmTransportError> {
        match *self {}
    }

    fn raw_listen(
        &self,
        _: &Arc<StructType>,
        _: &str,
        _: &Qos,
        _: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<Self, ShmTransportError> {
        match *self {}
    }

    fn wait_set(&self) -> Result<Self, ShmTransportError> {
        match *self {}
    }
}

impl RawWriter for DdsParticipant {
    type Error = ShmTransportError;

    fn write(&mut self, _: &[u8], _: Option<i64>) -> Result<(), ShmTransportError> {
        match *self {}
    }

    fn dispose(&mut self, _: &[u8]) -> Result<(), ShmTransportError> {
        match *self {}
    }

    fn flush(&mut self) -> Result<(), ShmTransportError> {
        match *self {}
    }

    fn backlog(&self) -> Result<Option<u64>, ShmTransportError> {
        match *self {}
    }

    fn wait_matched(&self, _: u32, _: Duration) -> Result<bool, ShmTransportError> {
        match *self {}
    }

    fn matched(&self) -> Result<u32, ShmTransportError> {
        match *self {}
    }

    fn wait_acknowledged(&self, _: Duration) -> Result<(), ShmTransportError> {
        match *self {}
    }
}

impl RawReader for DdsParticipant {
    type Error = ShmTransportError;

    fn take(&mut self) -> Result<Option<RawSample<'_>>, ShmTransportError> {
        match *self {}
    }

    fn wait(&mut self, _: Duration) -> Result<bool, ShmTransportError> {
        match *self {}
    }

    fn wait_matched(&self, _: u32, _: Duration) -> Result<bool, ShmTransportError> {
        match *self {}
    }

    fn matched(&self) -> Result<u32, ShmTransportError> {
        match *self {}
    }

    fn publishers(&self) -> Result<Vec<ParticipantId>, ShmTransportError> {
        match *self {}
    }

    fn lost(&self) -> Result<u64, ShmTransportError> {
        match *self {}
    }
}

impl Listener for DdsParticipant {
    type Error = ShmTransportError;

    fn wait_matched(&self, _: u32, _: Duration) -> Result<bool, ShmTransportError> {
        match *self {}
    }

    fn matched(&self) -> Result<u32, ShmTransportError> {
        match *self {}
    }
}

impl WaitSet<DdsParticipant> for DdsParticipant {
    type Error = ShmTransportError;

    fn attach(&mut self, _: &DdsParticipant) -> Result<usize, ShmTransportError> {
        match *self {}
    }

    fn wait(&mut self, _: &mut Vec<usize>, _: Duration) -> Result<(), ShmTransportError> {
        match *self {}
    }
}
