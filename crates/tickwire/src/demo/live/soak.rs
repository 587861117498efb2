//! A long run at a steady rate that checks for losses and for growing memory.

use super::chain::{FeedProcesses, FeedProcessesPlan};
use super::report::RunCounters;
use crate::console::tell;
use crate::demo::DemoArgs;
use crate::distribution::write_json;
use crate::failure::{Failure, Outcome};
use crate::files;
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};
use tickwire_exchange::Options;
use tickwire_net::Stop;

/// Messages per packet.
const MESSAGES_PER_PACKET: u64 = 20;
/// Memory is first measured when caches and buffers are warm.
const WARM_AFTER: Duration = Duration::from_secs(5);

/// Resident memory of publisher and subscriber, in KiB; `None` if the system does not report it.
type ResidentMemory = [Option<u64>; 2];

/// Runs the simple feed for `seconds` and reports losses and memory use.
pub fn soak(args: &DemoArgs, seconds: u64, stop: &Stop) -> Result<Outcome, Failure> {
    let messages = seconds.saturating_mul(args.rate);
    let plan = FeedProcessesPlan {
        name: "Simple",
        transport: super::TRANSPORTS[0],
        options: Options {
            messages,
            seed: args.seed,
            messages_per_packet_max: MESSAGES_PER_PACKET as usize,
            ..Options::simple()
        },
        packets_per_second: (args.rate / MESSAGES_PER_PACKET).max(1),
        loss: args.loss,
        seed: args.seed,
        echo: false,
    };
    tell!("{messages} messages at {} a second for {seconds} s", args.rate);
    let started = Instant::now();
    let mut chain = FeedProcesses::start(&plan, stop)?;
    let (mut warm, mut last) = (None, [None; 2]);
    while !chain.is_sent()? && !stop.is_set() {
        std::thread::sleep(Duration::from_millis(200));
        let now = chain.ids().map(resident_kib);
        if now.iter().any(Option::is_some) {
            last = now;
        }
        if warm.is_none() && started.elapsed() >= WARM_AFTER {
            warm = Some(now);
        }
    }
    let run = chain.finish(stop)?;
    let (counters, warm) = (run.counters(), warm.unwrap_or(last));
    let rate = counters.published as f64 / run.published["seconds"].as_f64().unwrap_or(f64::NAN);
    write_json(
        &to_json(&run.published, &run.received, counters, warm, last, rate),
        args.json.as_deref(),
    )?;
    let mut out = files::create(None)?;
    let RunCounters { messages: decoded, published, received, lost, duplicates, gaps, .. } =
        counters;
    writeln!(
        out,
        "{decoded} messages decoded, {published} samples published, {received} received"
    )?;
    writeln!(
        out,
        "{lost} lost, {duplicates} duplicates, {gaps} sequence numbers that neither line delivered"
    )?;
    for (name, (warm, last)) in ["publisher", "subscriber"].iter().zip(warm.iter().zip(last)) {
        let kib = |kib: Option<u64>| kib.map_or("?".to_owned(), |kib| kib.to_string());
        writeln!(
            out,
            "{name}: {} KiB resident when warm, {} KiB at the end",
            kib(*warm),
            kib(last)
        )?;
    }
    out.flush()?;
    Ok(Outcome::flawed_if(lost > 0 || duplicates > 0))
}

fn to_json(
    published: &Value,
    received: &Value,
    counters: RunCounters,
    warm: ResidentMemory,
    last: ResidentMemory,
    rate: f64,
) -> Value {
    json!({
        "published": counters.published,
        "received": counters.received,
        "lost": counters.lost,
        "duplicates": counters.duplicates,
        "gaps": counters.gaps,
        "samples_per_second": rate,
        "publisher_kib": [warm[0], last[0]],
        "subscriber_kib": [warm[1], last[1]],
        "publisher": published,
        "subscriber": received,
    })
}

/// Resident memory of a process in KiB, from Linux's `/proc`.
fn resident_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
