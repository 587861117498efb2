//! One writer and its readers in one process: order, gaps, ends, restarts, last values, types.

mod common;

use common::{Scene, text};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use tickwire_shm::{
    READERS_COUNTED_MAX, ReaderWait, Schema, ShmChannel, ShmError, ShmEvent, ShmOperation,
    ShmReader, ShmWriter, Start, WriterOptions,
};
use tickwire_testing::{Need, skip};

const SECOND: Duration = Duration::from_secs(10);

#[test]
fn samples_come_in_order_then_done_with_their_number() {
    let scene = Scene::new("order", 16);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    for number in 0..10 {
        assert_eq!(writer.publish(format!("{number}").as_bytes()).unwrap(), number);
    }
    writer.finish().unwrap();
    for number in 0..10 {
        assert_eq!(text(reader.wait(SECOND)), Some((number, number.to_string())));
    }
    assert_eq!(reader.wait(SECOND).unwrap(), Some(ShmEvent::Done { samples: 10, seq_num: 10 }));
    assert_eq!(reader.wait(Duration::from_millis(1)).unwrap(), None, "nothing follows the end");
    assert!(!scene.channel.is_open());
    let refused = ShmReader::open(&scene.channel, &scene.schema, Start::Now, ReaderWait::Block);
    assert!(matches!(refused, Err(ShmError::NoChannel { .. })), "{refused:?}");
}

