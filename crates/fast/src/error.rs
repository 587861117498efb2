//! Why a message was not decoded or encoded.

use crate::code::Code;
use crate::program::{FieldRef, Program};
use std::fmt;

/// What went wrong, named by what happened. [`ErrorKind::code`] gives the specification's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// D1: the application's value has another type than the field.
    ApplicationType,
    /// D2: integer outside the field's type.
    IntegerRange,
    /// D3: a decimal with individual operators cannot carry the value.
    DecimalNotEncodable,
    /// D4: the previous value has another type than the field.
    PreviousValueType,
    /// D5: mandatory, absent, previous value undefined, no initial value.
    NoInitialValue,
    /// D6: mandatory, absent, previous value empty.
    EmptyPreviousValue,
    /// D7: subtraction length longer than the base value, or tail on an empty previous value.
    SubtractionLength,
    /// D9: the stream names a template that the set does not hold.
    UnknownTemplate,
    /// D11: a string does not follow the rules of its type (on encoding).
    StringSyntax,
    /// D12: a block or message length of zero.
    ZeroBlockLength,
    /// R1: exponent outside -63 to 63, or mantissa outside int64.
    DecimalRange,
    /// R2: a unicode string is not UTF-8.
    InvalidUtf8,
    /// R3: a character outside ASCII in an ascii string.
    NotAscii,
    /// R4: the result of a delta does not fit the integer type.
    IntegerConversion,
    /// R6: an integer is longer than needed.
    OverlongInteger,
    /// R7: a presence map is longer than needed.
    OverlongPresenceMap,
    /// R8: presence-map bits are set that the template does not use.
    PresenceMapBits,
    /// R9: an ascii string has more leading zeros than its value needs.
    OverlongString,
    /// The message ends before the field does.
    Truncated,
    /// The application gives no value for a mandatory field.
    MissingValue,
    /// More entries than [`Limits::entries_max`](crate::Limits) or `entries_total_max`.
    TooManyEntries,
    /// A string longer than [`Limits::string_max`](crate::Limits).
    StringTooLong,
    /// Dynamic references nest deeper than [`Limits::nesting_max`](crate::Limits), or they, groups
    /// and sequences together deeper than [`Limits::DEPTH_MAX`](crate::Limits::DEPTH_MAX).
    NestingTooDeep,
    /// The message needs more memory than [`Limits::message_bytes_max`](crate::Limits), or more bytes
    /// of a stream than [`Limits::stream_bytes_max`](crate::Limits).
    MessageTooLarge,
    /// The encoded message is longer than the packet may be.
    PacketTooSmall,
    /// A decoder failed before in this packet; it needs a reset.
    NeedsReset,
    /// The record being built has no such field. Never caused by bytes.
    UnknownField,
    /// A builder's calls are out of order: nothing begun, or something not ended. Never caused by
    /// bytes.
    BuilderOrder,
    /// The message belongs to another program than the encoder. Never caused by bytes.
    ForeignMessage,
    /// The template has no id, so that no message of it can stand alone.
    TemplateWithoutId,
    /// The program was compiled with a projection: fields to build or encode are missing.
    ProjectedProgram,
}

impl ErrorKind {
    /// The code of FAST 1.1 Appendix 4, or `None` for limits and misuse of our own.
    pub const fn code(self) -> Option<Code> {
        Some(match self {
            Self::ApplicationType => Code::D1,
            Self::IntegerRange => Code::D2,
            Self::DecimalNotEncodable => Code::D3,
            Self::PreviousValueType => Code::D4,
            Self::NoInitialValue => Code::D5,
            Self::EmptyPreviousValue => Code::D6,
            Self::SubtractionLength => Code::D7,
            Self::UnknownTemplate => Code::D9,
            Self::StringSyntax => Code::D11,
            Self::ZeroBlockLength => Code::D12,
            Self::DecimalRange => Code::R1,
            Self::InvalidUtf8 => Code::R2,
            Self::NotAscii => Code::R3,
            Self::IntegerConversion => Code::R4,
            Self::OverlongInteger => Code::R6,
            Self::OverlongPresenceMap => Code::R7,
            Self::PresenceMapBits => Code::R8,
            Self::OverlongString => Code::R9,
            _ => return None,
        })
    }

