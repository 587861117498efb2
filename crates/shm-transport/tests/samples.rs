//! Typed samples over shared memory: matching, order, last values, ends, waiting, partitions.

use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::mpsc::{TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickwire_distribution::{
    BookLevel, BookSample, DeliverySettings, Done, HistoryDepth, Listener, Participant, Publisher,
    Qos, Quote, RawReader, RawWriter, ReceivedSample, SampleArrival, SampleFields, Subscriber,
    SubscriberOptions, TopicSet, WaitSet,
};
use tickwire_shm::{Schema, ShmChannel, ShmWriter, WriterOptions};
use tickwire_shm_transport::{
    LeftChannels, PublisherSearch, RingSize, ShmConfig, ShmParticipant, ShmTransportError,
};

const SECOND: Duration = Duration::from_secs(10);

/// A directory of its own for each test.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let name = format!("tickwire-shm-transport-{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&directory);
        Self(directory)
    }

    /// Joins with rings of 4 KiB, which hold a few dozen samples.
    fn join(&self) -> ShmParticipant {
        let room = RingSize { ring_bytes: 1 << 12, sample_bytes: 256 };
        ShmParticipant::join(ShmConfig {
            plain: room,
            sequences: RingSize { ring_bytes: 1 << 16, ..room },
            ..ShmConfig::in_directory(&self.0)
        })
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn quote(order_id: u32) -> Quote {
    Quote { order_id, price: 100 + order_id, ..Quote::default() }
}

#[test]
fn samples_of_two_writers_come_in_the_order_of_each() {
    let scene = Scene::new("order");
    let participants = [scene.join(), scene.join()];
    let mut reader = scene.join().reader::<Quote>("Quote", &Qos::reliable()).unwrap();
    let mut writers = participants
        .each_ref()
        .map(|each| each.writer::<Quote>("Quote", &Qos::reliable()).unwrap());
    assert!(reader.wait_matched(2, SECOND).unwrap());
    assert!(writers.iter().all(|writer| writer.wait_matched(1, SECOND).unwrap()));
    for number in 0..10 {
        writers.iter_mut().for_each(|writer| writer.write(&quote(number)).unwrap());
    }
    let mut received = ReceivedSample::default();
    let mut next = [0; 2];
    for _ in 0..20 {
        assert!(reader.wait(SECOND).unwrap());
        assert!(reader.take(&mut received).unwrap());
        let id = received.participant.unwrap();
        let index = participants.iter().position(|each| each.id() == id).unwrap();
        assert_eq!(received.sample, quote(next[index]));
        next[index] += 1;
        assert_eq!(received.writer_seq_num, next[index].into());
        assert!(!received.is_history() && received.has_data);
        assert!(received.source_timestamp_ns > 0);
    }
    drop(writers);
    while !reader.raw().publishers().unwrap().is_empty() {
        assert!(!reader.take(&mut received).unwrap());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_late_reader_gets_last_values_as_history() {
    let scene = Scene::new("history");
    let qos = Qos::reliable().transient_local(1);
    let participant = scene.join();
    let mut writer = participant.writer::<Quote>("Quote", &qos).unwrap();
    let mut ended = quote(0);
    for number in 0..100 {
        ended = quote(number);
        writer.write(&ended).unwrap();
    }
    let mut reader = scene.join().reader::<Quote>("Quote", &qos).unwrap();
    writer.write(&quote(7)).unwrap();
    let mut received = ReceivedSample::default();
    let mut all = Vec::new();
    while reader.take(&mut received).unwrap() {
        all.push((received.writer_seq_num, received.is_history()));
    }
    assert_eq!(all.last(), Some(&(101, false)), "what is written after the meeting is no history");
    assert!(all.len() > 1 && all[..all.len() - 1].iter().all(|(_, is_history)| *is_history));
    writer.dispose(&ended).unwrap();
    assert!(reader.wait(SECOND).unwrap() && reader.take(&mut received).unwrap());
    assert!(!received.has_data);
}

#[test]
fn a_reader_that_is_lapped_says_how_much_it_lost() {
    let scene = Scene::new("lost");
    let mut writer = scene.join().writer::<Quote>("Quote", &Qos::reliable()).unwrap();
    let mut reader = scene.join().reader::<Quote>("Quote", &Qos::reliable()).unwrap();
    for number in 0..1000 {
        writer.write(&quote(number)).unwrap();
    }
    let mut received = ReceivedSample::default();
    let mut count = 0;
    while reader.take(&mut received).unwrap() {
        count += 1;
    }
    assert_eq!(received.writer_seq_num, 1000);
    assert!(count < 1000);
    assert_eq!(reader.raw().lost().unwrap() + count, 1000);
}

/// If a reader started before the channel was created, samples that left the ring before the reader found the channel
/// count as lost, not as history.
#[test]
fn a_channel_that_is_found_late_is_read_from_its_first_sample_or_the_rest_is_lost() {
    let scene = Scene::new("late");
    let qos = Qos::reliable().keep_last(16).transient_local(1);
    let mut reader = scene.join().reader::<BookSample>("Book", &qos).unwrap();
    let mut writer = scene.join().writer::<BookSample>("Book", &qos).unwrap();
    let book = |instrument: &str, seq_num| BookSample {
        instrument: instrument.to_owned(),
        seq_num,
        ..BookSample::default()
    };
    writer.write(&book("A", 1)).unwrap();
    for number in 2..=1000 {
        writer.write(&book("B", number)).unwrap();
    }
    let (mut received, mut numbers) = (ReceivedSample::default(), Vec::new());
    assert!(reader.wait(SECOND).unwrap());
    while reader.take(&mut received).unwrap() {
        assert!(!received.is_history() && received.history_end == 0);
        numbers.push(received.sample.seq_num);
    }
    assert_eq!(
        (numbers[0], numbers.last()),
        (1, Some(&1000)),
        "the last of A, and all of B that is there"
    );
    assert!(numbers.len() > 2 && numbers.is_sorted());
    assert_eq!(reader.raw().lost().unwrap() + numbers.len() as u64, 1000);
}

#[test]
fn a_reader_that_always_has_samples_finds_other_writers() {
    let scene = Scene::new("busy");
    let qos = Qos::reliable();
    let mut reader = scene.join().reader::<Quote>("Quote", &qos).unwrap();
    let mut busy = scene.join().writer::<Quote>("Quote", &qos).unwrap();
    assert!(reader.wait_matched(1, SECOND).unwrap());
    busy.write(&quote(1)).unwrap();
    let other = scene.join();
    let mut writer = other.writer::<Quote>("Quote", &qos).unwrap();
    writer.write(&quote(2)).unwrap();
    let mut received = ReceivedSample::default();
    let begun = Instant::now();
    while received.participant != Some(other.id()) {
        assert!(begun.elapsed() < SECOND);
        // The busy writer always has one sample more than the reader takes.
        busy.write(&quote(1)).unwrap();
        assert!(reader.take(&mut received).unwrap());
    }
}

/// Readers in another PID namespace cannot see the writer's process and rely on its heartbeats.
#[test]
fn a_writer_that_cannot_be_seen_lives_as_long_as_it_gives_signs_of_life() {
    let scene = Scene::new("unseen");
    let place = scene.join();
    let _writer = place.writer::<Quote>("Quote", &Qos::reliable()).unwrap();
    let killed = {
        // A writer without the thread that sends heartbeats, as after a kill.
        let name = format!("tQuote--{}-9", "ab".repeat(16));
        let channel = ShmChannel::in_directory(&scene.0, &name).unwrap();
        let of = Quote::struct_type();
        let schema = Schema::new(&of.name, format!("{of:?}").as_bytes()).unwrap();
        ShmWriter::open(&channel, &schema, &WriterOptions::default()).unwrap()
    };
    for file in std::fs::read_dir(&scene.0).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "ring") {
            // Word 38 of the header is the inode of the PID namespace.
            let file = File::options().write(true).open(path).unwrap();
            file.write_all_at(&1_u64.to_le_bytes(), 38 * 8).unwrap();
        }
    }
    let reader = scene.join().reader::<Quote>("Quote", &Qos::reliable()).unwrap();
    let present = || reader.raw().publishers().unwrap();
    let begun = Instant::now();
    assert_eq!(present().len(), 2);
    while present().len() == 2 {
        assert!(begun.elapsed() < SECOND, "one of them is silent");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(begun.elapsed() > Duration::from_secs(2));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(present(), [place.id()], "the other one says that it lives");
    killed.beat();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(present().len(), 2, "it was silent and is there again");
}

#[test]
fn a_wait_set_and_a_listener_hear_of_samples() {
    let scene = Scene::new("wait");
    let participant = scene.join();
    let qos = Qos::best_effort();
    let readers = ["A", "B"].map(|topic| participant.reader::<Quote>(topic, &qos).unwrap());
    let mut set = participant.wait_set().unwrap();
    for reader in &readers {
        set.attach(reader.raw()).unwrap();
    }
    let (sender, heard) = channel();
    let listener = participant
        .listen::<Quote>("B", &qos, move |received| sender.send(received.sample.price).unwrap())
        .unwrap();
    let mut writer = scene.join().writer::<Quote>("B", &qos).unwrap();
    assert!(writer.wait_matched(1, SECOND).unwrap(), "the listener looks by itself");
    let mut ready = Vec::new();
    assert!(listener.wait_matched(1, SECOND).unwrap());
    writer.write(&quote(1)).unwrap();
    while ready.is_empty() {
        set.wait(&mut ready, SECOND).unwrap();
    }
    assert_eq!(ready, [1]);
    assert_eq!(heard.recv_timeout(SECOND).unwrap(), quote(1).price);
}

#[test]
fn a_channel_of_another_type_is_left_out_and_told_and_the_others_are_read() {
    let scene = Scene::new("mismatch");
    let qos = Qos::reliable();
    let mut other = scene.join().writer::<Done>("Quote", &qos).unwrap();
    let (is_there, why) =
        scene.join().look_for_writer(Quote::struct_type(), "Quote", &qos).unwrap();
    assert!(!is_there && why.len() == 1 && why[0].contains("MiddlewareNewsBrief::Done"), "{why:?}");
    let mut reader = scene.join().reader::<Quote>("Quote", &qos).unwrap();
    let mut late = scene.join().writer::<Done>("Quote", &qos).unwrap();
    let mut writer = scene.join().writer::<Quote>("Quote", &qos).unwrap();
    assert!(reader.wait_matched(1, SECOND).unwrap());
    other.write(&Done { samples: 1 }).unwrap();
    late.write(&Done { samples: 1 }).unwrap();
    writer.write(&quote(1)).unwrap();
    let mut received = ReceivedSample::default();
    assert!(reader.wait(SECOND).unwrap() && reader.take(&mut received).unwrap());
    assert_eq!(received.sample, quote(1));
    assert!(!reader.take(&mut received).unwrap());
    let told = reader.raw_mut().take_refusals();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|one| one.contains("MiddlewareNewsBrief::Done")), "{told:?}");
    assert!(reader.raw_mut().take_refusals().is_empty(), "told once");
}

