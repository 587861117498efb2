//! Fifty clients stream a feed of 5,000 instruments: memory stays bounded, clients that read nothing do not delay
//! publications, and clients that read late get the newest state.
//!
//! 100,000 messages a second in a release build; fewer in a debug build, whose decoder is slower. On a busy machine half of the rate
//! is enough.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use socket2::{Domain, Socket, Type};
use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::{Gap, Line};
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerOptions, SeqNumField, Sink,
};
use tickwire_feed::market::{AdapterOptions, MarketDataAdapter, MarketEvent};
use tickwire_feed::recovery::Recovery;
use tickwire_host::clock::monotonic_ns;
use tickwire_monitor::{
    BusDescription, BusFacts, BusRole, ChannelDescription, ExplanationSettings, Facts,
    LineDescription, MessageTimes, MonitorBuilder, SocketFacts, Tap,
};
use tickwire_telemetry::http::HttpServer;
use tickwire_telemetry::metrics::{Distribution, Metrics};

const CLIENTS: usize = 50;
/// Clients that read nothing until the feed has ended.
const SLOW_CLIENTS: usize = 10;
/// Instruments of the feed, and how many of them it has named before clients connect. Some are
/// traded so rarely that it takes long until all are named.
const SECURITIES: u32 = 6_000;
const INSTRUMENTS: usize = 5_000;
const MESSAGES_PER_PACKET: usize = 5;
/// Messages a second.
const RATE: usize = if cfg!(debug_assertions) { 5_000 } else { 100_000 };
/// Time before memory is measured, and time of the measurement.
const SETTLING: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(if cfg!(debug_assertions) { 3 } else { 10 });
/// Interval between two bursts of packets.
const BURST: Duration = Duration::from_millis(2);
/// Longest publication. One that waited for a client that reads nothing would last until the feed has ended.
const PUBLICATION_MAX: Duration = Duration::from_millis(500);
/// Most memory that the process may gain while clients stream.
const GROWTH_MIB_MAX: u64 = 64;
/// Topics with long names make events so large that the buffers of a connection hold only a few of them.
const TOPICS: usize = 1_000;

/// Passes events to the monitor's tap.
struct LoadTap(Tap);

impl Sink<Message> for LoadTap {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_gap(&mut self, gap: Gap) {
        self.0.gap(gap);
    }

    fn handle_event(&mut self, _: &Delivery, event: &MarketEvent<'_>, _: &Recovery) {
        self.0.market(event);
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.0.fault(fault);
    }
}

/// A handler with books, fed on this thread, and the times of its publications.
struct LoadedFeed {
    generator: Generator,
    handler: Handler<Dynamic, MarketDataAdapter>,
    sink: LoadTap,
    packets: u64,
    publications: u32,
    /// Publications during which the thread waited.
    blocked: u32,
    longest: Duration,
}

impl LoadedFeed {
    fn new(builder: &mut MonitorBuilder) -> Self {
        let framing = Preset::Cme.framing();
        let options = Options {
            messages: u64::from(u32::MAX) - 1,
            messages_per_packet_max: MESSAGES_PER_PACKET,
            securities: SECURITIES,
            framing: Some(framing),
            ..Options::cme(CmeShape::Average)
        };
        let set = TemplateSet::parse(options.feed.templates()).unwrap();
        let program = Arc::new(Program::compile(set.clone()).unwrap());
        let decoding = DecoderOptions::default().reset(framing.reset_policy().into());
        let engine = || {
            Dynamic::new(Decoder::with_options(program.clone(), decoding), &SeqNumField::default())
        };
        let books = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
        let options_of_handler = HandlerOptions { framing, ..Default::default() };
        let handler = Handler::new(options_of_handler, engine, books).unwrap();
        let line = |line| LineDescription {
            source: FeedLine::Incremental(line),
            group: String::new(),
            delays: Distribution::default(),
        };
        let tap = builder.add_channel(ChannelDescription {
            name: "feed".to_owned(),
            epoch_ns: 0,
            silent_after_ns: 60_000_000_000,
            lines: Line::ALL.map(line).to_vec(),
            times: MessageTimes::default(),
            explaining: Some(ExplanationSettings::new(set, decoding, framing).unwrap()),
        });
        Self {
            generator: Generator::new(&options).unwrap(),
            handler,
            sink: LoadTap(tap),
            packets: 0,
            publications: 0,
            blocked: 0,
            longest: Duration::ZERO,
        }
    }

