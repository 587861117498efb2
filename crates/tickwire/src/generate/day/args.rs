//! The command line of `tickwire generate day`.

use crate::failure::Failure;
use crate::options::{
    DefinitionArgs, EndpointArgs, FaultArgs, Interval, Percent, SnapshotFaultArgs,
};
use crate::units::TimeSpan;
use clap::ValueEnum;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::str::FromStr;
use tickwire_exchange::day::{
    BookForm, DayChange, DayOptions, Heartbeats, InstrumentKeyKind, SequenceNumbers,
};
use tickwire_feed::framing::Preset;
use tickwire_net::inject::{ClockStep, Faults};

// A day has line B unless `--no-line-b` is given. `--line-b` is accepted but hidden, because other
// commands have it.
#[derive(Debug, clap::Args)]
#[command(mut_arg("line_b", |arg| arg.hide(true)))]
pub struct DayArgs {
    /// Capture file to write, with all lines: pcapng if its name ends so, else pcap
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
    /// Write the true books at the end as JSON lines, sorted by name
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Write the templates of the feed to this file
    #[arg(long, value_name = "FILE")]
    pub write_templates: Option<PathBuf>,

    /// Random seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Number of update packets
    #[arg(short = 'n', long = "packet-count", value_name = "COUNT", default_value_t = 10_000)]
    pub packets: u64,
    /// Number of instruments
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    instruments: u32,
    /// Form of book updates: levels by position, levels by price, or single orders
    #[arg(long, value_name = "FORM", default_value = "levels", help_heading = "Feed")]
    books: DayBooks,
    /// Levels per side; several values apply to the instruments in turn. Default: 10 by position,
    /// else all
    #[arg(long, value_name = "COUNT[,COUNT..]", value_delimiter = ',', help_heading = "Feed")]
    depth: Vec<u32>,
    /// Fields that identify instruments
    #[arg(long, value_name = "KEY", default_value = "security-id", help_heading = "Feed")]
    key: DayInstrumentKey,
    /// Omit RptSeq, so that gaps are visible only in the sequence numbers
    #[arg(long, help_heading = "Feed")]
    no_rpt_seq: bool,
    /// Unit of sequence numbers: packets, in a preamble, or messages, without a preamble
    #[arg(long, value_name = "WHAT", default_value = "packets", help_heading = "Feed")]
    sequence: Sequence,
    /// Preamble if packets are numbered: cme, moex-asts, moex-spectra, b3-umdf
    #[arg(long, value_name = "NAME", default_value = "cme", help_heading = "Feed")]
    framing: Preset,
    /// Sequence number of the first packet or message
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Feed")]
    first_seq_num: u64,
    /// Most messages per packet
    #[arg(long, value_name = "COUNT", default_value_t = 1, help_heading = "Feed")]
    messages_per_packet: u32,
    /// Also send implied levels (QuoteCondition K)
    #[arg(long, help_heading = "Feed")]
    implied: bool,
    /// Omit the order counts of levels
    #[arg(long, help_heading = "Feed")]
    no_order_counts: bool,
    /// Omit trades and statistics
    #[arg(long, help_heading = "Feed")]
    no_trades: bool,

    /// Send one snapshot after this many update packets, of each instrument in turn; 0 for none
    #[arg(long, value_name = "PACKETS", default_value_t = 5, help_heading = "Snapshots")]
    snapshot_every: u64,
    /// Most entries per snapshot message; larger books are split into fragments (LastFragment)
    #[arg(long, value_name = "ENTRIES", help_heading = "Snapshots")]
    fragments: Option<usize>,
    /// Reset the sequence numbers of snapshots after each round (SequenceReset)
    #[arg(long, help_heading = "Snapshots")]
    reset_snapshots: bool,
    /// Include MarketDepth in snapshots
    #[arg(long, help_heading = "Snapshots")]
    snapshot_depth: bool,
    /// Send one instrument definition after this many update packets, of each instrument in turn,
    /// and all of them at the start; 0 for none
    #[arg(long, value_name = "PACKETS", default_value_t = 50, help_heading = "Snapshots")]
    definition_every: u64,