#[test]
fn a_channel_that_is_damaged_is_left_and_the_others_are_read_on() {
    let scene = Scene::new("damage");
    let qos = Qos::reliable();
    let mut reader = scene.join().reader::<Quote>("Quote", &qos).unwrap();
    let bad = scene.join().writer::<Quote>("Quote", &qos).unwrap();
    assert!(reader.wait_matched(1, SECOND).unwrap());
    let ring = std::fs::read_dir(&scene.0).unwrap().map(|entry| entry.unwrap().path());
    let ring = ring.into_iter().find(|path| path.extension() == Some("ring".as_ref())).unwrap();
    std::fs::OpenOptions::new().write(true).open(ring).unwrap().set_len(0).unwrap();
    let mut good = scene.join().writer::<Quote>("Quote", &qos).unwrap();
    let mut received = ReceivedSample::default();
    for number in 0..20 {
        good.write(&quote(number)).unwrap();
        // The damaged channel may end the wait too.
        while !reader.take(&mut received).unwrap() {
            assert!(reader.wait(SECOND).unwrap());
        }
        assert_eq!(received.sample, quote(number));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(reader.raw().publishers().unwrap().len(), 1);
    assert_eq!(reader.raw_mut().take_refusals().len(), 1);
    drop(bad);
}

#[test]
fn readers_trust_the_named_user_alone() {
    let scene = Scene::new("owner");
    let writer = scene.join().writer::<Quote>("Quote", &Qos::reliable()).unwrap();
    let owner = ShmConfig::own().owner + 1;
    let config = ShmConfig { owner, ..ShmConfig::in_directory(&scene.0) };
    let refused = ShmParticipant::join(config).reader::<Quote>("Quote", &Qos::reliable());
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("must belong to"), "{text}");
    drop(writer);
}

