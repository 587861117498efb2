//! Two participants of one process, each in its own domain, over loopback sockets.

mod support;

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use support::{
    PATIENCE, SILENCE, joined, market_data, next, patient, quote, quote_request, two_participants,
    wire_id,
};
use tickwire_dds::{
    Change, DdsError, Domain, DomainConfig, InstanceState, Listener, MarketData, New, Participant,
    Qos, Quote, QuoteRequest, ReceivedSample, Remove, Sample, WaitSet, security_topic,
};

fn crosses<S: Sample>(participants: &[impl Participant; 2], samples: &[S]) {
    let depth = u32::try_from(samples.len()).unwrap();
    let qos = patient().keep_last(depth);
    let mut writer = participants[0].writer::<S>(S::TOPIC, &qos).unwrap();
    let mut reader = participants[1].reader::<S>(S::TOPIC, &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());
    for sample in samples {
        writer.write(sample).unwrap();
    }
    let received: Vec<S> = samples.iter().map(|_| next(&mut reader)).collect();
    assert_eq!(received, samples);
}

#[test]
fn every_type_arrives_with_the_values_that_were_written() {
    let participants = two_participants(0);
    crosses(&participants, &[quote(0), quote(u32::MAX), Quote::default()]);
    crosses(&participants, &[New { price: 1, side: 0xff, ..New::default() }, New::default()]);
    crosses(&participants, &[Change { volume: u32::MAX, side: b'B', ..Change::default() }]);
    crosses(&participants, &[Remove { order_id: 3, security_id: 4, ..Remove::default() }]);
    let shrinking = [market_data(1, 40), market_data(1, 2), MarketData::default()];
    crosses(&participants, &shrinking);
    crosses(&participants, &[quote_request(5), QuoteRequest::default()]);
}

#[test]
fn a_sample_larger_than_a_datagram_arrives_whole() {
    crosses(&two_participants(1), &[market_data(9, 1000)]);
}

#[test]
fn a_late_reader_gets_the_last_value_of_every_security() {
    let [publisher, subscriber] = two_participants(2);
    let qos = patient().transient_local(1);
    let mut writer = publisher.writer::<MarketData>("MarketData", &qos).unwrap();
    for entries in [3, 1] {
        for security in 0..100 {
            writer.write(&market_data(security, entries)).unwrap();
        }
    }
    let mut reader = subscriber.reader::<MarketData>("MarketData", &qos).unwrap();
    let mut last = BTreeMap::new();
    for _ in 0..100 {
        let sample = next(&mut reader);
        last.insert(sample.security_id, sample);
    }
    assert_eq!(last.len(), 100);
    assert!(last.iter().all(|(&security, sample)| *sample == market_data(security, 1)));
}

#[test]
fn a_listener_hands_samples_on_in_order_until_it_is_dropped() {
    let [publisher, subscriber] = two_participants(20);
    let qos = patient().keep_last(1000);
    let mut writer = publisher.writer::<Quote>("Quote", &qos).unwrap();
    let (sender, received) = mpsc::channel();
    let on_sample = move |received: &ReceivedSample<Quote>| {
        if received.has_data {
            sender.send(received.sample).unwrap();
        }
    };
    let listener = subscriber.listen("Quote", &qos, on_sample).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(listener.wait_matched(1, PATIENCE).unwrap());
    for number in 0..1000 {
        writer.write(&quote(number)).unwrap();
    }
    for number in 0..1000 {
        assert_eq!(received.recv_timeout(PATIENCE), Ok(quote(number)));
    }
    drop(listener);
    // The listener and its closure are dropped, and with them the sending end of the channel.
    assert_eq!(received.recv(), Err(mpsc::RecvError));
    writer.write(&quote(1000)).unwrap();
}

#[test]
fn a_listener_may_answer_from_its_own_call() {
    let [here, there] = two_participants(21);
    let qos = patient().keep_last(100);
    let mut answers = there.writer::<Quote>("back", &qos).unwrap();
    let mut reader = here.reader::<Quote>("back", &qos).unwrap();
    // A writer that has not matched the reader would keep nothing for it.
    assert!(answers.wait_matched(1, PATIENCE).unwrap());
    let answer = move |received: &ReceivedSample<Quote>| {
        if received.has_data {
            answers.write(&received.sample).unwrap();
        }
    };
    let listener = there.listen("there", &qos, answer).unwrap();
    let mut writer = here.writer::<Quote>("there", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(listener.wait_matched(1, PATIENCE).unwrap());
    for number in 0..100 {
        writer.write(&quote(number)).unwrap();
        assert_eq!(next(&mut reader), quote(number));
    }
}

#[test]
fn a_volatile_reader_gets_nothing_from_before() {
    let [publisher, subscriber] = two_participants(3);
    let mut writer = publisher.writer::<Quote>("Quote", &patient()).unwrap();
    writer.write(&quote(1)).unwrap();
    let mut reader = subscriber.reader::<Quote>("Quote", &patient()).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());
    writer.write(&quote(2)).unwrap();
    assert_eq!(next(&mut reader), quote(2));
}

