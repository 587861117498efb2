//! Files that no writer wrote: each one leads to an error or a gap, quickly.

mod common;

use common::{Scene, text};
use proptest::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::time::{Duration, Instant};
use tickwire_shm::{
    Damage, ReaderWait, ShmChannel, ShmError, ShmEvent, ShmReader, ShmWriter, Start,
};

const SHORT: Duration = Duration::from_millis(250);

/// Returns a channel with samples and keys whose writer was killed.
fn abandoned(name: &str) -> Scene {
    let scene = Scene::new(name, 8);
    let mut writer = scene.writer();
    for number in 0..20 {
        let key = writer.key(&[b'a' + number % 6]).unwrap();
        writer.publish_keyed(key, &[number; 40]).unwrap();
    }
    scene
}

fn overwrite(scene: &Scene, kind: &str, word: u64, value: u64) {
    let file = OpenOptions::new().write(true).open(scene.file(kind)).unwrap();
    file.write_all_at(&value.to_le_bytes(), word * 8).unwrap();
}

fn opened(scene: &Scene) -> Result<ShmReader, ShmError> {
    ShmReader::open(&scene.channel, &scene.schema, Start::Oldest, ReaderWait::Spin)
}

#[test]
fn each_word_of_the_header_is_checked() {
    type IsExpected = fn(&ShmError) -> bool;
    let cases: [(u64, u64, IsExpected); 9] = [
        (0, 7, |error| matches!(error, ShmError::Damaged(Damage::Magic))),
        (1, 9, |error| matches!(error, ShmError::Version { found: 9 })),
        (2, u64::MAX, |error| matches!(error, ShmError::Damaged(Damage::Sizes))),
        (3, 16, |error| matches!(error, ShmError::Damaged(Damage::Short))),
        (3, 6, |error| matches!(error, ShmError::Damaged(Damage::Sizes))),
        (4, 1 << 40, |error| matches!(error, ShmError::Damaged(Damage::Sizes))),
        (6, 1, |error| matches!(error, ShmError::Schema { .. })),
        (7, 1 << 60, |error| matches!(error, ShmError::Damaged(Damage::SchemaName))),
        (64, u64::MAX, |error| matches!(error, ShmError::Damaged(Damage::Head))),
    ];
    for (word, value, is_expected) in cases {
        let scene = abandoned("header");
        overwrite(&scene, "ring", word, value);
        let error = opened(&scene).unwrap_err();
        assert!(is_expected(&error), "word {word}: {error:?}");
    }
}

#[test]
fn a_sample_longer_than_its_slot_is_damage() {
    let scene = abandoned("length");
    let mut reader = opened(&scene).unwrap();
    // Overwrites the length of sample 16, in slot 0.
    overwrite(&scene, "ring", 512 + 1, 41);
    let error = reader.poll().unwrap_err();
    assert!(matches!(error, ShmError::Damaged(Damage::Length)), "{error:?}");
}

#[test]
fn a_head_ahead_of_the_slots_is_damage_once_the_reader_has_waited() {
    let scene = abandoned("ahead");
    let mut reader =
        ShmReader::open(&scene.channel, &scene.schema, Start::Now, ReaderWait::Block).unwrap();
    overwrite(&scene, "ring", 64, 1000);
    let error = reader.wait(SHORT).unwrap_err();
    assert!(matches!(error, ShmError::Damaged(Damage::Head)), "{error:?}");
}

#[test]
fn a_file_that_is_cut_under_a_reader_is_an_error() {
    for len in [0, 4096, 4096 + 64] {
        let scene = abandoned("cut");
        let mut reader = opened(&scene).unwrap();
        let cut = OpenOptions::new().write(true).open(scene.file("ring")).unwrap();
        cut.set_len(len).unwrap();
        let error = loop {
            match reader.wait(SHORT) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("cut to {len}: nothing"),
                Err(error) => break error,
            }
        };
        // If the file ends inside a page, the rest of the page reads as zeros, which contradicts
        // the head.
        let expected = if len.is_multiple_of(4096) { Damage::Truncated } else { Damage::Head };
        assert!(
            matches!(error, ShmError::Damaged(damage) if damage == expected),
            "cut to {len}: {error:?}"
        );
    }
}

#[test]
fn last_values_that_are_cut_are_an_error() {
    let scene = abandoned("cut-values");
    let mut reader = opened(&scene).unwrap();
    let mut values = reader.last_values().unwrap();
    values.next().unwrap().unwrap();
    let cut = OpenOptions::new().write(true).open(scene.file("values.0")).unwrap();
    cut.set_len(0).unwrap();
    let error = loop {
        match values.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("nothing"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ShmError::Damaged(Damage::Truncated)), "{error:?}");
}

