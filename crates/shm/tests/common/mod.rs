//! A channel in a directory of its own for each test.
#![allow(dead_code)]

use std::path::PathBuf;
use tickwire_shm::{
    ReaderWait, Readers, Schema, ShmChannel, ShmError, ShmEvent, ShmReader, ShmWriter, Start,
    WriterOptions,
};

pub struct Scene {
    pub channel: ShmChannel,
    pub schema: Schema,
    pub options: WriterOptions,
    pub directory: PathBuf,
}

impl Scene {
    /// Slots for samples of 40 bytes, keys of 8 bytes, four keys in the first segment.
    pub fn new(name: &str, slots: u64) -> Self {
        let directory =
            std::env::temp_dir().join(format!("tickwire-shm-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        Self {
            channel: ShmChannel::in_directory(&directory, name).unwrap(),
            schema: Schema::new("Text", b"text").unwrap(),
            options: WriterOptions {
                sample_bytes: 40,
                slots,
                key_bytes: 8,
                keys: 4,
                readers: Readers::Group(None),
            },
            directory,
        }
    }

    pub fn writer(&self) -> ShmWriter {
        ShmWriter::open(&self.channel, &self.schema, &self.options).unwrap()
    }

    pub fn reader(&self, start: Start, wait: ReaderWait) -> ShmReader {
        ShmReader::open(&self.channel, &self.schema, start, wait).unwrap()
    }

    pub fn file(&self, kind: &str) -> PathBuf {
        self.directory.join(format!("{}.{kind}", self.channel.name()))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Returns the sequence number and the text of a sample.
pub fn text(event: Result<Option<ShmEvent<'_>>, ShmError>) -> Option<(u64, String)> {
    match event.unwrap() {
        Some(ShmEvent::Sample(sample)) => {
            Some((sample.seq_num, String::from_utf8(sample.bytes.to_vec()).unwrap()))
        }
        None => None,
        other => panic!("{other:?}"),
    }
}
