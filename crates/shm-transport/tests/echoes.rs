//! Echoes over shared memory: as many as samples fit into a ring, all found and counted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tickwire_distribution::{
    DeliverySettings, EchoSummary, Echoes, MarketData, MarketDataEntry, Participant, Publisher,
    StationRole, Stations, Subscriber, SubscriberOptions, TopicSet,
};
use tickwire_shm_transport::{ShmConfig, ShmParticipant};

/// Longest wait for another writer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time to wait for a sample that has already been written.
const TICK: Duration = Duration::from_millis(20);
/// Samples of the default size that fit into the default ring of a type with sequences.
const SAMPLES: u32 = 2048;

/// A directory of a test's own.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let name = format!("tickwire-shm-echoes-{}-{name}", std::process::id());
        let directory = PathBuf::from("/dev/shm").join(name);
        let _ = std::fs::remove_dir_all(&directory);
        Self(directory)
    }

    fn join(&self) -> ShmParticipant {
        ShmParticipant::join(ShmConfig::in_directory(&self.0))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn stations(participant: &ShmParticipant, role: StationRole) -> Stations<ShmParticipant> {
    let sets = [TopicSet::of::<MarketData>()];
    Stations::new(participant, &sets, &DeliverySettings::default(), role).unwrap()
}

const ECHOING: StationRole = StationRole::Samples { echo: true, conflate: false };

/// A publisher that cannot read its echoes for a while still receives the echo of each sample that its
/// subscriber received.
#[test]
fn the_echoes_of_a_whole_ring_of_samples_wait_for_the_publisher() {
    let scene = Scene::new("ring");
    let publisher = scene.join();
    let mut echoes = stations(&publisher, StationRole::Echoes);
    let mut subscriber = stations(&scene.join(), ECHOING);
    let mut writer =
        publisher.writer::<MarketData>("MarketData", &DeliverySettings::default().writer_qos(true));
    let writer = writer.as_mut().unwrap();
    assert!(echoes.wait_writers(&[1], PATIENCE, || false).unwrap());
    assert!(subscriber.wait_writers(&[1], PATIENCE, || false).unwrap());
    let md_entries = vec![MarketDataEntry { md_price_level: 1, ..MarketDataEntry::default() }];
    let mut sample = MarketData { md_entries, ..MarketData::default() };
    for number in 1..=SAMPLES {
        sample.msg_seq_num = number;
        writer.write(&sample).unwrap();
    }
    let mut times = Vec::new();
    while subscriber
        .receive(TICK, |arrival| times.push(arrival.raw.info.source_timestamp_ns))
        .unwrap()
        > 0
    {}
    assert_eq!((times.len(), subscriber.lost().unwrap()), (SAMPLES as usize, 0));
    let mut heard = Vec::new();
    while echoes
        .receive(TICK, |echo| heard.push((echo.seq_num, echo.raw.info.source_timestamp_ns)))
        .unwrap()
        > 0
    {}
    let sent: Vec<_> = (1..).map(Some).zip(times).collect();
    assert!(heard == sent, "{} of {} echoes, or other ones", heard.len(), sent.len());
    assert_eq!((echoes.lost().unwrap(), subscriber.echoes_refused()), (0, 0));
}

#[test]
fn a_publisher_waits_for_the_echo_writers_of_all_its_subscribers() {
    let scene = Scene::new("writers");
    let echoes = stations(&scene.join(), StationRole::Echoes);
    let _first = stations(&scene.join(), ECHOING);
    assert!(echoes.wait_writers(&[1], PATIENCE, || false).unwrap());
    assert!(!echoes.wait_writers(&[2], TICK, || false).unwrap(), "only one echoes");
    assert!(!echoes.wait_writers(&[2], PATIENCE, || true).unwrap(), "ends when told");
    let _second = stations(&scene.join(), ECHOING);
    assert!(echoes.wait_writers(&[2], PATIENCE, || false).unwrap());
    assert!(echoes.wait_writers(&[0], Duration::ZERO, || false).unwrap());
}

/// Two publishers of a topic: each gets the echoes of its own samples, and counts those of the other.
#[test]
fn each_publisher_gets_the_echoes_of_its_own_samples() {
    let scene = Scene::new("publishers");
    let publishers = [scene.join(), scene.join()];
    let mut echoes =
        publishers.each_ref().map(|publisher| stations(publisher, StationRole::Echoes));
    let mut subscriber = stations(&scene.join(), ECHOING);
    let mut writers = publishers.each_ref().map(|publisher| {
        publisher
            .writer::<MarketData>("MarketData", &DeliverySettings::default().writer_qos(true))
            .unwrap()
    });
    for echoes in &echoes {
        assert!(echoes.wait_writers(&[1], PATIENCE, || false).unwrap());
    }
    assert!(subscriber.wait_writers(&[2], PATIENCE, || false).unwrap());
    let counts = [3, 5];
    for (writer, count) in writers.iter_mut().zip(counts) {
        (0..count).for_each(|_| writer.write(&MarketData::default()).unwrap());
    }
    let mut received = 0;
    while received < 8 {
        received += subscriber.receive(PATIENCE, |_| ()).unwrap();
    }
    for (index, echoes) in echoes.iter_mut().enumerate() {
        let mut numbers = Vec::new();
        while echoes.receive(TICK, |echo| numbers.push(echo.seq_num.unwrap())).unwrap() > 0
            || echoes.echoes_of_others() < counts[1 - index]
        {}
        assert_eq!(numbers, (1..=counts[index]).collect::<Vec<u64>>());
        assert_eq!(echoes.echoes_of_others(), counts[1 - index]);
    }
}

/// Publishes 1000 samples to two subscribers, of which `echoing` echo; one of these ends after 10
/// samples if `one_ends`. Returns the number of subscribers from which echoes are expected, and the
/// echoes.
fn publish_to_two(name: &str, echoing: usize, one_ends: bool) -> (Vec<u32>, EchoSummary, u64) {
    let scene = Scene::new(name);
    let (sets, delivery) = ([TopicSet::of::<MarketData>()], DeliverySettings::default());
    let subscribe = |index: usize| {
        let options = SubscriberOptions { echo: index < echoing, ..SubscriberOptions::default() };
        let place = scene.join();
        let (sets, delivery) = (sets.clone(), delivery.clone());
        thread::spawn(move || {
            let mut subscriber = Subscriber::new(&place, &sets, &delivery, &options).unwrap();
            let mut taken = 0;
            while !(subscriber.is_over() || one_ends && index == 0 && taken >= 10) {
                taken += subscriber.receive(TICK, |_| ()).unwrap();
            }
            taken as u64
        })
    };
    let place = scene.join();
    let readers = Stations::new(&place, &sets, &delivery, StationRole::Echoes).unwrap();
    let mut publisher = Publisher::new(&place, &sets, &delivery, PATIENCE, || false).unwrap();
    let subscribers = [0, 1].map(subscribe);
    assert!(publisher.wait_matched(2, PATIENCE).unwrap());
    let timed = Arc::new(AtomicU64::new(0));
    let on_echo = {
        let timed = timed.clone();
        move |echo: &tickwire_distribution::SampleArrival<'_>| {
            timed.fetch_add(u64::from(echo.age_ns().is_some()), Ordering::Relaxed);
        }
    };
    let present = Some(publisher.subscribers().unwrap());
    let echoes = Echoes::start(readers, present, PATIENCE, || false, on_echo).unwrap();
    let awaited = echoes.awaited().unwrap().to_vec();
    for msg_seq_num in 1..=1000 {
        publisher.publish(0, &MarketData { msg_seq_num, ..MarketData::default() }).unwrap();
    }
    publisher.finish(true, PATIENCE).unwrap();
    let summary = echoes.finish(&publisher.counters().written, PATIENCE).unwrap();
    let taken = subscribers.map(|subscriber| subscriber.join().unwrap());
    assert_eq!(timed.load(Ordering::Relaxed), summary.received);
    (awaited, summary, taken[0])
}

#[test]
fn a_publisher_receives_the_echoes_of_those_that_echo_and_counts_the_missing_ones() {
    let all = |received| EchoSummary { received, is_exact: true, ..EchoSummary::default() };
    let (awaited, summary, _) = publish_to_two("two", 2, false);
    assert_eq!((awaited, summary), (vec![2], all(2000)));
    let (awaited, summary, _) = publish_to_two("silent", 1, false);
    assert_eq!((awaited, summary), (vec![1], all(1000)), "a silent one owes nothing");
    let (awaited, summary, echoed) = publish_to_two("ends", 2, true);
    let expected = EchoSummary { missing: 1000 - echoed, ..all(1000 + echoed) };
    assert_eq!((awaited, summary), (vec![2], expected));
}
