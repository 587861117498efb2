//! Benchmarks of the whole path over shared memory: `cargo bench -p tickwire-shm-transport -- [decode] [datagram]`.
//!
//! `decode`: nanoseconds to decode a message of the Simple feed, fill a sample and publish it, without and with machine
//! code and last values. `datagram`: time from
//! the kernel's timestamp of a datagram until a subscriber has the sample, including the decoding; in turns with a floor
//! ([`bare`]) without decoding.

mod bare;
#[path = "../../../shm/benches/broadcast/bare_ring.rs"]
mod bare_ring;

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tickwire_distribution::fill::{FilledSamples, FilledTopics, SampleFiller};
use tickwire_distribution::{
    DeliverySettings, Participant, Publisher, Quote, RawReader, ReceivedSample, SampleReader,
    TopicSet,
};
use tickwire_exchange::{Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Program, ResetPolicy, TierUp};
use tickwire_host::affinity::pin_current_thread;
use tickwire_host::clock::KernelTimes;
use tickwire_host::idle_setting;
use tickwire_net::multicast::{
    Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions, wait_readable,
};
use tickwire_shm::ReaderWait;
use tickwire_shm_transport::{ShmConfig, ShmParticipant, ShmRawReader};

/// Number of messages of the feed.
const MESSAGES: u64 = 20_000;
/// Number of runs; the fastest one counts.
const TURNS: usize = 9;
/// Time between two datagrams: 16,000 datagrams a second.
const GAP: Duration = Duration::from_nanos(62_500);

fn main() {
    let named: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|word| word == name);
    if is_wanted("decode") {
        decode();
    }
    if is_wanted("datagram") {
        datagrams();
    }
}

/// Turns of each case of `datagram`; the least median counts.
const DATAGRAM_TURNS: usize = 3;

/// Measures each way of waiting and, for subscribers that spin, also the baseline.
fn datagrams() {
    let (heading, feed) = ("datagram (kernel stamp) to subscriber, 16,000/s", Feed::new(1));
    println!("\nidle CPUs: {}", idle_setting());
    println!("{heading:<52}{:>8} {:>9} {:>7}", "p50 us", "p99 us", "lost");
    for (name, receiver_spins, subscriber_spins) in [
        ("receiver and subscriber spin", true, true),
        ("receiver blocks, subscriber spins", false, true),
        ("both block (sender sleeps between datagrams)", false, false),
    ] {
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..DATAGRAM_TURNS {
            if subscriber_spins {
                let (times, lost) = bare::datagrams(&feed.packets, endpoint(), receiver_spins);
                floors.push(Figures::of(times, lost));
            }
            ours.push(datagram(&feed, Waiting { receiver_spins, subscriber_spins }));
        }
        let floor = floors.into_iter().min_by(|one, other| one.p50_us.total_cmp(&other.p50_us));
        let ours = ours.into_iter().min_by(|one, other| one.p50_us.total_cmp(&other.p50_us));
        let ours = ours.expect("turns");
        if let Some(floor) = &floor {
            floor.print(&format!("{name}: floor"));
        }
        ours.print(name);
        if let Some(floor) = floor {
            println!("{:<52}{:>8.2}", "times the floor", ours.p50_us / floor.p50_us);
        }
    }
}

/// Figures of one run.
struct Figures {
    p50_us: f64,
    p99_us: f64,
    lost: u64,
}

impl Figures {
    fn of(mut times: Vec<u64>, lost: u64) -> Self {
        times.sort_unstable();
        let quantile = |of: f64| times[(times.len() as f64 * of) as usize] as f64 / 1e3;
        Self { p50_us: quantile(0.5), p99_us: quantile(0.99), lost }
    }

    fn print(&self, name: &str) {
        println!("{name:<52}{:>8.2} {:>9.2} {:>7}", self.p50_us, self.p99_us, self.lost);
    }
}

/// Returns the group of this process.
fn endpoint() -> Endpoint {
    let group = Ipv4Addr::new(239, 255, 77, (std::process::id() % 250) as u8);
    Endpoint::loopback(group, 24_777)
}

/// A directory of its own for each run.
struct Scene(PathBuf);

impl Scene {
    fn new() -> Self {
        Self(PathBuf::from(format!("/dev/shm/tickwire-bench-{}", std::process::id())))
    }

