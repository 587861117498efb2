//! Rendezvous of publishers and subscribers: shared-memory directory or DDS domain.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
#[cfg(feature = "dds")]
use tickwire_dds::{CycloneParticipant, Domain, DomainConfig};
use tickwire_shm::{ShmChannel, effective_user};
use tickwire_shm_transport::{ShmConfig, ShmParticipant};

/// A directory of shared memory, or a DDS domain on this host.
pub struct TransportPlace {
    pub domain: u32,
    pub directory: Option<PathBuf>,
    pub user: Option<u32>,
}

/// A transport, as an argument names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportChoice {
    Auto,
    Dds,
    Shm,
}

impl TransportChoice {
    pub fn named(name: &str) -> PyResult<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "dds" => Ok(Self::Dds),
            "shm" => Ok(Self::Shm),
            _ => {
                let text = format!("transport {name:?}: expected \"auto\", \"dds\" or \"shm\"");
                Err(PyValueError::new_err(text))
            }
        }
    }
}

impl TransportPlace {
    /// Returns the directory of the channels.
    pub fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| {
            let user = self.user.unwrap_or_else(effective_user);
            let mut directory = ShmChannel::default_directory(user).into_os_string();
            if self.domain > 0 {
                directory.push(format!("-{}", self.domain));
            }
            directory.into()
        })
    }

    /// Creates a participant in shared memory.
    pub fn join_shm(&self) -> ShmParticipant {
        let owner = self.user.unwrap_or_else(effective_user);
        let directory = self.directory();
        ShmParticipant::join(ShmConfig { directory, ..ShmConfig::of_user(owner) })
    }

    /// Creates a participant in the domain, on the loopback interface.
    #[cfg(feature = "dds")]
    pub fn join_dds(&self) -> Result<CycloneParticipant, tickwire_dds::DdsError> {
        let config = DomainConfig { multicast: false, ..DomainConfig::default() };
        Domain::open(self.domain, &config)?.join()
    }
}