#[test]
fn one_key_keeps_its_own_last_value_and_can_be_disposed_of() {
    let [publisher, subscriber] = two_participants(4);
    let qos = patient();
    let mut writer = publisher.writer::<QuoteRequest>("QuoteRequest", &qos).unwrap();
    let mut reader = subscriber.reader::<QuoteRequest>("QuoteRequest", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());

    writer.write(&quote_request(1)).unwrap();
    writer.write(&quote_request(2)).unwrap();
    assert_eq!(next(&mut reader), quote_request(1));
    assert_eq!(next(&mut reader), quote_request(2));

    writer.dispose(&quote_request(2)).unwrap();
    let mut received = ReceivedSample::default();
    assert!(reader.wait(PATIENCE).unwrap());
    assert!(reader.take(&mut received).unwrap());
    assert_eq!(received.instance_state, InstanceState::Disposed);
    assert!(!received.has_data);
    assert_eq!(received.sample.security_id, 2);
}

#[test]
fn a_reliable_reader_gets_all_of_ten_thousand_samples_in_order() {
    const COUNT: u32 = 10_000;
    let [publisher, subscriber] = two_participants(5);
    let qos = Qos::reliable().keep_all(COUNT).max_blocking(PATIENCE);
    let mut writer = publisher.writer::<Quote>("Quote", &qos).unwrap();
    let mut reader = subscriber.reader::<Quote>("Quote", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());
    let publishing = std::thread::spawn(move || {
        for number in 0..COUNT {
            writer.write(&quote(number)).unwrap();
        }
        writer.wait_acknowledged(PATIENCE).unwrap();
    });
    for number in 0..COUNT {
        assert_eq!(next(&mut reader), quote(number));
    }
    publishing.join().unwrap();
    assert_eq!(reader.lost().unwrap(), 0);
}

#[test]
fn a_full_history_makes_the_writer_time_out_rather_than_lose() {
    let [publisher, subscriber] = two_participants(6);
    let qos = Qos::reliable().keep_all(4).max_blocking(Duration::from_millis(20));
    let mut writer = publisher.writer::<Quote>("Quote", &qos).unwrap();
    let mut reader = subscriber.reader::<Quote>("Quote", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());
    let mut written = Vec::new();
    let refused = loop {
        let sample = quote(u32::try_from(written.len()).unwrap());
        match writer.write(&sample) {
            Ok(()) => written.push(sample),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, DdsError::TimedOut { .. }), "{refused}");
    let backlog = writer.backlog().unwrap().unwrap();
    assert!((1..=written.len() as u64).contains(&backlog), "{backlog} of {}", written.len());
    let received: Vec<Quote> = written.iter().map(|_| next(&mut reader)).collect();
    assert_eq!(received, written);
    writer.wait_acknowledged(PATIENCE).unwrap();
    assert_eq!(writer.backlog().unwrap(), Some(0));
}

#[test]
fn a_batching_writer_sends_when_flushed() {
    let [publisher, subscriber] = two_participants(13);
    let qos = patient().keep_last(100).batching();
    let mut writer = publisher.writer::<Quote>("Quote", &qos).unwrap();
    let mut reader = subscriber.reader::<Quote>("Quote", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());
    for number in 0..100 {
        writer.write(&quote(number)).unwrap();
    }
    writer.flush().unwrap();
    for number in 0..100 {
        assert_eq!(next(&mut reader), quote(number));
    }
}

#[test]
fn partitions_keep_writers_and_readers_apart() {
    let [publisher, subscriber] = two_participants(7);
    let qos = |name: &str| patient().partition(name);
    let mut writer = publisher.writer::<Quote>("Quote", &qos("equities")).unwrap();
    let mut other = subscriber.reader::<Quote>("Quote", &qos("bonds")).unwrap();
    let mut same = subscriber.reader::<Quote>("Quote", &qos("equit*")).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(same.wait_matched(1, PATIENCE).unwrap());
    writer.write(&quote(1)).unwrap();
    assert_eq!(next(&mut same), quote(1));
    assert!(!other.wait(SILENCE).unwrap());
    assert_eq!(writer.matched().unwrap(), 1);
}

