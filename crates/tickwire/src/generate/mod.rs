//! `tickwire generate`: packets of the simulated exchange.

mod truth;

use crate::failure::{Failure, Outcome};
use crate::files;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_exchange::{Error, Feed, Generator, Options};
use tickwire_feed::Endian;
use tickwire_feed::capture::{PrefixedWriteError, PrefixedWriter};
use tickwire_feed::framing::Preset;
use truth::TruthWriter;

/// Make a feed of the simulated exchange
///
/// The same seed gives the same bytes. Packets are written behind their lengths (u32be), as decode
/// reads them; dictionaries are reset before every packet (decode --reset packet).
#[derive(Debug, Args)]
pub struct GenerateArgs {
    #[command(subcommand)]
    feed: FeedArgs,
}

#[derive(Debug, Subcommand)]
enum FeedArgs {
    /// Price levels and trades: MarketData and QuoteRequest messages, one a packet, then Done
    Complex(ComplexArgs),
    /// Every order: Quote, New, Change and Remove messages, many in a packet, then Done
    Simple(CommonArgs),
}

#[derive(Debug, Args)]
struct ComplexArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Average number of entries of a MarketData message
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    seq: u32,
    /// Tell of one security in each message
    #[arg(long)]
    nosplit: bool,
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// Where to write the packets; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Templates to encode by, with the names of the feed's own; default: the feed's own
    #[arg(short, long, value_name = "FILE")]
    templates: Option<PathBuf>,
    /// Number of messages, without Done
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 30_000)]
    messages: u64,
    /// Most bytes of a packet, which is filled with messages as they fit
    #[arg(short, long, value_name = "BYTES")]
    packet_size: Option<usize>,
    /// Most messages of a packet
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    messages_per_packet: Option<u32>,
    /// Seed of the random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Number of securities
    #[arg(long, value_name = "COUNT")]
    securities: Option<u32>,
    /// Put the preamble of this framing, with the packet's sequence number, before each packet:
    /// cme, moex-asts, moex-spectra, b3-umdf
    #[arg(long, value_name = "NAME")]
    framing: Option<Preset>,
    /// Number of the first packet
    #[arg(long, value_name = "NUMBER")]
    first_seq_num: Option<u64>,
    /// Leave the Done message out
    #[arg(long)]
    no_done: bool,
    /// Write the true books as JSON lines: those changed after each packet, all at the end
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Write the feed's own templates, to decode with
    #[arg(long, value_name = "FILE")]
    write_templates: Option<PathBuf>,
}

impl FeedArgs {
    /// What to make, and what is the same for all feeds.
    fn options(&self) -> (Options, &CommonArgs) {
        match self {
            Self::Complex(ComplexArgs { common, seq, nosplit }) => {
                let feed = Feed::Complex { entries_mean: *seq, split: !nosplit };
                (Options { feed, ..Options::complex() }, common)
            }
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
pub fn run(args: &GenerateArgs) -> Result<Outcome, Failure> {
    let (mut options, common) = args.feed.options();
    common.apply(&mut options);
    let mut generator = match &common.templates {
        None => Generator::new(&options),
        Some(path) => Generator::with_templates(&options, files::read_templates(path)?),
    }
    .map_err(|error| Failure::Usage(format!("cannot make the feed: {error}")))?;
    if let Some(path) = &common.write_templates {
        let mut out = files::create(Some(path))?;
        out.write_all(options.feed.templates().as_bytes())?;
        out.flush()?;
    }
    write(&mut generator, common)?;
    Ok(Outcome::Clean)
}

fn write(generator: &mut Generator, args: &CommonArgs) -> Result<(), Failure> {
    let mut packets = PrefixedWriter::new(files::create(Some(&args.output))?, Endian::Big);
    let mut truth = args.truth.as_deref().map(TruthWriter::create).transpose()?;
    while let Some(packet) = generator.next_packet().map_err(|error| failure(&error))? {
        packets.write_packet(&packet.bytes).map_err(|error| unwritten(&args.output, error))?;
        if let Some(truth) = &mut truth {
            truth.packet(&packet, generator.truth())?;
        }
    }
    packets.into_inner().flush()?;
    match truth {
        Some(truth) => truth.finish(generator.truth()),
        None => Ok(()),
    }
}

fn failure(error: &Error) -> Failure {
    Failure::Data(format!("cannot make the feed: {error}"))
}

fn unwritten(path: &Path, error: PrefixedWriteError) -> Failure {
    match error {
        PrefixedWriteError::Io(error) => error.into(),
        error => Failure::Data(format!("{}: {error}", path.display())),
    }
}
