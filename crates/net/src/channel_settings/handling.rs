//! Handling of a channel, from its feed file or else from framing and templates.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use tickwire_fast::{FieldLayout, Program, SegmentRef, Storage, TemplateSet};
use tickwire_feed::arbiter::ArbiterOptions;
use tickwire_feed::book::Amount;
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{HandlerOptions, SeqNumField, Sequencing, SequencingError};
use tickwire_feed::market::{BookAdapter, Definition, InstrumentKey};
use tickwire_feed::recovery::{Recovery, RecoveryOptions};
use tickwire_feed_config::{InstrumentConfig, KEY_FIELDS_MAX, KeyField, SeqNumSource};

use super::{ChannelSettings, nanoseconds};

/// Separates the fields of an instrument's key; book lines and feed files show `:`.
const SEPARATOR: u8 = 0x1F;

/// Returns the options of a channel's handler. `heartbeat_ns` is the heartbeat interval unless
/// `channel` has another; `lines` are the existing lines of the incremental feed.
pub fn handler_options(
    channel: Option<&ChannelSettings>,
    (framing, heartbeat_ns): (Framing, u64),
    sequencing: &Sequencing,
    books: &BookAdapter,
    lines: [bool; 2],
) -> HandlerOptions {
    let mut arbiter =
        ArbiterOptions { silent_after_ns: heartbeat_ns, lines, ..sequencing.arbiter_options() };
    let mut recovery = RecoveryOptions {
        continuity: books.continuity(),
        starts_empty: books.is_of_orders(),
        ..Default::default()
    };
    if let Some(channel) = channel {
        channel.apply_to_arbiter(&mut arbiter);
        channel.apply_to_recovery(&mut recovery);
    }
    let silence = channel.and_then(|channel| channel.silence);
    let heartbeat_ns = Some(heartbeat_of(silence, &arbiter));
    let sequence = sequencing.source.clone();
    HandlerOptions { framing, sequence, arbiter, recovery, heartbeat_ns }
}

/// Returns the heartbeat interval in nanoseconds: half of `silence`, after which books are stale. A
/// line is silent after one interval, the channel after two.
pub fn heartbeat_of(silence: Option<Duration>, arbiter: &ArbiterOptions) -> u64 {
    silence.map_or(arbiter.silent_after_ns, |silence| nanoseconds(silence / 2))
}

/// Returns the position of the sequence numbers of a feed: in the named field, else from `channel`,
/// else from framing and templates.
///
/// # Errors
/// An error if the templates have no field of that name.
pub fn sequencing(
    framing: &Framing,
    set: &TemplateSet,
    named: Option<&SeqNumField>,
    channel: Option<&ChannelSettings>,
) -> Result<Sequencing, SequencingError> {
    let of_channel = channel.and_then(|channel| channel.seq_num.as_ref());
    match (named, of_channel) {
        (Some(_), _) => Sequencing::derive(framing, set, named),
        (None, Some(SeqNumSource::None)) => Ok(Sequencing::none()),
        (None, Some(SeqNumSource::Field(field))) => {
            Sequencing::derive(framing, set, field.parse().ok().as_ref())
        }
        (None, _) => Sequencing::derive(framing, set, None),
    }
}

/// Reason why the fields of an instrument's key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// No template has a field of this name with an id.
    Unknown(String),
    /// There are this many fields, which is too many.
    TooMany(usize),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(
                f,
                "instrument key {name}: no template has a field of this name with an id: books find fields by their \
                 ids, which are FIX tags"
            ),
            Self::TooMany(given) => write!(
                f,
                "the instrument key has {given} fields: an instrument's key has at most {KEY_FIELDS_MAX}"
            ),
        }
    }
}

impl Error for KeyError {}

/// Returns the FIX tags of the fields that identify an instrument. A field given by name has the id
/// that the templates give it.
///
/// # Errors
/// [`KeyError`] if a field is unknown, or there are too many.
pub fn key_tags(key: &[KeyField], program: &Program) -> Result<Vec<u32>, KeyError> {
    if key.len() > KEY_FIELDS_MAX {
        return Err(KeyError::TooMany(key.len()));
    }
    let tag = |field: &KeyField| match field {
        KeyField::Tag(tag) => Ok(*tag),
        KeyField::Name(name) => {
            tag_of(program, name).ok_or_else(|| KeyError::Unknown(name.clone()))
        }
    };
    key.iter().map(tag).collect()
}

fn tag_of(program: &Program, name: &str) -> Option<u32> {
    program.templates().iter().find_map(|template| tag_in(program, template.segment, name))
}

/// Searches a record, then its groups and sequences.
fn tag_in(program: &Program, segment: SegmentRef, name: &str) -> Option<u32> {
    let fields = program.fields_of(segment);
    let named = fields.iter().find(|field| *field.name.local == *name && field.id.is_some());
    let inside = |field: &FieldLayout| match field.storage {
        Storage::Group(segment) | Storage::Sequence { segment, .. } => {
            tag_in(program, segment, name)
        }
        _ => None,
    };
    named.and_then(|field| field.id).or_else(|| fields.iter().find_map(inside))
}

/// Defines the instruments of a feed file in the books.
pub fn define(instruments: &[InstrumentConfig], recovery: &mut Recovery) {
    for known in instruments {
        let key: Vec<u8> =
            known.id.bytes().map(|byte| if byte == b':' { SEPARATOR } else { byte }).collect();
        let Some(instrument) = recovery.instrument(InstrumentKey::Text(&key)) else { return };
        let definition = Definition {
            symbol: known.symbol.as_deref().map(Into::into),
            tick: known.tick.as_deref().and_then(amount),
            ..Definition::default()
        };
        recovery.define(instrument, &definition);
    }
}

/// Parses a plain decimal such as `0.25`.
fn amount(text: &str) -> Option<Amount> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    let exponent = i32::try_from(fraction.len()).ok()?;
    Some(Amount { mantissa, exponent: exponent.checked_neg()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_their_value() {
        for (text, shown) in [("0.25", "0.25"), ("10", "10"), ("-1.50", "-1.5"), ("0.005", "0.005")]
        {
            assert_eq!(amount(text).map(|amount| amount.to_string()).as_deref(), Some(shown));
        }
        assert_eq!((amount("x"), amount("1.2.3")), (None, None));
    }
}
