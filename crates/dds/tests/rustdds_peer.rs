//! Exchanges samples with rustdds, an implementation of DDS that shares no code with Cyclone.

mod support;

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use rustdds::policy::{Durability, History, Reliability};
use rustdds::with_key::Sample as PeerSample;
use rustdds::{
    CDRDeserializerAdapter, CDRSerializerAdapter, DomainParticipant, DomainParticipantBuilder,
    Keyed, QosPolicies, QosPolicyBuilder, Topic, TopicKind, no_key, with_key,
};
use serde::{Deserialize, Serialize};
use support::{PATIENCE, joined, market_data, next, patient, quote, wire_id};
use tickwire_dds::{
    CycloneParticipant, MarketData, MarketDataEntry, Participant, Qos, Quote, ReceivedSample,
    Sample,
};

/// The members of the IDL structure, written by hand from the IDL file to be independent of the binding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PeerQuote {
    message_type: u16,
    sequence_number: u32,
    timestamp: u32,
    order_id: u32,
    volume: u32,
    price: u32,
    security_id: u16,
    exchange_id: u8,
    security_type: u8,
    session_id: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PeerMarketData {
    security_id: u32,
    appl_version_id: String,
    message_type: String,
    sender_comp_id: String,
    msg_seq_num: u32,
    sending_time: u32,
    trade_date: u32,
    md_entries: Vec<PeerEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PeerEntry {
    md_update_action: u32,
    md_price_level: u32,
    md_entry_type: String,
    open_close_settle_flag: u32,
    security_id_source: u32,
    security_id: u32,
    rpt_seq: u32,
    md_entry_px: f64,
    md_entry_time: u32,
    md_entry_size: i32,
    number_of_orders: u32,
    trading_session_id: String,
    net_chg_prev_day: f64,
    trade_volume: u32,
    trade_condition: String,
    tick_direction: String,
    quote_condition: String,
    aggressor_side: u32,
    match_event_indicator: String,
}

impl Keyed for PeerMarketData {
    type K = u32;

    fn key(&self) -> u32 {
        self.security_id
    }
}

impl From<&Quote> for PeerQuote {
    fn from(quote: &Quote) -> Self {
        Self {
            message_type: quote.message_type,
            sequence_number: quote.sequence_number,
            timestamp: quote.timestamp,
            order_id: quote.order_id,
            volume: quote.volume,
            price: quote.price,
            security_id: quote.security_id,
            exchange_id: quote.exchange_id,
            security_type: quote.security_type,
            session_id: quote.session_id,
        }
    }
}

impl From<&MarketData> for PeerMarketData {
    fn from(data: &MarketData) -> Self {
        Self {
            security_id: data.security_id,
            appl_version_id: data.appl_version_id.clone(),
            message_type: data.message_type.clone(),
            sender_comp_id: data.sender_comp_id.clone(),
            msg_seq_num: data.msg_seq_num,
            sending_time: data.sending_time,
            trade_date: data.trade_date,
            md_entries: data.md_entries.iter().map(PeerEntry::from).collect(),
        }
    }
}

impl From<&MarketDataEntry> for PeerEntry {
    fn from(entry: &MarketDataEntry) -> Self {
        Self {
            md_update_action: entry.md_update_action,
            md_price_level: entry.md_price_level,
            md_entry_type: entry.md_entry_type.clone(),
            open_close_settle_flag: entry.open_close_settle_flag,
            security_id_source: entry.security_id_source,
            security_id: entry.security_id,
            rpt_seq: entry.rpt_seq,
            md_entry_px: entry.md_entry_px,
            md_entry_time: entry.md_entry_time,
            md_entry_size: entry.md_entry_size,
            number_of_orders: entry.number_of_orders,
            trading_session_id: entry.trading_session_id.clone(),
            net_chg_prev_day: entry.net_chg_prev_day,
            trade_volume: entry.trade_volume,
            trade_condition: entry.trade_condition.clone(),
            tick_direction: entry.tick_direction.clone(),
            quote_condition: entry.quote_condition.clone(),
            aggressor_side: entry.aggressor_side,
            match_event_indicator: entry.match_event_indicator.clone(),
        }
    }
}

/// A [`PeerMarketData`] whose message type may be invalid text.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PeerBytes {
    security_id: u32,
    appl_version_id: String,
    /// CDR encodes a string as its length including a NUL, its bytes, and the NUL: the same as a sequence of bytes that
    /// ends in NUL.
    message_type: Vec<u8>,
    sender_comp_id: String,
    msg_seq_num: u32,
    sending_time: u32,
    trade_date: u32,
    md_entries: Vec<PeerEntry>,
}

impl Keyed for PeerBytes {
    type K = u32;

    fn key(&self) -> u32 {
        self.security_id
    }
}

