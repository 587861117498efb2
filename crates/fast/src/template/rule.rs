//! Operators, lowered to rules: the content of the stream, and the value of a field that is not in it. Engines, encoders
//! and the generator of modules know rules only.

use super::model::OperatorKind;

/// Rule of an operator, for the presence and initial value of its field.
///
/// Spec: FAST 1.1 §6.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorRule {
    /// Content of the stream if the presence-map bit is set, or if there is no bit.
    pub stream: StreamContent,
    /// Value if the bit is not set.
    pub silent: SilentValue,
}

/// Content of the stream for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamContent {
    /// Nothing: the value is the initial value.
    Constant,
    /// The value. NULL empties the entry, if the field has one.
    Value,
    /// A delta value: the difference from the base value. That is the previous value; if it is undefined, the
    /// initial value; without one, zero or the empty string. An empty previous value is D6. NULL leaves the
    /// entry as it is.
    Delta,
    /// A tail value: the end of a string; the rest is the front of the base value. That is the previous value; if
    /// it is undefined or empty, the initial value or the empty string. NULL empties the entry.
    Tail,
}

/// Value of a field that is not in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilentValue {
    /// The field has no presence-map bit.
    Never,
    /// None.
    Absent,
    /// The initial value.
    Initial,
    /// The previous value; if it is undefined, the initial value. Without either, an optional field is absent and its
    /// entry becomes empty, and a mandatory one is D5, D6 or D7.
    Previous,
    /// As [`Previous`](Self::Previous), but one more than the previous value.
    Next,
}

impl StreamContent {
    /// True if it is relative to a base value.
    #[inline(always)]
    pub(crate) fn has_base(self) -> bool {
        match self {
            Self::Constant | Self::Value => false,
            Self::Delta | Self::Tail => true,
        }
    }
}

impl OperatorKind {
    /// Returns the operator's rule.
    pub(crate) fn rule(self, is_optional: bool, has_initial: bool) -> OperatorRule {
        use SilentValue::*;
        let (stream, silent) = match self {
            Self::None => (StreamContent::Value, Never),
            Self::Constant if is_optional => (StreamContent::Constant, Absent),
            Self::Constant => (StreamContent::Constant, Never),
            Self::Default if has_initial => (StreamContent::Value, Initial),
            Self::Default => (StreamContent::Value, Absent),
            Self::Copy => (StreamContent::Value, Previous),
            Self::Increment => (StreamContent::Value, Next),
            Self::Delta => (StreamContent::Delta, Never),
            Self::Tail => (StreamContent::Tail, Previous),
        };
        OperatorRule { stream, silent }
    }
}

impl OperatorRule {
    /// The rule of a field without an operator.
    pub const PLAIN: Self = Self { stream: StreamContent::Value, silent: SilentValue::Never };

    /// True if the field has a bit in the presence map.
    #[inline(always)]
    pub fn has_map_bit(self) -> bool {
        self.silent != SilentValue::Never
    }

    /// True if the field has bytes in the stream in any case, at least NULL.
    pub fn takes_bytes(self) -> bool {
        !self.has_map_bit() && !self.is_constant()
    }

    /// True if the value is never in the stream. An optional field sends its presence.
    pub fn is_constant(self) -> bool {
        self.stream == StreamContent::Constant
    }

    /// True if a field that is not in the stream takes its value from the previous one.
    #[inline(always)]
    pub fn derives_from_previous(self) -> bool {
        match self.silent {
            SilentValue::Never | SilentValue::Absent | SilentValue::Initial => false,
            SilentValue::Previous | SilentValue::Next => true,
        }
    }

    /// True if a value in the stream is relative to a base value.
    #[inline(always)]
    pub fn has_base(self) -> bool {
        self.stream.has_base()
    }

    /// True if the field has a dictionary entry.
    #[inline(always)]
    pub fn uses_dictionary(self) -> bool {
        self.derives_from_previous() || self.has_base()
    }

    /// True if a value in the stream becomes the previous value unchanged. It then does not matter if the
    /// earlier previous value had another type, which would otherwise be D4.
    pub fn replaces_previous_value(self) -> bool {
        self.derives_from_previous() && self.stream == StreamContent::Value
    }
}

impl Default for OperatorRule {
    fn default() -> Self {
        Self::PLAIN
    }
}
