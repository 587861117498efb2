//! Where channels are and how large they are.

use crate::sample::Shape;
use std::path::PathBuf;
use tickwire_distribution::types::StructType;
use tickwire_shm::{Channel, ReaderWait, Readers, effective_user};

/// Settings of a participant.
#[derive(Clone, Debug)]
pub struct ShmConfig {
    /// Directory of the channels; all that are to meet name the same.
    pub directory: PathBuf,
    /// The user whose directory it is: readers trust no other.
    pub owner: u32,
    /// Who may read what this participant writes.
    pub readers: Readers,
    /// Rings of types without sequences. Types without strings say themselves how long their samples are.
    pub plain: Room,
    /// Rings of types with sequences.
    pub sequences: Room,
    /// How readers wait.
    pub wait: ReaderWait,
}

/// Memory of a writer's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of the ring; as many samples fit as a reader may fall behind.
    pub ring_bytes: usize,
    /// Bytes that a sample may have.
    pub sample_bytes: usize,
}

impl ShmConfig {
    /// Channels in the directory of a user. A writer's ring has at most 16 MiB for samples of at most 1 KiB, or 64 MiB for samples
    /// with sequences of at most 16 KiB, such as books of 200 levels a side.
    #[must_use]
    pub fn of_user(user: u32) -> Self {
        Self {
            directory: Channel::default_directory(user),
            owner: user,
            readers: Readers::Group(None),
            plain: Room { ring_bytes: 16 << 20, sample_bytes: 1 << 10 },
            sequences: Room { ring_bytes: 64 << 20, sample_bytes: 16 << 10 },
            wait: ReaderWait::Block,
        }
    }

    /// The same in the directory of this process's user.
    #[must_use]
    pub fn own() -> Self {
        Self::of_user(effective_user())
    }

    /// The same in another directory of this process's user.
    #[must_use]
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..Self::own() }
    }

    /// The ring of samples of a type.
    pub(crate) fn room(&self, of: &StructType) -> Room {
        match Shape::of(of) {
            Shape::Fixed(bytes) => Room { sample_bytes: bytes, ..self.plain },
            Shape::Text => self.plain,
            Shape::Sequences => self.sequences,
        }
    }
}
