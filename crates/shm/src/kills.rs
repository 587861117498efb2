//! Kills a writer at every store of its life and at every change of the directory, and checks what readers and the next
//! writer find.

use crate::channel::{Readers, ShmChannel};
use crate::error::ShmError;
use crate::layout::header;
use crate::reader::{ShmEvent, ShmReader, Start};
use crate::schema::Schema;
use crate::wait::ReaderWait;
use crate::writer::{WriterOptions, WriterState};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

thread_local! {
    /// Kill points that a writer of this thread still passes.
    static POINTS_LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Panic payload that ends a writer; no destructor stores anything.
struct Killed;

/// Ends the writer if it has passed the chosen number of kill points.
pub fn kill_point() {
    match POINTS_LEFT.get() {
        0 => resume_unwind(Box::new(Killed)),
        left => POINTS_LEFT.set(left - 1),
    }
}

/// Runs `life` and kills it at kill point `at`; returns false if it ended before that.
fn is_killed(at: u64, life: impl FnOnce()) -> bool {
    POINTS_LEFT.set(at);
    let ended = catch_unwind(AssertUnwindSafe(life));
    POINTS_LEFT.set(u64::MAX);
    match ended {
        Ok(()) => false,
        Err(payload) if payload.is::<Killed>() => true,
        Err(panic) => resume_unwind(panic),
    }
}

/// A channel in a directory of its own for each test.
struct Scene {
    channel: ShmChannel,
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
            channel: ShmChannel::in_directory(&directory, "kills").unwrap(),
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

    fn open(&self) -> WriterState {
        WriterState::open(&self.channel, &self.schema, &self.options).unwrap()
    }

    fn reader(&self) -> ShmReader {
        ShmReader::open(&self.channel, &self.schema, Start::Now, ReaderWait::Spin).unwrap()
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

/// Samples that a reader has collected so far.
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
    fn read(&mut self, reader: &mut ShmReader) {
        let mut keys = Vec::new();
        while let Some(event) = reader.poll().unwrap() {
            match event {
                ShmEvent::Sample(sample) => {
                    assert_eq!(sample.seq_num, self.next, "in order, none twice, none missing");
                    self.next += 1;
                    let text = String::from_utf8(sample.bytes.to_vec()).unwrap();
                    keys.push((sample.seq_num, sample.key));
                    self.samples.insert(sample.seq_num, (text, Vec::new()));
                }
                ShmEvent::Restarted { at, .. } => {
                    assert_eq!(at, self.next);
                    self.restarts += 1;
                }
                ShmEvent::Done { seq_num, .. } => self.done = Some(seq_num),
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

fn last_values(reader: &mut ShmReader) -> BTreeMap<Vec<u8>, String> {
    let mut found = Vec::new();
    let mut values = reader.last_values().unwrap();
    while let Some(sample) = values.next().unwrap() {
        found.push((sample.key.unwrap(), String::from_utf8(sample.bytes.to_vec()).unwrap()));
    }
    found.into_iter().map(|(key, text)| (reader.key(key).unwrap(), text)).collect()
}

/// Kills the second of three writers at kill point `at`; returns false if that writer came to its end first.
fn kill_at(scene: &Scene, at: u64) -> bool {
    let mut seen = Seen::default();
    let mut published = Vec::new();
    drop(scene.open());
    let reader = &mut scene.reader();
    live(scene, "1", &mut published, || seen.read(reader));

    let was_killed = is_killed(at, || live(scene, "2", &mut published, || seen.read(reader)));
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
    assert_eq!(last_values(&mut scene.reader()), seen.last_values(), "killed at {at}");
    scene.open().finish().unwrap();
    seen.read(reader);

    // Every sample whose publish returned must have arrived; the one in progress may have.
    let texts: Vec<&String> = seen.samples.values().map(|(text, _)| text).collect();
    let mut certain = published.iter().peekable();
    for text in &texts {
        match certain.peek() == Some(text) {
            true => drop(certain.next()),
            false => {
                assert!(text.starts_with('2') && was_killed, "killed at {at}: {text}")
            }
        }
    }
    assert_eq!(certain.next(), None, "killed at {at}");
    assert!(texts.len() <= published.len() + 1, "killed at {at}");
    assert_eq!(seen.done, Some(texts.len() as u64));
    // Restarts: writers 1 and 3, the writer that ends the channel, and writer 2 if it stored its epoch before it was
    // killed.
    assert!((3..=4).contains(&seen.restarts), "killed at {at}: {}", seen.restarts);
    let remains: Vec<_> = std::fs::read_dir(&scene.directory).unwrap().collect();
    assert!(remains.is_empty(), "{remains:?}");
    was_killed
}

#[test]
fn a_writer_killed_at_any_store_leaves_a_channel_that_the_next_one_continues() {
    let scene = Scene::new("every-store");
    let mut at = 0;
    while kill_at(&scene, at) {
        at += 1;
    }
    assert!(at > 90, "a life of {at} kill points");
}

/// Checks that the next writer of the directory can find the files that a killed writer left: the
/// lock file, which it looks for, is removed last.
fn check_found(scene: &Scene, at: u64) {
    let remains = std::fs::read_dir(&scene.directory).map_or(0, Iterator::count);
    assert!(remains == 0 || scene.directory.join("kills.lock").exists(), "killed at {at}");
}

/// Opens the channel as its next writer and ends it; returns the number of samples that the killed writer left.
fn clear_away(scene: &Scene, at: u64) -> u64 {
    check_found(scene, at);
    let writer = scene.open();
    let left = writer.next;
    writer.finish().unwrap();
    let remains: Vec<_> = std::fs::read_dir(&scene.directory).unwrap().collect();
    assert!(remains.is_empty(), "killed at {at}: {remains:?}");
    left
}

/// The writer is killed while it creates the channel. The next writer creates the channel again,
/// whatever files exist. A reader that starts in between finds either no channel or a valid one.
#[test]
fn a_writer_killed_while_it_creates_the_channel_blocks_no_reader_and_no_writer() {
    let scene = Scene::new("making");
    let mut found = 0;
    for at in 0.. {
        let mut published = Vec::new();
        let _ = std::fs::remove_dir_all(&scene.directory);
        let was_killed = is_killed(at, || live(&scene, "1", &mut published, || {}));
        match ShmReader::open(&scene.channel, &scene.schema, Start::Oldest, ReaderWait::Spin) {
            Ok(mut reader) => {
                reader.check().unwrap();
                while reader.poll().unwrap().is_some() {}
                found += 1;
            }
            Err(ShmError::NoChannel { .. }) => assert!(published.is_empty(), "killed at {at}"),
            Err(error) => panic!("killed at {at}: {error}"),
        }
        let in_flight = clear_away(&scene, at) - published.len() as u64;
        assert!(in_flight <= 1, "killed at {at}");
        let mode = std::fs::metadata(&scene.directory).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o755, "killed at {at}: readers of other users get in");
        if !was_killed {
            assert!(at > 90 && found > 50, "{found} of {at} kill points had a channel");
            break;
        }
    }
}

/// The writer is killed while it ends the channel. Its reader has all samples, and is told of the
/// end unless the writer was killed before it stored the state "done". The next writer can open the
/// channel.
#[test]
fn a_writer_killed_while_it_ends_the_channel_has_told_of_the_end_or_is_gone() {
    let scene = Scene::new("ending");
    let mut told = 0;
    for at in 0.. {
        let mut writer = scene.open();
        let mut reader = scene.reader();
        let key = writer.key(b"a").unwrap();
        writer.publish(Some(key), b"last").unwrap();
        // Before the end, because the files of the last values, which have the keys' names, go with the channel.
        let mut seen = Seen::default();
        seen.read(&mut reader);
        let was_killed = is_killed(at, || writer.finish().unwrap());

        seen.read(&mut reader);
        assert_eq!(seen.samples.get(&0), Some(&("last".to_owned(), b"a".to_vec())), "{at}");
        told += u64::from(seen.done == Some(1));
        let is_there = scene.channel.is_open();
        let late = ShmReader::open(&scene.channel, &scene.schema, Start::Now, ReaderWait::Spin);
        let is_readable = !matches!(late, Err(ShmError::NoChannel { .. }));
        assert_eq!(is_readable, seen.done.is_none(), "killed at {at}: {late:?}");
        assert!(is_there || seen.done.is_some(), "the files go after the end is told: {at}");
        let left = clear_away(&scene, at);
        assert_eq!(left, u64::from(seen.done.is_none()), "killed at {at}");
        if !was_killed {
            assert!(told == at && at > 4, "{told} of {at} kill points were after the end");
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
    // The first kill point at which the ring has its name.
    let was_killed = |at: &u64| is_killed(*at, || drop(scene.open())) && scene.channel.is_open();
    assert!((0..200).find(was_killed).is_some());
    let mut reader = scene.reader();
    reader.check().unwrap();
    assert!(!reader.has_writer_ended() && !reader.is_writer_gone());
    let mut writer = scene.open();
    writer.publish(None, b"first").unwrap();
    let mut seen = Seen::default();
    seen.read(&mut reader);
    assert_eq!(seen.samples.get(&0), Some(&("first".to_owned(), Vec::new())));
    assert_eq!(seen.restarts, 0, "no writer came before");
}
