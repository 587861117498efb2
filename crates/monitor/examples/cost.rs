//! What a monitor costs the thread that receives:
//! `cargo run --release -p tickwire-monitor --example cost -- RUNS [MESSAGES_PER_PACKET [SECONDS [RATE]]]`
//!
//! Lines A and B of a simulated feed, RATE (20,000) packets a second each, go over loopback sockets to the loop and handler of
//! `tickwire receive`. Four setups take turns: no monitor; a monitor that one client streams; a monitor that fifty clients stream,
//! of whom every fifth opens its stream and reads nothing; and as a control no monitor, but fifty threads that use as much CPU
//! time as the server and the fifty clients did, in as many pieces, and share nothing with the receiving thread. Prints the CPU
//! time of the receiving thread per packet (least of the runs, and ratios), and the CPU time of the rest of the process. Prints
//! the memory of the process too, after the first quarter of each run and at its end. Fails if it grows by more than 64 MiB in
//! between, or from the first round of setups to the last: slow clients would then be kept in memory.

use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Packets a second, on each line, unless another rate is given.
const RATE: u16 = 20_000;
/// Clients of the third setup, and threads of the control.
const CLIENTS: usize = 50;
/// Interval between two events of a stream.
const EVENT_INTERVAL: Duration = Duration::from_millis(100);
/// Of several clients every so many reads nothing.
const SLOW_EVERY: usize = 5;
/// Most memory that the process may gain in a run after its first quarter, and from the first round of runs to the last, in MiB.
const GROWTH_MIB_MAX: u64 = 64;
/// Instruments of the feed.
const SECURITIES: u32 = 5_000;

type Failure = Box<dyn Error + Send + Sync>;

/// Nanoseconds that this thread has run on a CPU.
fn thread_ns() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// CPU time of all threads of this process so far, in nanoseconds.
fn process_ns() -> Result<u64, Failure> {
    let tasks = std::fs::read_dir("/proc/self/task")?.flatten();
    let texts =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    Ok(texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum())
}

/// Resident memory of this process, in MiB.
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

/// Keeps packets for the monitor, as `receive` does.
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
    /// Packets a second, on each line.
    rate: u64,
}

impl Feed {
    /// A feed of so many seconds.
    fn new(messages_per_packet: usize, seconds: u64, rate: u64) -> Result<Self, Failure> {
        let options = Options {
            messages: rate * seconds * messages_per_packet as u64,
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
        Ok(Self { set, packets, rate })
    }
}

fn decoding(framing: Framing) -> DecoderOptions {
    DecoderOptions::default().reset(framing.reset_policy().into())
}

/// A monitor that so many clients stream.
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
        // Longer than a run, and than streams last.
        thread::sleep(Duration::from_secs(60));
    }
    let mut buffer = vec![0; 1 << 16];
    while stream.read(&mut buffer).is_ok_and(|len| len > 0) {}
}

/// Uses so much CPU time a second on many threads, as clients of streams do, until `is_over`. Each thread copies memory of its own.
fn burn(cpu_ns_per_second: u64, is_over: &Arc<AtomicBool>) {
    let piece_ns = cpu_ns_per_second * EVENT_INTERVAL.as_millis() as u64 / 1000 / CLIENTS as u64;
    for _ in 0..CLIENTS {
        let is_over = is_over.clone();
        thread::spawn(move || {
            let (from, mut to) = (vec![1_u8; 1 << 15], vec![0_u8; 1 << 15]);
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                while (begun.elapsed().as_nanos() as u64) < piece_ns {
                    to.copy_from_slice(black_box(&from));
                    black_box(&to);
                }
                thread::sleep(EVENT_INTERVAL);
            }
        });
    }
}

