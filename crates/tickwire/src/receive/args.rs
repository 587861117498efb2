//! The command line of `tickwire receive`.

use super::captures::{self, ReceiveCaptureArgs};
use super::handling::HandlingArgs;
use super::instrument_key;
use super::show::{ShowArgs, ShownKinds};
use crate::distribution::ParentArgs;
use crate::failure::Failure;
use crate::options::{
    ChannelsArgs, DecoderArgs, DefinitionArgs, EndpointArgs, Endpoints, FramingArgs, MetricsArgs,
    MonitorArgs, RecordArgs, ResetAtArgs, SourceArgs, SpanArgs, TemplateArgs, TierUpChoice,
    sequencing, wait,
};
use crate::output;
use crate::units::{ByteCount, TimeSpan, hold};
use clap::{Arg, ValueEnum};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickwire_fast::{TemplateSet, TierUp};
use tickwire_feed::arbiter::{Line, UnexpectedPolicy};
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{FeedLine, HandlerOptions, SeqNumField, Sequencing};
use tickwire_feed::market::{BookAdapter, BookChoice};
use tickwire_feed::recovery::{BookKinds, Continuity};
use tickwire_feed::replay::ReplayOptions;
use tickwire_feed_config::{BookKind, BooksBy, InstrumentConfig, KeyField, SKEW_MAX};
use tickwire_net::channel_settings::{ChannelSettings, handler_options, heartbeat_of};
use tickwire_net::multicast::{
    MEASURE_EVERY_DEFAULT, PACKET_BYTES_MAX_DEFAULT, RECEIVE_BUFFER_BYTES_DEFAULT, ReceiveMethod,
    ReceiverOptions,
};
#[cfg(feature = "xdp")]
use tickwire_net::packets::xdp::XdpOptions;
use tickwire_net::reception::Wait;

/// Socket options that other commands share. Their shared declarations do not exclude captures, so
/// this command adds that conflict.
const OF_SOCKETS: [&str; 10] = [
    "interface",
    "metrics",
    "monitor",
    "otlp",
    "record_name",
    "record_rotate_size",
    "record_rotate_time",
    "snapshot_source",
    "source",
    "source_b",
];

fn with_or_without_captures(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "reset_at" => arg.requires("captures").help_heading("Captures"),
        id if OF_SOCKETS.contains(&id) => arg.conflicts_with("captures"),
        _ => arg,
    }
}

/// Receive a feed: arbitrate lines A and B, decode, recover, keep books, print results.
///
/// The input is multicast sockets, or captures (--capture), whose times are then the clock. Live
/// reception ends with the Done message, --messages, --idle or Ctrl-C. A table of counters follows.
///
/// --feed receives all channels of a feed file, or those of --channel. Each line of output then
/// names its channel. Faults of the feed are logged. Exit status 1: a packet was not decoded, a
/// message was not understood, an instrument was refused, or a snapshot differed from its book. The
/// page "Receiving" of the book (docs/receive.md) describes the output.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_args(with_or_without_captures))]
pub struct ReceiveArgs {
    #[command(flatten)]
    pub parent: ParentArgs,
    #[command(flatten)]
    pub templates: TemplateArgs,
    /// Reload changed template files: a new file is checked while the current templates stay in
    /// use, and takes effect at the next reset of the feed. SIGHUP triggers the check at once.
    #[arg(long, conflicts_with = "captures")]
    pub watch_templates: bool,
    #[command(flatten)]
    channels: ChannelsArgs,
    #[command(flatten)]
    pub captures: ReceiveCaptureArgs,
    #[command(flatten)]
    pub sessions: ResetAtArgs,
    #[command(flatten)]
    endpoints: EndpointArgs,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    /// Also receive snapshots.
    #[arg(long, help_heading = "Line B and snapshots")]
    snapshots: bool,
    /// Also receive instrument definitions: symbol, price step, expiry, depth of books.
    #[arg(long, help_heading = "Line B and snapshots")]
    definitions: bool,
    #[command(flatten)]
    definition_lines: DefinitionArgs,
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Field with the sequence number, by name or tag, if it is inside messages. Default: the
    /// preamble, else MsgSeqNum (34), else SequenceNumber.
    #[arg(long, value_name = "FIELD")]
    seq_num: Option<SeqNumField>,
    #[command(flatten)]
    pub decoder: DecoderArgs,
    /// Decoding engine.
    #[arg(long, value_name = "ENGINE", default_value = "automatic")]
    pub engine: EngineChoice,
    /// When frequent templates are compiled to machine code: "thread", in the background; "eager", all
    /// templates at the start; "off", never; or COUNT, while decoding the message with this number,
    /// which is delayed.
    #[arg(long, value_name = "thread|eager|off|COUNT", default_value = "thread")]
    tier_up: TierUpChoice,