    /// Change the trading status of instruments: auctions with crossed books, halts
    #[arg(long, help_heading = "Day")]
    status: bool,
    /// Messages that empty the books (MDEntryType J) of an instrument, a session or the channel, in
    /// percent
    #[arg(long, value_name = "PERCENT", default_value = "0", help_heading = "Day")]
    empty_books: Percent,
    /// Change the trading day in the middle (SequenceReset). NUMBER is the first sequence number of
    /// the new day; :keep continues RptSeq. Several changes are spread evenly
    #[arg(long, value_name = "NUMBER[:keep]", help_heading = "Day")]
    day_change: Vec<DayChangeArg>,
    /// Start with full books, so that receivers need a snapshot
    #[arg(long, help_heading = "Day")]
    mid_session: bool,
    /// Mean time between update packets
    #[arg(long, value_name = "TIME", default_value = "1ms", help_heading = "Day")]
    gap: TimeSpan,
    /// Packets of an idle channel: none, heartbeats with sequence numbers, or heartbeats without
    #[arg(long, value_name = "KIND", default_value = "none", help_heading = "Day")]
    heartbeats: HeartbeatKind,
    /// Longest silence before a heartbeat
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Day")]
    heartbeat_interval: TimeSpan,

    #[command(flatten)]
    endpoints: EndpointArgs,
    /// Omit line B
    #[arg(long, help_heading = "Line B and snapshots", conflicts_with = "line_b")]
    no_line_b: bool,
    #[command(flatten)]
    definitions: DefinitionArgs,

    #[command(flatten)]
    faults: FaultArgs,
    /// Random seed of the faults. Default: the seed of the feed
    #[arg(long, value_name = "NUMBER", help_heading = "Faults")]
    fault_seed: Option<u64>,
    /// Period in which line B carries another channel, such as 2s..5s
    #[arg(long, value_name = "FROM..TO", help_heading = "Faults", default_value = "never")]
    wrong_line: Interval,
    #[command(flatten)]
    snapshot_faults: SnapshotFaultArgs,
    /// Step of the capture's clock: time since the start and size of the step, such as 2s:-500ms
    #[arg(long, value_name = "AT:BY", help_heading = "Faults")]
    clock_step: Vec<ClockStepArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DayBooks {
    Levels,
    Prices,
    Orders,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DayInstrumentKey {
    /// SecurityID (48).
    SecurityId,
    /// Symbol (55) and TradingSessionID (336).
    SymbolSession,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sequence {
    Packets,
    Messages,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HeartbeatKind {
    None,
    Numbered,
    Unnumbered,
}

/// A day change.
#[derive(Clone, Copy, Debug)]
struct DayChangeArg(DayChange);

impl FromStr for DayChangeArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, keeps) = match text.split_once(':') {
            Some((number, "keep")) => (number, true),
            Some(_) => return Err("only :keep may follow the number"),
            None => (text, false),
        };
        let new_seq_no = number.parse().map_err(|_| "expected a sequence number, such as 1")?;
        Ok(Self(DayChange { new_seq_no, restarts_rpt_seq: !keeps }))
    }
}

/// A step of a clock, at a time since the start.
#[derive(Clone, Copy, Debug)]
struct ClockStepArg {
    at_ns: u64,
    by_ns: i64,
}

impl FromStr for ClockStepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected AT:BY, such as 2s:-500ms";
        let (at, by) = text.split_once(':').ok_or(expected)?;
        let (sign, by) = by.strip_prefix('-').map_or((1, by), |by| (-1, by));
        let by_ns = by.trim_start_matches('+').parse::<TimeSpan>()?.nanoseconds();
        let by_ns = i64::try_from(by_ns).map_err(|_| expected)?;
        Ok(Self { at_ns: at.parse::<TimeSpan>()?.nanoseconds(), by_ns: sign * by_ns })
    }
}

