//! Framings as text: `preamble=5,seq=0:4:be,reset=packet`.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::description::{
    ChunkFields, Envelope, Framing, FramingConfigError, FramingResetPolicy, NumberField,
};
use super::message_header::MessageHeader;
use super::preset::Preset;
use crate::endian::Endian;

impl FramingResetPolicy {
    /// All policies, in the order to list them.
    pub const ALL: [Self; 4] = [Self::Never, Self::Template, Self::Message, Self::Packet];

    /// Returns the name that [`FromStr`] takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Never => "never",
            Self::Packet => "packet",
            Self::Template => "template",
        }
    }
}

impl fmt::Display for FramingResetPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`FramingResetPolicy`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownResetPolicy;

impl fmt::Display for UnknownResetPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown reset policy: give never, template, message or packet")
    }
}

impl Error for UnknownResetPolicy {}

impl FromStr for FramingResetPolicy {
    type Err = UnknownResetPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownResetPolicy> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name().eq_ignore_ascii_case(name))
            .ok_or(UnknownResetPolicy)
    }
}

/// Error in an item of a framing's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseFramingErrorKind {
    /// The value is impossible.
    Config(FramingConfigError),
    /// The key of the item is unknown, or an item after the first has no `=`.
    Key,
    /// The first item is neither the name of a preset nor of the form `key=value`.
    Preset,
    /// The value does not have the form of its item.
    Value {
        /// The form it must have.
        expected: &'static str,
    },
}

/// Reason why a text does not describe a framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFramingError {
    /// The item that is wrong.
    pub item: String,
    /// The error.
    pub kind: ParseFramingErrorKind,
}

impl fmt::Display for ParseFramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "framing \"{}\": ", self.item)?;
        match self.kind {
            ParseFramingErrorKind::Config(error) => error.fmt(f),
            ParseFramingErrorKind::Key => f.write_str(
                "unknown item: give preamble, seq, length, chunks, envelope, header, reset or \
                 reset-template",
            ),
            ParseFramingErrorKind::Preset => {
                f.write_str("unknown preset: give key=value items, or one of")?;
                Preset::ALL.iter().try_for_each(|preset| write!(f, " {preset}"))
            }
            ParseFramingErrorKind::Value { expected } => write!(f, "expected {expected}"),
        }
    }
}

impl Error for ParseFramingError {}

const FIELD_FORM: &str = "OFFSET:WIDTH:be or OFFSET:WIDTH:le (bytes of the preamble), or none";
const CHUNKS_FORM: &str = "two fields OFFSET:WIDTH:be/OFFSET:WIDTH:be, count and number, or none";
const HEADER_FORM: &str =
    "fixed:PREFIX:WIDTH:be:SUFFIX (bytes; be or le), encoded:PREFIX:SUFFIX (fields) or none";

type ItemResult<T> = Result<T, ParseFramingErrorKind>;

impl FromStr for Framing {
    type Err = ParseFramingError;

    /// Parses items separated by commas, applied in order. The first may be the name of a preset to
    /// start from.
    ///
    /// | item | value |
    /// |---|---|
    /// | `preamble` | length in bytes |
    /// | `seq`, `length` | `OFFSET:WIDTH:be`, `OFFSET:WIDTH:le` or `none` |
    /// | `chunks` | two such fields with `/` between, count and number; or `none` |
    /// | `envelope` | `bare`, `step` or `counted` |
    /// | `header` | `fixed:PREFIX:WIDTH:be:SUFFIX` in bytes, `encoded:PREFIX:SUFFIX` in fields, or `none` |
    /// | `reset` | `never`, `template`, `message` or `packet` |
    /// | `reset-template` | template id or `none` |
    fn from_str(text: &str) -> Result<Self, ParseFramingError> {
        let mut framing = Self::new();
        for (index, item) in text.split(',').map(str::trim).enumerate() {
            let applied = match item.split_once('=') {
                Some((key, value)) => apply(framing, key.trim(), value.trim()),
                None if index == 0 => {
                    item.parse().map(Preset::framing).map_err(|_| ParseFramingErrorKind::Preset)
                }
                None => Err(ParseFramingErrorKind::Key),
            };
            framing = applied.map_err(|kind| ParseFramingError { item: item.to_owned(), kind })?;
        }
        Ok(framing)
    }
}

fn apply(framing: Framing, key: &str, value: &str) -> ItemResult<Framing> {
    let applied = match key {
        "preamble" => framing.preamble(number(value, "a length in bytes")?),
        "seq" => framing.seq_num(optional(value, field)?),
        "length" => framing.length(optional(value, field)?),
        "chunks" => framing.chunks(optional(value, chunks)?),
        "envelope" => framing.envelope(envelope(value)?),
        "header" => framing.message_header(optional(value, header)?.unwrap_or_default()),
        "reset" => Ok(framing.reset(value.parse().map_err(|_| ParseFramingErrorKind::Value {
            expected: "never, template, message or packet",
        })?)),
        "reset-template" => {
            let template_id = optional(value, |value| number(value, "a template id or none"))?;
            Ok(framing.reset_template(template_id))
        }
        _ => return Err(ParseFramingErrorKind::Key),
    };
    applied.map_err(ParseFramingErrorKind::Config)
}

fn optional<T>(value: &str, parse: impl Fn(&str) -> ItemResult<T>) -> ItemResult<Option<T>> {
    if value == "none" { Ok(None) } else { parse(value).map(Some) }
}

fn number<T: FromStr>(value: &str, expected: &'static str) -> ItemResult<T> {
    value.parse().map_err(|_| ParseFramingErrorKind::Value { expected })
}