    /// Longest wait for a missing packet after a later packet has arrived; at most 10s. Default:
    /// 2ms.
    #[arg(long, value_name = "TIME", help_heading = "Arbitration", value_parser = hold)]
    hold: Option<TimeSpan>,
    /// Largest delay of one line behind the other when sequence numbers restart, and of the lines
    /// behind a snapshot; at most 30s. Default: 1s.
    #[arg(long, value_name = "TIME", help_heading = "Arbitration", value_parser = skew)]
    skew: Option<TimeSpan>,
    /// Most sequence numbers held while one is missing.
    #[arg(long, value_name = "COUNT", help_heading = "Arbitration")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    held_max: Option<u32>,
    /// First sequence number of the feed, if known. Packets missing before the first received one
    /// are then a gap.
    #[arg(long, value_name = "NUMBER", help_heading = "Arbitration")]
    first: Option<u64>,
    /// Accept a restart of the sequence numbers only after a SequenceReset message.
    #[arg(long, help_heading = "Arbitration")]
    explicit_restarts: bool,

    #[command(flatten)]
    handling: HandlingArgs,

    /// Key of book levels. Default: auto.
    #[arg(long, value_name = "HOW", help_heading = "Books")]
    books: Option<BookLevelKey>,
    /// Levels per side that the feed publishes. Default: from MarketDepth (264) and instrument
    /// definitions. If these do not give it, only levels that are certainly published are shown.
    #[arg(long, value_name = "LEVELS", help_heading = "Books")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: Option<u32>,
    /// Fields that identify an instrument, by FIX tag or name, such as 55,336. Default: SecurityID
    /// (48), else Symbol (55) with TradingSessionID (336), else Symbol.
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', help_heading = "Books")]
    #[arg(value_parser = instrument_key::parse)]
    pub instrument_key: Vec<KeyField>,
    /// Also keep implied books (QuoteCondition K).
    #[arg(long, help_heading = "Books")]
    implied: bool,
    /// Show consolidated books: outright and implied orders together.
    #[arg(long, requires = "show", help_heading = "Books")]
    consolidated: bool,
    /// Do not check the books after each message.
    #[arg(long, help_heading = "Books")]
    no_checks: bool,
    /// The feed does not number the updates of each instrument (RptSeq), although its templates
    /// have the field.
    #[arg(long, help_heading = "Books")]
    no_rpt_seq: bool,
    /// A stale book becomes fresh without a snapshot once updates have set every level.
    #[arg(long, help_heading = "Books")]
    natural_refresh: bool,

    /// Busy-poll while no packets arrive: lower latency, one CPU fully used. With a time, such as
    /// 50us, busy-poll for this time after the last packet, then sleep.
    #[arg(long, value_name = "TIME", conflicts_with = "captures", help_heading = "Sockets")]
    spin: Option<Option<TimeSpan>>,
    /// CPU to run on, counted from 0; with several threads, one CPU each.
    #[arg(long, value_name = "NUMBER,..", value_delimiter = ',', help_heading = "Sockets")]
    pub cpu: Vec<usize>,
    /// Number of threads for the channels of a feed file.
    #[arg(long, value_name = "COUNT", default_value_t = 1, conflicts_with = "captures")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Sockets")]
    pub threads: u16,
    /// Receive buffer of each socket, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = ByteCount(RECEIVE_BUFFER_BYTES_DEFAULT as u64))]
    #[arg(conflicts_with = "captures", help_heading = "Sockets")]
    receive_buffer: ByteCount,
    /// Longest packet, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = PACKET_BYTES_MAX_DEFAULT as u16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..), help_heading = "Sockets")]
    packet_max: u16,
    /// Use the time stamps of the network card. If the card gives none, or its clock does not
    /// follow the host's, the kernel's time stamps are used and a warning is logged.
    #[arg(long, conflicts_with = "captures", help_heading = "Sockets")]
    pub hardware_stamps: bool,
    /// Receive by AF_XDP, before the kernel's network stack; it saves CPU if the driver supports
    /// it. Every other socket of this host loses these packets. Needs root. One process at a time can
    /// receive from an interface.
    #[cfg(feature = "xdp")]
    #[arg(long, conflicts_with_all = ["captures", "hardware_stamps", "record_ring"])]
    #[arg(help_heading = "Sockets")]
    xdp: bool,
    /// Measure decoding time and delay of one in this many messages and packets: 1 measures all, 0
    /// none.
    #[arg(long, value_name = "COUNT", default_value_t = MEASURE_EVERY_DEFAULT)]
    #[arg(conflicts_with = "captures", help_heading = "Sockets")]
    pub measure_every: u32,

