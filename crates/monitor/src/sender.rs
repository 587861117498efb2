//! Lines that a process sends packets to, as reported by the sending thread.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tickwire_telemetry::metrics::Distribution;

use crate::latency::quantiles;
use crate::rates::Rates;
use crate::state::Quantiles;

/// Counts of the packets sent to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentFacts {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets that were not sent because the kernel had no room.
    pub no_room: u64,
    /// Packets dropped on purpose.
    pub lost: u64,
    /// Packets sent twice on purpose.
    pub duplicated: u64,
    /// Packets sent late on purpose.
    pub overtaken: u64,
}

/// A line that the process sends to, as the API shows it.
#[derive(Clone, Debug, Serialize)]
pub struct SentState {
    /// Name of the line.
    pub line: String,
    /// Group and port.
    pub group: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets a second, over the last second.
    pub packets_per_second: f64,
    /// Bytes a second, over the last second.
    pub bytes_per_second: f64,
    /// Packets that were not sent because the kernel had no room.
    pub no_room_packets: u64,
    /// Packets dropped on purpose.
    pub lost_packets: u64,
    /// Packets sent twice on purpose.
    pub duplicated_packets: u64,
    /// Packets sent late on purpose.
    pub overtaken_packets: u64,
}

/// The lines that the process sends to, as the API shows them.
#[derive(Clone, Debug, Serialize)]
pub struct SenderState {
    /// Milliseconds since the sending thread last published; `null` before the first time.
    pub published_ms: Option<u64>,
    /// The lines.
    pub lines: Vec<SentState>,
    /// Delays of packets behind their schedule.
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

/// Handle with which the sending thread publishes its counts. No call blocks: while the monitor reads, a publication is
/// skipped.
#[derive(Clone, Debug)]
pub struct SenderTap(Arc<Mutex<LatestSent>>);

impl SenderTap {
    pub(crate) fn new(lines: Vec<(String, String)>, late: Distribution) -> Self {
        let (sent, rates) = (vec![SentFacts::default(); lines.len()], Rates::default());
        Self(Arc::new(Mutex::new(LatestSent { lines, late, sent, rates, published_ns: None })))
    }

    /// Publishes the counts of each line as of `now_ns` of the monotonic clock.
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
