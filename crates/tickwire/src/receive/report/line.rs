//! Report of one line.

use super::times::time_json;
use serde_json::{Value, json};
use tickwire_feed::arbiter::LineCounters;
use tickwire_feed::handler::{FeedLine, HandlerView, InputCounters};
use tickwire_net::histogram::LatencySummary;
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverCounters};

/// Counters of a socket.
pub struct SocketReport {
    counters: ReceiverCounters,
    receive_buffer_bytes: usize,
    /// Delays from the kernel's time stamp to the handler.
    pub delay: LatencySummary,
}

/// Counters of one line.
pub struct LineReport {
    /// The line.
    pub source: FeedLine,
    /// Packets.
    pub packets: u64,
    /// Bytes of the packets.
    pub bytes: u64,
    /// Packets that the capture truncated.
    pub truncated: u64,
    /// Address of its socket.
    pub endpoint: Option<Endpoint>,
    /// Counters of its socket.
    pub socket: Option<SocketReport>,
    /// Counters of the handler before arbitration.
    pub input: InputCounters,
    /// Arbiter counters of a line of the incremental feed.
    pub arbitrated: Option<LineCounters>,
}

impl LineReport {
    /// Creates the report of a line from the handler's counters.
    pub fn new(source: FeedLine, handler: &HandlerView<'_>) -> Self {
        let input = *handler.counters.input(source);
        let arbitrated = match source {
            FeedLine::Incremental(line) => Some(handler.arbiter.line_counters(line)),
            FeedLine::Definitions(_) | FeedLine::Snapshot(_) => None,
        };
        Self {
            source,
            packets: 0,
            bytes: 0,
            truncated: 0,
            endpoint: None,
            socket: None,
            input,
            arbitrated,
        }
    }

    /// Adds the counters of the line's socket.
    pub fn of_socket(source: FeedLine, receiver: &Receiver, handler: &HandlerView<'_>) -> Self {
        let counters = receiver.counters();
        let socket = SocketReport {
            counters,
            receive_buffer_bytes: receiver.receive_buffer_bytes(),
            delay: LatencySummary::from(receiver.delays()),
        };
        let (packets, bytes) = (counters.packets, counters.bytes);
        let endpoint = Some(receiver.endpoint());
        Self { packets, bytes, endpoint, socket: Some(socket), ..Self::new(source, handler) }
    }

    /// Packets that the kernel dropped.
    pub fn dropped(&self) -> u64 {
        self.socket.as_ref().map_or(0, |socket| socket.counters.dropped_by_kernel)
    }

    /// Packets longer than the limit, of the socket or the arbiter.
    fn too_long(&self) -> u64 {
        let of_socket = self.socket.as_ref().map_or(0, |socket| socket.counters.too_long);
        of_socket + self.arbitrated.map_or(0, |line| line.too_long)
    }

    /// Packets that do not have the format of the framing.
    pub fn malformed(&self) -> u64 {
        self.input.malformed + self.input.no_seq_num + self.too_long()
    }

    /// The counters as JSON.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "line": self.source.to_string(),
            "received": self.packets,
            "bytes": self.bytes,
            "too_long": self.too_long(),
            "malformed": self.input.malformed,
            "no_seq_num": self.input.no_seq_num,
            "unnumbered": self.input.unnumbered,

        });
        match &self.socket {
            Some(socket) => {
                value["batches"] = socket.counters.batches.into();
                value["dropped_by_kernel"] = socket.counters.dropped_by_kernel.into();
                value["receive_buffer_bytes"] = socket.receive_buffer_bytes.into();
                value["delay_us"] = time_json(&socket.delay);
            }
            None => value["truncated"] = self.truncated.into(),
        }
        if let (Some(line), Value::Object(members)) = (&self.arbitrated, &mut value) {
            let counts = [
                ("first", line.first),
                ("duplicate", line.duplicate),
                ("replacement", line.replacement),
                ("late", line.late),
                ("lost", line.lost),
                ("old_epoch", line.old_epoch),
                ("unexpected", line.unexpected),
                ("excluded", line.excluded),
                ("differing", line.differing),
                ("out_of_order", line.out_of_order),
            ];
            members.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
        }
        value
    }
}
