//! The same samples over two transports at once.

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;
use tickwire_distribution::{
    DeliverySettings, MarketData, MarketDataEntry, Outlet, Outlets, PublisherStatus, Quote,
    Subscriber, SubscriberOptions, TopicSet,
};
use tickwire_shm_transport::{RingSize, ShmConfig, ShmParticipant};

/// Longest wait for another side.
const PATIENCE: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(20);

/// A directory of a test's own.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let name = format!("tickwire-shm-outlets-{}-{name}", std::process::id());
        let directory = PathBuf::from("/dev/shm").join(name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    /// Joins with one transport, whose samples with sequences have at most `sample_bytes` bytes.
    fn join(&self, transport: &str, sample_bytes: usize) -> ShmParticipant {
        let own = ShmConfig::in_directory(self.0.join(transport));
        let sequences = RingSize { sample_bytes, ..own.sequences };
        ShmParticipant::join(ShmConfig { sequences, ..own })
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sets() -> [TopicSet; 2] {
    [TopicSet::of::<Quote>(), TopicSet::of::<MarketData>()]
}

fn subscribe(place: &ShmParticipant) -> Subscriber<ShmParticipant> {
    let options = SubscriberOptions::default();
    Subscriber::new(place, &sets(), &DeliverySettings::default(), &options).unwrap()
}

/// Receives all samples; returns their topic sets and sequence numbers, and how the publisher ended.
fn receive_all(
    mut subscriber: Subscriber<ShmParticipant>,
) -> (Vec<(usize, Option<u64>)>, PublisherStatus) {
    let mut taken = Vec::new();
    let publisher = loop {
        subscriber.receive(TICK, |arrival| taken.push((arrival.set, arrival.seq_num))).unwrap();
        let publishers = subscriber.ledger().publishers();
        if let Some(one) = publishers.first().filter(|one| one.lost == Some(0)) {
            break one.clone();
        }
    };
    (taken, publisher.standing)
}

fn quote(sequence_number: u32) -> Quote {
    Quote { sequence_number, ..Quote::default() }
}

#[test]
fn each_transport_has_all_samples_in_order() {
    let scene = Scene::new("both");
    let places = ["first", "second"].map(|name| scene.join(name, 1 << 12));
    let mut outlets = Outlets::new(|name, error| panic!("{name}: {error}"));
    for (name, place) in ["first", "second"].into_iter().zip(&places) {
        outlets
            .add(name, place, &sets(), &DeliverySettings::default(), PATIENCE, || false)
            .unwrap();
    }
    assert!(!outlets.wait_subscribers(1, TICK, || false).unwrap());
    let subscribers = places.each_ref().map(subscribe);
    assert!(outlets.wait_matched(2, PATIENCE, || false).unwrap(), "one on each");
    assert!(!outlets.wait_matched(3, TICK, || false).unwrap());
    assert!(!outlets.wait_matched(3, PATIENCE, || true).unwrap(), "ends when told");
    let of_each = vec![("first", vec![1, 1]), ("second", vec![1, 1])];
    assert_eq!(outlets.subscribers().unwrap(), of_each);
    assert_eq!(outlets.matched().unwrap(), [2, 2]);
    (1..=3).for_each(|number| outlets.publish(0, &quote(number)).unwrap());
    outlets.finish(true, PATIENCE).unwrap();
    let expected = [1, 2, 3].map(|number| (0, Some(number))).to_vec();
    for subscriber in subscribers {
        assert_eq!(
            receive_all(subscriber),
            (expected.clone(), PublisherStatus::Done { written: 3 })
        );
    }
    assert_eq!(outlets.counters().written, [3, 0]);
    assert!(outlets.failed().is_empty());
}

#[test]
fn a_transport_that_rejects_a_sample_ends_and_the_other_one_continues() {
    let scene = Scene::new("rejects");
    let places = [scene.join("small", 64), scene.join("large", 1 << 12)];
    let (tell, told) = channel();
    let mut outlets =
        Outlets::new(move |name, error| tell.send((name, error.to_string())).unwrap());
    for (name, place) in ["small", "large"].into_iter().zip(&places) {
        outlets
            .add(name, place, &sets(), &DeliverySettings::default(), PATIENCE, || false)
            .unwrap();
    }
    let [small, large] = places.each_ref().map(subscribe);
    assert!(outlets.wait_matched(2, PATIENCE, || false).unwrap());
    outlets.publish(0, &quote(1)).unwrap();
    let md_entries = vec![MarketDataEntry::default(); 20];
    let long = MarketData { md_entries, ..MarketData::default() };
    outlets.publish(1, &long).unwrap();
    outlets.publish(0, &quote(2)).unwrap();
    let (name, error) = told.try_recv().unwrap();
    assert_eq!((name, outlets.failed()), ("small", vec!["small"]));
    assert!(error.contains("64"), "{error}");
    assert!(told.try_recv().is_err(), "told once");
    let written = outlets.by_transport().into_iter().map(|(_, counters)| counters.written());
    assert_eq!(written.collect::<Vec<_>>(), [1, 3]);
    outlets.finish(true, PATIENCE).unwrap();
    assert_eq!(receive_all(small), (vec![(0, Some(1))], PublisherStatus::Stopped { written: 1 }));
    let (taken, standing) = receive_all(large);
    assert_eq!((taken.len(), standing), (3, PublisherStatus::Done { written: 3 }));
}

/// Without another transport, the error is the publisher's.
#[test]
fn the_only_transport_returns_its_error() {
    let scene = Scene::new("only");
    let mut outlets = Outlets::new(|name, error| panic!("{name}: {error}"));
    let place = scene.join("small", 64);
    outlets
        .add("small", &place, &sets(), &DeliverySettings::default(), PATIENCE, || false)
        .unwrap();
    let md_entries = vec![MarketDataEntry::default(); 20];
    let error = outlets.publish(1, &MarketData { md_entries, ..MarketData::default() });
    assert!(error.unwrap_err().to_string().contains("64"));
    outlets.publish(0, &quote(1)).unwrap();
    assert!(outlets.failed().is_empty());
}
