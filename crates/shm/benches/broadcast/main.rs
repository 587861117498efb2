//! Benchmarks of the broadcast: `cargo bench -p tickwire-shm -- [latency] [publish] [stream] [blocking]`; all by
//! default.
//!
//! The writer runs on CPU 0 and the readers on CPU 1; each has its own mapping. Nanoseconds depend on where the host
//! runs the two CPUs (a cache line takes 10 to 150 ns from one to the other), so each figure is beside that of a floor
//! ([`bare_ring`], [`bare`]) measured in turns with it. The machine's idle settings are printed, because blocking figures depend on
//! them more than on the code.

mod bare;
mod bare_ring;
mod figures;
mod workload;

use bare_ring::{BareRing, Polled};
use figures::{Times, median};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_host::idle_setting;
use tickwire_shm::{ReaderWait, ShmEvent, ShmReader};
use workload::{Pace, clock_ns, open_reader, open_writer, pin};

/// Samples a second for blocking readers: one every 125 us. A CPU halts once it has been idle for `guest_halt_poll_ns`,
/// usually 200 us. At this rate it therefore polls between samples; at 2,000 a second it would halt before each of
/// them.
const BLOCKING_RATE: u64 = 8_000;
/// Pause between two runs, in which other processes get the CPU instead of during a run.
const PAUSE: Duration = Duration::from_millis(600);

fn main() {
    let named: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|word| word == name);
    println!("idle CPUs: {}", idle_setting());
    if is_wanted("latency") {
        latency();
    }
    if is_wanted("publish") {
        publish();
    }
    if is_wanted("stream") {
        stream();
    }
    if is_wanted("blocking") {
        blocking();
    }
}

/// Reads until the channel is done. Passes each sample's age in nanoseconds to `take`; returns the numbers of samples
/// read and lost.
fn read(reader: &mut ShmReader, mut take: impl FnMut(u64)) -> (u64, u64) {
    let (mut samples, mut lost) = (0, 0);
    loop {
        match reader
            .wait(Duration::from_secs(10))
            .expect("sound channel")
            .expect("writer is done in time")
        {
            ShmEvent::Sample(sample) => {
                let now = clock_ns();
                let sent = u64::from_le_bytes(sample.bytes[..8].try_into().expect("8 bytes"));
                take(now.saturating_sub(sent));
                samples += 1;
            }
            ShmEvent::Gap { from, to } => lost += to - from,
            ShmEvent::Done { .. } => return (samples, lost),
            other => panic!("{other:?}"),
        }
    }
}

/// Reads `count` samples of the floor, lost ones included, and passes the age of each in nanoseconds to `take`; returns how
/// many were lost.
fn read_bare(ring: &BareRing, count: u64, mut take: impl FnMut(u64)) -> u64 {
    let (mut next, mut lost, mut buffer) = (0, 0, [0; 32]);
    while next < count {
        match ring.poll(&mut next, &mut buffer) {
            Polled::Sample(sent) => take(clock_ns().saturating_sub(sent)),
            Polled::Lost(samples) => lost += samples,
            Polled::Nothing => std::hint::spin_loop(),
        }
    }
    lost
}

/// Turns of each measurement; the least counts.
const TURNS: usize = 5;

/// Returns the turn with the least quantile.
fn least(turns: Vec<Times>, quantile: f64) -> Times {
    turns.into_iter().min_by_key(|times| times.quantile(quantile)).expect("turns")
}

/// One-way latency to one polling reader, in runs of half a second.
fn latency() {
    const RATE: u64 = 250_000;
    const COUNT: u64 = 100_000;
    println!(
        "\none way, polling, {RATE} samples/s           p50 ns    p99 ns    (least of {TURNS} turns by p99)"
    );
    for bytes in [32, 200] {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            thread::sleep(PAUSE);
            bare.push(bare_one_way(bytes, RATE, COUNT));
            thread::sleep(PAUSE);
            ours.push(one_way(bytes, RATE, COUNT, ReaderWait::Spin));
        }
        compare(&format!("{bytes} B"), bare, ours, 0.99);
    }
}

/// Prints median and 99th percentile of the floor and of the broadcast, each of the turn with the least `quantile`, and the
/// median of the ratios of turns that followed each other: the host may move the CPUs between two pairs.
fn compare(what: &str, bare: Vec<Times>, ours: Vec<Times>, quantile: f64) {
    let [p50, p99] = [0.5, 0.99].map(|of| {
        let pairs = bare.iter().zip(&ours);
        let ratios = pairs.map(|(bare, ours)| ours.quantile(of) as f64 / bare.quantile(of) as f64);
        format!("{:.2}", median(ratios.collect()))
    });
    for (which, turns) in [("floor", bare), ("broadcast", ours)] {
        let least = least(turns, quantile);
        let name = format!("{what}: {which}");
        println!("{name:<44} {:>6} {:>9}", least.quantile(0.5), least.quantile(0.99));
    }
    println!("{:<44} {p50:>6} {p99:>9}", "times the floor");
}

