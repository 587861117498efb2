//! The command line of `tickwire publish`.

use super::sources::Capture;
use crate::distribution::{DdsArgs, ParentArgs};
use crate::failure::Failure;
use crate::files;
use crate::options::{DecoderArgs, EndpointArgs, Endpoints, FramingArgs, MetricsArgs};
use std::path::PathBuf;
use std::time::Duration;
use tickwire_fast::TemplateSet;
use tickwire_feed::arbiter::ArbiterOptions;
use tickwire_feed::capture::{CaptureOptions, Format};
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{Numbering, SeqNumField, SeqNumPeek};
use tickwire_net::multicast::RECEIVE_BUFFER_BYTES_DEFAULT;

/// Decode a FAST feed and publish its messages over DDS.
///
/// The feed comes from a multicast group, on loopback unless an interface is named, or from a file.
/// Templates named Quote, New, Change and Remove become samples of topics of these names, MarketData
/// and QuoteRequest one sample for each security of a message; Done ends the feed. Subscribers echo
/// the samples, and the table tells how long decoding, publishing and the way took.
#[derive(Debug, clap::Args)]
pub struct PublishArgs {
    /// Template file of the feed (FAST 1.1 or 1.2 XML).
    #[arg(short, long, value_name = "FILE")]
    pub templates: PathBuf,
    /// Read packets from this capture file, also .gz or .zst, instead of a group; - is standard
    /// input.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Layout of the file: u32be, u32le or pcap; guessed unless given.
    #[arg(long, value_name = "FORMAT", requires = "file")]
    input_format: Option<Format>,

    #[command(flatten)]
    endpoints: EndpointArgs,
    /// Field that numbers messages, where no preamble numbers packets; MsgSeqNum (34) or
    /// SequenceNumber unless given.
    #[arg(long, value_name = "FIELD", help_heading = "Lines")]
    seq_num: Option<SeqNumField>,
    /// Microseconds to wait for a packet that neither line has brought.
    #[arg(long, value_name = "MICROS", default_value_t = 2_000, help_heading = "Lines")]
    hold: u64,
    /// Socket receive buffer to ask for, in bytes, for each line.
    #[arg(long, value_name = "BYTES", default_value_t = RECEIVE_BUFFER_BYTES_DEFAULT)]
    #[arg(help_heading = "Lines")]
    pub receive_buffer: usize,
    /// Spin instead of sleeping while nothing comes: lower latency, a CPU busy.
    #[arg(long, help_heading = "Lines")]
    pub spin: bool,

    #[command(flatten)]
    pub framing: FramingArgs,
    #[command(flatten)]
    pub decoder: DecoderArgs,
    /// Decode only; publish nothing (also -emptyBuilder).
    #[arg(long, alias = "emptyBuilder")]
    pub empty_builder: bool,
    /// Expect no echoes; name it on both sides (also -noecho).
    #[arg(long, alias = "noecho")]
    pub no_echo: bool,
    /// Subscribers to wait for before the first packet; 1 for a file, 0 for a group unless given.
    #[arg(long, value_name = "COUNT")]
    subscribers: Option<u32>,
    /// Seconds to wait for subscribers: for them to come, to make room, and to have everything.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    patience: f64,
    #[command(flatten)]
    pub dds: DdsArgs,
    /// Run on this CPU alone, counted from 0.
    #[arg(long, value_name = "NUMBER")]
    pub cpu: Option<usize>,
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Write counters and times to this file as JSON; - is standard output, in place of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub parent: ParentArgs,
}

impl PublishArgs {
    /// Where lines A and B come from; B only if it is wanted.
    pub fn endpoints(&self) -> Result<Endpoints, Failure> {
        self.endpoints.endpoints(false, false)
    }

    /// Where the numbers of packets are, and the field of messages that has them.
    pub fn numbering(
        &self,
        framing: &Framing,
        set: &TemplateSet,
    ) -> Result<(Numbering, SeqNumField), Failure> {
        let unused = SeqNumField::default;
        if self.file.is_some() {
            // One line, in the order of the file.
            return Ok((Numbering::None, unused()));
        }
        let by = |field: &SeqNumField| {
            let peek = SeqNumPeek::new(set, field);
            peek.can_find().then(|| (Numbering::Message(peek), field.clone()))
        };
        if let Some(field) = &self.seq_num {
            let unknown = || {
                Failure::Usage(format!(
                    "--seq-num: no template has {field} where it can be found without decoding"
                ))
            };
            return by(field).ok_or_else(unknown);
        }
        if framing.seq_num_field().is_some() {
            return Ok((Numbering::Preamble, unused()));
        }
        let simple = || by(&SeqNumField::Name("SequenceNumber".to_owned()));
        match by(&SeqNumField::default()).or_else(simple) {
            Some(found) => Ok(found),
            None if self.endpoints()?.b.is_some() => Err(Failure::Usage(
                "lines A and B cannot be made one without sequence numbers: name a framing whose \
                 preamble has one, or the field with --seq-num"
                    .to_owned(),
            )),
            None => Ok((Numbering::None, unused())),
        }
    }

    /// How lines A and B become one.
    pub fn arbiter(&self, numbering: &Numbering) -> ArbiterOptions {
        let options = match numbering {
            Numbering::Message(_) => ArbiterOptions::for_messages(),
            _ => ArbiterOptions::default(),
        };
        ArbiterOptions { hold_ns: self.hold.saturating_mul(1000), ..options }
    }

    /// Opens the file.
    pub fn open(&self, path: &std::path::Path) -> Result<Capture, Failure> {
        let mut options = CaptureOptions::new();
        if let Some(format) = self.input_format {
            options = options.format(format);
        }
        if !files::is_standard(path) {
            options = options.file_name(path.to_string_lossy());
        }
        files::open_capture(path, files::open(path)?, options)
    }

    /// Subscribers to wait for.
    pub fn subscribers(&self) -> u32 {
        self.subscribers.unwrap_or(u32::from(self.file.is_some()))
    }

    /// How long to wait for subscribers.
    pub fn patience(&self) -> Result<Duration, Failure> {
        Duration::try_from_secs_f64(self.patience)
            .ok()
            .filter(|patience| patience.as_secs() <= 3600)
            .ok_or_else(|| Failure::Usage("--patience: from 0 to 3600 seconds".to_owned()))
    }
}
