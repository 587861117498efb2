//! Lines that a process sends packets to, as the thread that does so tells of them.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tickwire_telemetry::metrics::Distribution;

use crate::latency::quantiles;
use crate::rates::Rates;
use crate::state::Quantiles;

/// What was sent to a line until a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentFacts {
    /// Packets sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that the kernel had no room for.
    pub no_room: u64,
    /// Packets lost on purpose.
    pub lost: u64,
    /// Packets sent twice on purpose.
    pub duplicated: u64,
    /// Packets sent late on purpose.
    pub overtaken: u64,
}

/// A line that is sent to.
#[derive(Clone, Debug, Serialize)]
pub struct SentState {
    /// Its name.
    pub line: String,
    /// Group and port.
    pub group: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets a second, of the last second.
    pub packets_per_second: f64,
    /// Bytes a second, of the last second.
    pub bytes_per_second: f64,
    /// Packets that the kernel had no room for.
    pub no_room_packets: u64,
    /// Packets lost on purpose.
    pub lost_packets: u64,
    /// Packets sent twice on purpose.
    pub duplicated_packets: u64,
    /// Packets sent late on purpose.
    pub overtaken_packets: u64,
}

/// What is sent.
#[derive(Clone, Debug, Serialize)]
pub struct SenderState {
    /// Milliseconds since its thread published; `null` before the first time.
    pub published_ms: Option<u64>,
    /// The lines.
    pub lines: Vec<SentState>,
    /// How late packets were against their schedule.
    pub late: Quantiles,
}

#[derive(Debug)]
struct LatestSent {
    lines: Vec<(String, String)>,
    late: Distribution,
    sent: Vec<SentFacts>,
    rates: Rates,
    published_ns: Option<u64>,
}

/// The end of the thread that sends. No call blocks: while the monitor reads, a publication is skipped.
#[derive(Clone, Debug)]
pub struct SenderTap(Arc<Mutex<LatestSent>>);

impl SenderTap {
    pub(crate) fn new(lines: Vec<(String, String)>, late: Distribution) -> Self {
        let (sent, rates) = (vec![SentFacts::default(); lines.len()], Rates::default());
        Self(Arc::new(Mutex::new(LatestSent { lines, late, sent, rates, published_ns: None })))
    }

    /// Publishes what was sent to each line until `now_ns` of the monotonic clock.
    pub fn publish(&self, now_ns: u64, sent: Vec<SentFacts>) {
        if let Ok(mut known) = self.0.try_lock() {
            let counts = sent.iter().flat_map(|line| [line.packets, line.bytes]).collect();
            known.rates.note(now_ns, counts);
            known.sent = sent;
            known.published_ns = Some(now_ns);
        }
    }

    pub(crate) fn state(&self, now_ns: u64) -> SenderState {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(index, (line, group)): (usize, &(String, String))| {
            let sent = known.sent.get(index).copied().unwrap_or_default();
            SentState {
                line: line.clone(),
                group: group.clone(),
                sent_packets: sent.packets,
                sent_bytes: sent.bytes,
                packets_per_second: known.rates.of(2 * index),
                bytes_per_second: known.rates.of(2 * index + 1),
                no_room_packets: sent.no_room,
                lost_packets: sent.lost,
                duplicated_packets: sent.duplicated,
                overtaken_packets: sent.overtaken,
            }
        };
        SenderState {
            published_ms: known.published_ns.map(|at_ns| now_ns.saturating_sub(at_ns) / 1_000_000),
            lines: known.lines.iter().enumerate().map(line).collect(),
            late: quantiles(&known.late.copy()),
        }
    }
}