    fn join(&self, wait: ReaderWait) -> ShmParticipant {
        ShmParticipant::join(ShmConfig { wait, ..ShmConfig::in_directory(&self.0) })
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Feed {
    program: Arc<Program>,
    packets: Vec<Vec<u8>>,
}

impl Feed {
    fn new(messages_per_packet_max: usize) -> Self {
        let options = Options { messages: MESSAGES, messages_per_packet_max, ..Options::simple() };
        let generator = Generator::new(&options).expect("options of a feed");
        let program = generator.program().clone();
        Self { program, packets: generator.map(|packet| packet.expect("a packet").bytes).collect() }
    }

    fn codecs(&self, tier_up: TierUp) -> (Decoder, SampleFiller) {
        let options = DecoderOptions::default().reset(ResetPolicy::Packet).tier_up(tier_up);
        let filler = SampleFiller::bind(&self.program).expect("templates of the samples");
        (Decoder::with_options(self.program.clone(), options), filler)
    }
}

/// Decodes a packet and passes its samples to `take`.
fn each(
    packet: &[u8],
    decoder: &mut Decoder,
    filler: &mut SampleFiller,
    mut take: impl FnMut(FilledSamples<'_>),
) {
    decoder.begin_packet();
    let mut rest = packet;
    while !rest.is_empty() {
        let decoded = decoder.decode(rest).expect("a message");
        take(filler.fill(decoded.message).expect("a sample"));
        rest = &rest[decoded.len..];
    }
}

/// Returns the nanoseconds a message of the fastest run.
fn least(mut turn: impl FnMut()) -> f64 {
    let timed = (0..TURNS).map(|_| {
        let begun = Instant::now();
        turn();
        begun.elapsed().as_nanos() as f64 / MESSAGES as f64
    });
    timed.fold(f64::INFINITY, f64::min)
}

/// Measures decoding with each engine, and publishing without and with last values, which publishers keep by default.
fn decode() {
    pin(1);
    let feed = Feed::new(1024);
    println!("\nSimple, ns a message (least of {TURNS} turns)");
    for (engine, tier_up) in [("no machine code", TierUp::Off), ("machine code", TierUp::Eager)] {
        println!("{engine}:");
        let (mut decoder, mut filler) = feed.codecs(tier_up);
        let alone = least(|| {
            for packet in &feed.packets {
                decoder.begin_packet();
                let mut rest = &packet[..];
                while !rest.is_empty() {
                    rest = &rest[black_box(decoder.decode(rest).expect("a message")).len..];
                }
            }
        });
        println!("{:<64}{alone:>8.1}", "  decoded");
        let filled = least(|| {
            for packet in &feed.packets {
                each(packet, &mut decoder, &mut filler, |filled| _ = black_box(filled));
            }
        });
        println!("{:<64}{filled:>8.1}", "  decoded and filled");
        for last_values in [0, DeliverySettings::default().last_values] {
            let delivery = DeliverySettings { last_values, ..DeliverySettings::default() };
            for readers in [0, 1] {
                let published = publish(&feed, &mut decoder, &mut filler, &delivery, readers);
                let row = format!(
                    "  decoded, filled, published, {last_values} last values, {readers} readers that poll"
                );
                println!("{row:<64}{published:>8.1}");
            }
        }
    }
}

/// Returns the nanoseconds to decode, fill and publish a message.
fn publish(
    feed: &Feed,
    decoder: &mut Decoder,
    filler: &mut SampleFiller,
    delivery: &DeliverySettings,
    readers: usize,
) -> f64 {
    let scene = Scene::new();
    let topics = FilledTopics::of(filler, None);
    let place = scene.join(ReaderWait::Spin);
    let mut publisher =
        Publisher::new(&place, topics.sets(), delivery, Duration::ZERO, || false).expect("writers");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        if readers > 0 {
            scope.spawn(|| {
                pin(0);
                read_all(&scene, topics.sets(), delivery, &over);
            });
            thread::sleep(Duration::from_millis(300));
        }
        let published = least(|| {
            for packet in &feed.packets {
                each(packet, decoder, filler, |filled| {
                    topics.publish(&mut publisher, filled).expect("room");
                });
            }
        });
        over.store(true, Ordering::Relaxed);
        published
    })
}

/// Polls readers of all topics until `over` is set.
fn read_all(scene: &Scene, sets: &[TopicSet], delivery: &DeliverySettings, over: &AtomicBool) {
    let place = scene.join(ReaderWait::Spin);
    let reader = |set: &TopicSet| {
        let qos = delivery.reader_qos(set.of.has_key(), false);
        place.raw_reader(&set.of, &set.name, &qos).expect("a reader")
    };
    let mut readers: Vec<_> = sets.iter().map(reader).collect();
    while !over.load(Ordering::Relaxed) {
        for reader in &mut readers {
            while let Some(sample) = reader.take().expect("sound channels") {
                black_box(sample.bytes);
            }
        }
    }
}

/// How the receiver and the subscriber wait.
#[derive(Clone, Copy)]
struct Waiting {
    receiver_spins: bool,
    subscriber_spins: bool,
}

/// State that the threads of a run share.
struct Run<'a> {
    feed: &'a Feed,
    scene: Scene,
    endpoint: Endpoint,
    delivery: DeliverySettings,
    wait: ReaderWait,
    over: AtomicBool,
}

