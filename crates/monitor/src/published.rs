//! Items that a handler's thread hands over to the monitor.

use tickwire_feed::arbiter::{ArbiterCounters, Gap, LineCounters};
use tickwire_feed::book::{Amount, Side};
use tickwire_feed::handler::{FeedLine, HandlerCounters, HandlerView, InputCounters};
use tickwire_feed::market::Instrument;
use tickwire_feed::recovery::{RecoveryCounters, StaleReason};
use tickwire_feed::replay::ReplayFailure;

/// An item of the queue. Times are nanoseconds of the handler's clock.
#[derive(Debug)]
pub(crate) enum MonitorMessage {
    /// All counters at one moment.
    Counts(Box<ChannelCounts>),
    /// An event.
    Event { at_ns: u64, event: FeedEvent },
    /// A packet as it was received, for explanation.
    Packet(Box<PacketCopy>),
    /// Trades since the last publication.
    Trades(Vec<TradeCopy>),
}

/// An event of a feed.
#[derive(Debug)]
pub(crate) enum FeedEvent {
    Fault {
        text: String,
        /// The packet that the fault is about; `None` if no line received it.
        packet: Option<PacketKey>,
    },
    Gap(Gap),
    Line(String),
    ReplayBegun(Gap),
    ReplayAbandoned {
        gap: Gap,
        reason: ReplayFailure,
    },
    ReplayDone(Gap),
    Reset {
        seq_num: u64,
    },
    Silence {
        is_silent: bool,
    },
}

/// Identifies a packet of a channel. The sequence number distinguishes packets with equal timestamps of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketKey {
    pub(crate) source: FeedLine,
    pub(crate) received_ns: u64,
    pub(crate) seq_num: Option<u64>,
}

/// Reason why a packet is passed to the monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HandOverReason {
    /// The fault is about this packet, if the packet contains `seq_num`.
    Failed { text: String, seq_num: Option<u64> },
    /// It was received near a packet that failed.
    NearFailed,
    /// It was received just before a gap was declared.
    Gap { first: u64 },
    /// It was among the last packets while a client looked at them.
    Recent,
}

/// Place of a packet among those of its channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArrivalPlace {
    /// Packets of different epochs do not continue each other, whatever their numbers are.
    pub(crate) epoch: u64,
    /// Number of the packet among those of its source, from 1 in the order of arrival.
    pub(crate) arrival: u64,
}

#[derive(Debug)]
pub(crate) struct PacketCopy {
    pub(crate) received_ns: u64,
    pub(crate) source: FeedLine,
    pub(crate) place: ArrivalPlace,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) why: HandOverReason,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TradeCopy {
    pub(crate) at_ns: u64,
    pub(crate) instrument: Instrument,
    pub(crate) price: Option<Amount>,
    pub(crate) size: Option<Amount>,
    pub(crate) aggressor: Option<Side>,
}

/// Counts of a line's socket.
#[derive(Clone, Copy, Debug)]
pub struct SocketFacts {
    /// Feed and letter of the line.
    pub source: FeedLine,
    /// Packets received.
    pub packets: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Packets that the kernel dropped because the receive buffer was full.
    pub dropped: u64,
    /// Time of the last packet, or of opening the socket before the first one, in nanoseconds of the handler's clock.
    pub last_packet_ns: u64,
}

/// Numbers of market events by kind, which is the label in the metrics.
pub type EventCounts = [(&'static str, u64); 5];

/// Counts of a channel at one moment.
#[derive(Debug)]
pub struct Facts<'c> {
    /// Counts of the sockets, one for each line.
    pub sockets: Vec<SocketFacts>,
    /// The handler's counters, arbiter and books.
    pub view: HandlerView<'c>,
    /// Numbers of market events.
    pub events: EventCounts,
}

/// Counts of one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCounts {
    pub(crate) socket: SocketFacts,
    pub(crate) input: InputCounters,
    /// Counts of the arbiter; only for lines of the incremental feed.
    pub(crate) arbitrated: Option<LineCounters>,
    pub(crate) is_excluded: bool,
}

/// Most stale books that are listed with their reasons.
const DETAILS_MAX: usize = 128;
/// Most names of instruments handed over at once.
const NAMES_MAX: usize = 1024;

/// All counts of a channel at one moment.
#[derive(Debug)]
pub(crate) struct ChannelCounts {
    pub(crate) now_ns: u64,
    pub(crate) lines: Vec<LineCounts>,
    pub(crate) arbiter: ArbiterCounters,
    pub(crate) held: u64,
    pub(crate) next_seq_num: Option<u64>,
    pub(crate) handler: HandlerCounters,
    pub(crate) recovery: RecoveryCounters,
    pub(crate) updates_held: u64,
    pub(crate) events: EventCounts,
    pub(crate) is_replacement_waiting: bool,
    /// First sequence numbers of the gaps that are being replayed.
    pub(crate) replaying: Vec<u64>,
    /// Time of the last sequence reset, in nanoseconds of the handler's clock.
    pub(crate) reset_ns: Option<u64>,
    /// States of the books by index of the instrument: 0 is fresh, otherwise 1 + the index of the reason.
    pub(crate) states: Vec<u8>,
    pub(crate) stale: Vec<(Instrument, StaleReason)>,
    /// Names of instruments that were not handed over before.
    pub(crate) names: Vec<(Instrument, Box<str>)>,
}

impl ChannelCounts {
    /// Collects the counts, and the names of instruments from index `names_from` on. The tap adds its data on
    /// gaps.
    pub(crate) fn new(now_ns: u64, facts: &Facts<'_>, names_from: usize) -> Self {
        let HandlerView { counters, arbiter, recovery, is_replacement_waiting } = facts.view;
        let line = |socket: &SocketFacts| {
            let line = match socket.source {
                FeedLine::Incremental(line) => Some(line),
                FeedLine::Definitions(_) | FeedLine::Snapshot(_) => None,
            };
            LineCounts {
                socket: *socket,
                input: *counters.input(socket.source),
                arbitrated: line.map(|line| arbiter.line_counters(line)),
                is_excluded: line.is_some_and(|line| arbiter.is_excluded(line)),
            }
        };
        let instruments = recovery.instruments();
        let states = recovery.state_codes().to_vec();
        let stale_ones = instruments.iter().zip(&states).filter(|(_, code)| **code != 0);
        // A book whose transaction continues may have no reason at this moment.
        let reason = |(instrument, _)| Some((instrument, recovery.state(instrument).err()?));
        let stale = stale_ones.take(DETAILS_MAX).filter_map(reason).collect();
        let name = |instrument| {
            let symbol = instruments.definition(instrument).and_then(|known| known.symbol.clone());
            let name = instruments.name(instrument);
            let text =
                symbol.map_or_else(|| name.into(), |symbol| format!("{symbol} {name}").into());
            (instrument, text)
        };
        Self {
            now_ns,
            lines: facts.sockets.iter().map(line).collect(),
            arbiter: arbiter.counters(),
            held: arbiter.packets_held() as u64,
            next_seq_num: arbiter.next_seq_num(),
            handler: *counters,
            recovery: recovery.counters(),
            updates_held: recovery.updates_held() as u64,
            events: facts.events,
            is_replacement_waiting,
            replaying: Vec::new(),
            reset_ns: None,
            states,
            stale,
            names: instruments.iter().skip(names_from).take(NAMES_MAX).map(name).collect(),
        }
    }
}
