//! The state as the API tells it. Counters have the names of the metrics, without unit and prefix.
//!
//! Numbers that may be beyond 2^53 (sequence numbers, times of day in nanoseconds) and amounts are texts, because
//! browsers would round them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bus::BusState;
use crate::sender::SenderState;

/// Everything but books and packets, at one moment.
#[derive(Debug, Serialize)]
pub struct State {
    /// Grows with each change of the state.
    pub version: u64,
    /// When it was put together, in milliseconds since 1970.
    pub at_ms: u64,
    /// The process.
    pub process: Process,
    /// The channels of feeds that are received.
    pub channels: Vec<ChannelState>,
    /// FIX sessions; null where the process has none.
    pub fix: Option<serde_json::Value>,
    /// Topics of DDS or shared memory; null where the process has none.
    pub bus: Option<BusState>,
    /// What the process sends to multicast groups; null where it sends nothing.
    pub sender: Option<SenderState>,
}

/// The process that is looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// The command, such as `receive`.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Process id.
    pub pid: u32,
    /// Milliseconds since the monitor began.
    pub uptime_ms: u64,
    /// Why the process is not ready; empty if it is.
    pub not_ready: Vec<String>,
}

/// One channel of a feed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChannelState {
    /// Its name.
    pub name: String,
    /// Milliseconds since its handler published; `null` before the first time.
    pub published_ms: Option<u64>,
    /// `waiting` before the first packet, `live`, `silent` or `stalled` (its handler publishes nothing any more).
    pub status: &'static str,
    /// Whether all lines are silent, as the handler says.
    pub is_silent: bool,
    /// Silence after which a line is called silent, in milliseconds.
    pub silent_after_ms: u64,
    /// The lines with their sockets.
    pub lines: Vec<LineState>,
    /// The next sequence number to deliver.
    pub next_seq_num: Option<String>,
    /// Packets that wait for those before them.
    pub held_packets: u64,
    /// Packets delivered in order.
    pub delivered_packets: u64,
    /// Gaps declared.
    pub declared_gaps: u64,
    /// Sequence numbers in gaps.
    pub missing_seq_nums: u64,
    /// Sequence resets.
    pub sequence_resets: u64,
    /// Messages decoded.
    pub messages: u64,
    /// Messages decoded a second, of the last second.
    pub messages_per_second: f64,
    /// Packets in which a message could not be decoded.
    pub failed_packets: u64,
    /// Messages of unknown templates.
    pub unknown_template_messages: u64,
    /// Messages about books that could not be understood.
    pub misunderstood_messages: u64,
    /// Messages of the snapshot feed decoded.
    pub snapshot_messages: u64,
    /// Market events by kind.
    pub market_events: BTreeMap<&'static str, u64>,
    /// Whether new templates wait for a reset.
    pub is_replacement_waiting: bool,
    /// Books.
    pub books: BookCounts,
    /// The last gaps, the newest first.
    pub gaps: Vec<GapState>,
    /// The last events, the newest first.
    pub events: Vec<EventState>,
    /// Distributions of times.
    pub latencies: Vec<LatencyState>,
    /// The last whole second of the history.
    pub second: Option<Second>,
    /// What could not be handed over because the monitor was too slow; counters are not among it.
    pub dropped_events: u64,
}

/// One line.
#[derive(Clone, Debug, Serialize)]
pub struct LineState {
    /// `incremental`, `snapshot` or `definitions`.
    pub feed: &'static str,
    /// `a` or `b`.
    pub line: &'static str,
    /// Group and port.
    pub group: String,
    /// `waiting`, `alive`, `silent`, `put_aside` or `stalled`.
    pub status: &'static str,
    /// Milliseconds since its last packet, or since its socket was opened.
    pub age_ms: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received a second, of the last second.
    pub packets_per_second: f64,
    /// Bytes received a second, of the last second.
    pub bytes_per_second: f64,
    /// Packets that the kernel dropped.
    pub dropped_packets: u64,
    /// Packets not framed as they should be.
    pub malformed_packets: u64,
    /// What the arbiter counts; `null` for lines that are not arbitrated.
    pub arbitration: Option<Arbitration>,
}

/// What the arbiter counts of a line.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Arbitration {
    /// Packets that were the first with their number.
    pub first_packets: u64,
    /// Copies.
    pub duplicate_packets: u64,
    /// Packets whose number had been declared lost.
    pub late_packets: u64,
    /// Packets with an unexpected number.
    pub unexpected_packets: u64,
    /// Packets below the highest number of the line.
    pub out_of_order_packets: u64,
    /// Copies that differ from the other line's.
    pub differing_packets: u64,
    /// Numbers delivered or declared lost that the line has not brought.
    pub lost_seq_nums: u64,
}

