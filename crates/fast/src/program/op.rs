//! One operation of a compiled program.

use crate::template::{OperatorKind, OperatorRule, Width};

/// How a value is represented on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WireType {
    UInt,
    Int,
    Ascii,
    Unicode,
    ByteVector,
    Decimal,
}

/// Selects what the engine executes. Frequent combinations of type, operator and presence have
/// their own code; general codes distinguish the rest by the operation's other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum OpCode {
    UIntNone,
    UIntNoneOptional,
    UIntDefault,
    UIntDefaultOptional,
    UIntCopy,
    UIntCopyOptional,
    UIntIncrement,
    UIntIncrementOptional,
    UIntDelta,
    UIntDeltaOptional,
    IntNone,
    IntNoneOptional,
    IntDelta,
    IntDeltaOptional,
    /// Any other integer.
    Integer,
    AsciiNone,
    AsciiNoneOptional,
    AsciiDefault,
    AsciiDefaultOptional,
    AsciiCopy,
    AsciiCopyOptional,
    /// Any other string or byte vector operation.
    Text,
    /// A decimal with one operator.
    Decimal,
    /// Exponent of a decimal with parts; `aux` is the number of operations to skip when absent.
    ExponentDefault,
    ExponentDefaultOptional,
    Exponent,
    /// Mantissa of a decimal with parts, always after its exponent.
    MantissaDelta,
    Mantissa,
    /// A mandatory constant; only in programs compiled for visitors.
    Constant,
    ConstantOptional,
    /// The length of the sequence whose operation follows.
    LengthNone,
    Length,
    /// A sequence; `aux` is its segment.
    Sequence,
    /// A group; `aux` is its segment.
    Group,
    GroupOptional,
    DynamicRef,
    /// Presence bits continue in the record's next presence word.
    NextPresenceWord,
    /// Checks the type (D4) of the next operation's entry, which fields of different types share.
    CheckEntryType,
}

/// One operation, 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub code: OpCode,
    /// Name of its operator, for traces.
    pub operator: OperatorKind,
    /// Rule of its operator.
    pub rule: OperatorRule,
    pub wire: WireType,
    pub width: Width,
    pub optional: bool,
    /// The value is unwanted: it goes to the record's scratch slot.
    pub discard: bool,
    /// Presence bit in the current presence word.
    pub bit: u8,
    /// First slot of the value in the record.
    pub slot: u32,
    /// Dictionary entry.
    pub entry: u32,
    /// The field, for errors and visitors.
    pub field: u32,
    /// See [`OpCode`].
    pub aux: u32,
    /// Index into [`Program::initials`](super::Program::initials); 0 means no initial value.
    pub initial: u32,
}

/// An initial value in the form that its operation needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Initial {
    /// False only for entry 0: the operation has no initial value.
    pub given: bool,
    /// Integer (two's complement) or mantissa.
    pub word: u64,
    /// Exponent of a decimal.
    pub exponent: i32,
    /// String or byte vector.
    pub bytes: Box<[u8]>,
    /// The string as a word, if it fits one.
    pub short: Option<[u8; 8]>,
}
