//! Why a feed cannot be made.

use std::fmt;
use tickwire_fast::CompileError;

/// Why a feed cannot be made. The texts say what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Options of a day that contradict each other, and what to do.
    DayOption(&'static str),
    /// A message cannot be encoded by the template set that was given.
    Encode {
        /// Template of the message.
        template: &'static str,
        /// What the encoder says, with the field.
        description: String,
    },
    /// A template set that was given has a mandatory field that the feed has no value for.
    FieldUnknown {
        /// Template.
        template: String,
        /// Path of the field.
        field: String,
    },
    /// Packets of the framing have no sequence number to write.
    FramingWithoutSeqNum,
    /// The framing puts more around messages than the exchange writes.
    FramingNotWritten,
    /// The average number of entries a message is 0 or above the limit.
    EntriesMean {
        /// Entries asked for.
        entries: u32,
        /// The most.
        entries_max: u32,
    },
    /// The feed has no snapshots.
    NoSnapshots,
    /// No packet can be as long.
    PacketTooLarge {
        /// Bytes asked for.
        bytes: usize,
        /// The most.
        bytes_max: usize,
    },
    /// No message of the feed fits in a packet.
    PacketTooSmall {
        /// Bytes asked for.
        bytes: usize,
        /// The least that always suffices.
        bytes_min: usize,
    },
    /// The template set does not compile.
    Program(CompileError),
    /// Sequence numbers would not fit 32 bits.
    SeqNumTooLarge {
        /// The last number that would be needed.
        last: u64,
    },
    /// The feed has no such security.
    SecurityUnknown {
        /// The SecurityID asked for.
        security: u32,
    },
    /// The number of securities is 0 or above the limit.
    Securities {
        /// Securities asked for.
        securities: u32,
        /// The most.
        securities_max: u32,
    },
    /// A template set that was given lacks a template of the feed.
    TemplateMissing {
        /// Its name.
        template: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DayOption(text) => f.write_str(text),
            Self::Encode { template, description } => {
                write!(f, "a {template} message does not fit its template: {description}")
            }
            Self::FieldUnknown { template, field } => write!(
                f,
                "template {template} has the mandatory field {field}, which this feed has no value \
                 for: make it optional, or leave the templates out to use the feed's own"
            ),
            Self::FramingWithoutSeqNum => f.write_str(
                "this framing has no place for a sequence number: choose cme, moex-asts, \
                 moex-spectra or b3-umdf, or none at all",
            ),
            Self::FramingNotWritten => f.write_str(
                "this framing has headers around messages, which the exchange does not write: \
                 choose cme, moex-asts, moex-spectra or b3-umdf, or none at all",
            ),
            Self::EntriesMean { entries, entries_max } => {
                write!(
                    f,
                    "an average of {entries} entries a message: 1 to {entries_max} are possible"
                )
            }
            Self::NoSnapshots => f.write_str("only the cme feed has snapshots"),
            Self::PacketTooLarge { bytes, bytes_max } => {
                write!(f, "packets of {bytes} bytes: a datagram has at most {bytes_max}")
            }
            Self::PacketTooSmall { bytes, bytes_min } => write!(
                f,
                "packets of {bytes} bytes are too small for this feed: allow at least {bytes_min}"
            ),
            Self::Program(error) => write!(f, "{error}"),
            Self::SeqNumTooLarge { last } => write!(
                f,
                "sequence numbers up to {last} do not fit 32 bits: make fewer messages or begin \
                 at a smaller number"
            ),
            Self::SecurityUnknown { security } => {
                write!(f, "the feed has no security {security}")
            }
            Self::Securities { securities, securities_max } => {
                write!(f, "{securities} securities: 1 to {securities_max} are possible")
            }
            Self::TemplateMissing { template } => write!(
                f,
                "the template set lacks template {template}, which this feed sends: leave the \
                 templates out to use the feed's own"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        Self::Program(error)
    }
}
