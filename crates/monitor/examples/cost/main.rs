//! Measures the cost of a monitor for the receiving thread, as instructions or as time:
//!
//! ```text
//! cargo run --release -p tickwire-monitor --example cost -- instructions [MESSAGES_PER_PACKET]
//! cargo run --release -p tickwire-monitor --example cost -- [ROUNDS [MESSAGES_PER_PACKET [SECONDS [RATE [BURST [free]]]]]]
//! ```
//!
//! [`instructions`] counts instructions with valgrind; they hardly depend on the machine's load. The rest of this page is about time.
//!
//! Lines A and B of a simulated feed, RATE (20,000) packets a second each, go over loopback sockets
//! to the loop and handler of `tickwire receive`, which runs throughout with the same books. Four
//! setups take turns in each of ROUNDS (10) rounds, for SECONDS (2) each after a second to settle:
//! no monitor; a monitor with one streaming client; a monitor with fifty streaming clients, of
//! which every fifth reads nothing; and as a control no monitor, but fifty threads that use as much
//! CPU time as the server and the fifty clients did, in as many pieces, and share nothing with the
//! receiving thread.
//!
//! The receiving thread has a CPU of its own, as with `receive --cpu`; all other threads share another one, unless `free` is given.
//! Packets are sent in bursts of BURST (10) on each line: a sender that other threads delay then hardly changes how many packets the
//! receiving thread finds when it wakes, and so what a packet costs. That number is printed to show it.
//!
//! Prints the CPU time of the receiving thread per packet: for each setup the least and the median of the rounds, and both as ratios
//! to no monitor, and the part that publications took, which is measured directly. The ratio of medians is the median of the ratios within a
//! round. Prints the memory of the process too. Fails if publications take more than 1 % of a packet with one client or 3 % with fifty, or if
//! memory grows by more than 64 MiB within a turn or from the first round to the last: slow clients would then be kept in memory.

mod instructions;

use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet, TierUp};
use tickwire_feed::arbiter::{Gap, Line};
use tickwire_feed::framing::{Framing, Preset};
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerOptions, PacketHandler, SeqNumField, Sink,
};
use tickwire_feed::market::{AdapterOptions, MarketDataAdapter, MarketEvent};
use tickwire_feed::recovery::Recovery;
use tickwire_host::Stop;
use tickwire_host::affinity::pin_current_thread;
use tickwire_monitor::{
    ChannelDescription, ExplanationSettings, Facts, LineDescription, MessageTimes, Monitor,
    MonitorBuilder, SocketFacts, Tap,
};
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions};
use tickwire_net::reception::{Channel, LoopState, Reception, Wait};
use tickwire_telemetry::http::HttpServer;
use tickwire_telemetry::metrics::{Distribution, Metrics};

/// Clients of the third setup, and threads of the control.
const CLIENTS: usize = 50;
/// Interval between two events of a stream.
const EVENT_INTERVAL: Duration = Duration::from_millis(100);
/// One client in this many reads nothing.
const SLOW_EVERY: usize = 5;
/// Time before a turn is measured: names of instruments are handed over once, and streams begin.
const SETTLING: Duration = Duration::from_secs(1);
/// Longest time for the receiving thread to notice the next phase.
const PHASE_TIMEOUT: Duration = Duration::from_secs(5);
/// Most memory that the process may gain in a turn, and from the first round to the last, in MiB.
const GROWTH_MIB_MAX: u64 = 64;
/// Instruments of the feed.
const SECURITIES: u32 = 5_000;
/// CPU of the receiving thread.
const RECEIVING_CPU: usize = 1;
/// CPU of all other threads.
const OTHER_CPU: usize = 0;

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

/// The tap, and the time that its publications took, in nanoseconds.
struct Tapped {
    tap: Option<Tap>,
    publishing_ns: u64,
}

impl Sink<Message> for Tapped {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_gap(&mut self, gap: Gap) {
        if let Some(tap) = &mut self.tap {
            tap.gap(gap);
        }
    }

