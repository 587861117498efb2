//! Errors of decoding and encoding.

use crate::code::Code;
use crate::program::{FieldRef, Program};
use std::fmt;

/// Defines [`FastErrorKind`]: each kind with its code, if the specification has one, and its text.
macro_rules! error_kinds {
    ($($(#[$doc:meta])+ $kind:ident $(($code:ident))?: $text:literal,)+) => {
        /// Kind of an error. [`FastErrorKind::code`] returns the specification's code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum FastErrorKind {
            $($(#[$doc])+ $kind,)+
        }

        impl FastErrorKind {
            /// Returns the code of FAST 1.1 Appendix 4, or `None` for limits and misuse of the API.
            pub const fn code(self) -> Option<Code> {
                match self {
                    $($(Self::$kind => Some(Code::$code),)?)+
                    _ => None,
                }
            }

            /// Returns a description of the error.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$kind => $text,)+
                }
            }
        }
    };
}

error_kinds! {
    /// D1: the application's value has another type than the field.
    ApplicationType(D1): "the value has another type than the field",
    /// D2: integer outside the field's type.
    IntegerRange(D2): "integer outside the range of the field's type",
    /// D3: a decimal with individual operators cannot carry the value.
    DecimalNotEncodable(D3): "the exponent and mantissa operators cannot carry the value",
    /// D4: the previous value has another type than the field.
    PreviousValueType(D4): "the previous value has another type than the field",
    /// D5: a mandatory field is absent, its previous value is undefined, and it has no initial
    /// value.
    NoInitialValue(D5): "absent, and there is neither a previous nor an initial value",
    /// D6: a mandatory field is absent and its previous value is empty.
    EmptyPreviousValue(D6): "absent, and the previous value is empty",
    /// D7: the subtraction length exceeds the base value, or a tail has an empty previous value.
    SubtractionLength(D7): "subtraction length does not fit the previous value",
    /// D9: the stream has a template id that is not in the set.
    UnknownTemplate(D9): "template id is not in the template set",
    /// D11: a string does not follow the rules of its type (on encoding).
    StringSyntax(D11): "string does not follow the rules of its type",
    /// D12: a block or message length of zero.
    ZeroBlockLength(D12): "length is zero",
    /// R1: exponent outside -63 to 63, or mantissa outside int64.
    DecimalRange(R1): "exponent outside -63 to 63, or mantissa outside int64",
    /// R2: a unicode string is not UTF-8.
    InvalidUtf8(R2): "string is not UTF-8",
    /// R3: a character outside ASCII in an ascii string.
    NotAscii(R3): "character outside ASCII",
    /// R4: the result of a delta does not fit the integer type.
    IntegerConversion(R4): "previous value plus delta is outside the field's type",
    /// R6: an integer is longer than necessary.
    OverlongInteger(R6): "integer is longer than needed",
    /// R7: a presence map is longer than necessary.
    OverlongPresenceMap(R7): "presence map is longer than needed",
    /// R8: presence-map bits are set that the template does not use.
    PresenceMapBits(R8): "presence map has bits the template does not use",
    /// R9: an ascii string has more leading zeros than necessary.
    OverlongString(R9): "string has more leading zeros than needed",
    /// The message ends before the field does.
    Truncated: "the bytes end before the field does",
    /// The application did not set a mandatory field.
    MissingValue: "no value for a mandatory field",
    /// More entries than [`Limits::entries_max`](crate::Limits) or `entries_total_max`.
    TooManyEntries: "more sequence entries than the limit allows",
    /// A string longer than [`Limits::string_max`](crate::Limits).
    StringTooLong: "string or byte vector longer than the limit allows",
    /// Dynamic references nest deeper than [`Limits::nesting_max`](crate::Limits), or dynamic references,
    /// groups and sequences together nest deeper than [`Limits::DEPTH_MAX`](crate::Limits::DEPTH_MAX).
    NestingTooDeep: "references, groups and sequences nest deeper than the limit allows",
    /// The message needs more memory than [`Limits::message_bytes_max`](crate::Limits), or more bytes
    /// of a stream than [`Limits::stream_bytes_max`](crate::Limits).
    MessageTooLarge: "the message needs more memory than the limit allows",
    /// The encoded message is longer than the packet may be.
    PacketTooSmall: "the encoded message is longer than a packet may be",
    /// An earlier message of this packet failed; the decoder needs a reset.
    NeedsReset: "an earlier message of this packet failed; waiting for a reset",
    /// The record being built has no such field. A misuse of the API; input bytes never cause it.
    UnknownField: "the record has no such field",
    /// Builder calls are out of order: nothing was begun, or something was not ended. A misuse of
    /// the API; input bytes never cause it.
    BuilderOrder: "nothing is begun here, or something is not ended",
    /// The message belongs to another program than the encoder. A misuse of the API; input bytes
    /// never cause it.
    ForeignMessage: "the message was made for another compiled template set",
    /// The template has no id, so it cannot be used for a message of its own.
    TemplateWithoutId: "the template has no id, so it can only be referred to",
    /// The program was compiled with a projection: it lacks fields that building or encoding needs.
    ProjectedProgram: "the template set was compiled for some fields only",
}

/// An error with its position: 16 bytes, without strings. [`FastError::describe`] adds names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastError {
    kind: FastErrorKind,
    field: u32,
    offset: u32,
    detail: u32,
}