    /// What happened, in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::ApplicationType => "the value has another type than the field",
            Self::IntegerRange => "integer outside the range of the field's type",
            Self::DecimalNotEncodable => {
                "the exponent and mantissa operators cannot carry the value"
            }
            Self::PreviousValueType => "the previous value has another type than the field",
            Self::NoInitialValue => "absent, and there is neither a previous nor an initial value",
            Self::EmptyPreviousValue => "absent, and the previous value is empty",
            Self::SubtractionLength => "subtraction length does not fit the previous value",
            Self::UnknownTemplate => "template id is not in the template set",
            Self::StringSyntax => "string does not follow the rules of its type",
            Self::ZeroBlockLength => "length is zero",
            Self::DecimalRange => "exponent outside -63 to 63, or mantissa outside int64",
            Self::InvalidUtf8 => "string is not UTF-8",
            Self::NotAscii => "character outside ASCII",
            Self::IntegerConversion => "previous value plus delta is outside the field's type",
            Self::OverlongInteger => "integer is longer than needed",
            Self::OverlongPresenceMap => "presence map is longer than needed",
            Self::PresenceMapBits => "presence map has bits the template does not use",
            Self::OverlongString => "string has more leading zeros than needed",
            Self::Truncated => "the bytes end before the field does",
            Self::MissingValue => "no value for a mandatory field",
            Self::TooManyEntries => "more sequence entries than the limit allows",
            Self::StringTooLong => "string or byte vector longer than the limit allows",
            Self::NestingTooDeep => {
                "references, groups and sequences nest deeper than the limit allows"
            }
            Self::MessageTooLarge => "the message needs more memory than the limit allows",
            Self::PacketTooSmall => "the encoded message is longer than a packet may be",
            Self::NeedsReset => "an earlier message of this packet failed; waiting for a reset",
            Self::UnknownField => "the record has no such field",
            Self::BuilderOrder => "nothing is begun here, or something is not ended",
            Self::ForeignMessage => "the message was made for another compiled template set",
            Self::TemplateWithoutId => "the template has no id, so it can only be referred to",
            Self::ProjectedProgram => "the template set was compiled for some fields only",
        }
    }
}

/// An error with its place: 16 bytes, no strings. [`Error::describe`] adds names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    field: u32,
    offset: u32,
    detail: u32,
}

const _: () = assert!(size_of::<Error>() <= 16, "errors travel by value on the hot path");

const NO_FIELD: u32 = u32::MAX;

/// Offsets beyond 4 GiB are told as the last that fits.
const fn clamp(offset: usize) -> u32 {
    if offset > u32::MAX as usize { u32::MAX } else { offset as u32 }
}

impl Error {
    /// An error at `offset` bytes from the start of the message, outside any field.
    pub const fn new(kind: ErrorKind, offset: usize) -> Self {
        Self { kind, field: NO_FIELD, offset: clamp(offset), detail: 0 }
    }

    pub(crate) const fn at(kind: ErrorKind, field: FieldRef, offset: usize) -> Self {
        Self { kind, field: field.0, offset: clamp(offset), detail: 0 }
    }

    pub(crate) const fn with_detail(self, detail: u32) -> Self {
        Self { detail, ..self }
    }

    /// The same error, `base` bytes further: from a message's offset to a packet's.
    pub const fn shifted(self, base: usize) -> Self {
        Self { offset: self.offset.saturating_add(clamp(base)), ..self }
    }

    /// What happened.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The specification's code, if it has one.
    pub const fn code(&self) -> Option<Code> {
        self.kind.code()
    }

    /// Byte offset of the field in what was given to the decoder.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }

    /// The field, if the error is in one.
    pub fn field(&self) -> Option<FieldRef> {
        (self.field != NO_FIELD).then_some(FieldRef(self.field))
    }

    /// The number the stream gave: template id, sequence length or string length; the limit on nesting that was
    /// met; bytes of a message that a stream holds back, 0 where the memory of a message is too much.
    pub const fn detail(&self) -> u32 {
        self.detail
    }

    /// The error with template and field names, for people.
    pub fn describe<'p>(&self, program: &'p Program) -> Description<'p> {
        Description { error: *self, program }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code() {
            write!(f, "{code}: ")?;
        }
        write!(f, "byte {}: {}", self.offset, self.kind.text())?;
        match self.kind {
            ErrorKind::UnknownTemplate => write!(f, " (template id {})", self.detail),
            ErrorKind::TooManyEntries => write!(f, " ({} entries)", self.detail),
            ErrorKind::StringTooLong if self.detail > 0 => write!(f, " ({} bytes)", self.detail),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// An error with names. Made by [`Error::describe`].
#[derive(Clone, Copy, Debug)]
pub struct Description<'p> {
    error: Error,
    program: &'p Program,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.error.field() {
            let template = &self.program.templates()[self.program.template_of(field)];
            write!(f, "template \"{}\"", template.name)?;
            if let Some(id) = template.id {
                write!(f, " (id {id})")?;
            }
            write!(f, ", field {}: ", self.program.path(field))?;
        }
        self.error.fmt(f)
    }
}