impl PeerBytes {
    fn with_type(security_id: u32, message_type: &[u8]) -> Self {
        Self {
            security_id,
            appl_version_id: String::new(),
            message_type: message_type.to_vec(),
            sender_comp_id: String::new(),
            msg_seq_num: 0,
            sending_time: 0,
            trade_date: 0,
            md_entries: Vec::new(),
        }
    }
}

/// Creates a participant of each implementation, both on loopback only.
fn ours_and_theirs(test: u32) -> (CycloneParticipant, DomainParticipant) {
    let wire = wire_id(test);
    let theirs = DomainParticipantBuilder::new(u16::try_from(wire).unwrap())
        .with_only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)])
        .same_host_loopback(true)
        .build()
        .unwrap();
    (joined(test, wire), theirs)
}

fn our_qos() -> Qos {
    patient().keep_last(8).transient_local(8)
}

fn their_qos() -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(Reliability::Reliable { max_blocking_time: rustdds::Duration::ZERO })
        .durability(Durability::TransientLocal)
        .history(History::KeepLast { depth: 8 })
        .build()
}

/// Returns the QoS of a rustdds reader that keeps all samples.
fn keeping_all() -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(Reliability::Reliable { max_blocking_time: rustdds::Duration::ZERO })
        .durability(Durability::TransientLocal)
        .history(History::KeepAll)
        .build()
}

/// Returns a name of the topic that no other test has. rustdds matches writers of other domains: it does not read the
/// domain that a participant announces, so a datagram from another domain would make a test see the samples of
/// another test.
fn topic_name<S: Sample>(test: u32) -> String {
    format!("{}_{test}", S::TOPIC)
}

fn their_topic<S: Sample>(theirs: &DomainParticipant, test: u32, kind: TopicKind) -> Topic {
    theirs
        .create_topic(topic_name::<S>(test), S::struct_type().name.clone(), &their_qos(), kind)
        .unwrap()
}

/// Calls `take` until it returns something.
fn patiently<T>(mut take: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(taken) = take() {
            return taken;
        }
        assert!(started.elapsed() < PATIENCE, "nothing came");
        thread::yield_now();
    }
}

#[test]
fn the_peer_receives_our_quotes_with_the_same_values() {
    let (ours, theirs) = ours_and_theirs(0);
    let topic = their_topic::<Quote>(&theirs, 0, TopicKind::NoKey);
    let subscriber = theirs.create_subscriber(&their_qos()).unwrap();
    let mut reader: no_key::DataReader<PeerQuote, CDRDeserializerAdapter<PeerQuote>> =
        subscriber.create_datareader_no_key(&topic, None).unwrap();
    let mut writer = ours.writer::<Quote>(&topic_name::<Quote>(0), &our_qos()).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    for number in 1..=5 {
        writer.write(&quote(number)).unwrap();
    }
    for number in 1..=5 {
        let sample = patiently(|| reader.take_next_sample().unwrap());
        assert_eq!(*sample.value(), PeerQuote::from(&quote(number)));
    }
}

#[test]
fn we_receive_the_quotes_of_the_peer_with_the_same_values() {
    let (ours, theirs) = ours_and_theirs(1);
    let topic = their_topic::<Quote>(&theirs, 1, TopicKind::NoKey);
    let publisher = theirs.create_publisher(&their_qos()).unwrap();
    let writer: no_key::DataWriter<PeerQuote, CDRSerializerAdapter<PeerQuote>> =
        publisher.create_datawriter_no_key(&topic, None).unwrap();
    let mut reader = ours.reader::<Quote>(&topic_name::<Quote>(1), &our_qos()).unwrap();
    for number in 1..=5 {
        writer.write(PeerQuote::from(&quote(number)), None).unwrap();
    }
    for number in 1..=5 {
        assert_eq!(next(&mut reader), quote(number));
    }
}

#[test]
fn keyed_market_data_crosses_both_ways_with_the_same_values() {
    let (ours, theirs) = ours_and_theirs(2);
    let topic = their_topic::<MarketData>(&theirs, 2, TopicKind::WithKey);
    let subscriber = theirs.create_subscriber(&their_qos()).unwrap();
    let publisher = theirs.create_publisher(&their_qos()).unwrap();
    let mut their_reader: with_key::DataReader<
        PeerMarketData,
        CDRDeserializerAdapter<PeerMarketData>,
    > = subscriber.create_datareader(&topic, None).unwrap();

    let mut writer = ours.writer::<MarketData>(&topic_name::<MarketData>(2), &our_qos()).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    writer.write(&market_data(7, 3)).unwrap();
    let sample = patiently(|| their_reader.take_next_sample().unwrap());
    let PeerSample::Value(received) = sample.value() else {
        panic!("the peer saw an instance end");
    };
    assert_eq!(*received, PeerMarketData::from(&market_data(7, 3)));

    let their_writer: with_key::DataWriter<PeerMarketData, CDRSerializerAdapter<PeerMarketData>> =
        publisher.create_datawriter(&topic, None).unwrap();
    let mut reader = ours.reader::<MarketData>(&topic_name::<MarketData>(2), &our_qos()).unwrap();
    assert_eq!(next(&mut reader), market_data(7, 3), "our own last value comes first");
    their_writer.write(PeerMarketData::from(&market_data(8, 4)), None).unwrap();
    assert_eq!(next(&mut reader), market_data(8, 4));
}

