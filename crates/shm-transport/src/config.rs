//! Settings: directory and sizes of channels.

use crate::sample::SampleShape;
use std::path::PathBuf;
use tickwire_distribution::types::StructType;
use tickwire_shm::{ReaderWait, Readers, ShmChannel, effective_user};

/// Settings of a participant.
#[derive(Clone, Debug)]
pub struct ShmConfig {
    /// Directory of the channels. Participants that are to find each other use the same one.
    pub directory: PathBuf,
    /// Owner of the directory; readers trust no other user.
    pub owner: u32,
    /// Users who may read the channels of this participant's writers.
    pub readers: Readers,
    /// Rings of types without sequences. If a type has no strings either, the length of its samples follows from the
    /// type.
    pub plain: RingSize,
    /// Rings of types with sequences.
    pub sequences: RingSize,
    /// How readers wait.
    pub wait: ReaderWait,
}

/// Memory of a writer's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Size of the ring in bytes. It determines how many samples a reader may fall behind.
    pub ring_bytes: usize,
    /// Longest sample in bytes.
    pub sample_bytes: usize,
}

impl ShmConfig {
    /// Settings for channels in a user's directory. A writer's ring has at most 16 MiB for samples of at most 1 KiB;
    /// for types with sequences, 64 MiB for samples of at most 16 KiB, such as books of 200 levels a side.
    #[must_use]
    pub fn of_user(user: u32) -> Self {
        Self {
            directory: ShmChannel::default_directory(user),
            owner: user,
            readers: Readers::Group(None),
            plain: RingSize { ring_bytes: 16 << 20, sample_bytes: 1 << 10 },
            sequences: RingSize { ring_bytes: 64 << 20, sample_bytes: 16 << 10 },
            wait: ReaderWait::Block,
        }
    }

    /// The settings of [`of_user`](Self::of_user) for this process's user.
    #[must_use]
    pub fn own() -> Self {
        Self::of_user(effective_user())
    }

    /// The settings of [`own`](Self::own) with another directory of this process's user.
    #[must_use]
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..Self::own() }
    }

    /// Returns the sizes of the ring for samples of a type.
    pub(crate) fn room(&self, of: &StructType) -> RingSize {
        match SampleShape::of(of) {
            SampleShape::Fixed(bytes) => RingSize { sample_bytes: bytes, ..self.plain },
            SampleShape::Text => self.plain,
            SampleShape::Sequences => self.sequences,
        }
    }
}
