//! The command line of `tickwire publish`.

use super::sources::FileCaptureReader;
use crate::distribution::{DeliveryArgs, ParentArgs, PublishTransport};
use crate::failure::Failure;
use crate::files;
use crate::options::{
    ChannelArgs, DecoderArgs, Endpoints, FramingArgs, LineArgs, MetricsArgs, MonitorArgs,
    TemplateArgs, sequencing,
};
use crate::output;
use crate::units::{ByteCount, TimeSpan, hold, span_in};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickwire_fast::{CompileOptions, TemplateSet, TierUp};
use tickwire_feed::arbiter::ArbiterOptions;
use tickwire_feed::capture::{CaptureFormat, CaptureOptions};
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{SeqNumField, Sequencing};
use tickwire_net::channel_settings::ChannelSettings;
use tickwire_net::multicast::RECEIVE_BUFFER_BYTES_DEFAULT;

/// Decode a FAST feed and publish its messages over DDS or shared memory.
///
/// The feed comes from a multicast group, on loopback unless an interface is named, or from a file.
/// Quote, New, Change and Remove messages become samples of the topics of these names. MarketData
/// and QuoteRequest become one sample per security of a message. Done ends the feed. Subscribers
/// echo the samples. The table at the end has the times of decoding, publishing and transport.
#[derive(Clone, Debug, clap::Args)]
pub struct PublishArgs {
    #[command(flatten)]
    pub templates: TemplateArgs,
    #[command(flatten)]
    pub channel: ChannelArgs,
    /// Read packets from this capture file, also .gz or .zst, not from a group; - is standard
    /// input.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Format of the file: u32be, u32le or pcap. Default: detected; name it for a pipe that is written
    /// slowly, whose first 64 KiB must otherwise arrive before this command publishes.
    #[arg(long, value_name = "FORMAT", requires = "file")]
    input_format: Option<CaptureFormat>,

    #[command(flatten)]
    lines: LineArgs,
    /// Field with the message sequence number, by name or tag, if no preamble numbers the packets.
    /// Default: MsgSeqNum (34) or SequenceNumber.
    #[arg(long, value_name = "FIELD", help_heading = "Lines")]
    seq_num: Option<SeqNumField>,
    /// Longest wait for a missing packet after a later packet has arrived; at most 10s. Default:
    /// 2ms.
    #[arg(long, value_name = "TIME", help_heading = "Lines", value_parser = hold)]
    hold: Option<TimeSpan>,
    /// Receive buffer of each socket, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = ByteCount(RECEIVE_BUFFER_BYTES_DEFAULT as u64))]
    #[arg(help_heading = "Lines")]
    pub receive_buffer: ByteCount,
    /// Busy-poll while no packets arrive: lower latency, one CPU fully used. With a time, such as
    /// 50us, busy-poll for this time after the last packet, then sleep.
    #[arg(long, value_name = "TIME", help_heading = "Lines")]
    pub spin: Option<Option<TimeSpan>>,

    #[command(flatten)]
    pub framing: FramingArgs,
    #[command(flatten)]
    pub decoder: DecoderArgs,
    /// Samples to publish. "orders": the samples of the templates Quote, New, Change, Remove,
    /// MarketData and QuoteRequest. "templates": a generated type for every template, whatever its
    /// name.
    #[arg(long, value_name = "WHICH", default_value = "orders")]
    samples: SampleChoice,
    /// With --samples templates: the key field. In each template that has it outside of sequences,
    /// it must be a mandatory number or string; topics of other templates have no key. Each value of
    /// the key has its own last value.
    #[arg(long, value_name = "FIELD")]
    pub key: Option<String>,
    /// With --samples templates: publish only messages of this template, by name or id. May be
    /// repeated.
    #[arg(long, value_name = "NAME|ID")]
    pub template: Vec<String>,
    /// With --samples templates: only these fields, by name. Default: all.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',')]
    fields: Option<Vec<String>>,
    /// Only decode; publish nothing (also -emptyBuilder).
    #[arg(long, alias = "emptyBuilder")]
    pub empty_builder: bool,
    /// Expect no echoes (also -noecho). Without this option, an echo of each sample is expected from
    /// each subscriber that echoes when publishing begins.
    #[arg(long, alias = "noecho")]
    pub no_echo: bool,
    /// Subscribers to wait for before the first packet. Default: 1 for a file, 0 for a group.
    #[arg(long, value_name = "COUNT")]
    subscribers: Option<u32>,
    /// Longest wait for subscribers: until they connect, until they make room, and until they have
    /// received everything.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = span_in("0"..="1h"))]
    patience: TimeSpan,
    /// Transport: "dds", for this host and others; "shm", shared memory, for this host only; or
    /// "both".
    #[arg(long, value_name = "TRANSPORT", default_value_t, value_enum)]
    pub transport: PublishTransport,
    #[command(flatten)]
    pub delivery: DeliveryArgs,
    /// CPU of the thread that receives, decodes and publishes, counted from 0. Threads of DDS, of the
    /// echoes and of the monitor run on any CPU.
    #[arg(long, value_name = "NUMBER")]
    pub cpu: Option<usize>,
    #[command(flatten)]
    pub metrics: MetricsArgs,
    #[command(flatten)]
    pub monitor: MonitorArgs,
    /// Write counters and times to this file as JSON; with - to standard output, without the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Replace the --json file if it exists.
    #[arg(long, requires = "json")]
    force: bool,
    #[command(flatten)]
    pub parent: ParentArgs,
    /// Settings of the channel in the feed file.
    #[arg(skip)]
    settings: Option<ChannelSettings>,
}

