//! Selects the code of an operation.

use super::op::{Code, Op, WireType};
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
pub(super) fn whole_code(op: &Op) -> Code {
    use OperatorKind as K;
    match (op.wire, op.operator, op.optional) {
        (_, K::Constant, false) => Code::Constant,
        (_, K::Constant, true) => Code::ConstantOptional,
        (WireType::UInt, K::None, false) => Code::UIntNone,
        (WireType::UInt, K::None, true) => Code::UIntNoneOptional,
        (WireType::UInt, K::Default, false) => Code::UIntDefault,
        (WireType::UInt, K::Default, true) => Code::UIntDefaultOptional,
        (WireType::UInt, K::Copy, false) => Code::UIntCopy,
        (WireType::UInt, K::Copy, true) => Code::UIntCopyOptional,
        (WireType::UInt, K::Increment, false) => Code::UIntIncrement,
        (WireType::UInt, K::Increment, true) => Code::UIntIncrementOptional,
        (WireType::UInt, K::Delta, false) => Code::UIntDelta,
        (WireType::UInt, K::Delta, true) => Code::UIntDeltaOptional,
        (WireType::Int, K::None, false) => Code::IntNone,
        (WireType::Int, K::None, true) => Code::IntNoneOptional,
        (WireType::Int, K::Delta, false) => Code::IntDelta,
        (WireType::Int, K::Delta, true) => Code::IntDeltaOptional,
        (WireType::UInt | WireType::Int, ..) => Code::Integer,
        (WireType::Ascii, K::None, false) => Code::AsciiNone,
        (WireType::Ascii, K::None, true) => Code::AsciiNoneOptional,
        (WireType::Ascii, K::Default, false) => Code::AsciiDefault,
        (WireType::Ascii, K::Default, true) => Code::AsciiDefaultOptional,
        (WireType::Ascii, K::Copy, false) => Code::AsciiCopy,
        (WireType::Ascii, K::Copy, true) => Code::AsciiCopyOptional,
        (WireType::Decimal, ..) => Code::Decimal,
        (WireType::Ascii | WireType::Unicode | WireType::ByteVector, ..) => Code::Text,
    }
}