#[test]
fn a_lapped_reader_learns_exactly_what_it_lost() {
    let scene = Scene::new("gap", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    for _ in 0..8 {
        writer.publish(b"").unwrap();
    }
    assert!(
        matches!(reader.poll().unwrap(), Some(ShmEvent::Sample(sample)) if sample.seq_num == 0)
    );
    for _ in 0..20 {
        writer.publish(b"").unwrap();
    }
    assert_eq!(reader.poll().unwrap(), Some(ShmEvent::Gap { from: 1, to: 24 }));
    assert_eq!(reader.behind().unwrap(), 4, "half a ring");
    for seq_num in 24..28 {
        assert!(
            matches!(reader.poll().unwrap(), Some(ShmEvent::Sample(sample)) if sample.seq_num == seq_num)
        );
    }
    assert_eq!(reader.poll().unwrap(), None);
}

#[test]
fn a_writer_that_waits_for_room_laps_no_reader_that_states_its_position() {
    let scene = Scene::new("room", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    // This reader does not state its position, so the writer does not wait for it.
    let mut other = scene.reader(Start::Now, ReaderWait::Block);
    assert!(reader.state_position().unwrap());
    for seq_num in 0..1000 {
        while writer.has_room().unwrap() {
            writer.publish(b"").unwrap();
        }
        assert_eq!(writer.next_seq_num(), seq_num + 8, "the whole ring is used");
        assert!(
            matches!(reader.poll().unwrap(), Some(ShmEvent::Sample(sample)) if sample.seq_num == seq_num)
        );
    }
    assert!(matches!(other.poll().unwrap(), Some(ShmEvent::Gap { from: 0, .. })));
    while reader.poll().unwrap().is_some() {}
    // The writer also waits for a reader that attaches later.
    let mut late = scene.reader(Start::Now, ReaderWait::Block);
    assert!(late.state_position().unwrap());
    while writer.has_room().unwrap() {
        writer.publish(b"").unwrap();
    }
    drop(reader);
    assert!(!writer.has_room().unwrap());
    assert_eq!(late.behind().unwrap(), 8);
    drop(late);
    for _ in 0..100 {
        assert!(writer.has_room().unwrap(), "nobody is left");
        writer.publish(b"").unwrap();
    }
}

#[test]
fn a_writer_knows_how_far_its_slowest_reader_is_behind() {
    let scene = Scene::new("backlog", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    writer.publish(b"").unwrap();
    assert_eq!(writer.backlog().unwrap(), None, "no reader states its position");
    while reader.poll().unwrap().is_some() {}
    assert!(reader.state_position().unwrap());
    assert_eq!(writer.backlog().unwrap(), Some(0));
    for _ in 0..5 {
        writer.publish(b"").unwrap();
    }
    assert_eq!(writer.backlog().unwrap(), Some(5));
    let mut other = scene.reader(Start::Now, ReaderWait::Spin);
    assert!(other.state_position().unwrap());
    assert!(reader.poll().unwrap().is_some());
    // An eighth of this ring is one sample, so the positions are exact.
    assert_eq!(writer.backlog().unwrap(), Some(4), "the slowest counts");
    while reader.poll().unwrap().is_some() {}
    assert_eq!(writer.backlog().unwrap(), Some(0));
    drop((reader, other));
    assert_eq!(writer.backlog().unwrap(), None);
}

#[test]
fn a_reader_that_skips_to_the_last_values_is_not_waited_for() {
    let scene = Scene::new("skips", 64);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    assert!(reader.state_position().unwrap());
    while writer.has_room().unwrap() {
        writer.publish(b"").unwrap();
    }
    assert_eq!(reader.last_values().unwrap().skipped(), 64);
    assert!(writer.has_room().unwrap());
}

#[test]
fn a_check_states_the_position_of_a_reader_that_has_read_everything() {
    let scene = Scene::new("check-states", 64);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    assert!(reader.state_position().unwrap());
    for _ in 0..3 {
        writer.publish(b"").unwrap();
    }
    while reader.poll().unwrap().is_some() {}
    assert_eq!(writer.backlog().unwrap(), Some(3), "an eighth of the ring is eight samples");
    reader.check().unwrap();
    assert_eq!(writer.backlog().unwrap(), Some(0));
    writer.publish(b"").unwrap();
    while reader.poll().unwrap().is_some() {}
    assert_eq!(writer.backlog().unwrap(), Some(1));
    assert_eq!(reader.wait(Duration::from_millis(250)).unwrap(), None);
    assert_eq!(writer.backlog().unwrap(), Some(0), "a waiting reader checks from time to time");
}

#[test]
fn a_reader_that_was_passed_over_is_waited_for_again_once_it_reads() {
    let scene = Scene::new("passed-over", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    assert!(reader.state_position().unwrap());
    while writer.has_room().unwrap() {
        writer.publish(b"").unwrap();
    }
    writer.pass_over_slow_readers();
    for _ in 0..100 {
        assert!(writer.has_room().unwrap());
        writer.publish(b"").unwrap();
    }
    assert_eq!(writer.backlog().unwrap(), Some(8), "the rest of what it has not read is lost");
    assert!(matches!(reader.poll().unwrap(), Some(ShmEvent::Gap { from: 0, .. })));
    while reader.poll().unwrap().is_some() {}
    let next = writer.next_seq_num();
    while writer.has_room().unwrap() {
        writer.publish(b"").unwrap();
    }
    assert_eq!(writer.next_seq_num(), next + 8);
}

#[test]
fn a_position_that_a_killed_reader_left_is_not_that_of_the_next_reader() {
    let scene = Scene::new("left-position", 8);
    let mut writer = scene.writer();
    let mut killed = scene.reader(Start::Now, ReaderWait::Block);
    assert!(killed.state_position().unwrap());
    let positions = std::fs::read(scene.file("waiters")).unwrap();
    drop(killed);
    // A killed reader does not withdraw its position.
    let waiters = std::fs::OpenOptions::new().write(true).open(scene.file("waiters")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&waiters, &positions, 0).unwrap();
    let _next = scene.reader(Start::Now, ReaderWait::Block);
    for _ in 0..100 {
        assert!(writer.has_room().unwrap());
        writer.publish(b"").unwrap();
    }
}

#[test]
fn a_writer_and_two_readers_that_state_their_positions_lose_nothing() {
    let scene = Scene::new("rooms", 64);
    let mut writer = scene.writer();
    let readers = [ReaderWait::Block, ReaderWait::Spin].map(|wait| {
        let mut reader = scene.reader(Start::Now, wait);
        assert!(reader.state_position().unwrap());
        std::thread::spawn(move || {
            let mut next = 0;
            loop {
                match reader.wait(SECOND).unwrap() {
                    Some(ShmEvent::Sample(sample)) => {
                        assert_eq!(sample.bytes, sample.seq_num.to_le_bytes());
                        assert_eq!(sample.seq_num, next);
                        next += 1;
                    }
                    Some(ShmEvent::Done { .. }) => return next,
                    other => panic!("{other:?}"),
                }
            }
        })
    });
    const SAMPLES: u64 = 100_000;
    for seq_num in 0..SAMPLES {
        while !writer.has_room().unwrap() {
            std::thread::yield_now();
        }
        writer.publish(&seq_num.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), SAMPLES);
    }
}

#[test]
fn a_reader_may_begin_half_a_ring_back() {
    let scene = Scene::new("oldest", 8);
    let mut writer = scene.writer();
    for number in 0..20 {
        writer.publish(format!("{number}").as_bytes()).unwrap();
    }
    let mut reader = scene.reader(Start::Oldest, ReaderWait::Spin);
    assert_eq!(text(reader.poll()), Some((16, "16".into())));
}

#[test]
fn a_late_joiner_reads_the_last_values_and_goes_on_behind_them() {
    let scene = Scene::new("join", 64);
    let mut writer = scene.writer();
    let mut expected = HashMap::new();
    // Many more keys than fit into the first segment.
    for round in 0..3 {
        for number in 0..100 {
            let name = format!("key{number}");
            let key = writer.key(name.as_bytes()).unwrap();
            let value = format!("{number}:{round}");
            writer.publish_keyed(key, value.as_bytes()).unwrap();
            expected.insert(name, value);
        }
    }
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    let mut found = Vec::new();
    let mut values = reader.last_values().unwrap();
    assert_eq!((values.seq_num(), values.skipped()), (300, 0));
    while let Some(sample) = values.next().unwrap() {
        found.push((sample.key.unwrap(), String::from_utf8(sample.bytes.to_vec()).unwrap()));
    }
    assert_eq!(found.len(), 100);
    for (key, value) in found {
        let name = String::from_utf8(reader.key(key).unwrap()).unwrap();
        assert_eq!(expected.remove(&name), Some(value));
    }
    let key = writer.key(b"key7").unwrap();
    writer.publish_keyed(key, b"next").unwrap();
    assert_eq!(text(reader.poll()), Some((300, "next".into())));
    assert!(matches!(reader.key(100), Err(ShmError::Key)));
}

#[test]
fn a_writer_dropped_without_an_end_is_followed_by_the_next_one() {
    let scene = Scene::new("restart", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    let busy = ShmWriter::open(&scene.channel, &scene.schema, &scene.options);
    let own = u64::from(std::process::id());
    assert!(matches!(busy, Err(ShmError::Busy { pid }) if pid == own), "{busy:?}");
    let key = writer.key(b"k").unwrap();
    writer.publish_keyed(key, b"old").unwrap();
    drop(writer);

    let mut writer = scene.writer();
    assert_eq!((writer.first_seq_num(), writer.next_seq_num()), (1, 1));
    let same = writer.key(b"k").unwrap();
    assert_eq!(same, key, "keys keep their numbers");
    writer.publish_keyed(same, b"new").unwrap();
    writer.finish().unwrap();

    assert_eq!(text(reader.wait(SECOND)), Some((0, "old".into())));
    assert_eq!(reader.wait(SECOND).unwrap(), Some(ShmEvent::Restarted { epoch: 2, at: 1 }));
    assert_eq!(text(reader.wait(SECOND)), Some((1, "new".into())));
    assert_eq!(reader.wait(SECOND).unwrap(), Some(ShmEvent::Done { samples: 1, seq_num: 2 }));
}

#[test]
fn a_writer_with_other_sizes_replaces_the_channel() {
    let scene = Scene::new("replaced", 8);
    drop(scene.writer());
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    let options = WriterOptions { sample_bytes: 64, ..scene.options.clone() };
    let mut writer = ShmWriter::open(&scene.channel, &scene.schema, &options).unwrap();
    assert_eq!(reader.wait(SECOND).unwrap(), Some(ShmEvent::Replaced));
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    writer.publish(&[b'x'; 64]).unwrap();
    assert_eq!(text(reader.wait(SECOND)), Some((0, "x".repeat(64))));
}

#[test]
fn another_type_is_refused_by_name() {
    let scene = Scene::new("type", 8);
    let _writer = scene.writer();
    let wanted = Schema::new("Trade", b"struct Trade { double price; };").unwrap();
    let refused =
        ShmReader::open(&scene.channel, &wanted, Start::Now, ReaderWait::Block).unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("samples are Text ") && message.contains("wants Trade "), "{message}");
    let changed = Schema::new("Text", b"another definition").unwrap();
    let refused = ShmReader::open(&scene.channel, &changed, Start::Now, ReaderWait::Block);
    assert!(matches!(refused, Err(ShmError::Schema { .. })), "{refused:?}");
}

#[test]
fn a_channel_that_cannot_be_created_leaves_no_files() {
    const BYTES: u64 = 384 << 30;
    // A file system in memory refuses a file above its size at once; one on a disk would first fill
    // up.
    let size = nix::sys::statvfs::statvfs("/dev/shm").map_or(0, |is| is.blocks() * is.block_size());
    if !(1..BYTES).contains(&size) {
        return skip(Need::Machine, "/dev/shm is missing or has no limit below 384 GiB");
    }
    let directory = format!("/dev/shm/tickwire-shm-{}-not-created", std::process::id());
    let channel = ShmChannel::in_directory(&directory, "large").unwrap();
    let scene = Scene::new("not-created", 1 << 26);
    let sample_bytes = (BYTES >> 26) as usize;
    let options = WriterOptions { sample_bytes, ..scene.options.clone() };
    let error = ShmWriter::open(&channel, &scene.schema, &options).unwrap_err();
    assert!(matches!(error, ShmError::Io { attempt: ShmOperation::Reserve, .. }), "{error:?}");
    let remains: Vec<_> = std::fs::read_dir(&directory).unwrap().collect();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(remains.is_empty(), "{remains:?}");
}

#[test]
fn what_has_no_room_is_refused_and_nothing_is_published() {
    let scene = Scene::new("room", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    assert!(matches!(writer.publish(&[0; 41]), Err(ShmError::SampleLength { len: 41, max: 40 })));
    assert!(matches!(writer.key(b""), Err(ShmError::Key)));
    assert!(matches!(writer.key(b"much too long"), Err(ShmError::Key)));
    assert_eq!(reader.poll().unwrap(), None);
    assert_eq!(writer.next_seq_num(), 0);
}

#[test]
fn a_writer_waits_a_moment_for_who_holds_its_lock_only_to_look_or_to_remove_files() {
    let scene = Scene::new("moment", 8);
    std::fs::create_dir(&scene.directory).unwrap();
    let lock = std::fs::File::create(scene.file("lock")).unwrap();
    lock.lock().unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        drop(lock);
    });
    scene.writer();
    holder.join().unwrap();
}

#[test]
fn readers_are_counted_while_they_live() {
    let scene = Scene::new("count", 8);
    let writer = scene.writer();
    let readers = [ReaderWait::Block, ReaderWait::Spin].map(|wait| scene.reader(Start::Now, wait));
    assert_eq!(writer.readers().unwrap(), 2);
    drop(readers);
    assert_eq!(writer.readers().unwrap(), 0);
}

#[test]
fn more_readers_than_places_read_and_are_not_counted() {
    let scene = Scene::new("places", 8);
    let mut writer = scene.writer();
    let open = || scene.reader(Start::Now, ReaderWait::Block);
    let mut readers: Vec<_> = (0..READERS_COUNTED_MAX + 1).map(|_| open()).collect();
    assert_eq!(writer.readers().unwrap(), READERS_COUNTED_MAX);
    // Places in the middle and at the ends become free; the next reader takes one of them.
    for place in [READERS_COUNTED_MAX as usize - 1, 500, 0] {
        readers.remove(place);
    }
    assert_eq!(writer.readers().unwrap(), READERS_COUNTED_MAX - 3);
    readers.push(open());
    assert_eq!(writer.readers().unwrap(), READERS_COUNTED_MAX - 2);
    writer.publish(b"for all").unwrap();
    for reader in &mut readers {
        assert_eq!(text(reader.poll()), Some((0, "for all".into())));
    }
}

/// The file for the second half of the keys is as long as all earlier files together. Reserving it at once would
/// delay the writer.
#[test]
fn memory_of_last_values_is_reserved_in_small_steps() {
    let mut scene = Scene::new("steps", 8);
    scene.options.sample_bytes = 16 << 10;
    scene.options.keys = 64;
    let mut writer = scene.writer();
    let taken = || -> u64 {
        let files = std::fs::read_dir(&scene.directory).unwrap().map(|file| file.unwrap());
        files.map(|file| file.metadata().unwrap().blocks() * 512).sum()
    };
    let mut before = taken();
    for number in 0..300_u32 {
        let key = writer.key(&number.to_le_bytes()).unwrap();
        writer.publish_keyed(key, &[1; 16 << 10]).unwrap();
        let after = taken();
        assert!(after - before <= 128 << 10, "key {number}: {} bytes at once", after - before);
        before = after;
    }
    // The next writer of the channel continues in the files that there are.
    drop(writer);
    let mut writer = scene.writer();
    for number in 300..600_u32 {
        let key = writer.key(&number.to_le_bytes()).unwrap();
        writer.publish_keyed(key, &[2; 16 << 10]).unwrap();
    }
    let mut reader = scene.reader(Start::Now, ReaderWait::Spin);
    let mut values = reader.last_values().unwrap();
    for number in 0..600 {
        let sample = values.next().unwrap().unwrap();
        assert_eq!((sample.key, sample.bytes[0]), (Some(number), if number < 300 { 1 } else { 2 }));
    }
    assert!(values.next().unwrap().is_none());
}

/// A reader that was lapped can read last values after the writer's end if it mapped their files before, including
/// those of keys that were added later.
#[test]
fn last_values_outlive_the_channel_for_readers_that_have_mapped_them() {
    let scene = Scene::new("outlive", 8);
    let mut writer = scene.writer();
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    let mut other = scene.reader(Start::Now, ReaderWait::Block);
    reader.map_last_values().unwrap();
    for key in 0..4_u8 {
        let key = writer.key(&[key]).unwrap();
        writer.publish_keyed(key, b"first").unwrap();
    }
    reader.map_last_values().unwrap();
    for number in 0..16_u8 {
        let key = writer.key(&[number]).unwrap();
        writer.publish_keyed(key, &[number]).unwrap();
    }
    writer.finish().unwrap();
    reader.map_last_values().unwrap();
    assert!(matches!(reader.poll().unwrap(), Some(ShmEvent::Gap { from: 0, .. })));
    let mut values = reader.peek_last_values().unwrap();
    for key in 0..16 {
        let sample = values.next().unwrap().unwrap();
        assert_eq!((sample.key, sample.bytes), (Some(key), &[key as u8][..]));
    }
    assert!(values.next().unwrap().is_none());
    assert!(matches!(other.last_values().unwrap().next(), Err(ShmError::NoChannel { .. })));
}

#[test]
fn room_for_the_first_keys_can_be_reserved() {
    let scene = Scene::new("keys", 8);
    let mut writer = scene.writer();
    writer.reserve_keys().unwrap();
    writer.reserve_keys().unwrap();
    let size = |number| scene.file(number).metadata().map(|file| file.blocks() * 512).unwrap();
    let len = scene.file("values.0").metadata().unwrap().len();
    let reserved = size("values.0");
    assert!(reserved >= len, "{reserved} of {len} bytes");
    let mut reader = scene.reader(Start::Now, ReaderWait::Block);
    assert!(reader.last_values().unwrap().next().unwrap().is_none());
    for key in 0..4_u8 {
        let key = writer.key(&[key]).unwrap();
        writer.publish_keyed(key, b"value").unwrap();
    }
    assert_eq!((size("values.0"), size("values.1")), (reserved, 4096), "no key is in the second");
    let options = WriterOptions { key_bytes: 0, ..scene.options.clone() };
    drop(writer);
    let mut writer = ShmWriter::open(&scene.channel, &scene.schema, &options).unwrap();
    assert!(matches!(writer.reserve_keys(), Err(ShmError::Key)));
}

#[test]
fn every_way_of_waiting_wakes_up_for_a_sample_and_for_the_end() {
    for wait in
        [ReaderWait::Block, ReaderWait::Spin, ReaderWait::SpinThenBlock(Duration::from_micros(50))]
    {
        let scene = Scene::new("wait", 8);
        let mut writer = scene.writer();
        let mut reader = scene.reader(Start::Now, wait);
        assert_eq!(reader.wait(Duration::from_millis(5)).unwrap(), None, "timed out");
        std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                assert_eq!(text(reader.wait(SECOND)), Some((0, "late".into())));
                assert_eq!(
                    reader.wait(SECOND).unwrap(),
                    Some(ShmEvent::Done { samples: 1, seq_num: 1 })
                );
            });
            std::thread::sleep(Duration::from_millis(20));
            writer.publish(b"late").unwrap();
            std::thread::sleep(Duration::from_millis(20));
            writer.finish().unwrap();
            reading.join().unwrap();
        });
    }
}

