//! Benchmarks of the broadcast: `cargo bench -p tickwire-shm -- [latency] [publish] [stream] [blocking]`; all by
//! default.
//!
//! The writer runs on CPU 0 and the readers on CPU 1; each has its own mapping. The machine's idle settings are
//! printed, because blocking figures depend on them more than on the code.

mod bare;
mod figures;
mod workload;

use figures::Times;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_host::idle_setting;
use tickwire_shm::{Event, Reader, ReaderWait};
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
fn read(reader: &mut Reader, mut take: impl FnMut(u64)) -> (u64, u64) {
    let (mut samples, mut lost) = (0, 0);
    loop {
        match reader
            .wait(Duration::from_secs(10))
            .expect("sound channel")
            .expect("writer is done in time")
        {
            Event::Sample(sample) => {
                let now = clock_ns();
                let sent = u64::from_le_bytes(sample.bytes[..8].try_into().expect("8 bytes"));
                take(now.saturating_sub(sent));
                samples += 1;
            }
            Event::Gap { from, to } => lost += to - from,
            Event::Done { .. } => return (samples, lost),
            other => panic!("{other:?}"),
        }
    }
}

/// One-way latency to one polling reader, in runs of half a second.
fn latency() {
    println!(
        "\none way, polling, 250,000 samples/s    p50 ns    p99 ns    (least of 5 turns by p99)"
    );
    for bytes in [32, 200] {
        let turns = (0..5).map(|_| {
            thread::sleep(PAUSE);
            one_way(bytes, 250_000, 100_000, ReaderWait::Spin)
        });
        let times = turns.min_by_key(|times| times.quantile(0.99)).expect("turns");
        println!("{bytes:>4} B {:>38} {:>9}", times.quantile(0.5), times.quantile(0.99));
    }
}

