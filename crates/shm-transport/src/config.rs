//! Where channels are and how large they are.

use std::path::PathBuf;
use tickwire_shm::{Channel, Readers, Wait};

/// Settings of a participant.
#[derive(Clone, Debug)]
pub struct ShmConfig {
    /// Directory of the channels; all that are to meet name the same.
    pub directory: PathBuf,
    /// Who may read what this participant writes.
    pub readers: Readers,
    /// Bytes of a writer's ring; as many samples fit as a reader may fall behind.
    pub ring_bytes: usize,
    /// Bytes that a sample may have if its type has strings or sequences; other types say themselves.
    pub sample_bytes: usize,
    /// How readers wait.
    pub wait: Wait,
}

impl ShmConfig {
    /// Channels in the directory of a user, 16 MiB a writer, samples of at most 1 KiB.
    #[must_use]
    pub fn of_user(user: u32) -> Self {
        Self {
            directory: Channel::default_directory(user),
            readers: Readers::Group(None),
            ring_bytes: 16 << 20,
            sample_bytes: 1 << 10,
            wait: Wait::Block,
        }
    }
}
