//! The feed of the monitored demo, in files that are sent one after another. Sequence numbers and books continue from one
//! file to the next, so receivers see one feed without an end.

use crate::failure::Failure;
use crate::files;
use crate::generate::SnapshotWriter;
use crate::packet_file::PacketFile;
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_exchange::{CmeShape, ExchangeError, Generator, Options};
use tickwire_feed::framing::Preset;

/// Number of messages of the feed, one per packet: the most that 32-bit sequence numbers allow. At 1,000 messages
/// per second they last 49 days.
const MESSAGES: u64 = u32::MAX as u64 - 1;
/// A snapshot follows this many packets.
const SNAPSHOT_EVERY: u32 = 20;

/// Files with the packets of one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundFiles {
    /// Number of the round, from 0.
    pub number: u64,
    /// Capture of the updates.
    pub feed: PathBuf,
    /// Capture of the snapshots.
    pub snapshots: PathBuf,
}

impl RoundFiles {
    /// Removes the files.
    pub fn remove(&self) {
        for path in [&self.feed, &self.snapshots] {
            // A file that cannot be removed here is removed later with the demo's directory.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes the files of one round after another.
pub struct FeedRounds {
    generator: Generator,
    directory: PathBuf,
    /// Packets of a round.
    packets: u32,
    /// Number of the next round.
    next: u64,
}

impl FeedRounds {
    /// Creates a feed whose rounds have `packets` packets each, and writes its templates to the
    /// file `templates`.
    pub fn create(
        directory: &Path,
        templates: &Path,
        packets: u32,
        seed: u64,
    ) -> Result<Self, Failure> {
        let options = Options {
            seed,
            messages: MESSAGES,
            framing: Some(Preset::Cme.framing()),
            ..Options::cme(CmeShape::Average)
        };
        let mut out = files::create(Some(templates))?;
        out.write_all(options.feed.templates().as_bytes())?;
        out.flush()?;
        let generator = Generator::new(&options).map_err(|error| failure(&error))?;
        Ok(Self { generator, directory: directory.to_owned(), packets, next: 0 })
    }

    /// Writes the next round.
    pub fn write(&mut self) -> Result<RoundFiles, Failure> {
        let number = self.next;
        self.next += 1;
        let [feed, snapshots] =
            ["feed", "snapshots"].map(|name| self.directory.join(format!("{name}-{number}.bin")));
        let mut file = PacketFile::create(&feed)?;
        let mut writer =
            SnapshotWriter::create(&snapshots, SNAPSHOT_EVERY, false, &mut self.generator)?;
        for _ in 0..self.packets {
            let packet = self.generator.next_packet().map_err(|error| failure(&error))?;
            let ended = || Failure::Data("demo: the feed has no more sequence numbers".to_owned());
            let packet = packet.ok_or_else(ended)?;
            file.write(&packet.bytes)?;
            writer.packet(&mut self.generator)?;
        }
        file.finish()?;
        writer.finish(&mut self.generator)?;
        Ok(RoundFiles { number, feed, snapshots })
    }
}

fn failure(error: &ExchangeError) -> Failure {
    Failure::Data(format!("demo: the feed was not generated: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequence numbers of a capture's packets: the first four bytes after each length.
    fn seq_nums(path: &Path) -> Vec<u32> {
        let bytes = std::fs::read(path).unwrap();
        let (mut at, mut found) = (0, Vec::new());
        while at < bytes.len() {
            let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
            found.push(word(at + 4));
            at += 4 + word(at) as usize;
        }
        found
    }

    #[test]
    fn rounds_continue_each_other() {
        let name = format!("tickwire-rounds-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let templates = directory.join("templates.xml");
        let mut rounds = FeedRounds::create(&directory, &templates, 50, 1).unwrap();
        let files: Vec<RoundFiles> = (0..3).map(|_| rounds.write().unwrap()).collect();
        let numbers: Vec<u32> = files.iter().flat_map(|round| seq_nums(&round.feed)).collect();
        assert_eq!(numbers, (1..=150).collect::<Vec<u32>>());
        let numbers: Vec<u32> = files.iter().flat_map(|round| seq_nums(&round.snapshots)).collect();
        let wanted: Vec<u32> = (1..=numbers.len() as u32).collect();
        assert_eq!(numbers, wanted, "snapshots have numbers of their own");
        files[0].remove();
        assert!(!files[0].feed.exists() && files[1].feed.exists());
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