#[test]
fn a_directory_that_others_may_write_to_is_told_and_what_is_open_is_read_on() {
    let scene = Scene::new("mode");
    let qos = Qos::reliable();
    let mut reader = scene.join().reader::<Quote>("Quote", &qos).unwrap();
    let mut writer = scene.join().writer::<Quote>("Quote", &qos).unwrap();
    assert!(reader.wait_matched(1, SECOND).unwrap());
    std::fs::set_permissions(&scene.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut received = ReceivedSample::default();
    for number in 0..5 {
        writer.write(&quote(number)).unwrap();
        assert!(reader.wait(SECOND).unwrap() && reader.take(&mut received).unwrap());
        assert!(!reader.take(&mut received).unwrap());
        std::thread::sleep(Duration::from_millis(25));
    }
    let told = reader.raw_mut().take_refusals();
    assert!(told.len() == 1 && told[0].contains("must belong to"), "{told:?}");
    let refused = scene.join().reader::<Quote>("Quote", &qos);
    assert!(refused.is_err());
}

#[test]
fn what_does_not_fit_says_what_to_do() {
    let scene = Scene::new("sizes");
    let qos = Qos::reliable().transient_local(1);
    let mut writer = scene.join().writer::<BookSample>("Book", &qos).unwrap();
    let long = BookSample { bids: vec![BookLevel::default(); 10], ..BookSample::default() };
    let text = writer.write(&long).unwrap_err().to_string();
    assert!(
        text.contains("topic Book") && text.contains("256") && text.contains("fewer"),
        "{text}"
    );
    let named = BookSample { instrument: "x".repeat(300), ..BookSample::default() };
    let text = writer.write(&named).unwrap_err().to_string();
    assert!(text.contains("a key has"), "{text}");
    // With default settings, keys of 200 bytes and books of 200 levels a side are no error.
    let usual = ShmParticipant::join(ShmConfig {
        sequences: RingSize { ring_bytes: 1 << 20, ..ShmConfig::own().sequences },
        ..ShmConfig::in_directory(&scene.0)
    });
    let mut writer = usual.writer::<BookSample>("Deep", &qos).unwrap();
    let levels = vec![BookLevel::default(); 200];
    let (bids, offers) = (levels.clone(), levels);
    writer
        .write(&BookSample { instrument: "x".repeat(200), bids, offers, ..BookSample::default() })
        .unwrap();
}

/// The end of a publisher of other topics does not end a subscriber, and the samples of those topics do not count as
/// lost.
#[test]
fn subscribers_know_what_they_lost_topic_by_topic() {
    let scene = Scene::new("ledger");
    let of_done = |name: &str| TopicSet { name: name.to_owned(), ..TopicSet::of::<Done>() };
    let sets = [TopicSet::of::<Quote>(), of_done("Second")];
    let (delivery, patience) = (DeliverySettings::default(), SECOND);
    let publisher = |sets: &[TopicSet]| {
        Publisher::new(&scene.join(), sets, &delivery, patience, || false).unwrap()
    };
    let options = SubscriberOptions { some_topics: true, ..Default::default() };
    let mut subscriber = Subscriber::new(&scene.join(), &sets[..1], &delivery, &options).unwrap();
    let mut other = publisher(&[of_done("Other")]);
    let mut both = publisher(&sets);
    let step = |subscriber: &mut Subscriber<ShmParticipant>| {
        subscriber.receive(Duration::from_millis(20), |_| {}).unwrap();
    };
    while !both.wait_subscribers(1, Duration::ZERO).unwrap() {
        step(&mut subscriber);
    }
    other.publish(0, &Done { samples: 3 }).unwrap();
    other.finish(true, patience).unwrap();
    // Longer than a subscriber waits for samples after the end of its publisher.
    let until = Instant::now() + Duration::from_millis(700);
    while Instant::now() < until {
        step(&mut subscriber);
        assert!(!subscriber.is_over());
    }
    for number in 0..10 {
        both.publish(0, &quote(number)).unwrap();
        both.publish(1, &Done::default()).unwrap();
    }
    both.finish(true, patience).unwrap();
    while !subscriber.is_over() {
        step(&mut subscriber);
    }
    let accounts = subscriber.ledger().publishers();
    assert!(subscriber.ledger().is_complete(), "{accounts:?}");
    assert!(accounts.iter().all(|one| one.lost == Some(0) && one.duplicates == 0), "{accounts:?}");
    assert_eq!(accounts.iter().map(|one| one.received()).sum::<u64>(), 10);
}

#[test]
fn a_conflating_subscriber_takes_the_last_sample_of_each_key() {
    let scene = Scene::new("conflate");
    let sets = [TopicSet::of::<BookSample>()];
    let delivery = DeliverySettings::default();
    let mut publisher = Publisher::new(&scene.join(), &sets, &delivery, SECOND, || false).unwrap();
    let every = Some(Duration::from_millis(300));
    let options = SubscriberOptions { every, ..Default::default() };
    let mut subscriber = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
    for number in 1..=30 {
        let instrument = format!("{}", number % 3);
        publisher
            .publish(0, &BookSample { instrument, seq_num: number, ..BookSample::default() })
            .unwrap();
    }
    publisher.finish(true, SECOND).unwrap();
    let mut taken = Vec::new();
    while !subscriber.is_over() {
        let take = |arrival: &SampleArrival<'_>| taken.push(arrival.seq_num.unwrap());
        subscriber.receive(Duration::from_millis(20), take).unwrap();
    }
    assert_eq!(taken, [28, 29, 30]);
    let accounts = subscriber.ledger().publishers();
    assert_eq!((accounts[0].received(), accounts[0].holes, accounts[0].lost), (3, 27, Some(0)));
}

/// For keys whose last sample left the ring between two turns, the subscriber gets their last values.
#[test]
fn a_conflating_subscriber_that_is_lapped_has_the_last_sample_of_each_key() {
    let scene = Scene::new("lapped");
    let sets = [TopicSet::of::<BookSample>()];
    for last_values in [1, 0] {
        let delivery = DeliverySettings { last_values, ..DeliverySettings::default() };
        let place = scene.join();
        let mut publisher = Publisher::new(&place, &sets, &delivery, SECOND, || false).unwrap();
        let every = Some(Duration::from_millis(300));
        let options = SubscriberOptions { every, ..Default::default() };
        let mut subscriber = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
        // The ring holds 128 samples.
        for number in 1..=2000 {
            let instrument = if number == 1 { "A" } else { "B" }.to_owned();
            publisher
                .publish(0, &BookSample { instrument, seq_num: number, ..BookSample::default() })
                .unwrap();
        }
        publisher.finish(true, SECOND).unwrap();
        // The files of the last values are removed with the publisher.
        drop(publisher);
        let mut taken = Vec::new();
        while !subscriber.is_over() {
            let take = |arrival: &SampleArrival<'_>| taken.push(arrival.seq_num.unwrap());
            subscriber.receive(Duration::from_millis(20), take).unwrap();
        }
        let accounts = subscriber.ledger().publishers();
        let (expected, lost): (&[u64], _) = match last_values {
            1 => (&[1, 2000], Some(0)),
            _ => (&[2000], None),
        };
        assert_eq!((&taken[..], accounts[0].lost), (expected, lost), "last values: {last_values}");
    }
}

/// A subscriber that sleeps between its reads opens the files of publishers that start between the
/// reads, and the files of new keys, before these files are removed. If it was too late for some,
/// it does not know whether its values are the last ones.
#[test]
fn a_conflating_subscriber_has_the_last_sample_of_each_key_of_a_publisher_that_comes_and_goes() {
    let scene = Scene::new("comes-and-goes");
    let (sets, delivery) = ([TopicSet::of::<BookSample>()], DeliverySettings::default());
    for is_sudden in [false, true] {
        let every = Some(Duration::from_secs(2));
        let options = SubscriberOptions { every, ..Default::default() };
        let mut subscriber = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
        subscriber.poll(|_| {}).unwrap();
        let publish = |publisher: &mut Publisher<ShmParticipant>, keys: u32| {
            for number in 1..=2000_u32 {
                let instrument = (number % keys).to_string();
                let book =
                    BookSample { instrument, seq_num: number.into(), ..BookSample::default() };
                publisher.publish(0, &book).unwrap();
            }
        };
        let place = scene.join();
        let mut publisher = Publisher::new(&place, &sets, &delivery, SECOND, || false).unwrap();
        let mut wait = || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(250) {
                let count = subscriber.receive(Duration::from_millis(20), |_| {}).unwrap();
                assert_eq!(count, 0, "it is not its turn");
            }
        };
        wait();
        publish(&mut publisher, 50);
        if !is_sudden {
            wait();
        }
        // The last files of 2,000 keys were created after the subscriber's last check.
        publish(&mut publisher, if is_sudden { 2000 } else { 100 });
        publisher.finish(true, SECOND).unwrap();
        drop(publisher);
        let mut taken = Vec::new();
        while !subscriber.is_over() {
            let take = |arrival: &SampleArrival<'_>| taken.push(arrival.seq_num.unwrap());
            subscriber.receive(Duration::from_millis(20), take).unwrap();
        }
        let lost = subscriber.ledger().publishers()[0].lost;
        match is_sudden {
            false => assert_eq!((taken, lost), ((1901..=2000).collect(), Some(0))),
            true => assert!(taken.len() < 2000 && lost.is_none(), "{}, {lost:?}", taken.len()),
        }
    }
}

