//! Selects the code of an operation.

use super::op::{Op, OpCode, WireType};
use crate::template::{FieldType, OperatorKind, Width};

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
    use OperatorKind as K;
    match (op.wire, op.operator, op.optional) {
        (_, K::Constant, false) => OpCode::Constant,
        (_, K::Constant, true) => OpCode::ConstantOptional,
        (WireType::UInt, K::None, false) => OpCode::UIntNone,
        (WireType::UInt, K::None, true) => OpCode::UIntNoneOptional,
        (WireType::UInt, K::Default, false) => OpCode::UIntDefault,
        (WireType::UInt, K::Default, true) => OpCode::UIntDefaultOptional,
        (WireType::UInt, K::Copy, false) => OpCode::UIntCopy,
        (WireType::UInt, K::Copy, true) => OpCode::UIntCopyOptional,
        (WireType::UInt, K::Increment, false) => OpCode::UIntIncrement,
        (WireType::UInt, K::Increment, true) => OpCode::UIntIncrementOptional,
        (WireType::UInt, K::Delta, false) => OpCode::UIntDelta,
        (WireType::UInt, K::Delta, true) => OpCode::UIntDeltaOptional,
        (WireType::Int, K::None, false) => OpCode::IntNone,
        (WireType::Int, K::None, true) => OpCode::IntNoneOptional,
        (WireType::Int, K::Delta, false) => OpCode::IntDelta,
        (WireType::Int, K::Delta, true) => OpCode::IntDeltaOptional,
        (WireType::UInt | WireType::Int, ..) => OpCode::Integer,
        (WireType::Ascii, K::None, false) => OpCode::AsciiNone,
        (WireType::Ascii, K::None, true) => OpCode::AsciiNoneOptional,
        (WireType::Ascii, K::Default, false) => OpCode::AsciiDefault,
        (WireType::Ascii, K::Default, true) => OpCode::AsciiDefaultOptional,
        (WireType::Ascii, K::Copy, false) => OpCode::AsciiCopy,
        (WireType::Ascii, K::Copy, true) => OpCode::AsciiCopyOptional,
        (WireType::Decimal, ..) => OpCode::Decimal,
        (WireType::Ascii | WireType::Unicode | WireType::ByteVector, ..) => OpCode::Text,
    }
}