fn bare_one_way(bytes: usize, rate: u64, count: u64) -> Times {
    let ring = BareRing::new(bytes, 1 << 14);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            pin(1);
            let mut times = Times::new();
            tell_lost(read_bare(&ring, count, |age| times.record(age)), count);
            times
        });
        pin(0);
        thread::sleep(Duration::from_millis(20));
        let mut sample = vec![0x5a; bytes];
        let mut pace = Pace::new(rate);
        for seq_num in 0..count {
            pace.wait();
            sample[..8].copy_from_slice(&clock_ns().to_le_bytes());
            ring.publish(seq_num, &sample);
        }
        reading.join().expect("reader")
    })
}

fn one_way(bytes: usize, rate: u64, count: u64, wait: ReaderWait) -> Times {
    let mut writer = open_writer("latency", bytes, 1 << 14);
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            pin(1);
            let mut times = Times::new();
            let (samples, lost) = read(&mut open_reader("latency", wait), |age| times.record(age));
            assert_eq!(samples + lost, count, "the gaps are exact");
            tell_lost(lost, count);
            times
        });
        pin(0);
        await_readers(&writer, 1);
        let mut sample = vec![0x5a; bytes];
        let mut pace = Pace::new(rate);
        for _ in 0..count {
            pace.wait();
            sample[..8].copy_from_slice(&clock_ns().to_le_bytes());
            writer.publish(&sample).expect("short enough");
        }
        writer.finish().expect("removable");
        reading.join().expect("reader")
    })
}

/// On a busy machine a reader may be descheduled for a whole ring.
fn tell_lost(lost: u64, count: u64) {
    if lost > 0 {
        eprintln!("the reader was lapped: {lost} of {count} samples lost");
    }
}

fn await_readers(writer: &tickwire_shm::ShmWriter, count: u32) {
    while writer.readers().expect("countable") < count {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Cost of a publish for several numbers of polling readers, at one million samples a second: published one by one and
/// in bursts. One by one, the cost includes reading the clock; the first row shows how much that is.
fn publish() {
    println!("\npublish, 200 B, 1,000,000/s    burst readers    median ns    p99 ns");
    let mut clock = Times::new();
    for _ in 0..100_000 {
        let begun = Instant::now();
        clock.record(begun.elapsed().as_nanos() as u64);
    }
    let (median, worst) = (clock.quantile(0.5), clock.quantile(0.99));
    println!("{:<44} {median:>12}.0 {worst:>7}.0", "reading the clock twice");
    for burst in [1, BURST] {
        for readers in [0, 1, 4, 10] {
            for what in Published::ALL {
                thread::sleep(PAUSE);
                let times = what.publish(burst, readers);
                let tenth = |quantile| times.quantile(quantile) as f64 / 10.0;
                println!(
                    "{:<28} {burst:>7} {readers:>7} {:>12.1} {:>9.1}",
                    what.name(),
                    tenth(0.5),
                    tenth(0.99)
                );
            }
        }
    }
}

/// Samples of a burst.
const BURST: usize = 64;

/// Destination of a publish.
#[derive(Clone, Copy)]
enum Published {
    Floor,
    Ring,
    RingAndLastValue,
}

impl Published {
    const ALL: [Self; 3] = [Self::Floor, Self::Ring, Self::RingAndLastValue];

    fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ring => "ring alone",
            Self::RingAndLastValue => "with last value",
        }
    }

    /// Returns the times per publish in tenths of nanoseconds.
    fn publish(self, burst: usize, readers: u32) -> Times {
        match self {
            Self::Floor => bare_publish(burst, readers),
            Self::Ring => our_publish(burst, readers, false),
            Self::RingAndLastValue => our_publish(burst, readers, true),
        }
    }
}

fn bare_publish(burst: usize, readers: u32) -> Times {
    let (ring, stop) = (BareRing::new(200, 1 << 16), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let (mut next, mut buffer) = (0, [0; 32]);
                poll_until(&stop, || _ = black_box(ring.poll(&mut next, &mut buffer)));
            });
        }
        thread::sleep(Duration::from_millis(50));
        let mut seq_num = 0;
        let times = publish_paced(burst, |sample| {
            ring.publish(seq_num, sample);
            seq_num += 1;
        });
        stop.store(true, Ordering::Relaxed);
        times
    })
}

fn our_publish(burst: usize, readers: u32, has_key: bool) -> Times {
    let mut writer = open_writer("publish", 200, 1 << 16);
    let key = writer.key(b"instrument").expect("room");
    let stop = AtomicBool::new(false);
    let times = thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let mut reader = open_reader("publish", ReaderWait::Spin);
                poll_until(&stop, || _ = black_box(reader.poll().expect("sound channel")));
            });
        }
        await_readers(&writer, readers);
        let times = match has_key {
            true => publish_paced(burst, |sample| {
                writer.publish_keyed(key, sample).expect("short enough");
            }),
            false => publish_paced(burst, |sample| {
                writer.publish(sample).expect("short enough");
            }),
        };
        stop.store(true, Ordering::Relaxed);
        times
    });
    writer.finish().expect("removable");
    times
}

