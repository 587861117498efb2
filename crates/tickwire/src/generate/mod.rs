//! `tickwire generate`: packets of the simulated exchange.

mod day;
mod snapshots;
mod truth;

pub use day::true_book_lines;
pub use snapshots::SnapshotWriter;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::TemplateArgs;
use crate::output;
use crate::packet_file::{PacketFile, PacketFormat};
use crate::progress::Progress;
use clap::{Args, Subcommand, ValueEnum};
use day::DayArgs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_exchange::{CmeShape, ExchangeError, FeedKind, Generator, Options};
use tickwire_feed::framing::Preset;
use truth::TruthWriter;

/// Generate a feed of the simulated exchange
///
/// The same seed gives the same bytes. Packets have length prefixes (u32be) unless the name of the
/// output ends in .pcap, .pcapng or .u32le; .raw and .fast are refused, because raw files have no
/// packet boundaries. Dictionaries are reset before every packet (decode --reset packet). Messages are encoded with
/// the feed's own templates, or with those of --templates, which must have the same names.
#[derive(Debug, Args)]
pub struct FeedGenerateArgs {
    #[command(subcommand)]
    what: GenerateCommand,
}

#[derive(Debug, Subcommand)]
enum GenerateCommand {
    /// A trading day on lines A and B, with separate lines for snapshots and instrument
    /// definitions, as one capture with times, including faults
    Day(Box<DayArgs>),
    #[command(flatten)]
    Feed(GeneratedFeedArgs),
}

#[derive(Debug, Subcommand)]
enum GeneratedFeedArgs {
    /// Price levels, trades and statistics: MDIncrementalRefresh messages, one per packet, and
    /// snapshots in a separate file
    Cme(CmeArgs),
    /// Price levels and trades: MarketData and QuoteRequest messages, one per packet, then Done
    Complex(ComplexArgs),
    /// Market data with values of unpredictable lengths, for benchmarks; contains no books
    RandomCme(CommonArgs),
    /// Single orders: Quote, New, Change and Remove messages, many per packet, then Done
    Simple(CommonArgs),
}

#[derive(Debug, Args)]
struct CmeArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Messages like those of this channel: on average 9 has 4 entries and 79 bytes, 11 has 1 entry
    /// and 36 bytes. Default: a whole day, 4.83 entries
    #[arg(long, value_name = "NUMBER")]
    channel: Option<CmeChannel>,
    /// Start with full books, so that receivers need a snapshot; always on with --channel 9 or 11
    #[arg(long)]
    mid_session: bool,
    /// Write snapshot packets to this file, with sequence numbers from 1
    #[arg(long, value_name = "FILE")]
    snapshots: Option<PathBuf>,
    /// Write the snapshot of one security after this many packets, of each security in turn
    #[arg(long, value_name = "PACKETS", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    snapshot_every: u32,
}

/// Channels with known average messages.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CmeChannel {
    /// 4 entries, 79 bytes.
    #[value(name = "9")]
    Channel9,
    /// 1 entry, 36 bytes.
    #[value(name = "11")]
    Channel11,
}

impl CmeArgs {
    fn options(&self) -> Options {
        let mut options = Options::cme(match self.channel {
            None => CmeShape::Average,
            Some(CmeChannel::Channel9) => CmeShape::Channel9,
            Some(CmeChannel::Channel11) => CmeShape::Channel11,
        });
        if let FeedKind::Cme { mid_session, .. } = &mut options.feed {
            *mid_session |= self.mid_session;
        }
        options
    }
}

#[derive(Debug, Args)]
struct ComplexArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Average number of entries per MarketData message
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    seq: u32,
    /// Put only one security into each message
    #[arg(long)]
    nosplit: bool,
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// Output file of packets; its suffix stands for the format (.pcap, .pcapng, .u32le),
    /// otherwise it is u32be; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    // The template names are those of the feed's own templates, which are the default.
    #[command(flatten)]
    templates: TemplateArgs,
    /// Number of messages, not counting Done
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 30_000)]
    messages: u64,
    /// Most bytes per packet; packets are filled with messages up to this size
    #[arg(long, value_name = "BYTES")]
    packet_size: Option<usize>,
    /// Most messages per packet
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    messages_per_packet: Option<u32>,
    /// Random seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Number of securities
    #[arg(long, value_name = "COUNT")]
    securities: Option<u32>,
    /// Write the preamble of this framing, with the packet's sequence number, before each packet:
    /// cme, moex-asts, moex-spectra, b3-umdf
    #[arg(long, value_name = "NAME")]
    framing: Option<Preset>,
    /// Sequence number of the first packet
    #[arg(long, value_name = "NUMBER")]
    first_seq_num: Option<u64>,
    /// Omit the Done message
    #[arg(long)]
    no_done: bool,
    /// Write the true books as JSON lines: the changed books after each packet, all books at the
    /// end
    ///
    /// Each line has the packet's index ("pkt") and sequence number ("seq_num"), the number of
    /// messages so far, and "books": security, rpt_seq, bids and offers, best level first, with
    /// price (mantissa m, exponent e), size and orders. The last line has "final" and no "pkt".
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Write the feed's templates to this file
    #[arg(long, value_name = "FILE")]
    write_templates: Option<PathBuf>,
}