#[test]
fn a_best_effort_writer_does_not_match_a_reader_that_asks_for_reliability() {
    let [publisher, subscriber] = two_participants(8);
    let writer = publisher.writer::<Quote>("Quote", &Qos::best_effort()).unwrap();
    let _strict = subscriber.reader::<Quote>("Quote", &Qos::reliable()).unwrap();
    let lax = subscriber.reader::<Quote>("Quote", &Qos::best_effort()).unwrap();
    assert!(lax.wait_matched(1, PATIENCE).unwrap());
    assert!(!writer.wait_matched(2, SILENCE).unwrap());
}

#[test]
fn a_wait_set_names_the_topics_that_have_samples() {
    let [publisher, subscriber] = two_participants(9);
    let qos = patient().keep_last(8);
    let mut wait_set = subscriber.wait_set().unwrap();
    let mut readers = Vec::new();
    let mut writers = Vec::new();
    for security in 0..10 {
        let topic = security_topic::<MarketData>(security);
        writers.push(publisher.writer::<MarketData>(&topic, &qos).unwrap());
        readers.push(subscriber.reader::<MarketData>(&topic, &qos).unwrap());
        wait_set.attach(readers.last().unwrap().raw()).unwrap();
    }
    for (writer, reader) in writers.iter().zip(&readers) {
        assert!(writer.wait_matched(1, PATIENCE).unwrap());
        assert!(reader.wait_matched(1, PATIENCE).unwrap());
    }
    let mut ready = vec![99];
    wait_set.wait(&mut ready, Duration::ZERO).unwrap();
    assert!(ready.is_empty());

    writers[7].write(&market_data(7, 1)).unwrap();
    writers[7].write(&market_data(7, 2)).unwrap();
    writers[7].wait_acknowledged(PATIENCE).unwrap();
    wait_set.wait(&mut ready, PATIENCE).unwrap();
    assert_eq!(ready, [7]);
    assert_eq!(next(&mut readers[7]), market_data(7, 1));
    wait_set.wait(&mut ready, PATIENCE).unwrap();
    assert_eq!(ready, [7], "a sample held back by the reader must not be slept over");
    assert_eq!(next(&mut readers[7]), market_data(7, 2));
}

#[test]
fn a_text_with_nul_is_refused_and_the_writer_goes_on() {
    let participant = joined(20, wire_id(10));
    let qos = patient();
    let mut writer = participant.writer::<MarketData>("MarketData", &qos).unwrap();
    let mut reader = participant.reader::<MarketData>("MarketData", &qos).unwrap();
    let bad = MarketData { message_type: "X\0".to_owned(), ..market_data(1, 1) };
    assert_eq!(writer.write(&bad), Err(DdsError::TextWithNul));
    writer.write(&market_data(1, 1)).unwrap();
    assert_eq!(next(&mut reader), market_data(1, 1));
}

#[test]
fn a_domain_opens_once_in_a_process_and_again_when_closed() {
    let config = DomainConfig { wire_id: Some(wire_id(11)), ..DomainConfig::default() };
    let domain = Domain::open(22, &config).unwrap();
    assert_eq!(Domain::open(22, &config).unwrap_err(), DdsError::OpenAlready { id: 22 });
    drop(domain);
    Domain::open(22, &config).unwrap();
}

#[test]
fn nonsense_options_are_refused_by_name() {
    let participant = joined(24, wire_id(12));
    let refused = participant.writer::<Quote>("Quote", &Qos::reliable().keep_last(0)).err();
    assert_eq!(refused, Some(DdsError::OptionRange { option: "depth" }));
    let refused = participant.reader::<Quote>("Quo\0te", &Qos::reliable()).err();
    assert_eq!(refused, Some(DdsError::TextWithNul));
    assert_eq!(
        Domain::open(233, &DomainConfig::default()).unwrap_err(),
        DdsError::DomainId { id: 233 }
    );
}

