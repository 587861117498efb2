//! Errors of feed options and templates.

use std::fmt;
use tickwire_fast::CompileError;

/// The reason why a feed cannot be generated. The texts include a remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExchangeError {
    /// Contradictory options of a day, with a remedy.
    DayOption(&'static str),
    /// The given template set cannot encode a message.
    Encode {
        /// Template of the message.
        template: &'static str,
        /// The encoder's description, with the field.
        description: String,
    },
    /// The given template set has a mandatory field for which the feed has no value.
    FieldUnknown {
        /// Template.
        template: String,
        /// Path of the field.
        field: String,
    },
    /// Packets with this framing carry no sequence number.
    FramingWithoutSeqNum,
    /// The framing has an envelope or message headers that the exchange does not write.
    FramingNotWritten,
    /// The average number of entries per message is 0 or above the limit.
    EntriesMean {
        /// Requested entries.
        entries: u32,
        /// The limit.
        entries_max: u32,
    },
    /// The feed has no snapshots.
    NoSnapshots,
    /// The requested packet size exceeds the limit.
    PacketTooLarge {
        /// Requested bytes.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// Messages of the feed do not fit in packets of the requested size.
    PacketTooSmall {
        /// Requested bytes.
        bytes: usize,
        /// A size that always suffices.
        bytes_min: usize,
    },
    /// The template set does not compile.
    Program(CompileError),
    /// Sequence numbers would exceed 32 bits.
    SeqNumTooLarge {
        /// The last number needed.
        last: u64,
    },
    /// The feed has no such security.
    SecurityUnknown {
        /// The requested SecurityID.
        security: u32,
    },
    /// The number of securities is 0 or above the limit.
    Securities {
        /// Requested securities.
        securities: u32,
        /// The limit.
        securities_max: u32,
    },
    /// The given template set lacks a template of the feed.
    TemplateMissing {
        /// Its name.
        template: String,
    },
}

impl fmt::Display for ExchangeError {
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
                    "an average of {entries} entries per message: 1 to {entries_max} are possible"
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

impl std::error::Error for ExchangeError {}

impl From<CompileError> for ExchangeError {
    fn from(error: CompileError) -> Self {
        Self::Program(error)
    }
}
