//! Routes between two processes, in both directions.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use tickwire_dds::{
    CycloneParticipant, CycloneReader, CycloneWriter, MarketData, MarketDataEntry, Participant,
    Qos, Quote, ReaderWaitSet, ReceivedSample, Sample, WaitSet, security_topic,
};

/// Longest wait for the other process.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Interval at which a blocking socket checks whether its timeout has passed.
const TICK: Duration = Duration::from_millis(50);

/// Number of securities, and of topics if each security has its own.
pub const SECURITIES: u32 = 100;

/// A number that was received.
pub struct Arrival {
    pub number: u32,
    /// Time of writing by the sender's clock; `None` if the route does not report it.
    pub sent_ns: Option<i64>,
}

pub trait Route {
    fn send(&mut self, number: u32);
    /// Waits for the next number; `None` if `timeout` passed first.
    fn receive(&mut self, timeout: Duration) -> Option<Arrival>;
}

/// A sample that carries the number.
pub trait Numbered: Sample {
    fn template() -> Self;
    fn set_number(&mut self, number: u32);
    fn number(&self) -> u32;
}

impl Numbered for Quote {
    fn template() -> Self {
        Quote { message_type: 11, price: 12_345, exchange_id: b'N', ..Quote::default() }
    }

    fn set_number(&mut self, number: u32) {
        self.sequence_number = number;
    }

    fn number(&self) -> u32 {
        self.sequence_number
    }
}

impl Numbered for MarketData {
    fn template() -> Self {
        let entry = MarketDataEntry {
            md_entry_type: "0".to_owned(),
            md_entry_px: 133_310.0,
            trading_session_id: "2".to_owned(),
            match_event_indicator: "1".to_owned(),
            ..MarketDataEntry::default()
        };
        MarketData {
            appl_version_id: "1.0".to_owned(),
            message_type: "X".to_owned(),
            sender_comp_id: "Test Exchange".to_owned(),
            md_entries: vec![entry; 2],
            ..MarketData::default()
        }
    }

    fn set_number(&mut self, number: u32) {
        self.security_id = number % SECURITIES;
        self.msg_seq_num = number;
    }

    fn number(&self) -> u32 {
        self.msg_seq_num
    }
}

/// One topic in each direction.
pub struct OneTopic<S: Sample> {
    writer: CycloneWriter<S>,
    reader: CycloneReader<S>,
    sample: S,
    received: ReceivedSample<S>,
    polling: bool,
}

impl<S: Numbered> OneTopic<S> {
    pub fn new(
        participant: &CycloneParticipant,
        [out, back]: [&str; 2],
        qos: &Qos,
        polling: bool,
    ) -> Self {
        let writer = participant.writer(out, qos).unwrap();
        let reader = participant.reader::<S>(back, qos).unwrap();
        assert!(writer.wait_matched(1, PATIENCE).unwrap(), "the other process is missing");
        assert!(reader.wait_matched(1, PATIENCE).unwrap(), "the other process is missing");
        Self { writer, reader, sample: S::template(), received: ReceivedSample::default(), polling }
    }

    pub fn flush(&mut self) {
        self.writer.flush().unwrap();
    }
}

impl<S: Numbered> Route for OneTopic<S> {
    fn send(&mut self, number: u32) {
        self.sample.set_number(number);
        self.writer.write(&self.sample).unwrap();
    }

    fn receive(&mut self, timeout: Duration) -> Option<Arrival> {
        let started = Instant::now();
        while !(self.reader.take(&mut self.received).unwrap() && self.received.has_data) {
            let left = timeout.checked_sub(started.elapsed())?;
            if !self.polling {
                self.reader.wait(left).unwrap();
            }
        }
        Some(arrival(&self.received))
    }
}

fn arrival<S: Numbered>(received: &ReceivedSample<S>) -> Arrival {
    Arrival { number: received.sample.number(), sent_ns: Some(received.source_timestamp_ns) }
}

/// One topic per security in each direction.
pub struct TopicPerSecurity {
    writers: Vec<CycloneWriter<MarketData>>,
    readers: Vec<CycloneReader<MarketData>>,
    wait_set: ReaderWaitSet,
    ready: Vec<usize>,
    sample: MarketData,
    received: ReceivedSample<MarketData>,
}

impl TopicPerSecurity {
    pub fn new(participant: &CycloneParticipant, [out, back]: [&str; 2], qos: &Qos) -> Self {
        let mut wait_set = participant.wait_set().unwrap();
        let mut writers: Vec<CycloneWriter<MarketData>> = Vec::new();
        let mut readers: Vec<CycloneReader<MarketData>> = Vec::new();
        for security in 0..SECURITIES {
            let topic = security_topic::<MarketData>(security);
            writers.push(participant.writer(&format!("{topic}/{out}"), qos).unwrap());
            let reader = participant.reader(&format!("{topic}/{back}"), qos).unwrap();
            wait_set.attach(reader.raw()).unwrap();
            readers.push(reader);
        }
        for (writer, reader) in writers.iter().zip(&readers) {
            assert!(writer.wait_matched(1, PATIENCE).unwrap(), "the other process is missing");
            assert!(reader.wait_matched(1, PATIENCE).unwrap(), "the other process is missing");
        }
        let ready = Vec::new();
        let sample = MarketData::template();
        Self { writers, readers, wait_set, ready, sample, received: ReceivedSample::default() }
    }
}

impl Route for TopicPerSecurity {
    fn send(&mut self, number: u32) {
        self.sample.set_number(number);
        let index = self.sample.security_id as usize;
        self.writers[index].write(&self.sample).unwrap();
    }

    fn receive(&mut self, timeout: Duration) -> Option<Arrival> {
        loop {
            self.wait_set.wait(&mut self.ready, timeout).unwrap();
            if self.ready.is_empty() {
                return None;
            }
            for &index in &self.ready {
                let reader = &mut self.readers[index];
                if reader.take(&mut self.received).unwrap() && self.received.has_data {
                    return Some(arrival(&self.received));
                }
            }
        }
    }
}

/// Plain UDP datagrams of the size of a quote, for comparison.
pub struct Datagrams {
    socket: UdpSocket,
}

impl Datagrams {
    pub fn new(socket: UdpSocket, polling: bool) -> Self {
        socket.set_nonblocking(polling).unwrap();
        if !polling {
            socket.set_read_timeout(Some(TICK)).unwrap();
        }
        Self { socket }
    }
}

impl Route for Datagrams {
    fn send(&mut self, number: u32) {
        let mut datagram = [0; size_of::<Quote>()];
        datagram[..4].copy_from_slice(&number.to_le_bytes());
        self.socket.send(&datagram).unwrap();
    }

    fn receive(&mut self, timeout: Duration) -> Option<Arrival> {
        let mut datagram = [0; size_of::<Quote>()];
        let started = Instant::now();
        loop {
            match self.socket.recv(&mut datagram) {
                Ok(_) => break,
                Err(e) if e.kind() == ErrorKind::WouldBlock && started.elapsed() < timeout => {}
                Err(_) => return None,
            }
        }
        let [a, b, c, d, ..] = datagram;
        Some(Arrival { number: u32::from_le_bytes([a, b, c, d]), sent_ns: None })
    }
}