#[test]
fn a_writer_whose_ring_or_last_values_are_cut_gets_an_error() {
    for (file, is_keyed) in [("ring", false), ("values.0", true)] {
        let scene = Scene::new("cut-writer", 8);
        let mut writer = scene.writer();
        let key = writer.key(b"key").unwrap();
        let mut publish = || match is_keyed {
            true => writer.publish_keyed(key, b"sample"),
            false => writer.publish(b"sample"),
        };
        publish().unwrap();
        OpenOptions::new().write(true).open(scene.file(file)).unwrap().set_len(0).unwrap();
        let error = publish().unwrap_err();
        assert!(matches!(error, ShmError::Damaged(Damage::Truncated)), "{file}: {error:?}");
        let error = publish().unwrap_err();
        assert!(matches!(error, ShmError::Damaged(Damage::Truncated)), "{file}: {error:?}");
    }
}

/// The file has its old length again before the writer accesses it, so no access raises SIGBUS, but
/// all its words are zero.
#[test]
fn a_writer_whose_files_are_cut_and_made_longer_again_gets_an_error() {
    for file in ["ring", "values.0"] {
        let scene = Scene::new("cut-and-longer", 8);
        let mut writer = scene.writer();
        let key = writer.key(b"key").unwrap();
        writer.publish_keyed(key, b"sample").unwrap();
        let cut = File::options().write(true).open(scene.file(file)).unwrap();
        let len = cut.metadata().unwrap().len();
        cut.set_len(0).unwrap();
        cut.set_len(len).unwrap();
        let error = (0..2000).find_map(|_| writer.publish(b"sample").err());
        assert!(matches!(error, Some(ShmError::Damaged(Damage::Truncated))), "{file}: {error:?}");
    }
}

/// The next writer replaces a damaged waiters file. Readers that were attached to it go over to the new one, so they are
/// woken, counted and waited for.
#[test]
fn readers_follow_to_a_waiters_file_that_a_new_writer_has_made() {
    for wait in [ReaderWait::Block, ReaderWait::Spin] {
        let scene = Scene::new("new-waiters", 8);
        let writer = scene.writer();
        let mut reader = scene.reader(Start::Now, wait);
        assert!(reader.state_position().unwrap());
        assert_eq!(writer.readers().unwrap(), 1);
        overwrite(&scene, "waiters", 0, 0);
        drop(writer);
        let mut writer = scene.writer();
        assert!(matches!(reader.poll().unwrap(), Some(ShmEvent::Restarted { .. })));
        assert_eq!(writer.readers().unwrap(), 1);
        while writer.has_room().unwrap() {
            writer.publish(b"").unwrap();
        }
        assert_eq!(writer.next_seq_num(), 8, "its position is seen");
        drop(reader);
        assert_eq!(writer.readers().unwrap(), 0);
    }
}