/// The choice of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SampleChoice {
    /// The samples of the IDL files, by template name.
    Orders,
    /// Types generated from the templates.
    Templates,
}

impl PublishArgs {
    /// True if types are generated from the templates.
    pub fn of_templates(&self) -> bool {
        self.samples == SampleChoice::Templates
    }

    /// Refuses options for samples that are not published.
    pub fn check_samples(&self) -> Result<(), Failure> {
        let is_any = self.key.is_some() || self.fields.is_some() || !self.template.is_empty();
        if !self.of_templates() && is_any {
            let text = "--key, --template and --fields are for --samples templates";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(())
    }

    /// Returns the selection of the template fields to decode.
    pub fn compile_options(&self) -> CompileOptions {
        CompileOptions::default().fields(self.fields.clone())
    }

    /// Returns these options completed by the settings of the channel in a feed file.
    pub fn over_channel(&self) -> Result<Self, Failure> {
        let mut args = self.clone();
        if let Some(channel) = self.channel.settings()? {
            if self.file.is_none() {
                args.lines.set_channel(&channel)?;
            }
            args.framing.set_channel(&channel);
            args.templates.set_default(&channel.templates);
            args.settings = Some(channel);
        }
        Ok(args)
    }

    /// Refuses a report file that is also an input, and an existing one unless `--force` is given.
    pub fn check_json(&self) -> Result<(), Failure> {
        let mut inputs: Vec<&Path> =
            [self.channel.feed(), self.file.as_deref()].into_iter().flatten().collect();
        inputs.extend(self.templates.paths()?.iter().map(PathBuf::as_path));
        output::check_all(&[self.json.as_deref()], self.force, &inputs)
    }

    /// Returns the addresses of lines A and B; B only if it is requested.
    pub fn endpoints(&self) -> Result<Endpoints, Failure> {
        self.lines.endpoints(false)
    }

    /// Returns the position of the feed's sequence numbers. A file is one line, whose packets are taken in
    /// order.
    pub fn sequencing(&self, framing: &Framing, set: &TemplateSet) -> Result<Sequencing, Failure> {
        if self.file.is_some() {
            return Ok(Sequencing::none());
        }
        let two_lines = self.endpoints()?.b.is_some();
        let channel = self.settings.as_ref();
        sequencing(framing, set, self.seq_num.as_ref(), channel, two_lines)
    }

    /// Returns the options for arbitrating lines A and B.
    pub fn arbiter(&self, sequencing: &Sequencing, framing: &Framing) -> ArbiterOptions {
        let mut options = ArbiterOptions {
            silent_after_ns: self.framing.heartbeat_ns(framing),
            ..sequencing.arbiter_options()
        };
        if let Some(channel) = &self.settings {
            channel.apply_to_arbiter(&mut options);
        }
        let hold_ns = self.hold.map(TimeSpan::nanoseconds);
        ArbiterOptions { hold_ns: hold_ns.unwrap_or(options.hold_ns), ..options }
    }

    /// Opens the file.
    pub fn open(&self, path: &Path) -> Result<FileCaptureReader, Failure> {
        let mut options = CaptureOptions::new();
        if let Some(format) = self.input_format {
            options = options.format(format);
        }
        if !files::is_standard(path) {
            options = options.file_name(path.to_string_lossy());
        }
        files::open_capture(path, files::open(path)?, options)
    }

    /// When templates are compiled to machine code: for live feeds on a separate thread, so that no message
    /// is delayed.
    pub fn tier_up(&self) -> TierUp {
        match self.file {
            Some(_) => TierUp::default(),
            None => TierUp::OnThread,
        }
    }

    /// Number of subscribers to wait for.
    pub fn subscribers(&self) -> u32 {
        self.subscribers.unwrap_or(u32::from(self.file.is_some()))
    }

    /// Longest wait for subscribers.
    pub const fn patience(&self) -> Duration {
        self.patience.duration()
    }
}