#[test]
fn readers_follow_a_fast_writer_without_a_wrong_sample() {
    let scene = Scene::new("stream", 256);
    let mut writer = scene.writer();
    let mut readers =
        [ReaderWait::Spin, ReaderWait::Block].map(|wait| scene.reader(Start::Now, wait));
    const COUNT: u64 = 100_000;
    std::thread::scope(|scope| {
        for reader in &mut readers {
            scope.spawn(move || {
                let mut next = 0;
                loop {
                    match reader.wait(SECOND).unwrap().expect("in time") {
                        ShmEvent::Sample(sample) => {
                            assert_eq!(sample.seq_num, next);
                            let words = sample.bytes.chunks_exact(8);
                            assert!(words.into_iter().all(|word| word == next.to_le_bytes()));
                            next += 1;
                        }
                        ShmEvent::Gap { from, to } => {
                            assert_eq!(from, next);
                            next = to;
                        }
                        ShmEvent::Done { seq_num, .. } => {
                            break assert_eq!((next, seq_num), (COUNT, COUNT));
                        }
                        other => panic!("{other:?}"),
                    }
                }
            });
        }
        for number in 0..COUNT {
            let mut sample = [0; 40];
            sample.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&number.to_le_bytes()));
            writer.publish(&sample).unwrap();
        }
        writer.finish().unwrap();
    });
}

#[test]
fn a_wait_for_several_channels_ends_with_the_first_sample() {
    let scenes = ["several-a", "several-b", "several-c"].map(|name| Scene::new(name, 8));
    let mut writers = scenes.each_ref().map(Scene::writer);
    let mut readers = scenes.each_ref().map(|scene| scene.reader(Start::Now, ReaderWait::Block));
    let mut all = readers.each_mut();
    assert!(!ShmReader::wait_any(&mut all, Duration::from_millis(5)).unwrap(), "timed out");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            writers[1].publish(b"first").unwrap();
        });
        let begun = std::time::Instant::now();
        assert!(ShmReader::wait_any(&mut all, SECOND).unwrap());
        assert!(begun.elapsed() < SECOND / 2);
    });
    let found = readers.each_mut().map(|reader| text(reader.poll()));
    assert_eq!(found, [None, Some((0, "first".into())), None]);
}
