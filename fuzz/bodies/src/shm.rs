//! A channel's files with arbitrary words, under a reader that was open before, and a reader and a
//! writer that open them afterwards.

use crate::choices::Choices;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tickwire_shm::{
    ReaderWait, Readers, Schema, ShmChannel, ShmEvent, ShmReader, ShmWriter, Start, WriterOptions,
};

/// Sample length in bytes, number of slots and number of keys of the channel.
const SAMPLE_BYTES: usize = 40;
const SLOTS: u64 = 8;
const KEYS: u8 = 6;

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Overwrites words of the files of a channel whose writer was killed. Every operation must return
/// soon with an error or stay within bounds.
pub fn shm(data: &[u8]) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("tickwire-fuzz-shm-{}-{count}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    let channel = ShmChannel::in_directory(&folder.0, "c").expect("a name");
    let schema = Schema::new("Bytes", b"bytes").expect("a name");
    let options = WriterOptions {
        sample_bytes: SAMPLE_BYTES,
        slots: SLOTS,
        key_bytes: 8,
        keys: 4,
        readers: Readers::Owner,
    };
    let mut choices = Choices::new(data);
    let open = || ShmReader::open(&channel, &schema, Start::Oldest, ReaderWait::Spin);

    let mut writer = ShmWriter::open(&channel, &schema, &options).expect("a channel");
    for number in 0..choices.byte() % 40 {
        let key = writer.key(&[b'a' + number % KEYS]).expect("room");
        writer.publish_keyed(key, &[number; SAMPLE_BYTES]).expect("short enough");
    }
    drop(writer);
    let mut attached = open().expect("a channel");
    while !choices.is_used_up() {
        overwrite(&folder.0, &mut choices);
    }
    read_all(&mut attached);
    if let Ok(mut reader) = open() {
        read_all(&mut reader);
    }
    if let Ok(mut writer) = ShmWriter::open(&channel, &schema, &options) {
        writer.publish(&[1; SAMPLE_BYTES]).expect("short enough");
        writer.finish().expect("removable");
    }
    read_all(&mut attached);
}

/// Overwrites a word of a file, or truncates the file.
fn overwrite(folder: &std::path::Path, choices: &mut Choices<'_>) {
    let file = choices.of(&["c.ring", "c.values.0", "c.values.1", "c.waiters"]);
    let (word, high) = (u64::from(choices.byte()), choices.below(8));
    // Headers, the head, and the area after the header's page.
    let word =
        [word, 64, 512 + word, 512 + word, 512 + 256 + word, 32 + word % 10, word, word][high];
    let how = choices.byte();
    let value = match how % 4 {
        0 => u64::from(choices.byte()),
        1 => u64::MAX - u64::from(choices.byte()),
        2 => 1 << choices.below(64),
        _ => choices.word(),
    };
    let Ok(file) = OpenOptions::new().write(true).open(folder.join(file)) else { return };
    match how {
        255 => file.set_len(word * 8).expect("cut"),
        _ => file.write_all_at(&value.to_le_bytes(), word * 8).expect("written"),
    }
}

/// Reads what is available: at most a ring of samples and some events.
fn read_all(reader: &mut ShmReader) {
    for turn in 0.. {
        assert!(turn < 100, "no end");
        match reader.poll() {
            Ok(Some(ShmEvent::Sample(sample))) => assert!(sample.bytes.len() <= SAMPLE_BYTES),
            Ok(Some(ShmEvent::Gap { from, to })) => assert!(from < to),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    let Ok(mut values) = reader.last_values() else { return };
    // A forged number of keys is limited by the size of the entries' files.
    while let Ok(Some(sample)) = values.next() {
        assert!(sample.bytes.len() <= SAMPLE_BYTES);
    }
    for number in 0..u32::from(KEYS) {
        if let Ok(key) = reader.key(number) {
            assert!((1..=8).contains(&key.len()));
        }
    }
}