#[test]
fn a_writer_that_keeps_all_for_those_who_are_there_keeps_the_last_for_those_who_come_late() {
    let [there, here] = two_participants(14);
    let qos = patient().keep_all(1_000).transient_local(1);
    let mut writer = there.writer::<MarketData>("MarketData", &qos).unwrap();
    let mut early = here.reader::<MarketData>("MarketData", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    for entries in 0..50 {
        writer.write(&market_data(7, entries)).unwrap();
    }
    for entries in 0..50 {
        assert_eq!(next(&mut early), market_data(7, entries));
    }
    // Otherwise the late reader would also get the samples that are not acknowledged yet.
    writer.wait_acknowledged(PATIENCE).unwrap();
    let mut late = here.reader::<MarketData>("MarketData", &qos).unwrap();
    assert_eq!(next(&mut late), market_data(7, 49));
    assert!(!late.wait(SILENCE).unwrap());
}

#[test]
fn a_sample_keeps_the_time_that_its_writer_gave_it_and_tells_whose_it_is() {
    let [there, here] = two_participants(15);
    let qos = patient().keep_last(8);
    let mut writer = there.writer::<Quote>("Quote", &qos).unwrap();
    let mut other = there.writer::<Quote>("Quote", &qos).unwrap();
    let mut reader = here.reader::<Quote>("Quote", &qos).unwrap();
    assert!(reader.wait_matched(2, PATIENCE).unwrap());
    // A writer keeps nothing for a reader that it has not matched yet.
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(other.wait_matched(1, PATIENCE).unwrap());
    writer.write_at(&quote(1), 1_234_567_890).unwrap();
    other.write_at(&quote(2), 5).unwrap();
    let mut received = [ReceivedSample::default(), ReceivedSample::default()];
    for place in &mut received {
        while !reader.take(place).unwrap() {
            assert!(reader.wait(PATIENCE).unwrap());
        }
    }
    received.sort_by_key(|received| received.sample.sequence_number);
    assert_eq!(received[0].source_timestamp_ns, 1_234_567_890);
    assert_eq!(received[1].source_timestamp_ns, 5);
    let owners = [0, 1].map(|index| received[index].participant.unwrap());
    assert_eq!(owners[0], owners[1], "two writers of one participant");
    assert_eq!(reader.publishers().unwrap(), owners);
}

#[test]
fn samples_have_their_writers_number_and_the_last_number_before_it_met_the_reader() {
    let [there, here] = two_participants(16);
    let qos = patient().keep_last(8).transient_local(1);
    let mut writer = there.writer::<Quote>("Quote", &qos).unwrap();
    for number in 1..=5 {
        writer.write(&quote(number)).unwrap();
    }
    let mut reader = here.reader::<Quote>("Quote", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    let mut received = ReceivedSample::default();
    assert!(reader.wait(PATIENCE).unwrap() && reader.take(&mut received).unwrap());
    assert_eq!((received.writer_seq_num, received.history_end), (5, 5));
    assert!(received.is_history());
    writer.write(&quote(6)).unwrap();
    assert!(reader.wait(PATIENCE).unwrap() && reader.take(&mut received).unwrap());
    assert_eq!((received.writer_seq_num, received.history_end), (6, 5));
    assert!(!received.is_history());

    let owner = received.participant.unwrap();
    assert_eq!(reader.publishers().unwrap(), [owner]);
    writer.write(&quote(7)).unwrap();
    writer.wait_acknowledged(PATIENCE).unwrap();
    drop(writer);
    assert!(!reader.wait_matched(2, SILENCE).unwrap());
    assert_eq!(reader.publishers().unwrap(), []);
    while received.writer_seq_num != 7 {
        assert!(reader.take(&mut received).unwrap());
    }
    assert_eq!(received.participant, Some(owner), "known of a writer that has gone");
}

/// A domain owns the memory of its samples and ends with its last participant, writer or reader.
#[test]
fn the_last_reader_of_a_domain_gives_its_samples_back_before_the_domain_ends() {
    let [publisher, subscriber] = two_participants(17);
    let qos = patient().keep_last(8);
    let mut writer = publisher.writer::<Quote>("Quote", &qos).unwrap();
    let mut reader = subscriber.reader::<Quote>("Quote", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    assert!(reader.wait_matched(1, PATIENCE).unwrap());
    drop(subscriber);
    writer.write(&quote(1)).unwrap();
    assert_eq!(next(&mut reader), quote(1));
    // The reader still holds the sample that it lent. Returning the sample after the end of the domain would crash the
    // process.
    drop(reader);
    writer.write(&quote(2)).unwrap();
}
