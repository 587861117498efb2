//! What operators do, in the two parts that all engines, encoders and the generator of modules know: what the
//! stream has, and what a field is if the stream has nothing.

use super::model::OperatorKind;

/// An operator of a field whose presence and initial value are known.
///
/// Spec: FAST 1.1 §6.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorRule {
    /// What the stream has if the presence-map bit is set, or if there is no bit.
    pub stream: StreamContent,
    /// The value if the bit is not set.
    pub silent: SilentValue,
}

/// What the stream has for a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamContent {
    /// Nothing: the value is the initial value.
    Constant,
    /// The value.
    #[default]
    Value,
    /// The difference from the previous value. If that is undefined, from the initial value; without one,
    /// from zero or the empty string.
    Difference,
    /// The end of a string. The rest is the front of the previous value.
    End,
}

/// The value of a field that is not in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SilentValue {
    /// The field is always in the stream: it has no presence-map bit.
    #[default]
    Never,
    /// No value.
    Absent,
    /// The initial value.
    Initial,
    /// The previous value. If that is undefined, the initial value; without one, none.
    Previous,
    /// As [`Previous`](Self::Previous), but one more than the previous value.
    Next,
}

impl OperatorKind {
    /// Returns what the operator does.
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
            Self::Delta => (StreamContent::Difference, Never),
            Self::Tail => (StreamContent::End, Previous),
        };
        OperatorRule { stream, silent }
    }
}

impl OperatorRule {
    /// A field without an operator.
    pub const PLAIN: Self = Self { stream: StreamContent::Value, silent: SilentValue::Never };

    /// True if the field has a bit in the presence map.
    #[inline(always)]
    pub fn has_map_bit(self) -> bool {
        self.silent != SilentValue::Never
    }

    /// True if the field has bytes in the stream in any case.
    pub fn takes_bytes(self) -> bool {
        !self.has_map_bit() && !self.is_constant()
    }

    /// True if only the presence of the initial value is transmitted, if that.
    pub fn is_constant(self) -> bool {
        self.stream == StreamContent::Constant
    }

    /// True if the previous value is taken over, or changed by the rule.
    pub fn follows(self) -> bool {
        matches!(self.silent, SilentValue::Previous | SilentValue::Next)
    }

    /// True if the value depends on the previous value even if it is in the stream.
    pub fn adds(self) -> bool {
        matches!(self.stream, StreamContent::Difference | StreamContent::End)
    }

    /// True if the field has a dictionary entry.
    #[inline(always)]
    pub fn uses_dictionary(self) -> bool {
        self.follows() || self.adds()
    }

    /// As [`OperatorKind::replaces_previous_value`].
    pub fn replaces_previous_value(self) -> bool {
        self.follows() && self.stream == StreamContent::Value
    }
}
