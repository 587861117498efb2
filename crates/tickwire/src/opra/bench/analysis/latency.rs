//! Time of one packet from the call to its last message: the study's table 3, with percentiles.
//!
//! The study defines latency as the inverse of the rate. Here every packet is timed separately.

use super::Analysis;
use crate::failure::Failure;
use crate::opra::bench::report::rounded;
use crate::opra::bench::trace::Trace;
use crate::opra::decoder::DecoderName;
use crate::table::{Align, TextTable};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;
use tickwire_opra::Decode;

/// Passes over the trace; the one with the smallest median counts.
const PASSES: usize = 5;
/// Number of clock reads to measure the cost of reading the clock.
const CLOCK_READS: usize = 10_000;

/// Latencies of one decoder in nanoseconds.
pub struct Latency {
    decoder: DecoderName,
    /// Mean time per message: the time of all packets divided by the number of messages.
    message: f64,
    /// Percentiles of the time per packet: 50, 99 and 99.9.
    packet: [u64; 3],
}

/// Measures every decoder that this CPU can run.
pub fn measure(trace: &Trace) -> Result<Vec<Latency>, Failure> {
    let clock_ns = clock_ns();
    let mut latencies = Vec::new();
    for name in DecoderName::DISTINCT {
        if name.available().is_some() {
            let mut passes = Vec::new();
            for _ in 0..PASSES {
                passes.push(pass(name, trace, clock_ns)?);
            }
            latencies.extend(passes.into_iter().min_by_key(|latency| latency.packet[0]));
        }
    }
    Ok(latencies)
}

/// Time to read the clock.
fn clock_ns() -> u64 {
    let read = |_| {
        let start = Instant::now();
        Instant::now().duration_since(start).as_nanos() as u64
    };
    let mut times: Vec<u64> = (0..CLOCK_READS).map(read).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn pass(name: DecoderName, trace: &Trace, clock_ns: u64) -> Result<Latency, Failure> {
    let mut decoder = name.decoder()?;
    let mut time = |packet: &Vec<u8>| {
        let start = Instant::now();
        let decoded = decoder.decode_packet(packet, |message| _ = black_box(message));
        let took = start.elapsed().as_nanos() as u64;
        black_box(decoded.is_ok());
        took.saturating_sub(clock_ns)
    };
    let mut times: Vec<u64> = trace.packets.iter().map(&mut time).collect();
    let message = times.iter().sum::<u64>() as f64 / trace.messages as f64;
    times.sort_unstable();
    let at = |per_mille: usize| times[(times.len() * per_mille / 1000).min(times.len() - 1)];
    Ok(Latency { decoder: name, message, packet: [at(500), at(990), at(999)] })
}

/// Adds the latencies to the analysis.
pub fn report(latencies: &[Latency], trace: &Trace, analysis: &mut Analysis) {
    let mut table = TextTable::new(&[
        ("decoder", Align::Left),
        ("ns/message", Align::Right),
        ("packet p50", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
    ]);
    for latency in latencies {
        let [p50, p99, p999] = latency.packet;
        let mut row = vec![latency.decoder.to_string(), format!("{:.1}", latency.message)];
        row.extend([p50, p99, p999].map(|ns| format!("{ns} ns")));
        table.row(row);
        analysis.objects.push(json!({
            "latency_of": latency.decoder.to_string(),
            "ns_per_message": rounded(latency.message, 2),
            "packet_p50_ns": p50,
            "packet_p99_ns": p99,
            "packet_p999_ns": p999,
        }));
    }
    let messages = trace.messages as f64 / trace.packets.len().max(1) as f64;
    let text = format!(
        "\nLatency (table 3): packets of {messages:.1} messages, from the call to the last message\n\n{table}"
    );
    analysis.text.push_str(&text);
}