/// Wait sets may share readers, and have them in any order.
#[test]
fn readers_may_be_attached_twice_and_to_several_wait_sets() {
    let scene = Scene::new("attached");
    let place = scene.join();
    let [one, other] =
        ["One", "Other"].map(|topic| place.reader::<Quote>(topic, &Qos::reliable()).unwrap());
    let mut set = place.wait_set().unwrap();
    let index = set.attach(one.raw()).unwrap();
    assert_eq!(set.attach(one.raw()).unwrap(), index, "it is there already");
    assert_ne!(set.attach(other.raw()).unwrap(), index);
    let mut reversed = place.wait_set().unwrap();
    reversed.attach(other.raw()).unwrap();
    reversed.attach(one.raw()).unwrap();
    let (over, is_over) = channel();
    std::thread::spawn(move || {
        std::thread::scope(|scope| {
            for set in [&mut set, &mut reversed] {
                scope.spawn(move || {
                    for _ in 0..300 {
                        set.wait(&mut Vec::new(), Duration::from_micros(100)).unwrap();
                    }
                });
            }
        });
        over.send(()).unwrap();
    });
    assert_eq!(is_over.recv_timeout(SECOND), Ok(()), "the sets wait for each other");
}

#[test]
fn a_listener_tells_how_many_writers_it_has_without_waiting_for_samples() {
    let scene = Scene::new("listener-matched");
    let place = scene.join();
    let listener = place.listen::<Quote>("Quote", &Qos::reliable(), |_| {}).unwrap();
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(listener.matched().unwrap(), 0);
    }
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    let writer = place.writer::<Quote>("Quote", &Qos::reliable()).unwrap();
    assert!(listener.wait_matched(1, SECOND).unwrap());
    drop(writer);
}

