//! Selects the code of an operation.

use super::op::{Op, OpCode, WireType};
use crate::template::{FieldType, SilentValue, StreamContent, Width};

/// The representation and width of a field type.
pub(super) fn wire_type(field_type: &FieldType) -> (WireType, Width) {
    match field_type {
        FieldType::UInt(width) => (WireType::UInt, *width),
        FieldType::Int(width) => (WireType::Int, *width),
        FieldType::Boolean => (WireType::UInt, Width::W8),
        FieldType::Enum(_) => (WireType::UInt, Width::W32),
        FieldType::Set(_) => (WireType::UInt, Width::W64),
        FieldType::Timestamp(_) => (WireType::Int, Width::W64),
        FieldType::Ascii => (WireType::Ascii, Width::W64),
        FieldType::Unicode => (WireType::Unicode, Width::W64),
        FieldType::ByteVector => (WireType::ByteVector, Width::W64),
        FieldType::Decimal => (WireType::Decimal, Width::W64),
    }
}

/// Returns the code of a field with one operator.
pub(super) fn whole_code(op: &Op) -> OpCode {
    use {SilentValue as V, StreamContent as S};
    match (op.wire, (op.rule.stream, op.rule.silent), op.optional) {
        (_, (S::Constant, _), false) => OpCode::Constant,
        (_, (S::Constant, _), true) => OpCode::ConstantOptional,
        (WireType::UInt, (S::Value, V::Never), false) => OpCode::UIntNone,
        (WireType::UInt, (S::Value, V::Never), true) => OpCode::UIntNoneOptional,
        (WireType::UInt, (S::Value, V::Initial | V::Absent), false) => OpCode::UIntDefault,
        (WireType::UInt, (S::Value, V::Initial | V::Absent), true) => OpCode::UIntDefaultOptional,
        (WireType::UInt, (S::Value, V::Previous), false) => OpCode::UIntCopy,
        (WireType::UInt, (S::Value, V::Previous), true) => OpCode::UIntCopyOptional,
        (WireType::UInt, (S::Value, V::Next), false) => OpCode::UIntIncrement,
        (WireType::UInt, (S::Value, V::Next), true) => OpCode::UIntIncrementOptional,
        (WireType::UInt, (S::Delta, V::Never), false) => OpCode::UIntDelta,
        (WireType::UInt, (S::Delta, V::Never), true) => OpCode::UIntDeltaOptional,
        (WireType::Int, (S::Value, V::Never), false) => OpCode::IntNone,
        (WireType::Int, (S::Value, V::Never), true) => OpCode::IntNoneOptional,
        (WireType::Int, (S::Delta, V::Never), false) => OpCode::IntDelta,
        (WireType::Int, (S::Delta, V::Never), true) => OpCode::IntDeltaOptional,
        (WireType::UInt | WireType::Int, ..) => OpCode::Integer,
        (WireType::Ascii, (S::Value, V::Never), false) => OpCode::AsciiNone,
        (WireType::Ascii, (S::Value, V::Never), true) => OpCode::AsciiNoneOptional,
        (WireType::Ascii, (S::Value, V::Initial | V::Absent), false) => OpCode::AsciiDefault,
        (WireType::Ascii, (S::Value, V::Initial | V::Absent), true) => OpCode::AsciiDefaultOptional,
        (WireType::Ascii, (S::Value, V::Previous), false) => OpCode::AsciiCopy,
        (WireType::Ascii, (S::Value, V::Previous), true) => OpCode::AsciiCopyOptional,
        (WireType::Decimal, ..) => OpCode::Decimal,
        (WireType::Ascii | WireType::Unicode | WireType::ByteVector, ..) => OpCode::Text,
    }
}
