//! iceoryx2 under the loads of `cargo bench -p tickwire-shm`: `peer-iceoryx2 [latency] [publish] [stream]`.
//!
//! As in that benchmark, the publisher runs on CPU 0 and the subscribers on CPU 1, each a thread with its own
//! node. Safe overflow is on, as a publisher of market data needs it: otherwise a subscriber that is killed
//! stops the publisher. Each sample begins with its time and its number, because the subscriber is not told
//! of losses.

use hdrhistogram::Histogram;
use iceoryx2::prelude::*;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
type Port<const N: usize> =
    iceoryx2::service::port_factory::publish_subscribe::PortFactory<ipc::Service, [u64; N], ()>;

fn main() -> Outcome<()> {
    set_log_level(LogLevel::Error);
    let named: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|word| word == name);
    if is_wanted("latency") {
        println!("one way, polling, 250,000 samples/s    p50 ns    p99 ns");
        let (times, lost) = one_way::<4>(250_000, 400_000)?;
        println!(
            "  32 B {:>31} {:>9}    lost {lost}",
            quantile(&times, 0.5),
            quantile(&times, 0.99)
        );
        let (times, lost) = one_way::<25>(250_000, 400_000)?;
        println!(
            " 200 B {:>31} {:>9}    lost {lost}",
            quantile(&times, 0.5),
            quantile(&times, 0.99)
        );
    }
    if is_wanted("publish") {
        println!("\npublish, 200 B          readers    median ns    p99 ns    (bursts of 64)");
        for readers in [1, 4, 10] {
            let times = publish(readers)?;
            let tenth = |quantile_| quantile(&times, quantile_) as f64 / 10.0;
            println!("{readers:>31} {:>12.1} {:>9.1}", tenth(0.5), tenth(0.99));
        }
    }
    if is_wanted("stream") {
        let count = 2_000_000;
        let begun = Instant::now();
        let (times, lost) = one_way::<25>(10_000_000, count)?;
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        println!(
            "\nstream, 200 B, 10,000,000/s offered: {rate:.0}/s, lost {lost} of {count}, p50 {} ns",
            quantile(&times, 0.5)
        );
    }
    Ok(())
}

fn clock_ns() -> u64 {
    EPOCH.elapsed().as_nanos() as u64
}

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    if set.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set)).is_err() {
        eprintln!("not pinned to CPU {cpu}");
    }
}

fn quantile(times: &Histogram<u64>, quantile: f64) -> u64 {
    times.value_at_quantile(quantile)
}

fn histogram() -> Outcome<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 100_000_000_000, 3)?)
}

fn service<const N: usize>(node: &Node<ipc::Service>) -> Outcome<Port<N>>
where
    [u64; N]: ZeroCopySend,
{
    let name = format!("tickwire-peer-{}-{N}", std::process::id());
    let builder = node.service_builder(&name.as_str().try_into()?).publish_subscribe::<[u64; N]>();
    let builder =
        builder.max_subscribers(16).subscriber_max_buffer_size(1024).enable_safe_overflow(true);
    Ok(builder.open_or_create()?)
}

/// Publishes at a rate on one thread and returns its subscriber's times and losses.
fn one_way<const N: usize>(rate: u64, count: u64) -> Outcome<(Histogram<u64>, u64)>
where
    [u64; N]: ZeroCopySend,
{
    let is_ready = AtomicBool::new(false);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            pin(1);
            let read = || {
                let node = NodeBuilder::new().create::<ipc::Service>()?;
                let subscriber =
                    service::<N>(&node)?.subscriber_builder().buffer_size(1024).create()?;
                is_ready.store(true, Ordering::Release);
                let (mut times, mut samples) = (histogram()?, 0);
                loop {
                    let was_over = is_over.load(Ordering::Acquire);
                    match subscriber.receive()? {
                        Some(sample) => {
                            times.saturating_record(clock_ns().saturating_sub(sample[0]).max(1));
                            samples += 1;
                        }
                        None if was_over => return Ok((times, count - samples)),
                        None => std::hint::spin_loop(),
                    }
                }
            };
            read().map_err(|error: Box<dyn std::error::Error>| error.to_string())
        });
        pin(0);
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let publisher = service::<N>(&node)?.publisher_builder().create()?;
        while !is_ready.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let gap_ns = 1e9 / rate as f64;
        let mut next = clock_ns() as f64;
        let mut payload = [0x5a; N];
        for _ in 0..count {
            while (clock_ns() as f64) < next {
                std::hint::spin_loop();
            }
            next += gap_ns;
            payload[0] = clock_ns();
            publisher.loan_uninit()?.write_payload(payload).send()?;
        }
        is_over.store(true, Ordering::Release);
        Ok(reading.join().expect("subscriber")?)
    })
}

/// Ten times the nanoseconds per send, with polling subscribers.
fn publish(readers: u32) -> Outcome<Histogram<u64>> {
    const BURST: u64 = 64;
    let ready = AtomicU32::new(0);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                pin(1);
                let read = || -> Outcome<()> {
                    let node = NodeBuilder::new().create::<ipc::Service>()?;
                    let subscriber = service::<25>(&node)?.subscriber_builder().create()?;
                    ready.fetch_add(1, Ordering::Release);
                    while !is_over.load(Ordering::Relaxed) {
                        for _ in 0..64 {
                            std::hint::black_box(subscriber.receive()?);
                        }
                        // The subscribers share a CPU and must yield to each other, even with a real-time priority.
                        thread::yield_now();
                    }
                    Ok(())
                };
                read().expect("subscriber");
            });
        }
        pin(0);
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let publisher = service::<25>(&node)?.publisher_builder().create()?;
        while ready.load(Ordering::Acquire) < readers {
            thread::yield_now();
        }
        let mut times = histogram()?;
        let mut next = clock_ns() as f64;
        for _ in 0..10_000 {
            while (clock_ns() as f64) < next {
                std::hint::spin_loop();
            }
            next += 64_000.0;
            let begun = Instant::now();
            for _ in 0..BURST {
                publisher.loan_uninit()?.write_payload([0x5a; 25]).send()?;
            }
            times.saturating_record((begun.elapsed().as_nanos() as u64 * 10 / BURST).max(1));
        }
        is_over.store(true, Ordering::Relaxed);
        Ok(times)
    })
}
