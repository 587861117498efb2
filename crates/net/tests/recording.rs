//! Datagrams that are recorded during reception are read back as they arrived.

mod support;

use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;

use support::endpoint;
use tickwire_feed::arbiter::Line;
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_net::Stop;
use tickwire_net::clock::{SECOND_NS, monotonic_ns, unix_ns};
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions};
use tickwire_net::reception::{Reception, Wait};
use tickwire_net::record::RecordOptions;

const PACKETS: u32 = 3_000;

/// Packets of both channels in the order in which they were passed on.
type Observed = Vec<(usize, FeedLine, Vec<u8>)>;

struct Collecting {
    channel: usize,
    seen: Arc<Mutex<Observed>>,
}

impl PacketHandler<()> for Collecting {
    fn handle_packet(&mut self, _: u64, source: FeedLine, packet: &[u8], (): &mut ()) {
        self.seen.lock().unwrap().push((self.channel, source, packet.to_vec()));
    }

    fn handle_timeout(&mut self, _: u64, (): &mut ()) {}

    fn poll_timeout(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_record_holds_what_was_received_with_its_order_and_times() {
    let (recorded, seen) = record(false);
    assert_eq!(recorded, seen);
}

#[test]
fn a_record_from_packet_rings_holds_the_datagrams_of_each_line_in_order() {
    // Without the privilege for rings, this is a recording of the sockets, which must have the same
    // content.
    let (recorded, seen) = record(true);
    let of_line = |all: &Observed, channel, line| {
        let is_of = |(of, source, _): &&(usize, FeedLine, Vec<u8>)| {
            (*of, *source) == (channel, FeedLine::Incremental(line))
        };
        all.iter().filter(is_of).cloned().collect::<Observed>()
    };
    for channel in 0..2 {
        for line in Line::ALL {
            let of_line = |all| of_line(all, channel, line);
            assert_eq!(of_line(&recorded), of_line(&seen), "channel {channel}, line {line:?}");
        }
    }
}

/// Records two channels of two lines; returns the content of the files and the input of the
/// handlers.
fn record(from_rings: bool) -> (Observed, Observed) {
    let directory = std::env::temp_dir()
        .join(format!("tickwire-recording-{}-{from_rings}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    let ends: Vec<Endpoint> = (0..4).map(|_| endpoint()).collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut reception = Reception::new(Wait::Block).unwrap();
    for (channel, ends) in ends.chunks(2).enumerate() {
        let inputs = Line::ALL.into_iter().zip(ends).map(|(line, end)| {
            let receiver = Receiver::open(*end, ReceiverOptions::default()).unwrap();
            (FeedLine::Incremental(line), receiver)
        });
        let handler = Collecting { channel, seen: seen.clone() };
        reception.add_channel(handler, (), inputs.collect::<Vec<_>>()).unwrap();
    }
    let options =
        RecordOptions { rotate_bytes: 50_000, from_rings, ..RecordOptions::new(&directory) };
    reception.record(&options, |channel, source| format!("channel {channel} {source}")).unwrap();

    let begin_ns = unix_ns();
    let senders: Vec<_> =
        ends.iter().map(|end| Sender::open(*end, SenderOptions::default()).unwrap()).collect();
    let sending = thread::spawn(move || {
        for number in 0..PACKETS {
            senders[number as usize % 4].send(&number.to_be_bytes().repeat(5)).unwrap();
            if number % 50 == 0 {
                thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    });
    let (stop, deadline_ns) = (Stop::new(), monotonic_ns() + 30 * SECOND_NS);
    let stopper = stop.clone();
    let arrived = seen.clone();
    let observe = |_: &mut _, moment: tickwire_net::reception::LoopState| {
        let is_over = arrived.lock().unwrap().len() == PACKETS as usize;
        if is_over || moment.now_ns > deadline_ns {
            stopper.set();
        }
    };
    reception.run(&stop, observe).unwrap();
    sending.join().unwrap();
    let counters = reception.finish_recording().unwrap();
    let end_ns = unix_ns();
    assert_eq!((counters.recorded, counters.unrecorded), (u64::from(PACKETS), 0));

    let mut files: Vec<_> = fs::read_dir(&directory).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len() as u64, counters.files);
    assert!(files.len() > 2);
    let mut recorded = Vec::new();
    let mut times_ns = Vec::new();
    for file in &files {
        let bytes = fs::read(file).unwrap();
        let mut reader = CaptureReader::open(&bytes[..], CaptureOptions::new()).unwrap();
        while let Some(packet) = reader.next_packet().unwrap() {
            let destination = packet.destination.unwrap();
            let index = ends.iter().position(|end| destination == end.address().into()).unwrap();
            let source = FeedLine::Incremental(Line::ALL[index % 2]);
            recorded.push((index / 2, source, packet.bytes.to_vec()));
            times_ns.push(packet.timestamp_ns.unwrap());
        }
    }
    assert!(times_ns.iter().all(|ns| (begin_ns..=end_ns).contains(ns)));
    fs::remove_dir_all(directory).unwrap();
    let seen = seen.lock().unwrap().clone();
    (recorded, seen)
}
