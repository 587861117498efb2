//! The channel of snapshots, beside the one of updates.

use super::failure;
use crate::failure::Failure;
use crate::packet_file::PacketFile;
use std::path::Path;
use tickwire_exchange::Generator;

/// Writes the snapshot of one security at intervals, and snapshots of all at the end.
pub struct SnapshotWriter {
    file: PacketFile,
    securities: Vec<u32>,
    /// Index of the security whose snapshot is next.
    next: usize,
    every: u32,
    /// Packets since the last snapshot.
    packets: u32,
}

impl SnapshotWriter {
    /// Creates the file. If the books are not empty, it begins with snapshots of all.
    pub fn create(
        path: &Path,
        every: u32,
        starts_full: bool,
        generator: &mut Generator,
    ) -> Result<Self, Failure> {
        let securities = generator.truth().books().map(|book| book.security).collect();
        let file = PacketFile::create(path)?;
        let mut writer = Self { file, securities, next: 0, every, packets: 0 };
        if starts_full {
            writer.round(generator)?;
        }
        Ok(writer)
    }

    /// Records that a packet was generated.
    pub fn packet(&mut self, generator: &mut Generator) -> Result<(), Failure> {
        self.packets += 1;
        if self.packets < self.every {
            return Ok(());
        }
        self.packets = 0;
        self.snapshot(generator)
    }

    /// Ends the file with snapshots of all books.
    pub fn finish(mut self, generator: &mut Generator) -> Result<(), Failure> {
        self.round(generator)?;
        self.file.finish()
    }

    fn round(&mut self, generator: &mut Generator) -> Result<(), Failure> {
        (0..self.securities.len()).try_for_each(|_| self.snapshot(generator))
    }

    fn snapshot(&mut self, generator: &mut Generator) -> Result<(), Failure> {
        let security = self.securities[self.next];
        self.next = (self.next + 1) % self.securities.len();
        let packet = generator.snapshot(security).map_err(|error| failure(&error))?;
        self.file.write(&packet.bytes)
    }
}
