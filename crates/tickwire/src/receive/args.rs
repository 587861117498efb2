//! The command line of `tickwire receive`.

use crate::failure::Failure;
use crate::options::{DecoderArgs, EndpointArgs, Endpoints, FramingArgs, MetricsArgs};
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;
use tickwire_fast::TemplateSet;
use tickwire_feed::arbiter::{ArbiterOptions, ForeignPolicy};
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{HandlerOptions, Numbering, SeqNumField, SeqNumPeek};
use tickwire_feed::recovery::{Continuity, LevelNaming, RecoveryOptions};
use tickwire_net::multicast::{
    PACKET_BYTES_MAX_DEFAULT, RECEIVE_BUFFER_BYTES_DEFAULT, ReceiverOptions,
};
use tickwire_net::reception::Wait;

/// Names of sequence number fields that feeds without MsgSeqNum (34) have.
const SEQ_NUM_NAMES: [&str; 3] = ["SequenceNumber", "MsgSeqNum", "PacketSeqNum"];

/// Receive a feed: arbitrate lines A and B, decode, recover, keep books, and show what came.
///
/// The counters come as a table at the end: of the Done message, of --messages, of --idle, or by
/// Ctrl-C. What is wrong with the feed is logged at most once a second.
#[derive(Debug, clap::Args)]
pub struct ReceiveArgs {
    /// Template definitions (FAST 1.1 or 1.2 XML).
    #[arg(short, long, value_name = "FILE")]
    pub templates: PathBuf,
    #[command(flatten)]
    endpoints: EndpointArgs,
    /// Receive snapshots too.
    #[arg(long, help_heading = "Line B and snapshots")]
    snapshots: bool,
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Field with the sequence number, by name or tag, where it is inside messages. Found by itself
    /// unless given: in the preamble, else MsgSeqNum (34), else SequenceNumber.
    #[arg(long, value_name = "FIELD")]
    seq_num: Option<SeqNumField>,
    #[command(flatten)]
    pub decoder: DecoderArgs,
    /// What decodes.
    #[arg(long, value_name = "ENGINE", default_value = "dynamic")]
    pub engine: EngineChoice,

    /// Microseconds to wait for a missing packet once one behind it has come.
    #[arg(long, value_name = "MICROS", default_value_t = 2000, help_heading = "Arbitration")]
    hold: u64,
    /// Sequence numbers held while one is waited for.
    #[arg(long, value_name = "COUNT", help_heading = "Arbitration")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    held_max: Option<u32>,
    /// The first sequence number, if it is known: what is missing before the first packet is a gap
    /// then.
    #[arg(long, value_name = "NUMBER", help_heading = "Arbitration")]
    first: Option<u64>,
    /// Believe another numbering only if a message of the feed (SequenceReset) begins it.
    #[arg(long, help_heading = "Arbitration")]
    keep_numbering: bool,

    /// How books name their levels.
    #[arg(long, value_name = "HOW", default_value = "level", help_heading = "Books")]
    books: Books,
    /// Levels a side, as many as the feed's own books have. A level that the feed pushes out of its
    /// book without a word stays in a deeper one here, and snapshots will show it to be wrong.
    #[arg(long, value_name = "LEVELS", default_value_t = 10, help_heading = "Books")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,
    /// The feed does not count the updates of each instrument (RptSeq).
    #[arg(long, help_heading = "Books")]
    no_rpt_seq: bool,
    /// Books become fresh again by updates alone once these have named every level.
    #[arg(long, help_heading = "Books")]
    natural_refresh: bool,

    /// Spin instead of sleeping while nothing comes: lower latency, a CPU busy.
    #[arg(long, help_heading = "Sockets")]
    spin: bool,
    /// Run on this CPU alone, counted from 0.
    #[arg(long, value_name = "NUMBER", help_heading = "Sockets")]
    pub cpu: Option<usize>,
    /// Receive buffer of each socket.
    #[arg(long, value_name = "BYTES", default_value_t = RECEIVE_BUFFER_BYTES_DEFAULT)]
    #[arg(help_heading = "Sockets")]
    receive_buffer: usize,
    /// Longest packet.
    #[arg(long, value_name = "BYTES", default_value_t = PACKET_BYTES_MAX_DEFAULT as u16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..), help_heading = "Sockets")]
    packet_max: u16,

