//! A loop over many sockets, and its timers.

mod support;

use std::sync::mpsc::{Receiver as Arrivals, Sender as Report, channel};
use std::thread;
use std::time::{Duration, Instant};

use support::endpoint;
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_net::Stop;
use tickwire_net::clock::monotonic_ns;
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions};
use tickwire_net::reception::{Reception, Wait};

const PATIENCE: Duration = Duration::from_secs(10);
const SOURCES: [FeedLine; 4] = [
    FeedLine::Incremental(Line::A),
    FeedLine::Incremental(Line::B),
    FeedLine::Snapshot(Line::A),
    FeedLine::Snapshot(Line::B),
];

/// Calls of a handler.
#[derive(Debug, PartialEq, Eq)]
enum Observed {
    Packet { channel: usize, source: FeedLine, bytes: Vec<u8> },
    Timeout { due_ns: u64, now_ns: u64 },
}

/// Reports its packets; sets a timer for each that begins with `t`.
struct Reporting {
    channel: usize,
    due_ns: Option<u64>,
}

const TIMER_NS: u64 = 3_000_000;

impl PacketHandler<Report<Observed>> for Reporting {
    fn handle_packet(
        &mut self,
        ns: u64,
        source: FeedLine,
        packet: &[u8],
        sink: &mut Report<Observed>,
    ) {
        if packet.starts_with(b"t") {
            self.due_ns = Some(ns + TIMER_NS);
        }
        let told = Observed::Packet { channel: self.channel, source, bytes: packet.to_vec() };
        sink.send(told).expect("the test listens");
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut Report<Observed>) {
        if let Some(due_ns) = self.due_ns.take_if(|due_ns| *due_ns <= now_ns) {
            sink.send(Observed::Timeout { due_ns, now_ns }).expect("the test listens");
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.due_ns
    }
}

/// A loop over `sockets` sockets, four per channel, on its own thread.
struct Running {
    ends: Vec<Endpoint>,
    arrivals: Arrivals<Observed>,
    stop: Stop,
    thread: thread::JoinHandle<()>,
}

impl Running {
    fn start(sockets: usize, wait: Wait) -> Self {
        let ends: Vec<Endpoint> = (0..sockets).map(|_| endpoint()).collect();
        let (sink, arrivals) = channel();
        let mut reception = Reception::new(wait).unwrap();
        for (index, ends) in ends.chunks(SOURCES.len()).enumerate() {
            let open = |end: &Endpoint| Receiver::open(*end, ReceiverOptions::default()).unwrap();
            let inputs: Vec<_> = SOURCES.into_iter().zip(ends.iter().map(open)).collect();
            let handler = Reporting { channel: index, due_ns: None };
            assert_eq!(reception.add_channel(handler, sink.clone(), inputs).unwrap(), index);
        }
        let stop = Stop::new();
        let stopped = stop.clone();
        let thread = thread::spawn(move || reception.run(&stopped, |_, _| {}).unwrap());
        Self { ends, arrivals, stop, thread }
    }

    fn sender(&self, socket: usize) -> Sender {
        Sender::open(self.ends[socket], SenderOptions::default()).unwrap()
    }

    fn finish(self) {
        self.stop.set();
        self.thread.join().unwrap();
    }
}

#[test]
fn a_packet_on_the_twentieth_socket_wakes_the_loop_at_once() {
    const PACKETS: u8 = 20;
    for wait in [Wait::Block, Wait::Spin] {
        let running = Running::start(20, wait);
        let sender = running.sender(19);
        let mut waited = Duration::ZERO;
        for number in 0..PACKETS {
            thread::sleep(Duration::from_millis(2));
            let sent = Instant::now();
            sender.send(&[number]).unwrap();
            let told = running.arrivals.recv_timeout(PATIENCE).unwrap();
            waited += sent.elapsed();
            let expected = Observed::Packet { channel: 4, source: SOURCES[3], bytes: vec![number] };
            assert_eq!(told, expected);
        }
        running.finish();
        // If each socket were checked every 50 ms, these would take a second.
        assert!(waited < Duration::from_millis(400), "{wait:?}: {waited:?}");
    }
}

#[test]
fn every_socket_of_every_channel_is_received() {
    for (sockets, wait) in [(3, Wait::Spin), (40, Wait::Block)] {
        let running = Running::start(sockets, wait);
        let mut expected = Vec::new();
        for index in 0..sockets {
            let sender = running.sender(index);
            (0..100_u8).for_each(|number| sender.send(&[number]).unwrap());
            let (channel, source) = (index / SOURCES.len(), SOURCES[index % SOURCES.len()]);
            expected.extend((0..100).map(|number| (channel, source, vec![number])));
        }
        let mut told = Vec::new();
        while told.len() < expected.len() {
            match running.arrivals.recv_timeout(PATIENCE).unwrap() {
                Observed::Packet { channel, source, bytes } => told.push((channel, source, bytes)),
                timeout @ Observed::Timeout { .. } => panic!("{timeout:?}"),
            }
        }
        // The sort is stable, so the packets of a socket stay in order.
        let order = |(channel, source, _): &(usize, FeedLine, Vec<u8>)| {
            (*channel, SOURCES.iter().position(|other| other == source))
        };
        told.sort_by_key(order);
        assert_eq!(told, expected);
        running.finish();
    }
}

#[test]
fn timers_are_due_on_time_while_the_loop_sleeps_and_while_others_are_busy() {
    let running = Running::start(20, Wait::Block);
    let [timed, busy] = [0, 19].map(|socket| running.sender(socket));
    let mut late_ns = Vec::new();
    for _ in 0..20 {
        timed.send(b"t").unwrap();
        busy.send(b"other").unwrap();
        loop {
            if let Observed::Timeout { due_ns, now_ns } =
                running.arrivals.recv_timeout(PATIENCE).unwrap()
            {
                assert!(now_ns >= due_ns);
                late_ns.push(monotonic_ns().saturating_sub(due_ns));
                break;
            }
        }
    }
    running.finish();
    late_ns.sort_unstable();
    // A single wait of 50 ms would make the median 47 ms.
    assert!(late_ns[10] < 20_000_000, "{late_ns:?}");
}