    fn generate(&mut self, packets: usize) -> Vec<Vec<u8>> {
        (0..packets).map(|_| self.generator.next_packet().unwrap().unwrap().bytes).collect()
    }

    fn instruments(&self) -> usize {
        self.handler.view().recovery.instruments().iter().count()
    }

    fn messages(&self) -> u64 {
        self.handler.view().counters.messages.decoded
    }

    /// Receives a packet on both lines, and publishes if it is time.
    fn receive(&mut self, packet: &[u8]) {
        for line in Line::ALL.map(FeedLine::Incremental) {
            let now_ns = monotonic_ns();
            self.sink.0.packet(now_ns, line, packet);
            self.handler.handle_packet(now_ns, line, packet, &mut self.sink);
        }
        self.packets += 1;
        if self.sink.0.is_due(monotonic_ns()) {
            self.publish();
        }
    }

    fn publish(&mut self) {
        let socket = |line| SocketFacts {
            source: FeedLine::Incremental(line),
            packets: self.packets,
            bytes: 300 * self.packets,
            dropped: 0,
            last_packet_ns: monotonic_ns(),
        };
        let events =
            [("trade", 0), ("statistic", 0), ("status", 0), ("definition", 0), ("other", 0)];
        let sockets = Line::ALL.map(socket).to_vec();
        let (waits, begun) = (waits(), Instant::now());
        let facts = Facts { sockets, view: self.handler.view(), events };
        self.sink.0.publish(monotonic_ns(), &facts);
        self.longest = self.longest.max(begun.elapsed());
        self.blocked += u32::from(self::waits() > waits);
        self.publications += 1;
    }

    /// Receives packets at the rate; returns how long that took.
    fn receive_at_rate(&mut self, packets: &[Vec<u8>]) -> Duration {
        let per_second = (RATE / MESSAGES_PER_PACKET) as f64;
        let burst = (per_second * BURST.as_secs_f64()) as usize;
        let begun = Instant::now();
        for (index, burst) in packets.chunks(burst).enumerate() {
            if let Some(left) = (BURST * index as u32).checked_sub(begun.elapsed()) {
                thread::sleep(left);
            }
            burst.iter().for_each(|packet| self.receive(packet));
        }
        begun.elapsed()
    }
}

/// Returns how often this thread has blocked and so given up its CPU.
fn waits() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// Resident memory of this process, in MiB.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

/// Opens a stream; a client that will read late has the smallest receive buffer that the kernel allows.
fn open(address: SocketAddr, of: &str, is_slow: bool) -> BufReader<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if is_slow {
        socket.set_recv_buffer_size(1).unwrap();
    }
    socket.connect(&address.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET /api/v1/stream?of={of} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    BufReader::new(stream)
}

/// Returns the data of the next event.
fn next_event(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the stream has ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return data.to_owned();
        }
    }
}

/// Reads states until one has `wanted` messages; returns the number of events.
fn read_until(reader: &mut impl BufRead, wanted: u64) -> usize {
    for events in 1.. {
        let state: Value = serde_json::from_str(&next_event(reader)).unwrap();
        if state["channels"][0]["messages"] == wanted {
            return events;
        }
    }
    unreachable!("events have no end")
}

