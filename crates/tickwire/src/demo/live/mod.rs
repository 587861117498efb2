//! The demo's live part: exchange, multicast, publisher and subscriber, each in its own process.

mod chain;
mod place;
mod plain_udp;
mod process;
mod report;
mod soak;

pub use place::{free_domain, free_port};
pub use report::LiveResults;
pub use soak::soak;

use super::DemoArgs;
use crate::console::tell;
use crate::distribution::HAS_DDS;
use crate::distribution::LatencyRow;
use crate::failure::Failure;
use chain::{FeedProcesses, FeedProcessesPlan};
use plain_udp::PlainUdp;
use std::time::Duration;
use tickwire_exchange::Options;
use tickwire_net::{Stop, affinity};

/// Number of datagrams with which plain UDP is measured.
const DATAGRAMS: u32 = 5_000;

/// The transports, measured one after the other.
pub const TRANSPORTS: &[&str] = if HAS_DDS { &["dds", "shm"] } else { &["shm"] };

/// Runs both feeds through the chain and measures plain UDP beside them. If the user stops it, the results so
/// far are returned.
pub fn run(args: &DemoArgs, stop: &Stop) -> Result<LiveResults, Failure> {
    let mut live = LiveResults::default();
    let messages = args.live_messages;
    let options = |options: Options| Options {
        messages,
        seed: args.seed,
        messages_per_packet_max: 1,
        ..options
    };
    let feeds = [("Simple", options(Options::simple())), ("Complex", options(Options::complex()))];
    let runs = feeds.iter().flat_map(|feed| TRANSPORTS.iter().map(move |way| (feed, way)));
    for ((name, options), transport) in runs {
        if stop.is_set() {
            break;
        }
        tell!(
            "{name} over {transport}: {messages} messages at {} a second, subscriber, publisher and \
             multicaster as processes",
            args.rate
        );
        let plan = FeedProcessesPlan {
            name,
            transport,
            options: options.clone(),
            packets_per_second: args.rate,
            loss: args.loss,
            seed: args.seed,
            echo: true,
        };
        live.runs.push(FeedProcesses::start(&plan, stop)?.finish(stop)?);
    }
    if !stop.is_set() {
        live.plain_udp = plain_udp(args.rate, stop)?;
    }
    Ok(live)
}

/// Measures the lower bound: datagrams of a quote's size, from one CPU to the other.
fn plain_udp(per_second: u64, stop: &Stop) -> Result<Vec<LatencyRow>, Failure> {
    let options = PlainUdp {
        packets: DATAGRAMS,
        gap: Duration::from_nanos(1_000_000_000 / per_second.max(1)),
        cpus: two_cpus(),
        ..PlainUdp::default()
    };
    let measured = {
        let stop = stop.clone();
        // On a separate thread, because it is pinned to a CPU.
        std::thread::spawn(move || plain_udp::plain_udp(options, &stop)).join()
    };
    let measured = measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let measured = measured.map_err(|error| Failure::Usage(format!("plain UDP: {error}")))?;
    let row = |what: &str, times| LatencyRow { name: format!("plain UDP {what}"), summary: times };
    Ok(vec![
        row("one way, round trip halved", (&measured.round_trip_halved).into()),
        row("one way, shared clock", (&measured.one_way).into()),
    ])
}

/// Two CPUs that this process may use; `None` if there is only one.
fn two_cpus() -> Option<[usize; 2]> {
    let is_there = |cpu: usize| {
        let pinned = std::thread::spawn(move || affinity::pin_current_thread(cpu).is_ok());
        pinned.join().unwrap_or(false)
    };
    (is_there(0) && is_there(1)).then_some([0, 1])
}
