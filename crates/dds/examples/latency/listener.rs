//! Round trips with listeners, which run on the middleware's thread.

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use tickwire_dds::{CycloneParticipant, Listener, Participant, Qos, Quote, Received};

use super::route::{Numbered, PATIENCE};
use super::{LOST_AFTER, Times, now_ns};

/// Echoes every quote until the process is stopped.
pub fn echo(participant: &CycloneParticipant, qos: &Qos) {
    let mut writer = participant.writer::<Quote>("back", qos).unwrap();
    let answer = move |received: &Received<Quote>| {
        if received.has_data {
            writer.write(&received.sample).unwrap();
        }
    };
    let _listener = participant.listen("there", qos, answer).unwrap();
    thread::sleep(PATIENCE);
}

/// Sends `warm_up + count` quotes, each after the previous one has returned, and records the times of the
/// last `count`.
pub fn round_trip(participant: &CycloneParticipant, qos: &Qos, warm_up: u32, count: u32) -> Times {
    let mut writer = participant.writer::<Quote>("there", qos).unwrap();
    let (sender, arrivals) = mpsc::channel();
    let arrive = move |received: &Received<Quote>| {
        if received.has_data {
            let way = (now_ns() - received.source_timestamp_ns).max(0) as u64;
            _ = sender.send((received.sample.number(), Instant::now(), way));
        }
    };
    let listener = participant.listen("back", qos, arrive).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap(), "the other process is missing");
    assert!(listener.wait_matched(1, PATIENCE).unwrap(), "the other process is missing");
    let mut times = Times::default();
    let mut quote = Quote::template();
    for number in 0..warm_up + count {
        quote.set_number(number);
        let sent = Instant::now();
        writer.write(&quote).unwrap();
        let arrival = loop {
            match arrivals.recv_timeout(LOST_AFTER) {
                Ok((arrived, at, way)) if arrived == number => break Some((at, way)),
                Ok(_) => {}
                Err(_) => break None,
            }
        };
        match arrival {
            Some((at, way)) if number >= warm_up => {
                times.halves.push((at - sent).as_nanos() as u64 / 2);
                times.ways.push(way);
            }
            Some(_) => {}
            None => times.lost += 1,
        }
    }
    times
}