/// Books of a channel.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BookCounts {
    /// Fresh books.
    pub fresh: u64,
    /// Stale books by reason.
    pub stale: BTreeMap<&'static str, u64>,
    /// The first stale books.
    pub stale_books: Vec<StaleBook>,
    /// Updates that wait for a snapshot.
    pub waiting_updates: u64,
    /// Updates applied.
    pub applied_updates: u64,
    /// Books that became fresh.
    pub recovered_books: u64,
    /// Snapshots equal to the book they were compared with.
    pub verified_snapshots: u64,
    /// Snapshots that showed a book to be wrong.
    pub mismatched_snapshots: u64,
    /// Times that a check found a book crossed or out of order.
    pub inconsistent_books: u64,
}

/// A book that may not be trusted.
#[derive(Clone, Debug, Serialize)]
pub struct StaleBook {
    /// Index of the instrument.
    pub instrument: usize,
    /// Its name.
    pub name: String,
    /// One word.
    pub reason: &'static str,
    /// In words.
    pub text: String,
}

/// Sequence numbers that no line brought.
#[derive(Clone, Debug, Serialize)]
pub struct GapState {
    /// Number of the gap, from 1.
    pub id: u64,
    /// When it was declared, in milliseconds since 1970.
    pub at_ms: u64,
    /// The first number.
    pub first: String,
    /// How many.
    pub count: u64,
    /// `open`, `replaying` or `filled`.
    pub status: &'static str,
    /// How it was filled: `replay`, `snapshots`, `updates`, or `reset` where a new session made it void.
    pub filled_by: Option<&'static str>,
    /// Milliseconds from its declaration until no book was stale for it.
    pub filled_after_ms: Option<u64>,
    /// Packets around it that can be explained.
    pub packets: Vec<u64>,
}

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
pub struct EventState {
    /// Grows from event to event of a channel.
    pub id: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// `fault`, `gap`, `line`, `replay`, `reset`, `silence` or `snapshot`.
    pub kind: &'static str,
    /// In words.
    pub text: String,
    /// The packet that it is about, if it was kept.
    pub packet: Option<u64>,
}

/// Quantiles of times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// How many times were measured.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99 of 100 are not above this.
    pub p99_ns: u64,
    /// 999 of 1000 are not above this.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// A distribution of times since the start.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyState {
    /// `receive_delay` (kernel to handler), `decode_time`, `book_time` (applying a message to books) or `publish_time` (from the
    /// first byte of a message until its samples are written); those that the process measures.
    pub name: &'static str,
    /// The line, such as `incremental a`; `null` if all together.
    pub line: Option<String>,
    /// Quantiles since the start.
    #[serde(flatten)]
    pub quantiles: Quantiles,
    /// Counts of the buckets whose upper bounds are in `bounds_ns` of the history.
    pub buckets: Vec<u64>,
}

/// One second of the history.
#[derive(Clone, Debug, Serialize)]
pub struct Second {
    /// Seconds since 1970.
    pub t: u64,
    /// Packets of lines A and B of the incremental feed.
    pub packets: [u64; 2],
    /// Numbers that became missing on lines A and B.
    pub lost: [u64; 2],
    /// Messages decoded.
    pub messages: u64,
    /// Packets in which a message could not be decoded.
    pub failed: u64,
    /// Numbers declared lost.
    pub missing: u64,
    /// Fresh books at its end.
    pub fresh: u64,
    /// Stale books at its end.
    pub stale: u64,
    /// Kernel to handler, of this second, all lines.
    pub receive_delay: Quantiles,
    /// Decoding, of this second.
    pub decode_time: Quantiles,
    /// Applying messages to books, of this second; all 0 if that is not measured.
    pub book_time: Quantiles,
    /// From the first byte of a message until its samples are written, of this second; all 0 if that is not measured.
    pub publish_time: Quantiles,
    /// Counts of `receive_delay` by bucket.
    pub receive_buckets: Vec<u32>,
    /// Counts of `decode_time` by bucket.
    pub decode_buckets: Vec<u32>,
    /// Counts of `book_time` by bucket; empty if that is not measured.
    pub book_buckets: Vec<u32>,
    /// Counts of `publish_time` by bucket; empty if that is not measured.
    pub publish_buckets: Vec<u32>,
}