    fn handle_event(&mut self, _: &Delivery, event: &MarketEvent<'_>, _: &Recovery) {
        if let Some(tap) = &mut self.tap {
            tap.market(event);
        }
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        if let Some(tap) = &mut self.tap {
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
        source: FeedLine,
        packet: &[u8],
        sink: &mut Tapped,
    ) {
        if let Some(tap) = &mut sink.tap {
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

fn decoding(framing: Framing) -> DecoderOptions {
    // Otherwise machine code replaces the portable engine during some turn.
    DecoderOptions::default().reset(framing.reset_policy().into()).tier_up(TierUp::Eager)
}

/// Returns the handler of the feed.
fn handler(set: &TemplateSet) -> Result<Books, Failure> {
    let framing = Preset::Cme.framing();
    let program = Arc::new(Program::compile(set.clone())?);
    let engine = || {
        Dynamic::new(
            Decoder::with_options(program.clone(), decoding(framing)),
            &SeqNumField::default(),
        )
    };
    let books = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    Ok(Handler::new(HandlerOptions { framing, ..Default::default() }, engine, books)?)
}

/// Creates a monitor with this many streaming clients.
fn monitor(set: &TemplateSet, clients: usize) -> Result<(Tap, HttpServer, Monitor), Failure> {
    let framing = Preset::Cme.framing();
    let mut builder = MonitorBuilder::new("cost", "0");
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
        explaining: Some(ExplanationSettings::new(set.clone(), decoding(framing), framing)?),
    });
    let monitor = builder.start()?;
    let routes = monitor.routes(None, Metrics::new().routes());
    let server = HttpServer::serve("0".parse()?, routes)?;
    for client in 0..clients {
        let (address, of) = (server.address(), if client % 2 == 0 { "state" } else { "books" });
        let is_slow = client % SLOW_EVERY == SLOW_EVERY - 1;
        thread::spawn(move || read_streams(address, of, is_slow));
    }
    Ok((tap, server, monitor))
}

/// Bytes that clients have read.
static READ_BYTES: AtomicU64 = AtomicU64::new(0);

/// Reads streams, one after the other, until the server is gone; a slow client reads nothing of them.
fn read_streams(address: SocketAddr, of: &str, is_slow: bool) {
    let request = format!("GET /api/v1/stream?of={of} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut buffer = vec![0; 1 << 16];
    while let Ok(mut stream) = TcpStream::connect(address)
        && stream.write_all(request.as_bytes()).is_ok()
    {
        if is_slow {
            // Longer than streams last.
            thread::sleep(Duration::from_secs(60));
            continue;
        }
        while let Ok(len @ 1..) = stream.read(&mut buffer) {
            READ_BYTES.fetch_add(len as u64, Ordering::Relaxed);
        }
    }
}

/// Uses this much CPU time per second on many threads, like clients of streams, until `is_over`.
/// Each thread copies memory of its own.
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

/// Options of a measurement.
struct Plan {
    rounds: usize,
    messages_per_packet: usize,
    time: Duration,
    /// Packets a second, on each line.
    rate: u64,
    /// Packets that are sent together on each line.
    burst: usize,
    is_pinned: bool,
}

impl Plan {
    fn of_arguments() -> Result<Self, Failure> {
        let mut arguments = std::env::args().skip(1);
        let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
        let (rounds, messages_per_packet, seconds, rate, burst) =
            (number(10)?, number(1)?, number(2)?, number(20_000)?, number(10)?);
        if rounds == 0 || messages_per_packet == 0 || seconds == 0 || rate == 0 || burst == 0 {
            return Err("all numbers are from 1 on".into());
        }
        let is_pinned = match arguments.next().as_deref() {
            None => true,
            Some("free") => false,
            Some(other) => return Err(format!("'{other}' is not \"free\"").into()),
        };
        Ok(Self {
            rounds: rounds as usize,
            messages_per_packet: messages_per_packet as usize,
            time: Duration::from_secs(seconds),
            rate,
            burst: burst as usize,
            is_pinned,
        })
    }
}

/// Returns the options of the generated feed.
fn feed_options(messages_per_packet: usize) -> Options {
    Options {
        // As many messages as sequence numbers of 32 bits allow: more than are sent.
        messages: u64::from(u32::MAX) - 1,
        messages_per_packet_max: messages_per_packet,
        securities: SECURITIES,
        framing: Some(Preset::Cme.framing()),
        ..Options::cme(CmeShape::Average)
    }
}

/// The feed: generated for each turn, and sent on both lines.
struct Feed {
    set: TemplateSet,
    generator: Generator,
    senders: [Sender; 2],
    rate: u64,
    burst: usize,
}

impl Feed {
    fn new(plan: &Plan, endpoints: [Endpoint; 2]) -> Result<Self, Failure> {
        let options = feed_options(plan.messages_per_packet);
        let (rate, burst) = (plan.rate, plan.burst);
        let open = |endpoint| Sender::open(endpoint, SenderOptions::default());
        Ok(Self {
            set: TemplateSet::parse(options.feed.templates())?,
            generator: Generator::new(&options)?,
            senders: [open(endpoints[0])?, open(endpoints[1])?],
            rate,
            burst,
        })
    }

    /// Generates the packets of this span of time.
    fn packets(&mut self, time: Duration) -> Result<Vec<Vec<u8>>, Failure> {
        let count = (time.as_secs_f64() * self.rate as f64) as usize;
        let next = |_| {
            let packet = self.generator.next_packet()?.ok_or("the feed has ended")?;
            Ok(packet.bytes)
        };
        (0..count).map(next).collect()
    }

    /// Sends packets on both lines at the rate.
    fn send(&self, packets: &[Vec<u8>]) -> Result<(), Failure> {
        let begun = Instant::now();
        for (index, burst) in packets.chunks(self.burst).enumerate() {
            let due_ns = (index * self.burst) as u64 * 1_000_000_000 / self.rate;
            if let Some(left) = Duration::from_nanos(due_ns).checked_sub(begun.elapsed()) {
                thread::sleep(left);
            }
            for sender in &self.senders {
                burst.iter().try_for_each(|packet| sender.send(packet))?;
            }
        }
        Ok(())
    }
}

/// Next action of the receiving thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Phase {
    /// Use the tap that is there, if any.
    Begin,
    Measure,
    /// Report the time spent, and give the tap back.
    End,
}

/// Counts of the receiving thread.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    cpu_ns: u64,
    packets: u64,
    dropped: u64,
    messages: u64,
    /// Number of times that all packets that had arrived were processed.
    idle_moments: u64,
    /// Time that publications to the monitor took.
    publishing_ns: u64,
}

/// Connects the main thread and the receiving thread.
#[derive(Default)]
struct Shared {
    phase: AtomicU32,
    reached: AtomicU32,
    tap: Mutex<Option<Tap>>,
    readings: Mutex<Vec<Reading>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Begins the next phase and waits until the receiving thread has noticed.
    fn begin(&self, phase: Phase) -> Result<(), Failure> {
        let next = self.phase.load(Ordering::Relaxed) + 1;
        debug_assert_eq!((next - 1) % 3, phase as u32);
        self.phase.store(next, Ordering::Release);
        let end = Instant::now() + PHASE_TIMEOUT;
        while self.reached.load(Ordering::Acquire) != next {
            if Instant::now() > end {
                return Err("the receiving thread does not run".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Follows the main thread into the next phase, on the receiving thread.
    fn follow(&self, channel: &mut FeedChannel, idle_moments: u64) -> Result<(), Failure> {
        let phase = self.phase.load(Ordering::Acquire);
        if phase == self.reached.load(Ordering::Relaxed) {
            return Ok(());
        }
        match phase % 3 {
            1 => channel.sink.tap = locked(&self.tap).take(),
            2 => locked(&self.readings).push(reading(channel, idle_moments)?),
            _ => {
                locked(&self.readings).push(reading(channel, idle_moments)?);
                *locked(&self.tap) = channel.sink.tap.take();
            }
        }
        self.reached.store(phase, Ordering::Release);
        Ok(())
    }
}

type FeedChannel = Channel<Kept, Tapped>;

fn reading(channel: &FeedChannel, idle_moments: u64) -> Result<Reading, Failure> {
    let counters = channel.inputs().map(|(_, receiver)| receiver.counters());
    let (packets, dropped) = counters.fold((0, 0), |(packets, dropped), of| {
        (packets + of.packets, dropped + of.dropped_by_kernel)
    });
    let messages = channel.handler.0.view().counters.messages.decoded;
    let publishing_ns = channel.sink.publishing_ns;
    Ok(Reading { cpu_ns: thread_ns()?, packets, dropped, messages, idle_moments, publishing_ns })
}

/// Receives until `stop` is set, in the phases of `shared`.
fn receive(
    set: &TemplateSet,
    endpoints: [Endpoint; 2],
    is_pinned: bool,
    shared: &Shared,
    stop: &Stop,
) -> Result<(), Failure> {
    if is_pinned {
        pin_current_thread(RECEIVING_CPU)?;
    }
    let handler = handler(set)?;
    let open = |endpoint| Receiver::open(endpoint, ReceiverOptions::default());
    let inputs = Line::ALL
        .map(FeedLine::Incremental)
        .into_iter()
        .zip([open(endpoints[0])?, open(endpoints[1])?]);
    let mut reception = Reception::new(Wait::Block)?;
    reception.add_channel(Kept(handler), Tapped { tap: None, publishing_ns: 0 }, inputs)?;
    let mut idle_moments = 0;
    let mut failure = Ok(());
    reception.run(stop, |reception, moment| {
        let [channel] = reception.channels_mut() else { return };
        idle_moments += u64::from(moment.is_idle);
        if let Err(error) = shared.follow(channel, idle_moments) {
            failure = Err(error);
            stop.set();
        }
        publish(channel, moment);
    })?;
    failure
}

/// Counts of market events: the feed's are not counted here.
const NO_EVENTS: [(&str, u64); 5] =
    [("trade", 0), ("statistic", 0), ("status", 0), ("definition", 0), ("other", 0)];

/// Publishes to the monitor, if there is one, as `receive` does.
fn publish(channel: &mut FeedChannel, moment: LoopState) {
    if channel.sink.tap.as_ref().is_none_or(|tap| !tap.is_due(moment.now_ns)) {
        return;
    }
    let socket = |(source, receiver): (FeedLine, &Receiver)| SocketFacts {
        source,
        packets: receiver.counters().packets,
        bytes: receiver.counters().bytes,
        dropped: receiver.counters().dropped_by_kernel,
        last_packet_ns: receiver.last_packet_ns(),
    };
    let begun = Instant::now();
    let sockets = channel.inputs().map(socket).collect();
    let Some(tap) = &mut channel.sink.tap else { return };
    let view = channel.handler.0.view();
    tap.publish(moment.now_ns, &Facts { sockets, view, events: NO_EVENTS });
    channel.sink.publishing_ns += begun.elapsed().as_nanos() as u64;
}

/// The other threads of the process.
#[derive(Clone, Copy)]
enum Setup {
    Alone,
    /// A monitor with this many streaming clients.
    Monitored(usize),
    /// Threads that use this many nanoseconds of CPU time a second.
    Control(u64),
}

/// Costs of one turn.
struct Spent {
    /// CPU time of the receiving thread for each packet, in nanoseconds.
    packet_ns: f64,
    /// Part of it that publications to the monitor took.
    publishing_ns: f64,
    /// Packets that were there each time the receiving thread woke.
    packets_per_wait: f64,
    /// CPU time of all other threads for each second, in nanoseconds.
    others_ns: u64,
    packets: u64,
    dropped: u64,
    messages: u64,
    /// Resident memory before and after, in MiB.
    resident_mib: [u64; 2],
}

/// Measures one setup.
fn measure(
    feed: &mut Feed,
    shared: &Shared,
    setup: Setup,
    time: Duration,
) -> Result<Spent, Failure> {
    let (settling, packets) = (feed.packets(SETTLING)?, feed.packets(time)?);
    let is_over = Arc::new(AtomicBool::new(false));
    let mut served = None;
    match setup {
        Setup::Alone => {}
        Setup::Control(cpu_ns) => burn(cpu_ns, &is_over),
        Setup::Monitored(clients) => {
            let (tap, server, monitor) = monitor(&feed.set, clients)?;
            *locked(&shared.tap) = Some(tap);
            served = Some((server, monitor));
        }
    }
    shared.begin(Phase::Begin)?;
    feed.send(&settling)?;
    shared.begin(Phase::Measure)?;
    let (begun, process_begun_ns, early_mib) = (Instant::now(), process_ns()?, resident_mib()?);
    feed.send(&packets)?;
    let (process_ns, elapsed) = (process_ns()? - process_begun_ns, begun.elapsed());
    shared.begin(Phase::End)?;
    let late_mib = resident_mib()?;
    is_over.store(true, Ordering::Relaxed);
    drop((locked(&shared.tap).take(), served));
    let readings = std::mem::take(&mut *locked(&shared.readings));
    let [before, after] = readings[..] else { return Err("there are two readings".into()) };
    let (cpu_ns, packets) = (after.cpu_ns - before.cpu_ns, after.packets - before.packets);
    let messages = after.messages - before.messages;
    if messages == 0 {
        return Err("no message was decoded: the feed and its framing do not fit".into());
    }
    Ok(Spent {
        packet_ns: cpu_ns as f64 / packets as f64,
        publishing_ns: (after.publishing_ns - before.publishing_ns) as f64 / packets as f64,
        packets_per_wait: packets as f64 / (after.idle_moments - before.idle_moments) as f64,
        others_ns: (process_ns.saturating_sub(cpu_ns) as f64 / elapsed.as_secs_f64()) as u64,
        packets,
        dropped: after.dropped - before.dropped,
        messages,
        resident_mib: [early_mib, late_mib],
    })
}

const NAMES: [&str; 4] = ["no monitor", "one client", "50 clients", "control"];
/// Largest part of a packet's cost that each setup may add. Only that of publications is checked as time.
const COST_MAX: [f64; 4] = [0.0, 0.01, 0.03, 0.0];

/// Measures all setups in turns; returns the nanoseconds per packet of each setup, by round.
fn rounds(plan: &Plan, feed: &mut Feed, shared: &Shared) -> Result<[Vec<f64>; 4], Failure> {
    let mut spent_ns: [Vec<f64>; 4] = Default::default();
    let mut first_round_mib = None;
    let mut others_ns = [0_u64; 4];
    for round in 0..plan.rounds {
        // Each round begins with another setup; the control needs the CPU times of the others.
        for turn in 0..NAMES.len() {
            let at = if round == 0 { turn } else { (round + turn) % NAMES.len() };
            let setup = match at {
                0 => Setup::Alone,
                1 => Setup::Monitored(1),
                2 => Setup::Monitored(CLIENTS),
                _ => Setup::Control(others_ns[2].saturating_sub(others_ns[0])),
            };
            let spent = measure(feed, shared, setup, plan.time)?;
            let Spent {
                packet_ns,
                publishing_ns,
                packets_per_wait,
                packets,
                dropped,
                messages,
                ..
            } = spent;
            let (name, [early, late]) = (NAMES[at], spent.resident_mib);
            println!(
                "{name}: {packet_ns:.0} ns a packet, {publishing_ns:.1} of them to publish; {packets} packets, {packets_per_wait:.1} a wake, {dropped} dropped, \
                 {messages} messages; others {:.1} ms of CPU a second; {early} to {late} MiB",
                spent.others_ns as f64 / 1e6,
            );
            if late > early + GROWTH_MIB_MAX {
                let text = format!("{name}: memory grew from {early} MiB to {late} MiB in a turn");
                return Err(text.into());
            }
            if publishing_ns > COST_MAX[at] * packet_ns {
                let (part, most) = (publishing_ns / packet_ns * 100.0, COST_MAX[at] * 100.0);
                let text =
                    format!("{name}: publications took {part:.1} % of a packet, not {most} %");
                return Err(text.into());
            }
            others_ns[at] = spent.others_ns;
            spent_ns[at].push(packet_ns);
        }
        let now_mib = resident_mib()?;
        let first_mib = *first_round_mib.get_or_insert(now_mib);
        if now_mib > first_mib + GROWTH_MIB_MAX {
            let text = format!("memory grew from {first_mib} MiB to {now_mib} MiB over the rounds");
            return Err(text.into());
        }
    }
    Ok(spent_ns)
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(mode) = arguments.first().filter(|mode| mode.starts_with("instructions")) {
        return instructions::run(mode, &arguments[1..]);
    }
    let plan = Plan::of_arguments()?;
    if plan.is_pinned {
        // All threads but the receiving one inherit this.
        pin_current_thread(OTHER_CPU)?;
    }
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let line = |line: u16| {
        let group = Ipv4Addr::new(239, 194, high, low & !1 | line as u8);
        Endpoint::loopback(group, 23_000 + line)
    };
    let endpoints = [line(0), line(1)];
    let mut feed = Feed::new(&plan, endpoints)?;
    let (shared, stop, set) = (Shared::default(), Stop::new(), feed.set.clone());
    let spent_ns = thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&set, endpoints, plan.is_pinned, &shared, &stop));
        let measured = rounds(&plan, &mut feed, &shared);
        stop.set();
        receiving.join().map_err(|_| "the receiving thread panicked")??;
        measured
    })?;
    for (name, ns) in NAMES.iter().zip(&spent_ns) {
        let ratios = ns.iter().zip(&spent_ns[0]).map(|(ns, alone_ns)| ns / alone_ns).collect();
        println!(
            "{name}: least {:.0} ns a packet, {:+.1} %; median {:.0} ns, {:+.1} %",
            least(ns),
            (least(ns) / least(&spent_ns[0]) - 1.0) * 100.0,
            median(ns.clone()),
            (median(ratios) - 1.0) * 100.0,
        );
    }
    Ok(())
}