impl GeneratedFeedArgs {
    /// Returns the options of the feed and the common options.
    fn options(&self) -> (Options, &CommonArgs) {
        match self {
            Self::Cme(args) => (args.options(), &args.common),
            Self::Complex(ComplexArgs { common, seq, nosplit }) => {
                let feed = FeedKind::Complex { entries_mean: *seq, split: !nosplit };
                (Options { feed, ..Options::complex() }, common)
            }
            Self::RandomCme(common) => (Options::random_cme(), common),
            Self::Simple(common) => (Options::simple(), common),
        }
    }
}

impl CommonArgs {
    fn apply(&self, options: &mut Options) {
        options.seed = self.seed;
        options.messages = self.messages;
        options.done &= !self.no_done;
        options.framing = self.framing.map(Preset::framing);
        if let Some(bytes) = self.packet_size {
            options.packet_bytes_max = bytes;
            options.messages_per_packet_max = usize::MAX;
        }
        if let Some(count) = self.messages_per_packet {
            options.messages_per_packet_max = count as usize;
        }
        options.securities = self.securities.unwrap_or(options.securities);
        options.first_seq_num = self.first_seq_num.unwrap_or(options.first_seq_num);
    }
}

/// Runs the command.
pub fn run(args: &FeedGenerateArgs) -> Result<Outcome, Failure> {
    match &args.what {
        GenerateCommand::Day(args) => day::run(args),
        GenerateCommand::Feed(feed) => run_feed(feed),
    }
}

fn run_feed(feed: &GeneratedFeedArgs) -> Result<Outcome, Failure> {
    let (mut options, common) = feed.options();
    common.apply(&mut options);
    let mut generator = match common.templates.is_any() {
        false => Generator::new(&options),
        true => Generator::with_templates(&options, common.templates.read()?),
    }
    .map_err(|error| Failure::Usage(described(&error, common)))?;
    check_outputs(feed, common)?;
    if let Some(path) = &common.write_templates {
        let mut out = files::create(Some(path))?;
        out.write_all(options.feed.templates().as_bytes())?;
        out.flush()?;
    }
    let snapshots = match feed {
        GeneratedFeedArgs::Cme(CmeArgs { snapshots: Some(path), snapshot_every, .. }) => {
            let starts_full = matches!(options.feed, FeedKind::Cme { mid_session: true, .. });
            Some(SnapshotWriter::create(path, *snapshot_every, starts_full, &mut generator)?)
        }
        _ => None,
    };
    write(&mut generator, common, snapshots)?;
    Ok(Outcome::Clean)
}

/// Refuses two outputs of the same name, and an existing output file unless replacing is requested.
fn check_outputs(feed: &GeneratedFeedArgs, common: &CommonArgs) -> Result<(), Failure> {
    let snapshots = match feed {
        GeneratedFeedArgs::Cme(args) => args.snapshots.as_deref(),
        _ => None,
    };
    let outputs = [
        Some(common.output.as_path()),
        snapshots,
        common.truth.as_deref(),
        common.write_templates.as_deref(),
    ];
    output::check_all(&outputs, common.force, &[])?;
    // The feed's own templates may replace a template file that was read; no other output may.
    let inputs: Vec<&Path> = common.templates.named().iter().map(PathBuf::as_path).collect();
    for path in [Some(common.output.as_path()), snapshots].into_iter().flatten() {
        PacketFormat::with_boundaries(path)?;
    }
    let [feed @ .., _] = outputs;
    feed.into_iter().flatten().try_for_each(|path| output::check(path, common.force, &inputs))
}

fn write(
    generator: &mut Generator,
    args: &CommonArgs,
    mut snapshots: Option<SnapshotWriter>,
) -> Result<(), Failure> {
    let mut packets = PacketFile::create(&args.output)?;
    let mut truth = args.truth.as_deref().map(TruthWriter::create).transpose()?;
    let progress = Progress::of_count(args.messages, "messages");
    let failed = |error: ExchangeError| Failure::Data(described(&error, args));
    while let Some(packet) = generator.next_packet().map_err(failed)? {
        packets.write(&packet.bytes)?;
        progress.add(packet.messages.len() as u64);
        if let Some(truth) = &mut truth {
            truth.packet(&packet, generator.truth())?;
        }
        if let Some(snapshots) = &mut snapshots {
            snapshots.packet(generator)?;
        }
    }
    packets.finish()?;
    if let Some(snapshots) = snapshots {
        snapshots.finish(generator)?;
    }
    match truth {
        Some(truth) => truth.finish(generator.truth()),
        None => Ok(()),
    }
}

fn failure(error: &ExchangeError) -> Failure {
    Failure::Data(format!("cannot make the feed: {error}"))
}

/// An error as text, with the template file if the error is about templates.
fn described(error: &ExchangeError, args: &CommonArgs) -> String {
    use ExchangeError::{Encode, FieldUnknown, Program, TemplateMissing};
    match error {
        Encode { .. } | FieldUnknown { .. } | Program(_) | TemplateMissing { .. }
            if args.templates.is_any() =>
        {
            format!("{}: cannot make the feed: {error}", args.templates.names())
        }
        _ => format!("cannot make the feed: {error}"),
    }
}