/// Sends the feed on both lines, evenly.
fn send(feed: &Feed, endpoints: [Endpoint; 2]) -> Result<(), Failure> {
    let options = SenderOptions::default();
    let senders = [Sender::open(endpoints[0], options)?, Sender::open(endpoints[1], options)?];
    let begun = Instant::now();
    for (index, packet) in feed.packets.iter().enumerate() {
        let due = Duration::from_nanos(index as u64 * 1_000_000_000 / feed.rate);
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

/// One run.
struct Spent {
    /// CPU time of the receiving thread for each packet, in nanoseconds.
    packet_ns: f64,
    /// CPU time of all other threads for each second, in nanoseconds.
    others_ns: u64,
    /// Packets received.
    packets: u64,
    /// Packets that the kernel dropped.
    dropped: u64,
    /// Messages decoded.
    messages: u64,
    /// Resident memory after a quarter of the packets and at the end, in MiB.
    resident_mib: [u64; 2],
}

/// What shares the process with the receiving thread.
#[derive(Clone, Copy)]
enum Setup {
    Alone,
    /// A monitor that so many clients stream.
    Monitored(usize),
    /// Threads that use so many nanoseconds of CPU time a second.
    Control(u64),
}

/// Receives the feed.
fn run(feed: &Feed, port: u16, setup: Setup) -> Result<Spent, Failure> {
    let is_over = Arc::new(AtomicBool::new(false));
    let clients = match setup {
        Setup::Alone => None,
        Setup::Monitored(clients) => Some(clients),
        Setup::Control(cpu_ns) => {
            burn(cpu_ns, &is_over);
            None
        }
    };
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
    // Of both lines together.
    let quarter = feed.packets.len() as u64 / 2;
    let mut resident = [0; 2];
    thread::scope(|scope| {
        let sending = scope.spawn(|| send(feed, endpoints));
        let (begun, begun_ns, process_begun_ns) = (Instant::now(), thread_ns()?, process_ns()?);
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
            let events =
                [("trade", 0), ("statistic", 0), ("status", 0), ("definition", 0), ("other", 0)];
            tap.publish(moment.now_ns, &Facts { sockets, view: channel.handler.0.view(), events });
        })?;
        let spent_ns = thread_ns()? - begun_ns;
        let others_ns = (process_ns()? - process_begun_ns).saturating_sub(spent_ns) as f64;
        is_over.store(true, Ordering::Relaxed);
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
        let others_ns = (others_ns / begun.elapsed().as_secs_f64()) as u64;
        Ok(Spent { packet_ns, others_ns, packets, dropped, messages, resident_mib: resident })
    })
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u16| arguments.next().map_or(Ok(default), |text| text.parse());
    let (runs, messages_per_packet, seconds, rate) =
        (number(10)?, number(1)?, number(3)?, number(RATE)?);
    let feed = Feed::new(messages_per_packet.into(), seconds.into(), rate.into())?;
    let names = ["no monitor", "one client", "50 clients", "control"];
    let mut least = [f64::INFINITY; 4];
    let mut first_round_mib = None;
    for turn in 0..runs {
        let mut others_ns = [0_u64; 4];
        for (at, name) in names.iter().enumerate() {
            let setup = match at {
                0 => Setup::Alone,
                1 => Setup::Monitored(1),
                2 => Setup::Monitored(CLIENTS),
                _ => Setup::Control(others_ns[2].saturating_sub(others_ns[0])),
            };
            let spent = run(&feed, 23_000 + turn * 8 + at as u16 * 2, setup)?;
            let Spent {
                packet_ns, packets, dropped, messages, resident_mib: [early, late], ..
            } = spent;
            println!(
                "{name}: {packet_ns:.0} ns a packet, {packets} packets and {dropped} dropped, {messages} messages; \
                 others {:.1} ms of CPU a second; {early} MiB after a quarter, {late} MiB at the end",
                spent.others_ns as f64 / 1e6,
            );
            if late > early + GROWTH_MIB_MAX {
                let text = format!("{name}: memory grew from {early} MiB to {late} MiB in a run");
                return Err(text.into());
            }
            others_ns[at] = spent.others_ns;
            least[at] = least[at].min(packet_ns);
        }
        let now_mib = resident_mib()?;
        let first_mib = *first_round_mib.get_or_insert(now_mib);
        if now_mib > first_mib + GROWTH_MIB_MAX {
            let text = format!("memory grew from {first_mib} MiB to {now_mib} MiB over the runs");
            return Err(text.into());
        }
    }
    for (at, name) in names.iter().enumerate() {
        println!(
            "{name}: least {:.0} ns a packet, {:.3} of that without",
            least[at],
            least[at] / least[0]
        );
    }
    Ok(())
}
