//! Replacement for `dds.rs` in builds without DDS.

use crate::failure::Failure;
use std::sync::Arc;
use std::time::Duration;
use tickwire_distribution::types::StructType;
use tickwire_distribution::{
    Delivery, Listener, Participant, ParticipantId, Qos, RawReader, RawSample, RawWriter, WaitSet,
};
use tickwire_shm_transport::Error;

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

    pub fn delivery(&self, any: Delivery, _all: bool) -> Delivery {
        any
    }
}

impl Participant for DdsParticipant {
    type Error = Error;
    type RawWriter = Self;
    type RawReader = Self;
    type Listener = Self;
    type WaitSet = Self;

    fn raw_writer(&self, _: &Arc<StructType>, _: &str, _: &Qos) -> Result<Self, Error> {
        match *self {}
    }

    fn raw_reader(&self, _: &Arc<StructType>, _: &str, _: &Qos) -> Result<Self, Error> {
        match *self {}
    }

    fn raw_listen(
        &self,
        _: &Arc<StructType>,
        _: &str,
        _: &Qos,
        _: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<Self, Error> {
        match *self {}
    }

    fn wait_set(&self) -> Result<Self, Error> {
        match *self {}
    }
}

impl RawWriter for DdsParticipant {
    type Error = Error;

    fn write(&mut self, _: &[u8], _: Option<i64>) -> Result<(), Error> {
        match *self {}
    }

    fn dispose(&mut self, _: &[u8]) -> Result<(), Error> {
        match *self {}
    }

    fn flush(&mut self) -> Result<(), Error> {
        match *self {}
    }

    fn backlog(&self) -> Result<Option<u64>, Error> {
        match *self {}
    }

    fn wait_matched(&self, _: u32, _: Duration) -> Result<bool, Error> {
        match *self {}
    }

    fn matched(&self) -> Result<u32, Error> {
        match *self {}
    }

    fn wait_acknowledged(&self, _: Duration) -> Result<(), Error> {
        match *self {}
    }
}

impl RawReader for DdsParticipant {
    type Error = Error;

    fn take(&mut self) -> Result<Option<RawSample<'_>>, Error> {
        match *self {}
    }

    fn wait(&mut self, _: Duration) -> Result<bool, Error> {
        match *self {}
    }

    fn wait_matched(&self, _: u32, _: Duration) -> Result<bool, Error> {
        match *self {}
    }

    fn matched(&self) -> Result<u32, Error> {
        match *self {}
    }

    fn publishers(&self) -> Result<Vec<ParticipantId>, Error> {
        match *self {}
    }

    fn lost(&self) -> Result<u64, Error> {
        match *self {}
    }
}

impl Listener for DdsParticipant {
    type Error = Error;

    fn wait_matched(&self, _: u32, _: Duration) -> Result<bool, Error> {
        match *self {}
    }

    fn matched(&self) -> Result<u32, Error> {
        match *self {}
    }
}

impl WaitSet<DdsParticipant> for DdsParticipant {
    type Error = Error;

    fn attach(&mut self, _: &DdsParticipant) -> Result<usize, Error> {
        match *self {}
    }

    fn wait(&mut self, _: &mut Vec<usize>, _: Duration) -> Result<(), Error> {
        match *self {}
    }
}
