//! Measures the latency of samples between two processes of this machine over loopback.
//!
//! `cargo run --release -p tickwire-dds --example latency [ROUND_TRIPS]` prints, in microseconds as p50 / p99 / p99.9,
//! half the round trip and the one-way time of the echo (both processes read the same clock), beside those of plain UDP.
//! Then it prints how many samples per second a reliable writer streams. Each process should have its own core. The first
//! line states the idle setting of the CPUs, which decides the blocking rows.
//!
//! `.. --example latency beside FOLDER [ROUNDS]` compares plain UDP, a listener here and Cyclone's example in C in turns.
//! FOLDER has the programs `ping` and `pong` that `peers/cyclone/build.sh` builds.

mod beside;
mod listener;
mod route;

use std::env;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use route::{Arrival, Datagrams, OneTopic, PATIENCE, Route, TopicPerSecurity};
use tickwire_dds::{CycloneParticipant, Domain, DomainConfig, MarketData, Qos, Quote};
use tickwire_host::idle_setting;

/// A number without an answer after this time counts as lost and is sent again.
const LOST_AFTER: Duration = Duration::from_millis(200);
const WARM_UP: u32 = 2_000;
/// Rounds of a comparison.
const ROUNDS: u32 = 5;
const STREAMED: u32 = 500_000;
const STREAM_DEPTH: u32 = 10_000;

const ROWS: [(&str, &str); 10] = [
    ("udp-blocking", "plain UDP, blocking"),
    ("udp-polling", "plain UDP, polling"),
    ("quote-reliable-blocking", "Quote, reliable, blocking"),
    ("quote-reliable-listener", "Quote, reliable, listener"),
    ("quote-reliable-polling", "Quote, reliable, polling"),
    ("quote-best-effort-blocking", "Quote, best effort, blocking"),
    ("quote-best-effort-listener", "Quote, best effort, listener"),
    ("quote-best-effort-polling", "Quote, best effort, polling"),
    ("keyed-reliable-blocking", "MarketData, one keyed topic"),
    ("topics-reliable-blocking", "MarketData, 100 topics"),
];

/// Results of one row, in nanoseconds.
#[derive(Default)]
struct Times {
    halves: Vec<u64>,
    ways: Vec<u64>,
    lost: u32,
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["echo", row, meeting] => echo(row, meeting),
        ["sink", meeting] => sink(meeting),
        [] => measure(20_000),
        ["beside", peer] => beside(peer, ROUNDS),
        ["beside", peer, rounds] => beside(peer, rounds.parse().expect("ROUNDS is a number")),
        [count] => measure(count.parse().expect("ROUND_TRIPS is a number")),
        _ => panic!("usage: latency [ROUND_TRIPS] | latency beside FOLDER [ROUNDS]"),
    }
}

fn measure(round_trips: u32) {
    println!("idle CPUs: {}", idle_setting());
    println!(
        "{:<30} {:>24} {:>24} {:>6}",
        "microseconds", "round trip / 2", "one way, shared clock", "lost"
    );
    for (row, title) in ROWS {
        print(title, measure_row(row, round_trips));
    }
    stream("one datagram per sample", 1);
    stream("up to 50 samples a datagram", 50);
}

fn beside(peer: &str, rounds: u32) {
    println!("idle CPUs: {}", idle_setting());
    beside::compare(Path::new(peer), rounds);
}

/// Measures one of [`ROWS`].
fn measure_row(row: &str, round_trips: u32) -> Times {
    if row.ends_with("listener") {
        let wire = wire_id();
        let child = start(&["echo", row, &wire.to_string()]);
        let times = listener::round_trip(&join(wire), &qos_of(row), WARM_UP, round_trips);
        stop(child);
        return times;
    }
    let (mut route, child) = if row.starts_with("udp") {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let child = start(&["echo", row, &socket.local_addr().unwrap().to_string()]);
        let mut hello = [0; 64];
        let (_, peer) = socket.recv_from(&mut hello).unwrap();
        socket.connect(peer).unwrap();
        let route: Box<dyn Route> = Box::new(Datagrams::new(socket, row.ends_with("polling")));
        (route, child)
    } else {
        let wire = wire_id();
        let child = start(&["echo", row, &wire.to_string()]);
        (dds_route(row, wire, ["there", "back"]), child)
    };
    let times = round_trip(route.as_mut(), round_trips);
    stop(child);
    times
}

fn print(title: &str, times: Times) {
    let (halves, ways, lost) = (percentiles(times.halves), percentiles(times.ways), times.lost);
    println!("{title:<30} {halves:>24} {ways:>24} {lost:>6}");
}

