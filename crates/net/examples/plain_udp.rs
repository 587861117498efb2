//! Plain UDP on this host: one-way latency, blocking and spinning.
//!
//! `plain_udp [PACKETS [CPU CPU]]`; pinned to two CPUs if they are named.

use std::error::Error;

use tickwire_net::Stop;
use tickwire_net::histogram::Summary;
use tickwire_net::latency::{PlainUdp, plain_udp};
use tickwire_net::reception::Wait;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let packets = numbers.first().map_or(Ok(10_000), |packets| u32::try_from(*packets))?;
    let cpus = match numbers.get(1..) {
        Some([near, far]) => Some([*near, *far]),
        _ => None,
    };
    let stop = Stop::on_signals()?;
    println!("32-byte packets over loopback, microseconds: p50 p99 p99.9 max");
    for wait in [Wait::Block, Wait::Spin] {
        let latency = plain_udp(PlainUdp { packets, cpus, wait, ..PlainUdp::default() }, &stop)?;
        for (name, times) in
            [("one way", latency.one_way), ("round trip halved", latency.round_trip_halved)]
        {
            let summary = Summary::from(&times);
            let micros = [summary.p50_ns, summary.p99_ns, summary.p999_ns, summary.max_ns]
                .map(|ns| format!("{:.2}", ns as f64 / 1e3));
            println!("{wait:?}, {name}: {}", micros.join(" "));
        }
    }
    Ok(())
}