/// Runs sender and subscriber on CPU 0, and the receiver, which decodes and publishes, on CPU 1.
fn datagram(feed: &Feed, waiting: Waiting) -> Figures {
    let Waiting { receiver_spins, subscriber_spins } = waiting;
    let wait = if subscriber_spins { ReaderWait::Spin } else { ReaderWait::Block };
    let run = Run {
        feed,
        scene: Scene::new(),
        endpoint: endpoint(),
        delivery: DeliverySettings { last_values: 0, ..DeliverySettings::default() },
        wait,
        over: AtomicBool::new(false),
    };
    let is_ready = Barrier::new(2);
    let mut times = Vec::new();
    let lost = thread::scope(|scope| {
        scope.spawn(|| run.receive(receiver_spins, &is_ready));
        pin(0);
        is_ready.wait();
        match subscriber_spins {
            true => run.send_and_poll(&mut times),
            false => run.send_and_block(&mut times),
        }
    });
    Figures::of(times, lost)
}

impl Run<'_> {
    /// Receives, decodes and publishes until `over` is set.
    fn receive(&self, spins: bool, is_ready: &Barrier) {
        let (mut decoder, mut filler) = self.feed.codecs(TierUp::Off);
        let topics = FilledTopics::of(&filler, None);
        let place = self.scene.join(self.wait);
        let mut publisher =
            Publisher::new(&place, topics.sets(), &self.delivery, Duration::ZERO, || false)
                .expect("writers");
        let mut receiver =
            Receiver::open(self.endpoint, ReceiverOptions::default()).expect("a socket");
        pin(1);
        is_ready.wait();
        let mut times = KernelTimes::new();
        while !self.over.load(Ordering::Relaxed) {
            if receiver.fill(&mut times).expect("a socket") == 0 {
                if !spins {
                    let receivers = std::slice::from_ref(&receiver);
                    wait_readable(receivers, Duration::from_millis(20)).expect("a socket");
                }
                continue;
            }
            while let Some(datagram) = receiver.take() {
                let stamp_ns = datagram.received_unix_ns;
                each(datagram.bytes, &mut decoder, &mut filler, |mut filled| {
                    if let FilledSamples::Quote(quote) = &mut filled {
                        quote.timestamp = low_half(stamp_ns);
                    }
                    topics.publish(&mut publisher, filled).expect("room");
                });
            }
        }
    }

    fn reader(&self) -> SampleReader<Quote, ShmRawReader> {
        let qos = self.delivery.reader_qos(false, false);
        self.scene.join(self.wait).reader::<Quote>("Quote", &qos).expect("a reader")
    }

    fn sender(&self) -> Sender {
        Sender::open(self.endpoint, SenderOptions::default()).expect("a socket")
    }

    /// Takes all samples that are there.
    fn take(&self, reader: &mut SampleReader<Quote, ShmRawReader>, times: &mut Vec<u64>) {
        let mut received = ReceivedSample::<Quote>::default();
        while reader.take(&mut received).expect("sound channels") {
            let now_ns = unix_ns();
            // The send time is in the sample itself: elsewhere it would need one more cache line.
            times.push(low_half(now_ns).wrapping_sub(received.sample.timestamp).into());
        }
    }

    /// Polls and sends on one thread. Returns the number of lost samples.
    fn send_and_poll(&self, times: &mut Vec<u64>) -> u64 {
        let (mut reader, sender) = (self.reader(), self.sender());
        let begun = Instant::now();
        for (number, packet) in (0..).zip(&self.feed.packets) {
            while begun.elapsed() < GAP * number {
                self.take(&mut reader, times);
            }
            sender.send(packet).expect("sent");
        }
        self.end(&mut reader, times)
    }

    /// The subscriber sleeps until a sample arrives and leaves the CPU to the sender.
    fn send_and_block(&self, times: &mut Vec<u64>) -> u64 {
        let mut reader = self.reader();
        let is_sent = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                pin(0);
                let sender = self.sender();
                for packet in &self.feed.packets {
                    sender.send(packet).expect("sent");
                    thread::sleep(GAP);
                }
                is_sent.store(true, Ordering::Relaxed);
            });
            while !is_sent.load(Ordering::Relaxed) {
                reader.wait(Duration::from_millis(20)).expect("sound channels");
                self.take(&mut reader, times);
            }
        });
        self.end(&mut reader, times)
    }

    /// Takes the remaining samples, which are not timed.
    fn end(&self, reader: &mut SampleReader<Quote, ShmRawReader>, times: &mut Vec<u64>) -> u64 {
        thread::sleep(Duration::from_millis(100));
        let timed = times.len();
        self.take(reader, times);
        times.truncate(timed);
        self.over.store(true, Ordering::Relaxed);
        reader.raw().lost().expect("counted")
    }
}

fn pin(cpu: usize) {
    pin_current_thread(cpu).expect("this CPU");
}

/// Returns the time in a member of 32 bits. Differences of up to four seconds are right.
fn low_half(ns: u64) -> u32 {
    ns as u32
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_nanos()).expect("before 2554")
}
