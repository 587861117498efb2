//! What a handler's thread hands over to the monitor.

use tickwire_feed::arbiter::{ArbiterCounters, Gap, LineCounters};
use tickwire_feed::board::BoardReader;
use tickwire_feed::book::{Amount, Side};
use tickwire_feed::handler::{HandlerCounters, HandlerView, InputCounters, Source};
use tickwire_feed::market::Instrument;
use tickwire_feed::recovery::{RecoveryCounters, StaleReason};

/// One handover. Times are nanoseconds of the handler's clock.
#[derive(Debug)]
pub(crate) enum Published {
    /// Readers of the books, once somebody wants them.
    Board(BoardReader),
    /// All counters at one moment.
    Counts(Box<Counts>),
    /// Something that happened.
    Event { at_ns: u64, event: Event },
    /// A packet as it was received.
    Packet(Box<PacketCopy>),
    /// A trade.
    Trade(TradeCopy),
}

/// Something that happened to a feed.
#[derive(Debug)]
pub(crate) enum Event {
    Fault {
        text: String,
        /// The packet that it is about, if a line brought it.
        packet: Option<PacketKey>,
    },
    Gap(Gap),
    Line(String),
    ReplayBegun(Gap),
    ReplayDone(Gap),
    Reset {
        seq_num: u64,
    },
    Silence {
        is_silent: bool,
    },
    /// A snapshot made a stale book fresh.
    SnapshotRecovered(Instrument),
}

/// Identifies a packet of a channel. The number tells packets apart that the kernel stamped alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketKey {
    pub(crate) source: Source,
    pub(crate) received_ns: u64,
    pub(crate) seq_num: Option<u64>,
}

/// Why a packet was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The fault is about this packet, if its number is that of the key.
    Failed { text: String, seq_num: Option<u64> },
    /// It came near one that failed.
    NearFailed,
    /// It came just before a gap was declared.
    Gap { first: u64 },
    /// It was among the last when somebody looked.
    Recent,
}

#[derive(Debug)]
pub(crate) struct PacketCopy {
    pub(crate) received_ns: u64,
    pub(crate) source: Source,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) why: Why,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TradeCopy {
    pub(crate) at_ns: u64,
    pub(crate) instrument: Instrument,
    pub(crate) price: Option<Amount>,
    pub(crate) size: Option<Amount>,
    pub(crate) aggressor: Option<Side>,
}

/// What a line's socket counted.
#[derive(Clone, Copy, Debug)]
pub struct SocketFacts {
    /// Which line.
    pub source: Source,
    /// Packets received.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that the kernel dropped because the receive buffer was full.
    pub dropped: u64,
    /// When the last packet came, or when the socket was opened, in nanoseconds of the handler's clock.
    pub last_packet_ns: u64,
}

/// Market events by kind, with the labels that the metrics have.
pub type EventCounts = [(&'static str, u64); 5];

/// What a channel counted, at one moment.
#[derive(Debug)]
pub struct Facts<'c> {
    /// The lines with their sockets.
    pub sockets: Vec<SocketFacts>,
    /// Counters, arbiter and books.
    pub view: HandlerView<'c>,
    /// Market events.
    pub events: EventCounts,
}

/// One line's counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCounts {
    pub(crate) socket: SocketFacts,
    pub(crate) input: InputCounters,
    /// Of lines of the incremental feed, which alone are arbitrated.
    pub(crate) arbitrated: Option<LineCounters>,
    pub(crate) is_put_aside: bool,
}

/// Most stale books whose reasons are told in words.
const DETAILS_MAX: usize = 128;
/// Most names of instruments handed over at once.
const NAMES_MAX: usize = 1024;

/// All counters of a channel at one moment.
#[derive(Debug)]
pub(crate) struct Counts {
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
    /// First numbers of the gaps that are being replayed.
    pub(crate) replaying: Vec<u64>,
    /// When the sequence numbers last began anew, in nanoseconds of the handler's clock.
    pub(crate) reset_ns: Option<u64>,
    /// By index of the instrument: 0 is fresh, else 1 and the index of the reason.
    pub(crate) states: Vec<u8>,
    pub(crate) stale: Vec<(Instrument, StaleReason)>,
    /// Instruments that were not handed over before.
    pub(crate) names: Vec<(Instrument, Box<str>)>,
}

impl Counts {
    /// Takes the counters, and the names of instruments from `names_from` on. The tap adds what it knows of gaps.
    pub(crate) fn new(now_ns: u64, facts: &Facts<'_>, names_from: usize) -> Self {
        let HandlerView { counters, arbiter, recovery, is_replacement_waiting } = facts.view;
        let line = |socket: &SocketFacts| {
            let line = match socket.source {
                Source::Incremental(line) => Some(line),
                Source::Definitions(_) | Source::Snapshot(_) => None,
            };
            LineCounts {
                socket: *socket,
                input: *counters.input(socket.source),
                arbitrated: line.map(|line| arbiter.line_counters(line)),
                is_put_aside: line.is_some_and(|line| arbiter.is_put_aside(line)),
            }
        };
        let instruments = recovery.instruments();
        let (mut states, mut stale) = (Vec::with_capacity(instruments.len()), Vec::new());
        for instrument in instruments.iter() {
            match recovery.state(instrument) {
                Ok(()) => states.push(0),
                Err(reason) => {
                    states.push(reason.index() as u8 + 1);
                    if stale.len() < DETAILS_MAX {
                        stale.push((instrument, reason));
                    }
                }
            }
        }
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