/// Addresses of the lines of a day.
#[derive(Clone, Copy, Debug)]
pub struct DayAddresses {
    /// Lines A and B.
    pub lines: [Option<SocketAddrV4>; 2],
    pub snapshots: SocketAddrV4,
    pub instruments: SocketAddrV4,
}

impl DayArgs {
    /// Options of the day.
    pub fn options(&self) -> DayOptions {
        let depth = |default: &[u32]| match self.depth.is_empty() {
            true => default.to_vec(),
            false => self.depth.clone(),
        };
        DayOptions {
            seed: self.seed,
            instruments: self.instruments,
            packets: self.packets,
            messages_per_packet_max: self.messages_per_packet as usize,
            books: match self.books {
                DayBooks::Levels => BookForm::Levels { depths: depth(&[10]) },
                DayBooks::Prices => BookForm::Prices { depth: depth(&[]).first().copied() },
                DayBooks::Orders => BookForm::Orders,
            },
            key: match self.key {
                DayInstrumentKey::SecurityId => InstrumentKeyKind::SecurityId,
                DayInstrumentKey::SymbolSession => InstrumentKeyKind::SymbolAndSession,
            },
            has_rpt_seq: !self.no_rpt_seq,
            sequence: match self.sequence {
                Sequence::Packets => SequenceNumbers::Packets,
                Sequence::Messages => SequenceNumbers::Messages,
            },
            framing: self.framing.framing(),
            has_implied: self.implied,
            has_order_counts: !self.no_order_counts,
            fragment_entries_max: self.fragments,
            snapshot_every: self.snapshot_every,
            resets_snapshots: self.reset_snapshots,
            has_snapshot_depth: self.snapshot_depth,
            definition_every: self.definition_every,
            has_trades: !self.no_trades,
            has_status: self.status,
            empty_book: self.empty_books.chance(),
            day_changes: self.day_change.iter().map(|change| change.0).collect(),
            mid_session: self.mid_session,
            first_seq_num: self.first_seq_num,
            gap_ns: self.gap.nanoseconds(),
            heartbeats: match self.heartbeats {
                HeartbeatKind::None => Heartbeats::None,
                HeartbeatKind::Numbered => Heartbeats::Numbered,
                HeartbeatKind::Unnumbered => Heartbeats::Unnumbered,
            },
            heartbeat_interval_ns: self.heartbeat_interval.nanoseconds(),
            ..DayOptions::futures()
        }
    }

    /// Addresses of the lines.
    pub fn addresses(&self) -> Result<DayAddresses, Failure> {
        let endpoints = self.endpoints.endpoints(!self.no_line_b, true)?;
        let a = endpoints.a.address();
        let endpoints = EndpointArgs::with_definitions(endpoints, self.definitions, true)?;
        let none = || Failure::Usage("snapshots or definitions have no address".to_owned());
        Ok(DayAddresses {
            lines: [Some(a), endpoints.b.map(|b| b.address())],
            snapshots: endpoints.snapshots.ok_or_else(none)?.address(),
            instruments: endpoints.definitions[0].ok_or_else(none)?.address(),
        })
    }

    /// Seed of the faults.
    pub fn fault_seed(&self) -> u64 {
        self.fault_seed.unwrap_or(self.seed)
    }

    /// Faults of line A (0) or B (1).
    pub fn line_faults(&self, line: usize) -> Faults {
        let wrong_line = self.wrong_line.window().filter(|_| line == 1);
        Faults { wrong_line, ..self.faults.faults(line) }
    }

    /// Faults of the snapshots.
    pub fn snapshot_faults(&self) -> Faults {
        self.snapshot_faults.faults()
    }

    /// True if line B carries another channel for a while.
    pub const fn has_wrong_line(&self) -> bool {
        self.wrong_line.window().is_some()
    }

    /// Steps of the clock, in true time.
    pub fn clock_steps(&self, start_ns: u64) -> Vec<ClockStep> {
        let step = |step: &ClockStepArg| ClockStep {
            at_ns: start_ns.saturating_add(step.at_ns),
            by_ns: step.by_ns,
        };
        self.clock_step.iter().map(step).collect()
    }
}