const _: () = assert!(size_of::<FastError>() <= 16, "errors travel by value on the hot path");

const NO_FIELD: u32 = u32::MAX;

/// Saturates offsets at 4 GiB.
const fn clamp(offset: usize) -> u32 {
    if offset > u32::MAX as usize { u32::MAX } else { offset as u32 }
}

impl FastError {
    /// Returns an error at `offset` bytes from the start of the message, outside any field.
    pub const fn new(kind: FastErrorKind, offset: usize) -> Self {
        Self { kind, field: NO_FIELD, offset: clamp(offset), detail: 0 }
    }

    pub(crate) const fn at(kind: FastErrorKind, field: FieldRef, offset: usize) -> Self {
        Self { kind, field: field.0, offset: clamp(offset), detail: 0 }
    }

    pub(crate) const fn with_detail(self, detail: u32) -> Self {
        Self { detail, ..self }
    }

    /// Returns the error with its offset increased by `base`: from an offset in a message to one in
    /// a packet.
    pub const fn shifted(self, base: usize) -> Self {
        Self { offset: self.offset.saturating_add(clamp(base)), ..self }
    }

    /// Returns the kind of error.
    pub const fn kind(&self) -> FastErrorKind {
        self.kind
    }

    /// Returns the specification's code, if it has one.
    pub const fn code(&self) -> Option<Code> {
        self.kind.code()
    }

    /// Returns the byte offset of the field in the decoder's input.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }

    /// Returns the field, if the error is in one.
    pub fn field(&self) -> Option<FieldRef> {
        (self.field != NO_FIELD).then_some(FieldRef(self.field))
    }

    /// Returns the number that caused the error: template id, sequence length or string length from
    /// the stream; the nesting limit; the bytes of a message that a stream holds back, or 0 if the
    /// message's memory exceeds the limit.
    pub const fn detail(&self) -> u32 {
        self.detail
    }

    /// Returns the error with template and field names, as text.
    pub fn describe<'p>(&self, program: &'p Program) -> Description<'p> {
        Description { error: *self, program }
    }
}

impl fmt::Display for FastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code() {
            write!(f, "{code}: ")?;
        }
        write!(f, "byte {}: {}", self.offset, self.kind.text())?;
        match self.kind {
            FastErrorKind::UnknownTemplate => write!(f, " (template id {})", self.detail),
            FastErrorKind::TooManyEntries => write!(f, " ({} entries)", self.detail),
            FastErrorKind::StringTooLong if self.detail > 0 => {
                write!(f, " ({} bytes)", self.detail)
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for FastError {}

/// An error with names, from [`FastError::describe`].
#[derive(Clone, Copy, Debug)]
pub struct Description<'p> {
    error: FastError,
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