fn round_trip(route: &mut dyn Route, count: u32) -> Times {
    let mut times = Times::default();
    for number in 0..WARM_UP + count {
        let (elapsed, arrival) = loop {
            let sent = Instant::now();
            route.send(number);
            if let Some(arrival) = await_number(route, number, LOST_AFTER) {
                break (sent.elapsed(), arrival);
            }
            times.lost += 1;
        };
        if number >= WARM_UP {
            times.halves.push(elapsed.as_nanos() as u64 / 2);
            times.ways.extend(arrival.sent_ns.map(|sent_ns| (now_ns() - sent_ns).max(0) as u64));
        }
    }
    times
}

fn await_number(route: &mut dyn Route, number: u32, timeout: Duration) -> Option<Arrival> {
    loop {
        let arrival = route.receive(timeout)?;
        if arrival.number == number {
            return Some(arrival);
        }
    }
}

fn echo(row: &str, meeting: &str) {
    if row.ends_with("listener") {
        return listener::echo(&join(meeting.parse().unwrap()), &qos_of(row));
    }
    let mut route: Box<dyn Route> = if row.starts_with("udp") {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(meeting).unwrap();
        socket.send(b"hello").unwrap();
        Box::new(Datagrams::new(socket, row.ends_with("polling")))
    } else {
        dds_route(row, meeting.parse().unwrap(), ["back", "there"])
    };
    // Ends when the measuring process stops this one, or [`PATIENCE`] after that process has exited.
    while let Some(arrival) = route.receive(PATIENCE) {
        route.send(arrival.number);
    }
}

fn dds_route(row: &str, wire: u32, ways: [&str; 2]) -> Box<dyn Route> {
    let participant = join(wire);
    let polling = row.ends_with("polling");
    let qos = qos_of(row);
    match row.split('-').next() {
        Some("quote") => Box::new(OneTopic::<Quote>::new(&participant, ways, &qos, polling)),
        Some("keyed") => Box::new(OneTopic::<MarketData>::new(&participant, ways, &qos, polling)),
        _ => Box::new(TopicPerSecurity::new(&participant, ways, &qos)),
    }
}

fn qos_of(row: &str) -> Qos {
    if row.contains("reliable") { Qos::reliable() } else { Qos::best_effort() }
}

fn stream(title: &str, flush_every: u32) {
    let wire = wire_id();
    let child = start(&["sink", &wire.to_string()]);
    let mut route = streaming(wire, ["there", "back"], flush_every > 1);
    let started = Instant::now();
    for number in 0..STREAMED {
        route.send(number);
        if (number + 1) % flush_every == 0 {
            route.flush();
        }
    }
    let received = route.receive(PATIENCE).expect("the other process counts").number;
    let rate = f64::from(received) / started.elapsed().as_secs_f64();
    stop(child);
    println!("Quote, reliable, {title}: {rate:.0} samples/s, {received} of {STREAMED}");
}

fn sink(meeting: &str) {
    let mut route = streaming(meeting.parse().unwrap(), ["back", "there"], false);
    let mut received = 0;
    while let Some(arrival) = route.receive(PATIENCE) {
        received += 1;
        if arrival.number == STREAMED - 1 {
            route.send(received);
        }
    }
}

fn streaming(wire: u32, ways: [&str; 2], batching: bool) -> OneTopic<Quote> {
    let qos = Qos::reliable().keep_all(STREAM_DEPTH).max_blocking(PATIENCE);
    let qos = if batching { qos.batching() } else { qos };
    OneTopic::new(&join(wire), ways, &qos, false)
}

fn join(wire: u32) -> CycloneParticipant {
    let config = DomainConfig { wire_id: Some(wire), ..DomainConfig::default() };
    Domain::open(0, &config).unwrap().join().unwrap()
}

fn wire_id() -> u32 {
    100 + std::process::id() % 100
}

fn start(arguments: &[&str]) -> Child {
    Command::new(env::current_exe().unwrap()).args(arguments).spawn().unwrap()
}

fn stop(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

fn percentiles(mut times_ns: Vec<u64>) -> String {
    if times_ns.is_empty() {
        return "-".to_owned();
    }
    times_ns.sort_unstable();
    let at = |per_mille: usize| times_ns[(times_ns.len() - 1) * per_mille / 1000] as f64 / 1000.0;
    format!("{:.1} / {:.1} / {:.1}", at(500), at(990), at(999))
}