/// Counts the events of a stream until the server ends it.
fn count(mut reader: BufReader<TcpStream>) -> JoinHandle<usize> {
    thread::spawn(move || {
        let (mut line, mut events) = (String::new(), 0);
        while reader.read_line(&mut line).is_ok_and(|len| len > 0) {
            events += usize::from(line.starts_with("data: "));
            line.clear();
        }
        events
    })
}

#[test]
fn fifty_clients_cost_bounded_memory_and_hold_up_no_publication() {
    let mut builder = MonitorBuilder::new("load", "0");
    let mut feed = LoadedFeed::new(&mut builder);
    let topics = (0..TOPICS).map(|number| format!("{number:0150}")).collect();
    let bus = builder.set_bus(BusDescription {
        role: BusRole::Publisher,
        transport: "shm".to_owned(),
        topics,
    });
    let monitor = builder.start().unwrap();
    let routes = monitor.routes(None, Metrics::new().routes());
    let server = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    let address = server.address();
    bus.publish(monotonic_ns(), BusFacts::default());

    while feed.instruments() < INSTRUMENTS {
        for packet in feed.generate(100) {
            feed.receive(&packet);
        }
    }
    let per_second = RATE / MESSAGES_PER_PACKET;
    let settling = feed.generate(per_second * SETTLING.as_secs() as usize);
    let measured = feed.generate(per_second * MEASURED.as_secs() as usize);
    let quick: Vec<_> = (SLOW_CLIENTS..CLIENTS)
        .map(|client| {
            let of = if client % 2 == 0 { "state" } else { "books&limit=200&watch=0,1,2,3" };
            count(open(address, of, false))
        })
        .collect();
    let mut slow: Vec<_> = (0..SLOW_CLIENTS).map(|_| open(address, "state", true)).collect();
    feed.receive_at_rate(&settling);
    let early_mib = resident_mib();
    (feed.publications, feed.blocked, feed.longest) = (0, 0, Duration::ZERO);
    let messages_before = feed.messages();
    let took = feed.receive_at_rate(&measured);
    let late_mib = resident_mib();

    let rate = (feed.messages() - messages_before) as f64 / took.as_secs_f64();
    println!(
        "{rate:.0} messages/s, {} publications, {} of them waited, longest {:?}; {early_mib} to {late_mib} MiB",
        feed.publications, feed.blocked, feed.longest
    );
    assert!(
        rate > RATE as f64 / 2.0,
        "{rate:.0} messages/s: the machine is too busy for this test"
    );
    assert!(late_mib < early_mib + GROWTH_MIB_MAX, "{early_mib} MiB grew to {late_mib} MiB");
    assert!(feed.publications >= 10, "{} publications", feed.publications);
    assert!(feed.longest < PUBLICATION_MAX, "a publication took {:?}", feed.longest);
    // A publication may occasionally wait for the lock of the memory allocator.
    let (blocked, publications) = (feed.blocked, feed.publications);
    assert!(blocked * 5 <= publications, "{blocked} of {publications} publications waited");

    // Clients that read now get the events that the connection has buffered and then the newest state, without the
    // states between.
    feed.publish();
    let newest = feed.messages();
    let late: Vec<usize> = slow.iter_mut().map(|reader| read_until(reader, newest)).collect();
    let mut fresh = open(address, "state", false);
    read_until(&mut fresh, newest);
    let list: Value =
        serde_json::from_str(&next_event(&mut open(address, "books", false))).unwrap();
    assert!(list["instruments"].as_u64() >= Some(INSTRUMENTS as u64), "{}", list["instruments"]);
    drop((server, monitor));
    let events: Vec<usize> = quick.into_iter().map(|client| client.join().unwrap()).collect();
    println!("events of clients that read at once: {events:?}; of those that read late: {late:?}");
    // Every second client streams states. On a busy machine these get fewer events. Clients that read late get at
    // most the events that the buffers of a connection hold.
    let least = events.iter().copied().step_by(2).min().unwrap();
    assert!(
        late.iter().all(|late| 3 * late < 2 * least),
        "late clients got {late:?} events, others {least} or more"
    );
}
