//! Measures what a monitor costs the receiving thread: `cargo run --release -p tickwire-monitor --example cost -- RUNS
//! [MESSAGES_PER_PACKET [SECONDS]]`
//!
//! Lines A and B of a simulated feed, 20,000 packets a second each, go over loopback sockets to the loop and handler of
//! `tickwire receive`. The runs alternate between no monitor, a monitor with one streaming client, and a monitor with
//! fifty. Of the fifty clients, every fifth opens its stream and reads nothing. The example prints the CPU time of the
//! receiving thread per packet (the least of the runs) and the ratios, and the memory of the process after the first
//! quarter of each run and at its end.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::{Gap, Line};
use tickwire_feed::framing::{Framing, Preset};
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, Handler, HandlerOptions, PacketHandler, SeqNumField, Sink, Source,
};
use tickwire_feed::market::{AdapterOptions, MarketDataAdapter, MarketEvent};
use tickwire_feed::recovery::Recovery;
use tickwire_host::Stop;
use tickwire_monitor::{
    ChannelDescription, Explaining, Facts, LineDescription, MessageTimes, Monitor, MonitorBuilder,
    SocketFacts, Tap,
};
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions};
use tickwire_net::reception::{Reception, Wait};
use tickwire_telemetry::http::HttpServer;
use tickwire_telemetry::metrics::{Distribution, Metrics};

/// Packets a second, on each line.
const RATE: u64 = 20_000;
/// Every so many clients, one reads nothing.
const SLOW_EVERY: usize = 5;
/// Instruments of the feed.
const SECURITIES: u32 = 5_000;

type Failure = Box<dyn Error + Send + Sync>;

/// Returns the CPU time of this thread in nanoseconds.
fn thread_ns() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// Returns the resident memory of this process in MiB.
fn resident_mib() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 =
        line.unwrap_or_default().trim().trim_end_matches(" kB").parse().map_err(|_| "no VmRSS")?;
    Ok(kib >> 10)
}

struct Tapped(Option<Tap>);

impl Sink<Message> for Tapped {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_gap(&mut self, gap: Gap) {
        if let Some(tap) = &mut self.0 {
            tap.gap(gap);
        }
    }

    fn handle_event(&mut self, _: &Delivery, event: &MarketEvent<'_>, _: &Recovery) {
        if let Some(tap) = &mut self.0 {
            tap.market(event);
        }
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        if let Some(tap) = &mut self.0 {
            tap.fault(fault);
        }
    }
}

type Books = Handler<Dynamic, MarketDataAdapter>;

/// Keeps copies of packets for the monitor, as `receive` does.
struct Kept(Books);

impl PacketHandler<Tapped> for Kept {
    fn handle_packet(
        &mut self,
        received_ns: u64,
        source: Source,
        packet: &[u8],
        sink: &mut Tapped,
    ) {
        if let Some(tap) = &mut sink.0 {
            tap.packet(received_ns, source, packet);
        }
        self.0.handle_packet(received_ns, source, packet, sink);
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut Tapped) {
        self.0.handle_timeout(now_ns, sink);
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.0.poll_timeout()
    }
}

struct Feed {
    set: TemplateSet,
    packets: Vec<Vec<u8>>,
}

impl Feed {
    /// Generates a feed that lasts `seconds`.
    fn new(messages_per_packet: usize, seconds: u64) -> Result<Self, Failure> {
        let options = Options {
            messages: RATE * seconds * messages_per_packet as u64,
            messages_per_packet_max: messages_per_packet,
            securities: SECURITIES,
            framing: Some(Preset::Cme.framing()),
            ..Options::cme(CmeShape::Average)
        };
        let set = TemplateSet::parse(options.feed.templates())?;
        let mut generator = Generator::new(&options)?;
        let mut packets = Vec::new();
        while let Some(packet) = generator.next_packet()? {
            packets.push(packet.bytes);
        }
        Ok(Self { set, packets })
    }
}