fn one_way(bytes: usize, rate: u64, count: u64, wait: ReaderWait) -> Times {
    let mut writer = open_writer("latency", bytes, 1 << 14);
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            pin(1);
            let mut times = Times::new();
            let (samples, lost) = read(&mut open_reader("latency", wait), |age| times.record(age));
            assert_eq!((samples, lost), (count, 0));
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

fn await_readers(writer: &tickwire_shm::Writer, count: u32) {
    while writer.readers().expect("countable") < count {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Cost of a publish for several numbers of polling readers, at one million samples a second: published one by one and
/// in bursts. One by one, the cost includes reading the clock; the first row shows how much that is.
fn publish() {
    const BURST: usize = 64;
    println!("\npublish, 200 B, 1,000,000/s    burst readers    median ns    p99 ns");
    let mut clock = Times::new();
    for _ in 0..100_000 {
        let begun = Instant::now();
        clock.record(begun.elapsed().as_nanos() as u64);
    }
    let (median, worst) = (clock.quantile(0.5), clock.quantile(0.99));
    println!("{:<44} {median:>12}.0 {worst:>7}.0", "reading the clock twice");
    for (keyed, burst) in [(false, 1), (false, BURST), (true, BURST)] {
        for readers in [0, 1, 4, 10] {
            let mut writer = open_writer("publish", 200, 1 << 16);
            let key = writer.key(b"instrument").expect("room");
            let stop = AtomicBool::new(false);
            thread::sleep(PAUSE);
            let times = thread::scope(|scope| {
                for _ in 0..readers {
                    scope.spawn(|| {
                        pin(1);
                        let mut reader = open_reader("publish", ReaderWait::Spin);
                        while !stop.load(Ordering::Relaxed) {
                            for _ in 0..64 {
                                std::hint::black_box(reader.poll().expect("sound channel"));
                            }
                            // Readers share one CPU. Yield, or a real-time priority would let one reader starve the
                            // others.
                            thread::yield_now();
                        }
                    });
                }
                pin(0);
                await_readers(&writer, readers);
                let sample = [0x5a; 200];
                let mut times = Times::new();
                let mut pace = Pace::new(1_000_000 / burst as u64);
                for _ in 0..500_000 / burst {
                    pace.wait();
                    let begun = Instant::now();
                    for _ in 0..burst {
                        match keyed {
                            true => writer.publish_keyed(key, &sample),
                            false => writer.publish(&sample),
                        }
                        .expect("short enough");
                    }
                    times.record(begun.elapsed().as_nanos() as u64 * 10 / burst as u64);
                }
                stop.store(true, Ordering::Relaxed);
                times
            });
            writer.finish().expect("removable");
            let tenth = |quantile| times.quantile(quantile) as f64 / 10.0;
            let what = if keyed { "with last value" } else { "ring alone" };
            println!(
                "{what:<28} {burst:>7} {readers:>7} {:>12.1} {:>9.1}",
                tenth(0.5),
                tenth(0.99)
            );
        }
    }
}

/// Streams ten million samples of 200 bytes at ten million a second.
fn stream() {
    const COUNT: u64 = 10_000_000;
    println!("\nstream, 200 B, 10,000,000 samples at      reached/s      lost    p50 ns    p99 ns");
    for rate in [10_000_000, 10_000_000, 10_000_000] {
        thread::sleep(PAUSE);
        let mut writer = open_writer("stream", 200, 1 << 18);
        let (times, lost, seconds) = thread::scope(|scope| {
            let reading = scope.spawn(|| {
                pin(1);
                let mut times = Times::new();
                let (samples, lost) =
                    read(&mut open_reader("stream", ReaderWait::Spin), |age| times.record(age));
                assert_eq!(samples + lost, COUNT, "the gaps are exact");
                (times, lost)
            });
            pin(0);
            await_readers(&writer, 1);
            let mut sample = [0x5a; 200];
            let mut pace = Pace::new(rate);
            let begun = Instant::now();
            for _ in 0..COUNT {
                let now = pace.wait();
                sample[..8].copy_from_slice(&now.to_le_bytes());
                writer.publish(&sample).expect("short enough");
            }
            let seconds = begun.elapsed().as_secs_f64();
            writer.finish().expect("removable");
            let (times, lost) = reading.join().expect("reader");
            (times, lost, seconds)
        });
        println!(
            "{rate:>37}/s {:>14.0} {lost:>9} {:>9} {:>9}",
            COUNT as f64 / seconds,
            times.quantile(0.5),
            times.quantile(0.99)
        );
    }
}

/// Wake-up latency of a sleeping reader beside the bare futex of [`bare`], in alternating runs.
fn blocking() {
    const COUNT: u64 = 4_000;
    println!(
        "\none way, blocking, {BLOCKING_RATE} samples/s, 200 B    p50 ns    p99 ns    (least of 3 turns by p50)"
    );
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        thread::sleep(PAUSE);
        bare.push(bare::one_way(BLOCKING_RATE, COUNT));
        ours.push(one_way(200, BLOCKING_RATE, COUNT, ReaderWait::Block));
    }
    let least = |times: &[Times]| {
        let least = times.iter().min_by_key(|times| times.quantile(0.5)).expect("turns");
        (least.quantile(0.5), least.quantile(0.99))
    };
    let (bare, ours) = (least(&bare), least(&ours));
    println!("{:<44} {:>6} {:>9}", "a bare futex", bare.0, bare.1);
    println!("{:<44} {:>6} {:>9}", "reader, blocking", ours.0, ours.1);
    println!("ratio of p50 {:.2}", ours.0 as f64 / bare.0 as f64);
    let wait = ReaderWait::SpinThenBlock(Duration::from_millis(1));
    let spun = one_way(200, BLOCKING_RATE, COUNT, wait);
    println!(
        "{:<44} {:>6} {:>9}",
        "reader, spins 1 ms, then blocks",
        spun.quantile(0.5),
        spun.quantile(0.99)
    );
}