fn endian(value: &str, expected: &'static str) -> ItemResult<Endian> {
    match value {
        "be" => Ok(Endian::Big),
        "le" => Ok(Endian::Little),
        _ => Err(ParseFramingErrorKind::Value { expected }),
    }
}

fn field(value: &str) -> ItemResult<NumberField> {
    let parts: Vec<&str> = value.split(':').collect();
    let [offset, width, order] = parts[..] else {
        return Err(ParseFramingErrorKind::Value { expected: FIELD_FORM });
    };
    let (offset, width) = (number(offset, FIELD_FORM)?, number(width, FIELD_FORM)?);
    NumberField::new(offset, width, endian(order, FIELD_FORM)?)
        .map_err(ParseFramingErrorKind::Config)
}

fn chunks(value: &str) -> ItemResult<ChunkFields> {
    let (count, number) =
        value.split_once('/').ok_or(ParseFramingErrorKind::Value { expected: CHUNKS_FORM })?;
    Ok(ChunkFields { count: field(count)?, number: field(number)? })
}

fn envelope(value: &str) -> ItemResult<Envelope> {
    match value {
        "bare" => Ok(Envelope::Bare),
        "step" => Ok(Envelope::Step),
        "counted" => Ok(Envelope::Counted),
        _ => Err(ParseFramingErrorKind::Value { expected: "bare, step or counted" }),
    }
}

fn header(value: &str) -> ItemResult<MessageHeader> {
    let parts: Vec<&str> = value.split(':').collect();
    let count = |value| number(value, HEADER_FORM);
    match parts[..] {
        ["encoded", prefix, suffix] => Ok(MessageHeader::Encoded {
            prefix_fields: count(prefix)?,
            suffix_fields: count(suffix)?,
        }),
        ["fixed", prefix, length, order, suffix] => Ok(MessageHeader::Fixed {
            prefix_bytes: count(prefix)?,
            length_bytes: count(length)?,
            endian: endian(order, HEADER_FORM)?,
            suffix_bytes: count(suffix)?,
        }),
        _ => Err(ParseFramingErrorKind::Value { expected: HEADER_FORM }),
    }
}

const fn order_name(endian: Endian) -> &'static str {
    match endian {
        Endian::Big => "be",
        Endian::Little => "le",
    }
}

impl fmt::Display for NumberField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.offset(), self.width(), order_name(self.endian()))
    }
}

impl fmt::Display for Framing {
    /// Prints the text that parses back to this framing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.preamble_bytes > 0 {
            write!(f, "preamble={},", self.preamble_bytes)?;
        }
        if let Some(field) = self.seq_num {
            write!(f, "seq={field},")?;
        }
        if let Some(field) = self.length {
            write!(f, "length={field},")?;
        }
        if let Some(ChunkFields { count, number }) = self.chunks {
            write!(f, "chunks={count}/{number},")?;
        }
        match self.envelope {
            Envelope::Bare => {}
            Envelope::Step => f.write_str("envelope=step,")?,
            Envelope::Counted => f.write_str("envelope=counted,")?,
        }
        match self.message_header {
            MessageHeader::None => {}
            MessageHeader::Encoded { prefix_fields, suffix_fields } => {
                write!(f, "header=encoded:{prefix_fields}:{suffix_fields},")?;
            }
            MessageHeader::Fixed { prefix_bytes, length_bytes, endian, suffix_bytes } => {
                let order = order_name(endian);
                write!(f, "header=fixed:{prefix_bytes}:{length_bytes}:{order}:{suffix_bytes},")?;
            }
        }
        write!(f, "reset={}", self.reset)?;
        match self.reset_template {
            Some(template_id) => write!(f, ",reset-template={template_id}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_prints_and_parses_back() {
        for preset in Preset::ALL {
            let framing = preset.framing();
            assert_eq!(framing.to_string().parse(), Ok(framing), "{framing}");
            assert_eq!(preset.name().parse(), Ok(framing));
        }
    }

    #[test]
    fn every_item_prints_and_parses_back() {
        let text = "preamble=12,seq=0:8:le,length=8:2:be,chunks=10:1:be/11:1:le,\
                    header=encoded:1:2,reset=never,reset-template=7";
        let framing: Framing = text.parse().unwrap();
        assert_eq!(framing.to_string(), text);
        let text = "header=fixed:1:4:le:2,reset=template";
        assert_eq!(text.parse::<Framing>().unwrap().to_string(), text);
    }

    #[test]
    fn a_preset_can_be_changed() {
        let framing: Framing = "cme, reset = never".parse().unwrap();
        assert_eq!(framing, Preset::Cme.framing().reset(FramingResetPolicy::Never));
        let bare: Framing = "b3,seq=none,length=none,chunks=none,preamble=0".parse().unwrap();
        assert_eq!(bare, Framing::new().reset(FramingResetPolicy::Message));
    }

    #[test]
    fn errors_name_the_item_and_what_it_must_be() {
        let message = |text: &str| text.parse::<Framing>().unwrap_err().to_string();
        assert!(message("cmee").starts_with("framing \"cmee\": unknown preset"));
        assert!(message("").contains("unknown preset"));
        assert!(message("preamble=4,seq=1:4:be").contains("outside a preamble of 4 bytes"));
        assert!(message("preamble=-1").contains("expected a length in bytes"));
        assert!(message("preamble=8,seq=0:4").contains("OFFSET:WIDTH:be"));
        assert!(message("reset=sometimes").contains("never, template, message or packet"));
        assert!(message("cme,speed=9").contains("unknown item"));
        assert!(message("cme,cqg").contains("unknown item"));
        assert!(message("header=fixed:1").contains("encoded:PREFIX:SUFFIX"));
    }
}