    /// Exit after this many messages of all channels together.
    #[arg(long, value_name = "COUNT", help_heading = "End")]
    pub messages: Option<u64>,
    /// Exit after this time without packets, counted from the first packet.
    #[arg(long, value_name = "TIME", conflicts_with = "captures", help_heading = "End")]
    idle: Option<TimeSpan>,
    /// Continue after a Done message. Captures are always read to their end.
    #[arg(long, help_heading = "End")]
    pub past_done: bool,

    #[command(flatten)]
    pub bus: super::bus::MarketBusArgs,
    #[command(flatten)]
    pub show: ShowArgs,
    #[command(flatten)]
    pub metrics: MetricsArgs,
    #[command(flatten)]
    pub monitor: MonitorArgs,
    #[command(flatten)]
    pub spans: SpanArgs,
    /// Write the counters to this file as JSON; with - to standard output, without the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Replace the --json file if it exists.
    #[arg(long, requires = "json")]
    force: bool,
    /// Do not print the table.
    #[arg(short, long)]
    pub quiet: bool,
    /// Settings of the channel in the feed file.
    #[arg(skip)]
    settings: Option<ChannelSettings>,
    /// Name of the channel if several are received.
    #[arg(skip)]
    label: Option<String>,
}

impl ReceiveArgs {
    /// When templates are compiled to machine code.
    pub const fn tier_up(&self) -> TierUp {
        let TierUpChoice(tier_up) = self.tier_up;
        tier_up
    }
}

/// The decoding engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// The fastest for these templates: SIMD and JIT compilation if this CPU supports them, or portable code.
    Automatic,
    /// Portable code only.
    Portable,
    /// Code generated from exactly these templates, if it is built in.
    Generated,
}

/// The key of book levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BookLevelKey {
    /// By the fields of the templates.
    Auto,
    /// Level number (MDPriceLevel).
    Level,
    /// No books.
    None,
    /// Single orders.
    Order,
    /// Price.
    Price,
}

impl From<BooksBy> for BookLevelKey {
    fn from(by: BooksBy) -> Self {
        match by {
            BooksBy::Level => Self::Level,
            BooksBy::None => Self::None,
            BooksBy::Order => Self::Order,
            BooksBy::Price => Self::Price,
        }
    }
}

impl ReceiveArgs {
    /// Returns the arguments of each channel: these arguments, completed by the channel's settings
    /// in a feed file.
    pub fn of_channels(&self) -> Result<Vec<Self>, Failure> {
        let Some(channels) = self.channels.settings()? else { return Ok(vec![self.clone()]) };
        let is_one = channels.len() == 1;
        if !is_one {
            self.check_several()?;
        }
        let channels: Result<Vec<Self>, Failure> =
            channels.into_iter().map(|channel| self.over(channel, is_one)).collect();
        let channels = channels?;
        let (captured, live): (Vec<&Self>, Vec<&Self>) =
            channels.iter().partition(|args| args.captures.is_any());
        if !captured.is_empty() && !live.is_empty() {
            let names = |of: &[&Self]| {
                let names = of.iter().filter_map(|args| Some(args.settings.as_ref()?.name.clone()));
                names.collect::<Vec<_>>().join(", ")
            };
            return Err(Failure::Usage(format!(
                "lines of {} are captures and those of {} groups: name a --channel, or several of one \
                 kind",
                names(&captured),
                names(&live)
            )));
        }
        Ok(channels)
    }

    /// Returns the number of captures of all channels. Refuses --reset-at with several: an index would name a
    /// packet of each.
    pub fn count_captures(&self, channels: &[Self]) -> Result<usize, Failure> {
        let captures: Vec<_> = channels.iter().map(|channel| &channel.captures).collect();
        let count = captures::count(&captures);
        if count > 1 && !self.sessions.reset_at.is_empty() {
            return Err(Failure::Usage(format!(
                "--reset-at counts the packets of one capture, and there are {count}: receive one at a time"
            )));
        }
        Ok(count)
    }

