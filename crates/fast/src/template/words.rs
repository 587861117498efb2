//! Names of the standard for parts of the model.

use super::model::{
    EntryPart, Epoch, FieldType, GroupInstruction, OperatorKind, Presence, TimeUnit, Width,
};

impl FieldType {
    /// Returns the standard's name of the type, such as `uInt32`; a string that is not ASCII
    /// includes its character set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::UInt(Width::W8) => "uInt8",
            Self::UInt(Width::W16) => "uInt16",
            Self::UInt(Width::W32) => "uInt32",
            Self::UInt(Width::W64) => "uInt64",
            Self::Int(Width::W8) => "int8",
            Self::Int(Width::W16) => "int16",
            Self::Int(Width::W32) => "int32",
            Self::Int(Width::W64) => "int64",
            Self::Boolean => "boolean",
            Self::Enum(_) => "enum",
            Self::Set(_) => "set",
            Self::Timestamp(_) => "timestamp",
            Self::Ascii => "string",
            Self::Unicode => "unicode string",
            Self::ByteVector => "byteVector",
            Self::Decimal => "decimal",
        }
    }

    /// Returns true if the type is signed, and its width, for a type that is an integer on the
    /// wire.
    pub fn integer(&self) -> Option<(bool, Width)> {
        match self {
            Self::UInt(width) => Some((false, *width)),
            Self::Int(width) => Some((true, *width)),
            Self::Boolean => Some((false, Width::W8)),
            Self::Enum(_) => Some((false, Width::W32)),
            Self::Set(_) => Some((false, Width::W64)),
            Self::Timestamp(_) => Some((true, Width::W64)),
            Self::Ascii | Self::Unicode | Self::ByteVector | Self::Decimal => None,
        }
    }
}

impl GroupInstruction {
    /// Returns `sequence` if there is a length, else `group`.
    pub fn kind(&self) -> &'static str {
        if self.length.is_some() { "sequence" } else { "group" }
    }
}

impl OperatorKind {
    /// Returns the standard's name of the operator, such as `copy`, or `none`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Constant => "constant",
            Self::Default => "default",
            Self::Copy => "copy",
            Self::Increment => "increment",
            Self::Delta => "delta",
            Self::Tail => "tail",
        }
    }
}

impl Presence {
    /// Returns `mandatory` or `optional`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mandatory => "mandatory",
            Self::Optional => "optional",
        }
    }
}

impl TimeUnit {
    /// Returns the unit in the singular, such as `second`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Second => "second",
            Self::Millisecond => "millisecond",
            Self::Microsecond => "microsecond",
            Self::Nanosecond => "nanosecond",
        }
    }
}

impl Epoch {
    /// Returns `unix` or `today`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Today => "today",
        }
    }
}

impl EntryPart {
    /// Returns the part that the key belongs to: `whole`, `exponent`, `mantissa` or `length`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Exponent => "exponent",
            Self::Mantissa => "mantissa",
            Self::Length => "length",
        }
    }
}
