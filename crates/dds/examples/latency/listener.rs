//! Round trips with listeners, which run on the middleware's thread.

use std::mem;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Instant;

use tickwire_dds::{
    CycloneParticipant, CycloneWriter, Listener, Participant, Qos, Quote, ReceivedSample,
};

use super::route::{Numbered, PATIENCE};
use super::{LOST_AFTER, Times, now_ns};

/// Echoes every quote until the process is stopped.
pub fn echo(participant: &CycloneParticipant, qos: &Qos) {
    let mut writer = participant.writer::<Quote>("back", qos).unwrap();
    let answer = move |received: &ReceivedSample<Quote>| {
        if received.has_data {
            writer.write(&received.sample).unwrap();
        }
    };
    let _listener = participant.listen("there", qos, answer).unwrap();
    thread::sleep(PATIENCE);
}

/// Sends `warm_up + count` quotes and records the times of the last `count`. The listener sends each quote when the
/// previous one has returned, so no thread is woken but those that receive. Cyclone's example in C does the same.
pub fn round_trip(participant: &CycloneParticipant, qos: &Qos, warm_up: u32, count: u32) -> Times {
    let writer = participant.writer::<Quote>("there", qos).unwrap();
    let total = warm_up + count;
    let sender = Sender { writer, quote: Quote::template(), number: 0, sent: Instant::now() };
    let sender = Arc::new(Mutex::new(sender));
    let (done, finished) = mpsc::channel();
    let mut times = Times::default();
    let ping = Arc::clone(&sender);
    let arrive = move |received: &ReceivedSample<Quote>| {
        let mut sender = ping.lock().unwrap();
        let is_awaited = received.has_data && received.sample.number() == sender.number;
        if !is_awaited || sender.number == total {
            return;
        }
        if sender.number >= warm_up {
            times.halves.push(sender.sent.elapsed().as_nanos() as u64 / 2);
            times.ways.push((now_ns() - received.source_timestamp_ns).max(0) as u64);
        }
        sender.number += 1;
        match sender.number == total {
            true => done.send(mem::take(&mut times)).unwrap(),
            false => sender.send(),
        }
    };
    let listener = participant.listen("back", qos, arrive).unwrap();
    let is_matched = sender.lock().unwrap().writer.wait_matched(1, PATIENCE).unwrap()
        && listener.wait_matched(1, PATIENCE).unwrap();
    assert!(is_matched, "the other process is missing");
    let (mut last, mut lost) = (total, 0);
    loop {
        let mut sender = sender.lock().unwrap();
        // Send the first quote, and resend a quote that did not return.
        if sender.number == last || last == total {
            lost += u32::from(last != total);
            sender.send();
        }
        last = sender.number;
        drop(sender);
        if let Ok(times) = finished.recv_timeout(LOST_AFTER) {
            return Times { lost, ..times };
        }
    }
}

/// The quote in transit.
struct Sender {
    writer: CycloneWriter<Quote>,
    quote: Quote,
    number: u32,
    sent: Instant,
}

impl Sender {
    fn send(&mut self) {
        self.quote.set_number(self.number);
        self.sent = Instant::now();
        self.writer.write(&self.quote).unwrap();
    }
}