/// Polls on CPU 1 until `stop` is set.
fn poll_until(stop: &AtomicBool, mut poll: impl FnMut()) {
    pin(1);
    while !stop.load(Ordering::Relaxed) {
        (0..64).for_each(|_| poll());
        // Readers share one CPU. Yield, or a real-time priority would let one reader starve the others.
        thread::yield_now();
    }
}

/// Publishes from CPU 0 and returns the time of each publish in tenths of nanoseconds.
fn publish_paced(burst: usize, mut publish: impl FnMut(&[u8])) -> Times {
    pin(0);
    let sample = [0x5a; 200];
    let mut times = Times::new();
    let mut pace = Pace::new(1_000_000 / burst as u64);
    for _ in 0..500_000 / burst {
        pace.wait();
        let begun = Instant::now();
        (0..burst).for_each(|_| publish(&sample));
        times.record(begun.elapsed().as_nanos() as u64 * 10 / burst as u64);
    }
    times
}

/// Streams ten million samples of 200 bytes at ten million a second.
fn stream() {
    const TURNS: usize = 3;
    println!(
        "\nstream, 200 B, 10,000,000 samples at 10,000,000/s    reached/s      lost    p50 ns    p99 ns"
    );
    for _ in 0..TURNS {
        for (what, stream) in
            [("floor", bare_stream as fn() -> Streamed), ("broadcast", our_stream)]
        {
            thread::sleep(PAUSE);
            let Streamed { times, lost, seconds } = stream();
            println!(
                "{what:<49} {:>12.0} {lost:>9} {:>9} {:>9}",
                STREAMED as f64 / seconds,
                times.quantile(0.5),
                times.quantile(0.99)
            );
        }
    }
}

/// Samples of a stream.
const STREAMED: u64 = 10_000_000;
/// Slots of a stream's ring.
const STREAM_SLOTS: u64 = 1 << 18;

/// Result of a stream.
struct Streamed {
    times: Times,
    lost: u64,
    seconds: f64,
}

/// Publishes the samples of a stream; returns the time that it took.
fn publish_stream(mut publish: impl FnMut(u64, &[u8])) -> f64 {
    pin(0);
    let mut sample = [0x5a; 200];
    let mut pace = Pace::new(10_000_000);
    let begun = Instant::now();
    for seq_num in 0..STREAMED {
        let now = pace.wait();
        sample[..8].copy_from_slice(&now.to_le_bytes());
        publish(seq_num, &sample);
    }
    begun.elapsed().as_secs_f64()
}

fn our_stream() -> Streamed {
    let mut writer = open_writer("stream", 200, STREAM_SLOTS);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            pin(1);
            let mut times = Times::new();
            let (samples, lost) =
                read(&mut open_reader("stream", ReaderWait::Spin), |age| times.record(age));
            assert_eq!(samples + lost, STREAMED, "the gaps are exact");
            (times, lost)
        });
        await_readers(&writer, 1);
        let seconds = publish_stream(|_, sample| _ = writer.publish(sample).expect("short enough"));
        writer.finish().expect("removable");
        let (times, lost) = reading.join().expect("reader");
        Streamed { times, lost, seconds }
    })
}

fn bare_stream() -> Streamed {
    let ring = BareRing::new(200, STREAM_SLOTS);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            pin(1);
            let mut times = Times::new();
            let lost = read_bare(&ring, STREAMED, |age| times.record(age));
            (times, lost)
        });
        thread::sleep(Duration::from_millis(20));
        let seconds = publish_stream(|seq_num, sample| ring.publish(seq_num, sample));
        let (times, lost) = reading.join().expect("reader");
        Streamed { times, lost, seconds }
    })
}

/// Wake-up latency of a sleeping reader beside that of a bare futex, in alternating runs.
fn blocking() {
    const COUNT: u64 = 4_000;
    println!(
        "\none way, blocking, {BLOCKING_RATE} samples/s, 200 B       p50 ns    p99 ns    (least of {TURNS} turns by p50)"
    );
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        thread::sleep(PAUSE);
        bare.push(bare::one_way(BLOCKING_RATE, COUNT));
        ours.push(one_way(200, BLOCKING_RATE, COUNT, ReaderWait::Block));
    }
    compare("blocking", bare, ours, 0.5);
    let wait = ReaderWait::SpinThenBlock(Duration::from_millis(1));
    let spun = one_way(200, BLOCKING_RATE, COUNT, wait);
    println!(
        "{:<44} {:>6} {:>9}",
        "broadcast, spins 1 ms, then blocks",
        spun.quantile(0.5),
        spun.quantile(0.99)
    );
}
