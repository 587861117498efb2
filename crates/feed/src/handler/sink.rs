//! Destination of messages, books and events.

use std::error::Error;
use std::fmt;

use super::FeedLine;
use crate::arbiter::{Gap, Line, LineEvent};
use crate::counted;
use crate::framing::FramingError;
use crate::market::{MarketDataError, MarketEvent, Snapshot};
use crate::recovery::{BookChange, Recovery, SnapshotOutcome};
use crate::replay::ReplayFailure;

/// Arrival of a message: packet, line, time and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Sequence number of its packet; `None` if the packet has none.
    pub seq_num: Option<u64>,
    /// The line that sent the packet first.
    pub line: Line,
    /// Arrival time, as passed to [`Handler::handle_packet`](super::Handler::handle_packet).
    pub received_ns: u64,
    /// Index of the message in its packet, from 0.
    pub index: u32,
    /// Offset of the message in the FAST bytes of its packet, which begin after its preamble.
    pub offset: u32,
    /// Length of the message in bytes.
    pub len: u32,
}

impl Delivery {
    /// Returns the delivery of a packet before its first message.
    pub(super) const fn of_packet(seq_num: Option<u64>, line: Line, received_ns: u64) -> Self {
        Self { seq_num, line, received_ns, index: 0, offset: 0, len: 0 }
    }
}

/// Identifies the packet of a [`Fault`] among those passed to
/// [`Handler::handle_packet`](super::Handler::handle_packet).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOrigin {
    /// The line that delivered the packet; `None` if a replay service did.
    pub source: Option<FeedLine>,
    /// Arrival time, in nanoseconds of the handler's clock.
    pub received_ns: u64,
}

/// A fault of the input. It is counted, and the faulty part is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault<'f> {
    /// A message could not be decoded; the rest of its packet is abandoned.
    Decode {
        /// Sequence number of the packet.
        seq_num: Option<u64>,
        /// The packet.
        packet: PacketOrigin,
        /// Offset of the message in the FAST bytes of its packet.
        offset: usize,
        /// The error.
        error: &'f dyn Error,
    },
    /// The framing of a packet is wrong.
    Framing {
        /// Source of the packet.
        source: FeedLine,
        /// The error.
        error: FramingError,
    },
    /// A market-data message cannot be interpreted.
    MarketData {
        /// Sequence number of the packet.
        seq_num: Option<u64>,
        /// The packet.
        packet: PacketOrigin,
        /// The error.
        error: MarketDataError,
    },
    /// The sequence number of a packet cannot be determined; the packet is dropped.
    NoSeqNum {
        /// Source of the packet.
        source: FeedLine,
        /// Its length in bytes.
        len: usize,
    },
    /// A packet's number differs from that of its first message, although the two usually agree.
    /// One of them is damaged, and the packet is not used.
    Misnumbered {
        /// Sequence number of the packet.
        seq_num: u64,
        /// The packet.
        packet: PacketOrigin,
        /// Sequence number of its first message.
        own: u64,
    },
    /// The header before a message is invalid; the rest of the packet is abandoned.
    MessageHeader {
        /// Sequence number of the packet.
        seq_num: Option<u64>,
        /// The packet.
        packet: PacketOrigin,
        /// Offset in the FAST bytes of the packet.
        offset: usize,
    },
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |seq_num: &Option<u64>| match seq_num {
            Some(seq_num) => format!("packet {seq_num}"),
            None => "a packet without number".to_owned(),
        };
        match self {
            Self::Decode { seq_num, offset, error, .. } => {
                write!(f, "{}: message at {offset}: {error}", of(seq_num))
            }
            Self::Framing { source, error } => write!(f, "{source}: {error}"),
            Self::MarketData { seq_num, error, .. } => write!(f, "{}: {error}", of(seq_num)),
            Self::NoSeqNum { source, len } => {
                write!(f, "{source}: {} without a sequence number, dropped", counted(*len, "byte"))
            }
            Self::Misnumbered { seq_num, own, .. } => {
                write!(f, "packet {seq_num}: its first message has the sequence number {own}")
            }
            Self::MessageHeader { seq_num, offset, .. } => {
                write!(f, "{}: no message header at {offset}", of(seq_num))
            }
        }
    }
}

/// Receives the output of a handler. Only [`handle_message`](Self::handle_message) is required; the
/// other methods do nothing by default.
pub trait Sink<M: ?Sized> {
    /// A message of the incremental feed, in order.
    fn handle_message(&mut self, delivery: &Delivery, message: &M);

    /// A lost message that a replay service sent again. It comes after its gap was reported, out of
    /// order. No line sent it, whatever `delivery` says. Its updates are applied to the books; its
    /// trades are reported only in this message.
    fn handle_replayed(&mut self, _delivery: &Delivery, _message: &M) {}

    /// A gap will be requested from a replay service; [`handle_replay_done`](Self::handle_replay_done) follows,
    /// unless the sequence numbers restart before.
    fn handle_replay_begun(&mut self, _gap: Gap) {}

    /// Numbers of a gap will not be replayed: the request or the replay failed. [`handle_replay_done`](Self::handle_replay_done)
    /// of the gap follows.
    fn handle_replay_abandoned(&mut self, _gap: Gap, _reason: ReplayFailure) {}

    /// The replay of a gap ended.
    fn handle_replay_done(&mut self, _gap: Gap) {}

    /// Numbers that no line sent, or whose packet could not be decoded.
    fn handle_gap(&mut self, _gap: Gap) {}

    /// The sequence numbers restarted; books are emptied.
    fn handle_reset(&mut self, _seq_num: u64) {}

    /// A book changed, or became fresh or stale. Called once per message and book, after
    /// [`handle_message`](Self::handle_message), and after gaps, resets and silence.
    fn handle_book(&mut self, _change: &BookChange, _recovery: &Recovery) {}

    /// True if the sink uses trades and statistics; otherwise they may be omitted.
    fn wants_events(&self) -> bool {
        true
    }

    /// A trade, a statistic, a status or a definition.
    fn handle_event(&mut self, _: &Delivery, _event: &MarketEvent<'_>, _recovery: &Recovery) {}

    /// A snapshot, and its result.
    fn handle_snapshot(
        &mut self,
        _snapshot: &Snapshot<'_>,
        _outcome: SnapshotOutcome,
        _recovery: &Recovery,
    ) {
    }

    /// With `is_silent`: no line has sent anything since `since_ns`, for twice the heartbeat
    /// interval; books are stale. With `is_silent` false: a packet was delivered in order again, or
    /// packets arrive that are out of sequence, which [`handle_out_of_sequence`](Self::handle_out_of_sequence)
    /// reports.
    fn handle_silence(&mut self, _is_silent: bool, _since_ns: u64) {}

    /// With `is_out_of_sequence`: all packets that arrive have old or unexpected sequence numbers;
    /// books are stale. With `is_out_of_sequence` false: a packet was delivered in order again, or the
    /// sequence numbers restarted.
    fn handle_out_of_sequence(&mut self, _is_out_of_sequence: bool) {}

    /// A line's copies differ, the line was excluded or restored, or it fell silent or sends again.
    fn handle_line(&mut self, _event: &LineEvent) {}

    /// A fault of the input, which is already counted.
    fn handle_fault(&mut self, _fault: &Fault<'_>) {}
}

/// A closure is a sink that receives only messages.
impl<M: ?Sized, F: FnMut(&Delivery, &M)> Sink<M> for F {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        self(delivery, message);
    }

    fn wants_events(&self) -> bool {
        false
    }
}
