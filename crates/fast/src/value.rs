//! Conversion of field values to Rust types and text.

use crate::message::{Entries, FieldValue, Message, Record};
use crate::template::Decimal;
use std::fmt::{self, Write as _};

/// Writes bytes as hexadecimal digits, two for each.
pub(crate) struct HexDigits<'b>(pub(crate) &'b [u8]);

impl fmt::Display for HexDigits<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl<'m> FieldValue<'m> {
    /// Returns the value of an unsigned integer, or of a signed one that is not negative.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::UInt(value) => Some(value),
            Self::Int(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// Returns the value of a signed integer, or of an unsigned one that fits.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::UInt(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// Returns the value of a decimal, or of an integer that fits its mantissa.
    #[must_use]
    pub fn as_decimal(self) -> Option<Decimal> {
        match self {
            Self::Decimal(value) => Some(value),
            _ => self.as_i64().map(|mantissa| Decimal { mantissa, exponent: 0 }),
        }
    }

    /// Returns the nearest floating-point number to a decimal or an integer.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::UInt(value) => Some(value as f64),
            _ => self.as_decimal().map(Decimal::to_f64),
        }
    }

    /// Returns the text of a string; `None` if it is not UTF-8, which lenient decoders accept.
    #[must_use]
    pub fn as_str(self) -> Option<&'m str> {
        match self {
            Self::Ascii(bytes) | Self::Unicode(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Returns the bytes of a string or byte vector.
    #[must_use]
    pub fn as_bytes(self) -> Option<&'m [u8]> {
        match self {
            Self::Ascii(bytes) | Self::Unicode(bytes) | Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the fields of a group, or of the content of a dynamic reference.
    #[must_use]
    pub fn as_record(self) -> Option<Record<'m>> {
        match self {
            Self::Group(record) | Self::Dynamic(_, record) => Some(record),
            _ => None,
        }
    }

    /// Returns the entries of a sequence.
    #[must_use]
    pub fn as_entries(self) -> Option<Entries<'m>> {
        match self {
            Self::Sequence(entries) => Some(entries),
            _ => None,
        }
    }

    /// True if there is a value.
    #[must_use]
    pub fn is_present(self) -> bool {
        !matches!(self, Self::Absent | Self::Discarded)
    }
}

/// The field has no value, or a value that does not convert to the requested type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversionError {
    wanted: &'static str,
}

impl fmt::Display for ConversionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the field has no value that {} holds", self.wanted)
    }
}

impl std::error::Error for ConversionError {}

macro_rules! conversions {
    ($($target:ty, $wanted:literal, $method:ident;)*) => {
        $(
            impl<'m> TryFrom<FieldValue<'m>> for $target {
                type Error = ConversionError;

                fn try_from(value: FieldValue<'m>) -> Result<Self, ConversionError> {
                    value.$method().ok_or(ConversionError { wanted: $wanted })
                }
            }
        )*
    };
}

conversions! {
    u64, "a u64", as_u64;
    i64, "an i64", as_i64;
    f64, "an f64", as_f64;
    Decimal, "a decimal", as_decimal;
    &'m str, "a str", as_str;
    &'m [u8], "a slice of bytes", as_bytes;
}

/// Formats as `Name(id) {field: value, ...}` for people: absent fields are omitted, strings quoted,
/// bytes are `0x` and digits.
impl fmt::Display for Message {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.template_name())?;
        if let Some(id) = self.template_id() {
            write!(out, "({id})")?;
        }
        write!(out, " {}", self.root())
    }
}

/// Formats as `{field: value, ...}`, like a [`Message`].
impl fmt::Display for Record<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_char('{')?;
        let present = self.fields().filter(|(_, value)| value.is_present());
        for (index, (field, value)) in present.enumerate() {
            if index > 0 {
                out.write_str(", ")?;
            }
            write!(out, "{}: {value}", field.name.local)?;
        }
        out.write_char('}')
    }
}

/// Formats as in a [`Message`]'s text; an absent field is empty.
impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Absent | Self::Discarded => Ok(()),
            Self::UInt(value) => value.fmt(out),
            Self::Int(value) => value.fmt(out),
            Self::Decimal(value) => value.fmt(out),
            Self::Ascii(bytes) | Self::Unicode(bytes) | Self::Bytes(bytes) => match self.as_str() {
                Some(text) => write!(out, "{text:?}"),
                None => {
                    out.write_str("0x")?;
                    HexDigits(bytes).fmt(out)
                }
            },
            Self::Group(record) | Self::Dynamic(_, record) => record.fmt(out),
            Self::Sequence(entries) => {
                out.write_char('[')?;
                for (index, entry) in entries.iter().enumerate() {
                    if index > 0 {
                        out.write_str(", ")?;
                    }
                    entry.fmt(out)?;
                }
                out.write_char(']')
            }
        }
    }
}
