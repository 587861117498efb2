//! Typed samples over shared memory: matching, order, last values, ends, waiting, partitions.

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;
use tickwire_distribution::{
    Listener, Participant, Qos, Quote, RawReader, RawWriter, Received, WaitSet,
};
use tickwire_shm::Wait;
use tickwire_shm_transport::{Error, ShmConfig, ShmParticipant};

const SECOND: Duration = Duration::from_secs(10);

/// A directory of a test's own.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let name = format!("tickwire-shm-transport-{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&directory);
        Self(directory)
    }

    /// Rings of 4 KiB: a few dozen samples.
    fn join(&self) -> ShmParticipant {
        let ring_bytes = 1 << 12;
        ShmParticipant::join(ShmConfig {
            directory: self.0.clone(),
            ring_bytes,
            wait: Wait::Block,
            ..ShmConfig::of_user(0)
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
    let mut received = Received::default();
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
    let mut received = Received::default();
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
    let mut received = Received::default();
    let mut count = 0;
    while reader.take(&mut received).unwrap() {
        count += 1;
    }
    assert_eq!(received.writer_seq_num, 1000);
    assert!(count < 1000);
    assert_eq!(reader.raw().lost().unwrap() + count, 1000);
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
    assert!(writer.wait_matched(1, Duration::ZERO).is_ok());
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
    assert!(matches!(refused, Err(Error::Partitions)));
    let refused = participant.reader::<Quote>("Quote", &Qos::reliable().partition("a*"));
    assert!(matches!(refused, Err(Error::Partitions)));
}
