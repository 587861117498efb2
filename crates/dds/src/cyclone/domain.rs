//! Domains and the participants that join them.

use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

use super::entity::OwnedEntity;
use super::ffi;
use super::listener::CycloneListener;
use super::log;
use super::reader::CycloneRawReader;
use super::wait_set::ReaderWaitSet;
use super::writer::CycloneRawWriter;
use crate::config::checked_domain_id;
use crate::{DdsError, DdsOperation, DomainConfig, Participant, Qos, RawSample, StructType};

/// A domain opened with a configuration. It is closed when the last clone and the last participant are
/// dropped.
#[derive(Debug, Clone)]
pub struct Domain {
    entity: Arc<OwnedEntity>,
    id: u32,
}

impl Domain {
    /// Opens domain `id` in this process.
    ///
    /// # Errors
    /// - [`DdsError::DomainId`] above [`DOMAIN_ID_MAX`](crate::DOMAIN_ID_MAX).
    /// - [`DdsError::OpenAlready`] if this process has already opened the domain.
    /// - [`DdsError::OptionRange`] if a value of `config` is out of range.
    /// - [`DdsError::Middleware`] if the network interface does not exist or no port is free.
    pub fn open(id: u32, config: &DomainConfig) -> Result<Self, DdsError> {
        let id = checked_domain_id(id)?;
        let xml = CString::new(config.print_xml(id)?).map_err(|_| DdsError::TextWithNul)?;
        log::listen();
        // SAFETY: the string lives past the call, which parses it.
        let handle = unsafe { ffi::dds_create_domain(id, xml.as_ptr()) };
        if handle == ffi::RETCODE_PRECONDITION_NOT_MET {
            return Err(DdsError::OpenAlready { id });
        }
        let entity = Arc::new(OwnedEntity::created(DdsOperation::OpenDomain, handle)?);
        Ok(Self { entity, id })
    }

    /// Joins the domain with a new participant.
    ///
    /// # Errors
    /// [`DdsError::Middleware`] if the middleware reports an error.
    pub fn join(&self) -> Result<CycloneParticipant, DdsError> {
        // SAFETY: null asks for the default QoS and no listener.
        let handle = unsafe { ffi::dds_create_participant(self.id, ptr::null(), ptr::null()) };
        let entity = Arc::new(OwnedEntity::created(DdsOperation::JoinDomain, handle)?);
        Ok(CycloneParticipant { parent: Parent { entity, _domain: Arc::clone(&self.entity) } })
    }
}

/// The participant and domain of a writer, reader or wait set, which keeps them alive. The participant is dropped
/// before its domain.
#[derive(Debug, Clone)]
pub(super) struct Parent {
    entity: Arc<OwnedEntity>,
    _domain: Arc<OwnedEntity>,
}

impl Parent {
    pub(super) fn handle(&self) -> ffi::Entity {
        self.entity.handle()
    }
}

/// A participant of a domain; a clone is the same participant.
#[derive(Debug, Clone)]
pub struct CycloneParticipant {
    parent: Parent,
}

impl Participant for CycloneParticipant {
    type Error = DdsError;
    type RawWriter = CycloneRawWriter;
    type RawReader = CycloneRawReader;
    type Listener = CycloneListener;
    type WaitSet = ReaderWaitSet;

    fn raw_writer(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<CycloneRawWriter, DdsError> {
        CycloneRawWriter::create(self.parent.clone(), of, topic, qos)
    }

    fn raw_reader(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<CycloneRawReader, DdsError> {
        CycloneRawReader::create(self.parent.clone(), of, topic, qos)
    }

    fn raw_listen(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
        on_sample: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<CycloneListener, DdsError> {
        CycloneListener::create(self.parent.clone(), of, topic, qos, on_sample)
    }

    fn wait_set(&self) -> Result<ReaderWaitSet, DdsError> {
        ReaderWaitSet::create(self.parent.clone())
    }
}