fn decoding(framing: Framing) -> DecoderOptions {
    DecoderOptions::default().reset(framing.reset_policy().into())
}

/// Starts a monitor whose stream `clients` clients read.
fn monitor(feed: &Feed, clients: usize) -> Result<(Tap, HttpServer, Monitor), Failure> {
    let framing = Preset::Cme.framing();
    let mut builder = MonitorBuilder::new("cost", "0");
    let line = |line| LineDescription {
        source: Source::Incremental(line),
        group: String::new(),
        delays: Distribution::default(),
    };
    let tap = builder.add_channel(ChannelDescription {
        name: "feed".to_owned(),
        epoch_ns: 0,
        silent_after_ns: 60_000_000_000,
        lines: Line::ALL.map(line).to_vec(),
        times: MessageTimes::default(),
        explaining: Some(Explaining::new(feed.set.clone(), decoding(framing), framing)?),
    });
    let monitor = builder.start()?;
    let routes = monitor.routes(None, Metrics::new().routes());
    let server = HttpServer::serve("0".parse()?, routes)?;
    for client in 0..clients {
        let (address, of) = (server.address(), if client % 2 == 0 { "state" } else { "books" });
        let is_slow = client % SLOW_EVERY == SLOW_EVERY - 1;
        thread::spawn(move || read_stream(address, of, is_slow));
    }
    Ok((tap, server, monitor))
}

/// Reads a stream until the server ends it; a slow client reads nothing of it.
fn read_stream(address: SocketAddr, of: &str, is_slow: bool) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let request = format!("GET /api/v1/stream?of={of} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if stream.write_all(request.as_bytes()).is_err() {
        return;
    }
    if is_slow {
        // Longer than a run, and longer than a stream lasts.
        thread::sleep(Duration::from_secs(60));
    }
    let mut buffer = vec![0; 1 << 16];
    while stream.read(&mut buffer).is_ok_and(|len| len > 0) {}
}

/// Sends the feed on both lines at an even pace.
fn send(feed: &Feed, endpoints: [Endpoint; 2]) -> Result<(), Failure> {
    let options = SenderOptions::default();
    let senders = [Sender::open(endpoints[0], options)?, Sender::open(endpoints[1], options)?];
    let begun = Instant::now();
    for (index, packet) in feed.packets.iter().enumerate() {
        let due = Duration::from_nanos(index as u64 * 1_000_000_000 / RATE);
        if let Some(left) = due.checked_sub(begun.elapsed())
            && left > Duration::from_micros(200)
        {
            thread::sleep(left);
        }
        senders[0].send(packet)?;
        senders[1].send(packet)?;
    }
    Ok(())
}

/// Results of one run.
struct Spent {
    /// CPU time of the receiving thread per packet, in nanoseconds.
    packet_ns: f64,
    /// Packets received.
    packets: u64,
    /// Packets that the kernel dropped.
    dropped: u64,
    /// Messages decoded.
    messages: u64,
    /// Resident memory after a quarter of the packets and at the end, in MiB.
    resident_mib: [u64; 2],
}