    /// End after so many messages.
    #[arg(long, value_name = "COUNT", help_heading = "End")]
    pub messages: Option<u64>,
    /// End when nothing has come for so long, once something has.
    #[arg(long, value_name = "MILLIS", help_heading = "End")]
    idle: Option<u64>,
    /// Go on behind a message of the template Done.
    #[arg(long, help_heading = "End")]
    pub past_done: bool,

    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Write the counters to this file as JSON; - is standard output, in place of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// What decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// The dynamic engine, with vectors where this CPU has them, and in the long run machine code.
    Dynamic,
    /// The dynamic engine, portable code.
    Scalar,
    /// The dynamic engine with 512-bit vectors, portable code where they are missing.
    Wide,
    /// The dynamic engine that makes machine code of the templates when it starts.
    Compiled,
    /// Code generated from these very templates, where it is built in.
    Generated,
}

/// How books name their levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Books {
    /// By their number (MDPriceLevel).
    Level,
    /// No books.
    None,
    /// By their price.
    Price,
}

impl ReceiveArgs {
    /// Where the feeds are.
    pub fn endpoints(&self) -> Result<Endpoints, Failure> {
        self.endpoints.endpoints(false, self.snapshots)
    }

    /// How the feed is handled.
    pub fn options(&self, framing: Framing, set: &TemplateSet) -> Result<HandlerOptions, Failure> {
        let (numbering, is_inside) = self.numbering(&framing, set)?;
        let defaults =
            if is_inside { ArbiterOptions::for_messages() } else { ArbiterOptions::default() };
        let mut arbiter = ArbiterOptions {
            hold_ns: self.hold.saturating_mul(1000),
            packets_held_max: self.held_max.map_or(defaults.packets_held_max, |held| held as usize),
            packet_bytes_max: self.packet_max.into(),
            first_seq_num: self.first,
            ..defaults
        };
        if self.keep_numbering {
            arbiter.foreign = ForeignPolicy::Drop;
        }
        let continuity = if self.no_rpt_seq { Continuity::SeqNum } else { Continuity::RptSeq };
        let recovery = RecoveryOptions {
            continuity,
            depth_max: self.depth,
            natural_refresh: self.natural_refresh,
            ..Default::default()
        };
        Ok(HandlerOptions { framing, numbering, arbiter, recovery })
    }

    /// Where numbers are, and whether that is inside messages.
    fn numbering(
        &self,
        framing: &Framing,
        set: &TemplateSet,
    ) -> Result<(Numbering, bool), Failure> {
        if self.seq_num.is_none() && framing.seq_num_field().is_some() {
            return Ok((Numbering::Preamble, false));
        }
        let found = self.seq_num_fields().into_iter().map(|field| SeqNumPeek::new(set, &field));
        match found.into_iter().find(SeqNumPeek::can_find) {
            Some(peek) => Ok((Numbering::Message(peek), true)),
            None if self.seq_num.is_some() => Err(Failure::Usage(format!(
                "--seq-num {}: no template has this field where it can be found without decoding",
                self.seq_num_field()
            ))),
            None if self.endpoints()?.b.is_some() => Err(Failure::Usage(
                "lines A and B cannot be made one without sequence numbers: name a framing whose \
                 preamble has one, or the field with --seq-num"
                    .to_owned(),
            )),
            None => Ok((Numbering::None, false)),
        }
    }

    fn seq_num_fields(&self) -> Vec<SeqNumField> {
        let own = || {
            let names = SEQ_NUM_NAMES.map(|name| SeqNumField::Name(name.to_owned()));
            [SeqNumField::default()].into_iter().chain(names).collect()
        };
        self.seq_num.clone().map_or_else(own, |field| vec![field])
    }

    /// The field with the sequence number of a message: the first of the candidates.
    fn seq_num_field(&self) -> SeqNumField {
        self.seq_num.clone().unwrap_or_default()
    }

    /// The field that messages of this set have their number in.
    pub fn seq_num_field_in(&self, set: &TemplateSet) -> SeqNumField {
        let mut fields = self.seq_num_fields().into_iter();
        let can_find = |field: &SeqNumField| SeqNumPeek::new(set, field).can_find();
        fields.find(can_find).unwrap_or_else(|| self.seq_num_field())
    }

    /// How levels are named; `None` for no books.
    pub const fn naming(&self) -> Option<LevelNaming> {
        match self.books {
            Books::Level => Some(LevelNaming::ByLevel),
            Books::None => None,
            Books::Price => Some(LevelNaming::ByPrice),
        }
    }

    /// How sockets are opened.
    pub const fn receiver_options(&self) -> ReceiverOptions {
        ReceiverOptions {
            receive_buffer_bytes: self.receive_buffer,
            packet_bytes_max: self.packet_max as usize,
        }
    }

    /// How packets are waited for.
    pub const fn wait(&self) -> Wait {
        if self.spin { Wait::Spin } else { Wait::Block }
    }

    /// How long nothing may come.
    pub fn idle(&self) -> Option<Duration> {
        self.idle.map(Duration::from_millis)
    }
}