/// A publisher that starts while the subscriber is busy with another is found, even if its samples arrive before it is
/// seen.
#[test]
fn a_publisher_that_streams_at_once_has_not_gone() {
    let scene = Scene::new("streams");
    let (sets, delivery) = ([TopicSet::of::<Quote>()], DeliverySettings::default());
    let options = SubscriberOptions::default();
    let mut subscriber = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
    let place = scene.join();
    let mut writer = place.writer::<Quote>("Quote", &delivery.writer_qos(false)).unwrap();
    let mut rest = None;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(600) {
        writer.write(&quote(1)).unwrap();
        subscriber.receive(Duration::from_millis(20), |_| {}).unwrap();
        assert_eq!(subscriber.take_gone().count(), 0, "after {:?}", begun.elapsed());
        if rest.is_none() && begun.elapsed() > Duration::from_millis(250) {
            rest = Some(Publisher::new(&place, &[], &delivery, SECOND, || false).unwrap());
        }
    }
    assert!(subscriber.ledger().publishers()[0].received() > 0);
}

#[test]
fn the_end_of_a_publisher_is_told_with_rings_that_hold_next_to_nothing() {
    let scene = Scene::new("tiny");
    let tiny = RingSize { ring_bytes: 1 << 8, sample_bytes: 16 };
    let place = ShmParticipant::join(ShmConfig {
        plain: tiny,
        sequences: tiny,
        ..ShmConfig::in_directory(&scene.0)
    });
    let sets: Vec<TopicSet> = (0..20)
        .map(|number| TopicSet { name: format!("Done/{number}"), ..TopicSet::of::<Done>() })
        .collect();
    let delivery = DeliverySettings::default();
    let options = SubscriberOptions { some_topics: true, ..Default::default() };
    let mut subscriber = Subscriber::new(&scene.join(), &sets[..1], &delivery, &options).unwrap();
    let mut publisher = Publisher::new(&place, &sets, &delivery, SECOND, || false).unwrap();
    (0..20).for_each(|set| publisher.publish(set, &Done { samples: 1 }).unwrap());
    publisher.finish(true, SECOND).unwrap();
    while !subscriber.is_over() {
        subscriber.receive(Duration::from_millis(20), |_| {}).unwrap();
    }
    let account = &subscriber.ledger().publishers()[0];
    assert!(account.has_totals && account.lost == Some(0), "{account:?}");
}