#[test]
fn a_waiters_file_that_is_cut_costs_only_the_waking() {
    let scene = Scene::new("cut-waiters", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    OpenOptions::new().write(true).open(scene.file("waiters")).unwrap().set_len(0).unwrap();
    writer.publish(b"sample").unwrap();
    assert_eq!(text(reader.wait(SHORT)), Some((0, "sample".into())));
    assert_eq!(reader.wait(SHORT).unwrap(), None);
    writer.publish(b"sample").unwrap();
    assert_eq!(text(reader.wait(SHORT)), Some((1, "sample".into())));
    assert!(!reader.state_position().unwrap(), "the writer would not see it");
    assert!(writer.has_room().unwrap());
}

/// Readers can write to the waiters file, but none can use it to lock out later readers.
#[test]
fn a_waiters_file_that_is_damaged_locks_no_reader_out() {
    type Damaging = fn(&Scene);
    let cases: [(&str, Damaging); 4] = [
        ("cut", |scene| {
            File::options().write(true).open(scene.file("waiters")).unwrap().set_len(0).unwrap()
        }),
        ("short", |scene| {
            File::options().write(true).open(scene.file("waiters")).unwrap().set_len(4096).unwrap()
        }),
        ("magic", |scene| overwrite(scene, "waiters", 0, 0)),
        ("version", |scene| overwrite(scene, "waiters", 1, u64::MAX)),
    ];
    for (name, damage) in cases {
        let scene = Scene::new("damaged-waiters", 8);
        let mut writer = scene.writer();
        damage(&scene);
        let mut readers =
            [ReaderWait::Block, ReaderWait::Spin].map(|wait| scene.reader(Start::Now, wait));
        assert_eq!(writer.readers().unwrap(), 2, "{name}: readers are counted by their locks");
        assert_eq!(readers[0].wait(SHORT).unwrap(), None);
        let begun = Instant::now();
        let sleeper = std::thread::spawn(move || {
            let [one, other] = &mut readers;
            ShmReader::wait_any(&mut [one, other], Duration::from_secs(20)).unwrap()
        });
        std::thread::sleep(SHORT);
        writer.publish(b"sample").unwrap();
        assert!(sleeper.join().unwrap(), "{name}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{name}: it looks for itself");
    }
}

#[test]
fn what_is_no_file_is_refused_and_does_not_block() {
    let scene = abandoned("no-file");
    let ring = scene.file("ring");
    fs::remove_file(&ring).unwrap();
    nix::unistd::mkfifo(&ring, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(opened(&scene), Err(ShmError::Io { .. })));
    assert!(matches!(
        ShmWriter::open(&scene.channel, &scene.schema, &scene.options),
        Err(ShmError::Io { .. })
    ));
    fs::remove_file(&ring).unwrap();
    let elsewhere = scene.directory.join("elsewhere");
    File::create(&elsewhere).unwrap();
    symlink(&elsewhere, &ring).unwrap();
    assert!(matches!(opened(&scene), Err(ShmError::Io { .. })));
    assert!(matches!(
        ShmWriter::open(&scene.channel, &scene.schema, &scene.options),
        Err(ShmError::Io { .. })
    ));
}

#[test]
fn a_directory_in_which_others_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new("open-directory", 8);
    fs::create_dir(&scene.directory).unwrap();
    fs::set_permissions(&scene.directory, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = ShmWriter::open(&scene.channel, &scene.schema, &scene.options);
    assert!(matches!(refused, Err(ShmError::Directory { .. })), "{refused:?}");
}

#[test]
fn readers_trust_no_directory_that_others_write_to_or_that_is_elsewhere() {
    use std::os::unix::fs::PermissionsExt;
    let scene = abandoned("readers-directory");
    let set_mode = |mode| {
        fs::set_permissions(&scene.directory, fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o777);
    assert!(matches!(opened(&scene), Err(ShmError::Directory { .. })));
    set_mode(0o755);
    assert!(opened(&scene).is_ok());
    let link = scene.directory.with_extension("link");
    let _ = fs::remove_file(&link);
    symlink(&scene.directory, &link).unwrap();
    let channel = ShmChannel::in_directory(&link, scene.channel.name()).unwrap();
    let refused = ShmReader::open(&channel, &scene.schema, Start::Oldest, ReaderWait::Spin);
    fs::remove_file(&link).unwrap();
    assert!(matches!(refused, Err(ShmError::Directory { .. })), "{refused:?}");
    // Another user's file in this user's directory; then another user's directory.
    if nix::unistd::chown(&scene.file("ring"), Some(65_534.into()), None).is_ok() {
        assert!(matches!(opened(&scene), Err(ShmError::Directory { owner: 65_534, .. })));
        let owner = nix::unistd::Uid::effective().as_raw();
        assert!(tickwire_shm::check_directory(&scene.directory, owner).is_ok());
        let refused = tickwire_shm::check_directory(&scene.directory, 65_534);
        assert!(matches!(refused, Err(ShmError::Directory { .. })));
    }
}

#[test]
fn a_process_maps_more_than_a_thousand_files() {
    let scene = Scene::new("many", 2);
    let open = |number: u32| {
        let channel =
            ShmChannel::in_directory(&scene.directory, &format!("many-{number}")).unwrap();
        let mut writer = ShmWriter::open(&channel, &scene.schema, &scene.options).unwrap();
        writer.key(b"key").unwrap();
        writer
    };
    // Each writer has three mappings: ring, waiters, last values.
    let writers: Vec<ShmWriter> = (0..350).map(open).collect();
    writers.into_iter().for_each(|writer| writer.finish().unwrap());
}

/// Words to damage, weighted to the headers, and values to put there.
fn damage() -> impl Strategy<Value = Vec<(bool, u64, u64)>> {
    let word = prop_oneof![0..8_u64, 32..42_u64, Just(64), 512..576_u64, 512..1100_u64];
    let value = prop_oneof![
        any::<u64>(),
        0..64_u64,
        Just(u64::MAX),
        (0..64_u32).prop_map(|bit| 1 << bit),
        (0..40_u64).prop_map(|seq_num| 2 * seq_num + 2),
    ];
    proptest::collection::vec((any::<bool>(), word, value), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damages any words anywhere: readers and writers report an error or continue, in bounded time.
    #[test]
    fn any_damage_is_an_error_or_goes_unnoticed(damage in damage()) {
        let scene = abandoned("any");
        let mut attached = opened(&scene).unwrap();
        for (is_ring, word, value) in damage {
            overwrite(&scene, if is_ring { "ring" } else { "values.0" }, word, value);
        }
        read_all(&mut attached);
        if let Ok(mut reader) = opened(&scene) {
            read_all(&mut reader);
        }
        if let Ok(mut writer) = ShmWriter::open(&scene.channel, &scene.schema, &scene.options) {
            writer.publish(&[1; 40]).unwrap();
            writer.finish().unwrap();
        }
        read_all(&mut attached);
    }
}

/// Reads everything. A forged file may yield at most a ring of samples and some events.
fn read_all(reader: &mut ShmReader) {
    for turn in 0.. {
        assert!(turn < 100, "no end");
        match reader.poll() {
            Ok(Some(ShmEvent::Sample(sample))) => assert!(sample.bytes.len() <= 40),
            Ok(Some(ShmEvent::Gap { from, to })) => assert!(from < to),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    let Ok(mut values) = reader.last_values() else { return };
    for turn in 0.. {
        assert!(turn < 100, "no end");
        match values.next() {
            Ok(Some(sample)) => assert!(sample.bytes.len() <= 40),
            Ok(None) | Err(_) => break,
        }
    }
    for number in 0..8 {
        if let Ok(key) = reader.key(number) {
            // A damaged header may state longer keys than the writer's, up to the longest of any channel.
            assert!((1..=256).contains(&key.len()));
        }
    }
}