    /// Refuses options that apply to a single channel.
    fn check_several(&self) -> Result<(), Failure> {
        let lines = self.definition_lines;
        let names_definitions =
            lines.instrument_group.is_some() || lines.instrument_port.is_some() || self.definitions;
        let names_lines = self.endpoints.names_any() || self.sources.names_any();
        let is_of_one = [
            (names_lines || names_definitions || self.snapshots, "addresses"),
            (self.captures.is_of_lines(), "--capture-line"),
            (self.captures.finds_lines(), "--lines auto"),
        ];
        let Some((_, what)) = is_of_one.into_iter().find(|(is_given, _)| *is_given) else {
            return Ok(());
        };
        Err(Failure::Usage(format!(
            "{what} on the command line: select one channel with --channel"
        )))
    }

    /// Returns these arguments completed by a channel's settings.
    fn over(&self, channel: ChannelSettings, is_one: bool) -> Result<Self, Failure> {
        let mut args = self.clone();
        if !channel.inputs.is_empty() {
            args.endpoints.set_channel(&channel)?;
        } else if !is_one && args.captures.is_any() {
            return Err(Failure::Usage(format!(
                "channel {} has no groups in the feed file by which to find its packets in the captures: select \
                 other channels with --channel",
                channel.name
            )));
        }
        if !args.captures.is_any() {
            args.captures.set_lines(&channel.captures);
        }
        args.framing.set_channel(&channel);
        args.templates.set_default(&channel.templates);
        args.books = args.books.or(channel.books.by.map(BookLevelKey::from));
        if args.instrument_key.is_empty() {
            args.instrument_key = channel.books.key.clone().unwrap_or_default();
        }
        args.label = (!is_one).then(|| channel.name.clone());
        args.settings = Some(channel);
        Ok(args)
    }