#[test]
fn partitions_keep_apart_and_wildcards_are_refused() {
    let scene = Scene::new("partitions");
    let participant = scene.join();
    let in_a = Qos::reliable().partition("a");
    let writer = participant.writer::<Quote>("Quote", &in_a).unwrap();
    let other = participant.reader::<Quote>("Quote", &Qos::reliable()).unwrap();
    let both = in_a.clone().partition("b");
    let reader = participant.reader::<Quote>("Quote", &both).unwrap();
    assert_eq!((other.raw().matched().unwrap(), reader.raw().matched().unwrap()), (0, 1));
    assert_eq!(writer.raw().matched().unwrap(), 1);
    let refused = participant.writer::<Quote>("Quote", &both);
    assert!(matches!(refused, Err(ShmTransportError::Partitions)));
    let refused = participant.reader::<Quote>("Quote", &Qos::reliable().partition("a*"));
    assert!(matches!(refused, Err(ShmTransportError::Partitions)));
}

/// Publishes quotes with a publisher that keeps all samples, on a separate thread, which returns the number of
/// dropped samples. Returns once the subscriber has matched; until then the subscriber's samples go to `take`.
fn publish_all(
    scene: &Scene,
    count: u32,
    patience: Duration,
    subscriber: &mut Subscriber<ShmParticipant>,
    mut take: impl FnMut(&SampleArrival<'_>),
) -> JoinHandle<u64> {
    let place = scene.join();
    let (matched, is_matched) = channel();
    let publisher = std::thread::spawn(move || {
        let delivery =
            DeliverySettings { held: Some(HistoryDepth::All), ..DeliverySettings::default() };
        let sets = [TopicSet::of::<Quote>()];
        let mut publisher = Publisher::new(&place, &sets, &delivery, patience, || false).unwrap();
        assert!(publisher.wait_matched(1, SECOND).unwrap());
        matched.send(()).unwrap();
        for number in 0..count {
            publisher.publish(0, &quote(number)).unwrap();
        }
        publisher.finish(true, SECOND).unwrap();
        publisher.counters().dropped
    });
    while is_matched.try_recv() == Err(TryRecvError::Empty) {
        subscriber.poll(&mut take).unwrap();
    }
    publisher
}

#[test]
fn a_publisher_that_keeps_all_samples_waits_for_a_slow_subscriber() {
    let scene = Scene::new("all");
    let (sets, options) = ([TopicSet::of::<Quote>()], SubscriberOptions::default());
    let delivery = DeliverySettings::default();
    let mut subscriber = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
    let mut order_ids = Vec::new();
    let mut received = ReceivedSample::<Quote>::default();
    let mut take = |arrival: &SampleArrival<'_>| {
        arrival.load(&mut received).unwrap();
        order_ids.push(received.sample.order_id);
    };
    // A ring holds 32 quotes.
    let publisher = publish_all(&scene, 5_000, SECOND, &mut subscriber, &mut take);
    while !subscriber.is_over() {
        subscriber.receive(Duration::from_millis(20), &mut take).unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
    assert_eq!(publisher.join().unwrap(), 0);
    assert_eq!(order_ids, (0..5_000).collect::<Vec<_>>());
    assert_eq!(subscriber.ledger().publishers()[0].lost, Some(0));
}

#[test]
fn a_publisher_that_keeps_all_samples_does_not_wait_for_a_subscriber_that_conflates() {
    let scene = Scene::new("all-conflated");
    let (sets, delivery) = ([TopicSet::of::<Quote>()], DeliverySettings::default());
    let every = Some(Duration::from_millis(100));
    let options = SubscriberOptions { every, ..SubscriberOptions::default() };
    let mut subscriber = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
    let patience = Duration::from_millis(100);
    // Afterwards the subscriber takes nothing more.
    let publisher = publish_all(&scene, 1_000, patience, &mut subscriber, |_| {});
    assert_eq!(publisher.join().unwrap(), 0);
}

#[test]
fn a_publisher_that_keeps_all_samples_waits_once_for_a_subscriber_that_has_stopped() {
    let scene = Scene::new("all-patience");
    let (sets, options) = ([TopicSet::of::<Quote>()], SubscriberOptions::default());
    let delivery = DeliverySettings::default();
    let mut stopped = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
    let mut count = 0;
    let patience = Duration::from_millis(100);
    let publisher = publish_all(&scene, 100, patience, &mut stopped, |_| count += 1);
    let begun = Instant::now();
    assert_eq!(publisher.join().unwrap(), 0, "nothing is dropped");
    assert!(begun.elapsed() < 20 * patience, "{:?}", begun.elapsed());
    while !stopped.is_over() {
        stopped.receive(Duration::from_millis(20), |_| count += 1).unwrap();
    }
    let lost = stopped.ledger().publishers()[0].lost.unwrap();
    assert!(lost > 0);
    assert_eq!(count + lost, 100);
}

/// systemd-logind removes a user's files in /dev/shm at logout. Processes that have these files
/// open still learn of the publisher's end.
#[test]
fn a_publisher_whose_files_are_removed_says_why_and_its_subscribers_learn_of_the_end() {
    let scene = Scene::new("removed");
    let (sets, delivery) = ([TopicSet::of::<Quote>()], DeliverySettings::default());
    let open =
        || Publisher::new(&scene.join(), &sets, &delivery, Duration::ZERO, || false).unwrap();
    let mut publisher = open();
    let options = SubscriberOptions { echo: true, ..Default::default() };
    let mut subscriber = Subscriber::new(&scene.join(), &sets, &delivery, &options).unwrap();
    publisher.publish(0, &quote(1)).unwrap();
    std::fs::remove_dir_all(&scene.0).unwrap();
    let begun = Instant::now();
    let error = loop {
        match publisher.publish(0, &quote(2)) {
            Ok(()) => assert!(begun.elapsed() < SECOND, "nobody noticed"),
            Err(error) => break error,
        }
        subscriber.poll(|_| {}).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(matches!(error, ShmTransportError::Removed(_)), "{error}");
    assert!(error.to_string().contains("RemoveIPC"), "{error}");
    publisher.finish(false, Duration::ZERO).unwrap();
    let is_stopped = |subscriber: &Subscriber<ShmParticipant>| {
        subscriber.ledger().publishers().iter().any(|one| one.written().is_some())
    };
    while !is_stopped(&subscriber) {
        assert!(begun.elapsed() < SECOND, "the end is not announced");
        subscriber.receive(Duration::from_millis(20), |_| {}).unwrap();
    }
    assert_eq!(subscriber.ledger().publishers()[0].lost, Some(0));
    // The next publisher creates the directory again.
    let mut next = open();
    next.publish(0, &quote(3)).unwrap();
    let mut taken = 0;
    while taken == 0 {
        taken = subscriber.receive(Duration::from_millis(20), |_| {}).unwrap();
        assert!(begun.elapsed() < SECOND);
    }
}

/// A file with an invalid name, and a channel that cannot be removed because a directory is in the place of its
/// lock file.
#[test]
fn a_channel_that_cannot_be_removed_stops_no_writer() {
    let scene = Scene::new("refused");
    drop(scene.join().writer::<Quote>("Quote", &Qos::reliable()).unwrap());
    let id = "ab".repeat(16);
    File::create(scene.0.join(format!("tQuo te--{id}-1.lock"))).unwrap();
    std::fs::create_dir_all(scene.0.join(format!("tQuote--{id}-2.lock/full"))).unwrap();
    let left = scene.0.join(format!("tQuote--{id}-3.lock"));
    File::create(&left).unwrap();
    scene.join().writer::<Quote>("Quote", &Qos::reliable()).unwrap();
    assert!(!left.exists(), "the next one is removed");
    LeftChannels::find(&scene.0).unwrap();
}

/// A writer that is killed while it creates or removes its channel leaves files without a ring.
#[test]
fn the_next_participant_removes_what_killed_writers_left_and_nothing_else() {
    let scene = Scene::new("killed");
    let qos = Qos::reliable();
    let mut alive = scene.join().writer::<Quote>("Quote", &qos).unwrap();
    let mut reader = scene.join().reader::<Quote>("Quote", &qos).unwrap();
    // A channel that is not of this transport: its next writer continues it.
    let own = ShmChannel::in_directory(&scene.0, "prices").unwrap();
    let schema = Schema::new("Price", b"price: u64").unwrap();
    drop(ShmWriter::open(&own, &schema, &WriterOptions::default()).unwrap());
    let count = || std::fs::read_dir(&scene.0).unwrap().count();
    let before = count();
    let name = |number| scene.0.join(format!("tQuote--{}-{number}", "ab".repeat(16)));
    for (number, kinds) in [
        (1, &["lock", "waiters", "new"][..]),
        (2, &["lock", "waiters", "values.0", "values.1"]),
        (3, &["lock"]),
        (4, &["lock", "ring", "waiters"]),
    ] {
        for kind in kinds {
            File::create(name(number).with_extension(kind)).unwrap();
        }
    }
    let other = scene.0.join(format!("tOther--{}-1", "ab".repeat(16)));
    std::fs::write(other.with_extension("values.0"), [0; 8192]).unwrap();
    File::create(other.with_extension("lock")).unwrap();
    let left = LeftChannels::find(&scene.0).unwrap();
    assert_eq!((left.channels, left.bytes), (5, 8192));
    let writer = scene.join().writer::<Done>("Done", &qos).unwrap();
    assert_eq!(LeftChannels::find(&scene.0).unwrap(), LeftChannels::default());
    drop(writer);
    assert_eq!(count(), before, "the files of the living writer and of the other channel");
    alive.write(&quote(1)).unwrap();
    let mut received = ReceivedSample::default();
    assert!(reader.wait(SECOND).unwrap() && reader.take(&mut received).unwrap());
    let late = scene.join().reader::<Quote>("Quote", &qos).unwrap();
    assert!(late.wait_matched(1, SECOND).unwrap());
}

#[test]
fn a_channel_of_another_layout_is_told_only_while_a_writer_holds_it() {
    let scene = Scene::new("layout");
    let writer = scene.join().writer::<Quote>("Quote", &Qos::reliable()).unwrap();
    let files = std::fs::read_dir(&scene.0).unwrap().map(|entry| entry.unwrap().path());
    let ring = files.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "ring"));
    let ring = ring.unwrap();
    let name = ring.file_stem().unwrap().to_str().unwrap();
    let old = scene.0.join(format!("{}-99", name.rsplit_once('-').unwrap().0));
    std::fs::copy(&ring, old.with_extension("ring")).unwrap();
    let file = File::options().write(true).open(old.with_extension("ring")).unwrap();
    // The word after the magic number is the version.
    file.write_all_at(&1_u64.to_le_bytes(), 8).unwrap();
    drop(writer);

    let mut search = PublisherSearch::new(
        scene.join(),
        vec![TopicSet::of::<Quote>()],
        DeliverySettings::default(),
    );
    assert_eq!(search.look().unwrap(), (false, vec![]));
    let lock = File::create(old.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let (is_there, refusals) = search.look().unwrap();
    assert!(!is_there && refusals.len() == 1, "{refusals:?}");
    assert!(refusals[0].contains("layout version 1 is not"), "{refusals:?}");
    drop(lock);
    assert_eq!(search.look().unwrap(), (false, vec![]));
}