#[test]
fn a_peer_that_comes_late_to_a_stream_has_the_last_values_and_all_that_follows() {
    const SECURITIES: u32 = 50;
    const PAST: u32 = 10_000;
    const LAST: u32 = 13_000;
    let (ours, theirs) = ours_and_theirs(5);
    let topic = their_topic::<MarketData>(&theirs, 5, TopicKind::WithKey);
    let subscriber = theirs.create_subscriber(&their_qos()).unwrap();
    let qos = patient().keep_last(1024).transient_local(1);
    let mut writer = ours.writer::<MarketData>(&topic_name::<MarketData>(5), &qos).unwrap();
    let early = joined(6, wire_id(5));
    let mut early = early.reader::<MarketData>(&topic_name::<MarketData>(5), &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());

    // The writer never pauses, so Cyclone never asks for acknowledgements itself, which it does in pauses only.
    let mut received = ReceivedSample::default();
    let mut write = |number: u32| {
        let sample = MarketData { msg_seq_num: number, ..market_data(number % SECURITIES, 1) };
        writer.write(&sample).unwrap();
        while early.take(&mut received).unwrap() {}
        thread::sleep(Duration::from_micros(100));
    };
    (0..PAST).for_each(&mut write);
    let mut late: with_key::DataReader<PeerMarketData, CDRDeserializerAdapter<PeerMarketData>> =
        subscriber.create_datareader(&topic, Some(keeping_all())).unwrap();
    let mut numbers = Vec::new();
    let mut take = || {
        let sample = late.take_next_sample().unwrap()?;
        if let PeerSample::Value(sample) = sample.value() {
            numbers.push(sample.msg_seq_num);
        }
        Some(numbers.last() == Some(&LAST))
    };
    let mut is_over = false;
    for number in PAST..=LAST {
        write(number);
        while let Some(is_last) = take() {
            is_over |= is_last;
        }
    }
    while !is_over {
        is_over = patiently(&mut take);
    }
    let past = numbers.iter().filter(|&&number| number < PAST).count();
    assert!(past <= SECURITIES as usize, "{past} samples of the past");
    let holes =
        numbers.windows(2).filter(|pair| pair[0] >= PAST + SECURITIES && pair[1] != pair[0] + 1);
    assert_eq!(holes.count(), 0, "some that followed are missing");
}

#[test]
fn a_string_that_is_not_utf8_is_dropped_and_counted() {
    let (ours, theirs) = ours_and_theirs(3);
    let topic = their_topic::<MarketData>(&theirs, 3, TopicKind::WithKey);
    let publisher = theirs.create_publisher(&their_qos()).unwrap();
    let writer: with_key::DataWriter<PeerBytes, CDRSerializerAdapter<PeerBytes>> =
        publisher.create_datawriter(&topic, None).unwrap();
    let mut reader = ours.reader::<MarketData>(&topic_name::<MarketData>(3), &our_qos()).unwrap();
    writer.write(PeerBytes::with_type(1, b"\xff\xfe\0"), None).unwrap();
    writer.write(PeerBytes::with_type(2, b"X\0"), None).unwrap();
    let received = next(&mut reader);
    assert_eq!((received.security_id, received.message_type.as_str()), (2, "X"));
    assert_eq!(reader.unreadable(), 1);
}

#[test]
fn a_string_without_its_nul_never_reaches_the_reader() {
    let (ours, theirs) = ours_and_theirs(4);
    let topic = their_topic::<MarketData>(&theirs, 4, TopicKind::WithKey);
    let publisher = theirs.create_publisher(&their_qos()).unwrap();
    let writer: with_key::DataWriter<PeerBytes, CDRSerializerAdapter<PeerBytes>> =
        publisher.create_datawriter(&topic, None).unwrap();
    let mut reader = ours.reader::<MarketData>(&topic_name::<MarketData>(4), &our_qos()).unwrap();
    writer.write(PeerBytes::with_type(1, b"XYZ"), None).unwrap();
    writer.write(PeerBytes::with_type(2, b"X\0"), None).unwrap();
    assert_eq!(next(&mut reader).security_id, 2);
}