    /// Refuses a counter file that is also an input of one of these channels, and an existing one unless
    /// `--force` is given.
    pub fn check_json<'c>(
        &'c self,
        channels: impl Iterator<Item = &'c Self>,
    ) -> Result<(), Failure> {
        let mut inputs: Vec<&Path> = self.channels.feed().into_iter().collect();
        for channel in channels {
            inputs.extend(channel.captures.paths());
            inputs.extend(channel.templates.paths()?.iter().map(PathBuf::as_path));
        }
        output::check_all(&[self.json.as_deref()], self.force, &inputs)
    }

    /// Login, limits and servers of the replay service that the feed file names.
    pub fn replay_service(&self) -> Result<Option<(ReplayOptions, Vec<String>)>, Failure> {
        let service = self.settings.as_ref().map(ChannelSettings::replay_service);
        let service = service.transpose().map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(service.flatten())
    }

    /// Instruments that the feed file describes.
    pub fn instruments(&self) -> &[InstrumentConfig] {
        self.settings.as_ref().map_or(&[], |channel| &channel.instruments)
    }

    /// The name of the channel if several are received.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Returns the addresses of the feeds.
    pub fn endpoints(&self) -> Result<Endpoints, Failure> {
        self.endpoints_of(&self.endpoints)
    }

    /// Returns the addresses of the feeds, with lines A and B at the given addresses.
    pub fn endpoints_with(
        &self,
        a: SocketAddrV4,
        b: Option<SocketAddrV4>,
    ) -> Result<Endpoints, Failure> {
        self.endpoints_of(&self.endpoints.with_lines(a, b))
    }

    fn endpoints_of(&self, endpoints: &EndpointArgs) -> Result<Endpoints, Failure> {
        let found = endpoints.endpoints(false, self.snapshots)?;
        let lines = self.definition_lines;
        let found = EndpointArgs::with_definitions(found, lines, self.definitions)?;
        Ok(self.sources.apply(found))
    }

    /// True if the group or the port of line A is named.
    pub fn names_a(&self) -> bool {
        self.endpoints.names_a() || self.captures.names(FeedLine::Incremental(Line::A))
    }

    /// True if there is a line B.
    fn has_line_b(&self) -> Result<bool, Failure> {
        let is_captured = self.captures.names(FeedLine::Incremental(Line::B));
        Ok(is_captured || self.captures.finds_lines() || self.endpoints()?.b.is_some())
    }

    /// Returns the options of the handler.
    pub fn options(
        &self,
        framing: Framing,
        sequencing: &Sequencing,
        books: &BookAdapter,
    ) -> Result<HandlerOptions, Failure> {
        let heartbeat_ns = self.framing.heartbeat_ns(&framing);
        let lines = [true, self.has_line_b()?];
        let channel = self.settings.as_ref();
        let mut options =
            handler_options(channel, (framing, heartbeat_ns), sequencing, books, lines);
        let arbiter = &mut options.arbiter;
        arbiter.hold_ns = self.hold.map_or(arbiter.hold_ns, TimeSpan::nanoseconds);
        arbiter.packets_held_max =
            self.held_max.map_or(arbiter.packets_held_max, |held| held as usize);
        arbiter.packet_bytes_max = self.packet_max.into();
        arbiter.first_seq_num = self.first;
        arbiter.skew_ns = self.skew.map_or(arbiter.skew_ns, TimeSpan::nanoseconds);
        if self.explicit_restarts {
            arbiter.unexpected = UnexpectedPolicy::Drop;
        }
        let recovery = &mut options.recovery;
        if self.no_rpt_seq {
            recovery.continuity = Continuity::SeqNum;
        }
        if self.implied || self.consolidated {
            recovery.kinds = BookKinds::OutrightAndImplied;
        }
        recovery.depth = self.depth.or(recovery.depth);
        recovery.checks &= !self.no_checks;
        recovery.natural_refresh |= self.natural_refresh;
        self.handling.apply_to_arbiter(arbiter);
        self.handling.check_holds(channel, arbiter)?;
        self.handling.apply_to_recovery(recovery);
        let silence = self.handling.silence(channel)?;
        options.heartbeat_ns = Some(heartbeat_of(silence, arbiter));
        Ok(options)
    }

    /// Returns the position of the feed's sequence numbers.
    pub fn sequencing(&self, framing: &Framing, set: &TemplateSet) -> Result<Sequencing, Failure> {
        let two_lines = self.has_line_b()?;
        sequencing(framing, set, self.seq_num.as_ref(), self.settings.as_ref(), two_lines)
    }

    /// Returns the selection of book levels' keys.
    pub fn book_choice(&self) -> BookChoice {
        match self.books.unwrap_or(BookLevelKey::Auto) {
            BookLevelKey::Auto => BookChoice::Auto,
            BookLevelKey::Level => BookChoice::Level,
            BookLevelKey::None => BookChoice::None,
            BookLevelKey::Order => BookChoice::Order,
            BookLevelKey::Price => BookChoice::Price,
        }
    }

    /// Kinds of books that are shown: those of the feed file (default: outright) and those that options name.
    pub fn shown_kinds(&self) -> ShownKinds {
        let kinds = self.settings.as_ref().and_then(|channel| channel.books.kinds.as_deref());
        let names = |kind| kinds.is_some_and(|kinds| kinds.contains(&kind));
        ShownKinds {
            outright: kinds.is_none() || names(BookKind::Outright),
            implied: self.implied || names(BookKind::Implied),
            consolidated: self.consolidated || names(BookKind::Consolidated),
        }
    }

    /// Returns the options of the sockets.
    pub fn receiver_options(&self) -> ReceiverOptions {
        ReceiverOptions {
            receive_buffer_bytes: self.receive_buffer.bytes(),
            packet_bytes_max: self.packet_max as usize,
            measure_every: self.measure_every,
            hardware_stamps: self.hardware_stamps,
            back_end: self.back_end(),
        }
    }

    /// Returns the back end that receives packets.
    #[cfg(feature = "xdp")]
    fn back_end(&self) -> ReceiveMethod {
        if self.xdp { ReceiveMethod::Xdp(XdpOptions::default()) } else { ReceiveMethod::Socket }
    }

    /// Returns the back end that receives packets.
    #[cfg(not(feature = "xdp"))]
    const fn back_end(&self) -> ReceiveMethod {
        ReceiveMethod::Socket
    }

    /// Returns how the receiver waits for packets.
    pub fn wait(&self) -> Wait {
        wait(self.spin)
    }

    /// Returns the time without packets after which reception ends.
    pub fn idle(&self) -> Option<Duration> {
        self.idle.map(TimeSpan::duration)
    }
}

fn skew(text: &str) -> Result<TimeSpan, String> {
    let span: TimeSpan = text.parse()?;
    let is_fit = span.duration() <= SKEW_MAX;
    is_fit.then_some(span).ok_or_else(|| format!("the largest possible skew is {SKEW_MAX:?}"))
}
