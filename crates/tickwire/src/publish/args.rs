//! The command line of `tickwire publish`.

use crate::distribution::{DdsArgs, ParentArgs};
use crate::failure::Failure;
use crate::files;
use crate::options::{DecoderArgs, FramingArgs};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;
use tickwire_fast::TemplateSet;
use tickwire_feed::arbiter::ArbiterOptions;
use tickwire_feed::capture::{CaptureOptions, CaptureReader, Format};
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{Numbering, SeqNumField, SeqNumPeek};
use tickwire_net::multicast::{
    DEFAULT_GROUP, DEFAULT_PORT, Endpoint, RECEIVE_BUFFER_BYTES_DEFAULT, interface_address,
};

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

    /// Group of line A.
    #[arg(short = 'a', long, value_name = "GROUP", default_value_t = DEFAULT_GROUP)]
    #[arg(help_heading = "Lines")]
    group: Ipv4Addr,
    /// Port of line A.
    #[arg(short, long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    #[arg(help_heading = "Lines")]
    port: u16,
    /// Receive line B too; of both the first arrival of each packet counts.
    #[arg(long, help_heading = "Lines")]
    line_b: bool,
    /// Group of line B; the last number of A's and 1 more unless given.
    #[arg(long, value_name = "GROUP", help_heading = "Lines")]
    group_b: Option<Ipv4Addr>,
    /// Port of line B; A's and 1 more unless given.
    #[arg(long, value_name = "PORT", help_heading = "Lines")]
    port_b: Option<u16>,
    /// Name or address of the interface to receive on.
    #[arg(long, value_name = "INTERFACE", default_value = "127.0.0.1", help_heading = "Lines")]
    interface: String,
    /// Field that numbers messages, where no preamble numbers packets; MsgSeqNum (34) or
    /// SequenceNumber unless given.
    #[arg(long, value_name = "NAME|TAG", help_heading = "Lines")]
    seq_num_field: Option<SeqNumField>,
    /// Microseconds to wait for a packet that neither line has brought.
    #[arg(long, value_name = "MICROS", default_value_t = 2_000, help_heading = "Lines")]
    hold: u64,
    /// Socket receive buffer to ask for, in bytes, for each line.
    #[arg(long, value_name = "BYTES", default_value_t = RECEIVE_BUFFER_BYTES_DEFAULT)]
    #[arg(help_heading = "Lines")]
    pub receive_buffer: usize,
    /// Look for packets again and again instead of waiting: quicker, and a CPU busy.
    #[arg(long, help_heading = "Lines")]
    pub poll: bool,

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
    /// Write counters and times to this file as JSON; - is standard output, in place of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub parent: ParentArgs,
}

impl PublishArgs {
    /// Where lines A and B come from; B only if it is wanted.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, Failure> {
        let interface = interface_address(&self.interface)
            .map_err(|error| Failure::Usage(format!("--interface: {error}")))?;
        let a = Endpoint { group: self.group, port: self.port, interface };
        let next_group = || Ipv4Addr::from(u32::from(self.group).wrapping_add(1));
        let b = self.has_line_b().then(|| Endpoint {
            group: self.group_b.unwrap_or_else(next_group),
            port: self.port_b.unwrap_or(self.port.wrapping_add(1)),
            interface,
        });
        if b == Some(a) {
            return Err(Failure::Usage(
                "lines A and B come from the same group and port: choose others with --group-b and \
                 --port-b"
                    .to_owned(),
            ));
        }
        Ok([Some(a), b].into_iter().flatten().collect())
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
        if let Some(field) = &self.seq_num_field {
            let unknown = || {
                Failure::Usage(format!(
                    "--seq-num-field: no template has {field} where it can be found without decoding"
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
            None if self.has_line_b() => Err(Failure::Usage(
                "lines A and B cannot be made one without sequence numbers: name a framing whose \
                 preamble has one, or the field with --seq-num-field"
                    .to_owned(),
            )),
            None => Ok((Numbering::None, unused())),
        }
    }

    /// How lines A and B become one.
    pub fn arbiter(&self) -> ArbiterOptions {
        ArbiterOptions { hold_ns: self.hold.saturating_mul(1000), ..ArbiterOptions::default() }
    }

    fn has_line_b(&self) -> bool {
        self.line_b || self.group_b.is_some() || self.port_b.is_some()
    }

    /// Opens the file.
    pub fn open(
        &self,
        path: &std::path::Path,
    ) -> Result<CaptureReader<Box<dyn std::io::Read>>, Failure> {
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
