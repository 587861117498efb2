//! Kills a writer at every store of its life, and checks what readers and the next writer find.

use crate::channel::{Channel, Readers};
use crate::layout::header;
use crate::mapping::WriteMap;
use crate::memory::{Memory, MemoryMut, Sleep};
use crate::reader::{Event, Reader, Start};
use crate::schema::Schema;
use crate::wait::ReaderWait;
use crate::writer::{Engine, WriterOptions};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

thread_local! {
    /// Stores left until the writer is killed.
    static STORES_LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Panic payload that ends a writer; no destructor stores anything.
struct Killed;

/// Memory whose owner is killed before a chosen store.
#[derive(Debug)]
struct Mortal(WriteMap);

impl Memory for Mortal {
    fn load(&self, index: usize) -> u64 {
        self.0.load(index)
    }
}

impl MemoryMut for Mortal {
    fn store(&self, index: usize, value: u64) {
        match STORES_LEFT.get() {
            0 => resume_unwind(Box::new(Killed)),
            left => STORES_LEFT.set(left - 1),
        }
        self.0.store(index, value);
    }
}

impl Sleep for Mortal {
    fn sleep(&self, index: usize, value: u64, timeout_ns: u64) -> bool {
        self.0.sleep(index, value, timeout_ns)
    }

    fn wake_all(&self, index: usize) {
        self.0.wake_all(index);
    }
}

/// A channel in a directory of its own for each test.
struct Scene {
    channel: Channel,
    schema: Schema,
    options: WriterOptions,
    directory: PathBuf,
}

impl Scene {
    fn new(name: &str) -> Self {
        let directory =
            std::env::temp_dir().join(format!("tickwire-shm-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        Self {
            channel: Channel::in_directory(&directory, "kills").unwrap(),
            schema: Schema::new("Text", b"text").unwrap(),
            // Four slots, so that the ring wraps; one key in the first segment, so that segments are added.
            options: WriterOptions {
                sample_bytes: 16,
                slots: 4,
                key_bytes: 8,
                keys: 1,
                readers: Readers::Owner,
            },
            directory,
        }
    }

    fn open(&self) -> Engine<Mortal> {
        Engine::open(&self.channel, &self.schema, &self.options, Mortal).unwrap()
    }

    fn reader(&self) -> Reader {
        Reader::open(&self.channel, &self.schema, Start::Now, ReaderWait::Spin).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Samples that each writer publishes, as (key, text); an empty key is a sample without one.
const LIFE: [(&str, &str); 9] = [
    ("a", "a0"),
    ("b", "b0, longer"),
    ("", "no key"),
    ("a", "a1"),
    ("c", "c0"),
    ("d", "d0"),
    ("b", "b1"),
    ("", ""),
    ("a", "a2"),
];

/// Opens the channel as its writer and publishes; appends to `published` each sample whose publish returned.
fn live(scene: &Scene, life: &str, published: &mut Vec<String>, mut each: impl FnMut()) {
    let mut writer = scene.open();
    for (key, text) in LIFE {
        let text = format!("{life}{text}");
        let key = (!key.is_empty()).then(|| writer.key(key.as_bytes()).unwrap());
        writer.publish(key, text.as_bytes()).unwrap();
        published.push(text);
        each();
    }
}

/// What a reader has collected so far.
#[derive(Default)]
struct Seen {
    /// Text and key by sequence number.
    samples: BTreeMap<u64, (String, Vec<u8>)>,
    next: u64,
    restarts: u64,
    done: Option<u64>,
}

impl Seen {
    /// Reads all events that are there.
    fn read(&mut self, reader: &mut Reader) {
        let mut keys = Vec::new();
        while let Some(event) = reader.poll().unwrap() {
            match event {
                Event::Sample(sample) => {
                    assert_eq!(sample.seq_num, self.next, "in order, none twice, none missing");
                    self.next += 1;
                    let text = String::from_utf8(sample.bytes.to_vec()).unwrap();
                    keys.push((sample.seq_num, sample.key));
                    self.samples.insert(sample.seq_num, (text, Vec::new()));
                }
                Event::Restarted { at, .. } => {
                    assert_eq!(at, self.next);
                    self.restarts += 1;
                }
                Event::Done { seq_num, .. } => self.done = Some(seq_num),
                other => panic!("{other:?}"),
            }
        }
        for (seq_num, key) in keys {
            if let Some(key) = key {
                self.samples.get_mut(&seq_num).unwrap().1 = reader.key(key).unwrap();
            }
        }
    }

    /// Returns the last text of each key.
    fn last_values(&self) -> BTreeMap<Vec<u8>, String> {
        let keyed = self.samples.values().filter(|(_, key)| !key.is_empty());
        keyed.map(|(text, key)| (key.clone(), text.clone())).collect()
    }
}

fn last_values(reader: &mut Reader) -> BTreeMap<Vec<u8>, String> {
    let mut found = Vec::new();
    let mut values = reader.last_values().unwrap();
    while let Some(sample) = values.next().unwrap() {
        found.push((sample.key.unwrap(), String::from_utf8(sample.bytes.to_vec()).unwrap()));
    }
    found.into_iter().map(|(key, text)| (reader.key(key).unwrap(), text)).collect()
}

/// Kills the second of three writers before store `at`; returns false if that writer finished first.
fn kill_at(scene: &Scene, at: u64) -> bool {
    let mut seen = Seen::default();
    let mut published = Vec::new();
    drop(scene.open());
    let reader = &mut scene.reader();
    live(scene, "1", &mut published, || seen.read(reader));

    STORES_LEFT.set(at);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        live(scene, "2", &mut published, || seen.read(reader));
    }));
    STORES_LEFT.set(u64::MAX);
    seen.read(reader);
    let left = last_values(&mut scene.reader());
    // A reader of the abandoned channel gets the last values as of the head. Keys whose later sample is in the ring may
    // be missing.
    assert!(
        left.iter().all(|(key, text)| seen
            .samples
            .values()
            .any(|seen| seen == &(text.clone(), key.clone())))
    );

    live(scene, "3", &mut published, || seen.read(reader));
    assert_eq!(last_values(&mut scene.reader()), seen.last_values(), "killed at store {at}");
    scene.open().finish().unwrap();
    seen.read(reader);

    // Every sample whose publish returned must have arrived; the one in progress may have.
    let texts: Vec<&String> = seen.samples.values().map(|(text, _)| text).collect();
    let mut certain = published.iter().peekable();
    for text in &texts {
        match certain.peek() == Some(text) {
            true => drop(certain.next()),
            false => {
                assert!(text.starts_with('2') && ended.is_err(), "killed at store {at}: {text}")
            }
        }
    }
    assert_eq!(certain.next(), None, "killed at store {at}");
    assert!(texts.len() <= published.len() + 1, "killed at store {at}");
    assert_eq!(seen.done, Some(texts.len() as u64));
    // Restarts: writers 1 and 3, the one that finishes, and writer 2 if it stored its epoch before it was killed.
    assert!((3..=4).contains(&seen.restarts), "killed at store {at}: {}", seen.restarts);
    let remains: Vec<_> = std::fs::read_dir(&scene.directory).unwrap().collect();
    assert!(remains.is_empty(), "{remains:?}");
    ended.is_err()
}

#[test]
fn a_writer_killed_at_any_store_leaves_a_channel_that_the_next_one_continues() {
    let scene = Scene::new("every-store");
    let mut at = 0;
    while kill_at(&scene, at) {
        at += 1;
    }
    assert!(at > 90, "a life of {at} stores");
}

/// As above while the writer creates the channel: the next writer creates it again, whatever files there are.
#[test]
fn a_writer_killed_while_it_makes_the_channel_is_in_nobodys_way() {
    let scene = Scene::new("making");
    for at in 0.. {
        STORES_LEFT.set(at);
        let mut published = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| live(&scene, "1", &mut published, || {})));
        STORES_LEFT.set(u64::MAX);
        let writer = scene.open();
        let in_flight = writer.next - published.len() as u64;
        assert!(in_flight <= 1, "killed at store {at}");
        writer.finish().unwrap();
        if ended.is_ok() {
            break;
        }
    }
}

#[test]
fn the_word_that_readers_sleep_on_is_apart_from_what_they_poll() {
    let lines = [header::EPOCH, header::HEAD, header::HEARTBEAT].map(|word| word / 8);
    assert!(lines[0] != lines[1] && lines[1] != lines[2]);
}

/// A ring has its name before its writer has stored its epoch.
#[test]
fn a_reader_that_comes_before_the_first_epoch_does_not_take_the_writer_for_a_killed_one() {
    let scene = Scene::new("before-epoch");
    STORES_LEFT.set(0);
    let ended = catch_unwind(AssertUnwindSafe(|| scene.open()));
    STORES_LEFT.set(u64::MAX);
    assert!(ended.is_err(), "stopped at its first store");
    let mut reader = scene.reader();
    reader.check().unwrap();
    assert!(!reader.has_writer_ended() && !reader.is_writer_gone());
    let mut writer = scene.open();
    writer.publish(None, b"first").unwrap();
    let mut seen = Seen::default();
    seen.read(&mut reader);
    assert_eq!(seen.samples.get(&0), Some(&("first".to_owned(), Vec::new())));
}
