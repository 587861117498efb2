//! The state in the form of the API. Counters are named as the metrics, without prefix and unit.
//!
//! Numbers that may exceed 2^53 (sequence numbers, times of day in nanoseconds) and amounts are text, because browsers
//! would round them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bus::BusState;
use crate::sender::SenderState;

/// The state at one moment, without books and packets.
#[derive(Debug, Serialize)]
pub struct MonitorState {
    /// Version of the state; each change increases it.
    pub version: u64,
    /// Time at which the state was collected, in milliseconds since 1970.
    pub at_ms: u64,
    /// The process.
    pub process: ProcessState,
    /// The channels that the process receives.
    pub channels: Vec<ChannelState>,
    /// FIX sessions; `null` if the process has none.
    pub fix: Option<serde_json::Value>,
    /// Topics of DDS or shared memory; `null` if the process has none.
    pub bus: Option<BusState>,
    /// Lines of multicast groups that the process sends to; `null` if it sends nothing.
    pub sender: Option<SenderState>,
}

/// The monitored process.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessState {
    /// The command, such as `receive`.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Id of the process.
    pub pid: u32,
    /// Milliseconds since the monitor started.
    pub uptime_ms: u64,
    /// Reasons why the process is not ready; empty if it is.
    pub not_ready: Vec<String>,
    /// Faults that leave its data right but need attention, such as a silent line beside one that delivers.
    pub warnings: Vec<String>,
}

/// One channel of a feed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChannelState {
    /// Name of the channel.
    pub name: String,
    /// Milliseconds since the handler last published; `null` before the first time.
    pub published_ms: Option<u64>,
    /// `waiting` before the first packet, `live`, `silent`, or `stalled` (the handler does not publish any more).
    pub status: &'static str,
    /// True if the handler reports all lines silent.
    pub is_silent: bool,
    /// Time without packets after which a line is silent, in milliseconds.
    pub silent_after_ms: u64,
    /// The lines, each with its socket.
    pub lines: Vec<LineState>,
    /// True if packets have sequence numbers. If false, losses are not known: there are no gaps, and counts of numbers are 0. `null`
    /// before the first message.
    pub has_seq_nums: Option<bool>,
    /// The next sequence number to deliver.
    pub next_seq_num: Option<String>,
    /// Packets held back until earlier ones arrive.
    pub held_packets: u64,
    /// Packets delivered in order.
    pub delivered_packets: u64,
    /// Gaps declared.
    pub declared_gaps: u64,
    /// Sequence numbers in declared gaps.
    pub missing_seq_nums: u64,
    /// Sequence resets.
    pub sequence_resets: u64,
    /// Messages decoded.
    pub messages: u64,
    /// Messages decoded a second, over the last second.
    pub messages_per_second: f64,
    /// Packets in which a message could not be decoded.
    pub failed_packets: u64,
    /// Messages of unknown templates.
    pub unknown_template_messages: u64,
    /// Messages that could not be applied to books.
    pub misunderstood_messages: u64,
    /// Decoded messages of the snapshot feed.
    pub snapshot_messages: u64,
    /// Numbers of market events by kind.
    pub market_events: BTreeMap<&'static str, u64>,
    /// True while new templates wait for a sequence reset.
    pub is_replacement_waiting: bool,
    /// Books.
    pub books: BookCounts,
    /// The last gaps, the newest first.
    pub gaps: Vec<GapState>,
    /// The last events, the newest first.
    pub events: Vec<EventState>,
    /// Distributions of times.
    pub latencies: Vec<LatencyState>,
    /// The last complete second of the history.
    pub second: Option<Second>,
    /// Events, packets and other items that were dropped because the monitor was too slow. Counters are never dropped.
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
    /// `waiting`, `alive`, `silent`, `excluded` or `stalled`.
    pub status: &'static str,
    /// Milliseconds since the last packet, or since the socket was opened.
    pub age_ms: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received a second, over the last second.
    pub packets_per_second: f64,
    /// Bytes received a second, over the last second.
    pub bytes_per_second: f64,
    /// Packets that the kernel dropped.
    pub dropped_packets: u64,
    /// Packets with invalid framing.
    pub malformed_packets: u64,
    /// Counts of the arbiter; `null` for a line that is not arbitrated, such as one without sequence numbers.
    pub arbitration: Option<ArbitrationState>,
}

/// The arbiter's counts of a line.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ArbitrationState {
    /// Packets that were the first with their sequence number.
    pub first_packets: u64,
    /// Packets that were copies of delivered ones.
    pub duplicate_packets: u64,
    /// Packets whose sequence number had been declared lost.
    pub late_packets: u64,
    /// Packets with an unexpected sequence number.
    pub unexpected_packets: u64,
    /// Packets below the line's highest sequence number.
    pub out_of_order_packets: u64,
    /// Packets that differ from the other line's copy.
    pub differing_packets: u64,
    /// Sequence numbers delivered or declared lost that this line has not received.
    pub lost_seq_nums: u64,
}