/// Receives the feed: with a monitor that `clients` clients stream, or without a monitor.
fn run(feed: &Feed, port: u16, clients: Option<usize>) -> Result<Spent, Failure> {
    let endpoints = [
        Endpoint::loopback(Ipv4Addr::new(239, 194, 7, 1), port),
        Endpoint::loopback(Ipv4Addr::new(239, 194, 7, 2), port + 1),
    ];
    let framing = Preset::Cme.framing();
    let program = Arc::new(Program::compile(feed.set.clone())?);
    let engine = || {
        Dynamic::new(
            Decoder::with_options(program.clone(), decoding(framing)),
            &SeqNumField::default(),
        )
    };
    let books = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let handler = Handler::new(HandlerOptions { framing, ..Default::default() }, engine, books)?;
    let monitor = clients.map(|clients| monitor(feed, clients)).transpose()?;
    let (tap, _served) = match monitor {
        Some((tap, server, monitor)) => (Some(tap), Some((server, monitor))),
        None => (None, None),
    };
    let open = |endpoint| Receiver::open(endpoint, ReceiverOptions::default());
    let inputs = Line::ALL
        .map(Source::Incremental)
        .into_iter()
        .zip([open(endpoints[0])?, open(endpoints[1])?]);
    let mut reception = Reception::new(Wait::Block)?;
    reception.add_channel(Kept(handler), Tapped(tap), inputs)?;
    let stop = Stop::new();
    // A quarter of the packets of both lines together.
    let quarter = feed.packets.len() as u64 / 2;
    let mut resident = [0; 2];
    thread::scope(|scope| {
        let sending = scope.spawn(|| send(feed, endpoints));
        let begun_ns = thread_ns()?;
        reception.run(&stop, |reception, moment| {
            let [channel] = reception.channels_mut() else { return };
            let received: u64 =
                channel.inputs().map(|(_, receiver)| receiver.counters().packets).sum();
            if resident[0] == 0 && received > quarter {
                resident[0] = resident_mib().unwrap_or(0);
            }
            let socket = |(source, receiver): (Source, &Receiver)| SocketFacts {
                source,
                packets: receiver.counters().packets,
                bytes: receiver.counters().bytes,
                dropped: receiver.counters().dropped_by_kernel,
                last_packet_ns: receiver.last_packet_ns(),
            };
            if sending.is_finished() && moment.is_idle {
                stop.set();
            }
            let is_due = channel.sink.0.as_ref().is_some_and(|tap| tap.is_due(moment.now_ns));
            if !is_due {
                return;
            }
            let sockets = channel.inputs().map(socket).collect();
            let Some(tap) = &mut channel.sink.0 else { return };
            tap.share_books(channel.handler.0.recovery_mut());
            let events =
                [("trade", 0), ("statistic", 0), ("status", 0), ("definition", 0), ("other", 0)];
            tap.publish(moment.now_ns, &Facts { sockets, view: channel.handler.0.view(), events });
        })?;
        let spent_ns = thread_ns()? - begun_ns;
        resident[1] = resident_mib()?;
        sending.join().map_err(|_| "the sender panicked")??;
        let [channel] = reception.channels() else { return Err("there is one channel".into()) };
        let counters = channel.inputs().map(|(_, receiver)| receiver.counters());
        let (packets, dropped) = counters.fold((0, 0), |(packets, dropped), of| {
            (packets + of.packets, dropped + of.dropped_by_kernel)
        });
        let messages = channel.handler.0.view().counters.messages.decoded;
        if messages == 0 {
            return Err("no message was decoded: the feed and its framing do not fit".into());
        }
        let packet_ns = spent_ns as f64 / packets as f64;
        Ok(Spent { packet_ns, packets, dropped, messages, resident_mib: resident })
    })
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u16| arguments.next().map_or(Ok(default), |text| text.parse());
    let (runs, messages_per_packet, seconds) = (number(10)?, number(1)?, number(3)?);
    let feed = Feed::new(messages_per_packet.into(), seconds.into())?;
    let setups = [("no monitor", None), ("one client", Some(1)), ("50 clients", Some(50))];
    let mut least = [f64::INFINITY; 3];
    for turn in 0..runs {
        for (at, (name, clients)) in setups.iter().enumerate() {
            let spent = run(&feed, 23_000 + turn * 6 + at as u16 * 2, *clients)?;
            let Spent { packet_ns, packets, dropped, messages, resident_mib: [early, late] } =
                spent;
            println!(
                "{name}: {packet_ns:.0} ns a packet, {packets} packets and {dropped} dropped, {messages} messages; \
                 {early} MiB after a quarter, {late} MiB at the end",
            );
            least[at] = least[at].min(packet_ns);
        }
    }
    for (at, (name, _)) in setups.iter().enumerate() {
        println!(
            "{name}: least {:.0} ns a packet, {:.3} of that without",
            least[at],
            least[at] / least[0]
        );
    }
    Ok(())
}