/// Books of a channel.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BookCounts {
    /// Number of fresh books.
    pub fresh: u64,
    /// Numbers of stale books by reason.
    pub stale: BTreeMap<&'static str, u64>,
    /// The first stale books.
    pub stale_books: Vec<StaleBook>,
    /// Updates held back until a snapshot arrives.
    pub waiting_updates: u64,
    /// Updates applied.
    pub applied_updates: u64,
    /// Books that have become fresh again.
    pub recovered_books: u64,
    /// Snapshots that equalled the book.
    pub verified_snapshots: u64,
    /// Snapshots that showed the book to be wrong.
    pub mismatched_snapshots: u64,
    /// How often a check found a book crossed or its levels out of order.
    pub inconsistent_books: u64,
}

/// A book whose data cannot be trusted.
#[derive(Clone, Debug, Serialize)]
pub struct StaleBook {
    /// Index of the instrument.
    pub instrument: usize,
    /// Name of the instrument.
    pub name: String,
    /// Reason in one word.
    pub reason: &'static str,
    /// Reason as a sentence.
    pub text: String,
    /// Time since which the book is stale, in milliseconds since 1970; `null` if it is stale only until its transaction is whole.
    pub since_ms: Option<u64>,
}

/// A gap: sequence numbers that no line received.
#[derive(Clone, Debug, Serialize)]
pub struct GapState {
    /// Number of the gap, from 1.
    pub id: u64,
    /// Time of its declaration in milliseconds since 1970.
    pub at_ms: u64,
    /// The first missing sequence number.
    pub first: String,
    /// Number of missing sequence numbers.
    pub count: u64,
    /// `open`, `replaying`, `filled`, or `lost` if the process keeps no books that could recover from it.
    pub status: &'static str,
    /// How it was filled: `replay`, `snapshots`, `updates`, or `reset` if a sequence reset made it irrelevant.
    pub filled_by: Option<&'static str>,
    /// Milliseconds from its declaration until no book was stale because of it.
    pub filled_after_ms: Option<u64>,
    /// Ids of packets near it that can be explained.
    pub packets: Vec<u64>,
    /// `kept`; `gone` if newer packets have replaced some of them; or `not_kept` if there were none to keep.
    pub packets_status: &'static str,
}

/// An event.
#[derive(Clone, Debug, Serialize)]
pub struct EventState {
    /// Number of the event; it rises from event to event of a channel.
    pub id: u64,
    /// Time in milliseconds since 1970.
    pub at_ms: u64,
    /// `fault`, `gap`, `line`, `replay`, `reset`, `silence`, `snapshot` or `stale`: books that became stale within a second.
    pub kind: &'static str,
    /// The event as a sentence.
    pub text: String,
    /// Id of the packet that the event is about, if that is kept.
    pub packet: Option<u64>,
    /// State of the event's packet: `kept`; `gone` if newer packets have replaced it; or `not_kept` if it was too long or 64
    /// packets followed it before the fault was found. `null` for an event that is not about a packet.
    pub packet_status: Option<&'static str>,
}

/// Quantiles of times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// Number of measured times.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99 of 100 times are not above this.
    pub p99_ns: u64,
    /// 999 of 1000 times are not above this.
    pub p999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

/// A distribution of times since the start.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyState {
    /// `receive_delay` (kernel to handler), `decode_time`, `book_time` (applying a message to books) or `publish_time` (`publish`:
    /// from the first byte of a message until its samples are written; `receive --publish`: writing the samples of a book or
    /// event); those that the process measures.
    pub name: &'static str,
    /// The line, such as `incremental a`; `null` for all lines together.
    pub line: Option<String>,
    /// Quantiles since the start.
    #[serde(flatten)]
    pub quantiles: Quantiles,
    /// Counts of the buckets, whose upper bounds are `bounds_ns` of the history.
    pub buckets: Vec<u64>,
}

/// One second of the history.
#[derive(Clone, Debug, Serialize)]
pub struct Second {
    /// The second, in seconds since 1970.
    pub t: u64,
    /// Packets received on lines A and B of the incremental feed.
    pub packets: [u64; 2],
    /// Sequence numbers that became missing on lines A and B.
    pub lost: [u64; 2],
    /// Messages decoded.
    pub messages: u64,
    /// Packets in which a message could not be decoded.
    pub failed: u64,
    /// Sequence numbers declared lost.
    pub missing: u64,
    /// Fresh books at the end of the second.
    pub fresh: u64,
    /// Stale books at the end of the second.
    pub stale: u64,
    /// Times from kernel to handler in this second, over all lines.
    pub receive_delay: Quantiles,
    /// Times to decode a message in this second.
    pub decode_time: Quantiles,
    /// Times to apply a message to books in this second; all 0 if not measured.
    pub book_time: Quantiles,
    /// Times to publish in this second; all 0 if not measured.
    pub publish_time: Quantiles,
    /// Counts of `receive_delay` by bucket.
    pub receive_buckets: Vec<u32>,
    /// Counts of `decode_time` by bucket.
    pub decode_buckets: Vec<u32>,
    /// Counts of `book_time` by bucket; empty if not measured.
    pub book_buckets: Vec<u32>,
    /// Counts of `publish_time` by bucket; empty if not measured.
    pub publish_buckets: Vec<u32>,
}
