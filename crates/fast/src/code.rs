//! The error codes of FAST 1.1, Appendix 4.

use std::fmt;

/// An error code of the specification: S for template files, D for streams, R for reportable errors,
/// which a decoder rejects or tolerates depending on its conformance level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The template file is not well-formed or not a valid template definition.
    S1,
    /// The operator does not fit the field's type.
    S2,
    /// The initial value cannot be converted to the field's type.
    S3,
    /// A constant operator has no initial value.
    S4,
    /// A default operator of a mandatory field has no initial value.
    S5,
    /// The field's type cannot be converted to or from the application's.
    D1,
    /// An integer in the stream does not fit its type.
    D2,
    /// A decimal cannot be encoded because of the operators of its parts.
    D3,
    /// The previous value has another type than the field.
    D4,
    /// A mandatory field is absent and has neither a previous nor an initial value.
    D5,
    /// A mandatory field is absent and its previous value is empty.
    D6,
    /// A subtraction length is longer than the base value, or a tail is absent and its base empty.
    D7,
    /// A static reference names an unknown template.
    D8,
    /// A template identifier in the stream is unknown.
    D9,
    /// A byte vector is converted to or from anything but a string.
    D10,
    /// A string does not follow the rules of the type it is converted to.
    D11,
    /// A block has a length of zero.
    D12,
    /// A decimal's exponent is outside -63 to 63, or its mantissa does not fit 64 bits.
    R1,
    /// The result of a tail or delta is not UTF-8.
    R2,
    /// A string converted to ASCII has other characters.
    R3,
    /// A value does not fit the integer type it is converted to.
    R4,
    /// A decimal converted to an integer is not whole.
    R5,
    /// An integer is longer than it need be.
    R6,
    /// A presence map is longer than it need be.
    R7,
    /// A presence map has bits that its segment does not use.
    R8,
    /// A string has more leading zeros than necessary.
    R9,
}

impl Code {
    /// Every code, in the order of the specification.
    pub const ALL: [Self; 26] = {
        use Code::*;
        [
            S1, S2, S3, S4, S5, D1, D2, D3, D4, D5, D6, D7, D8, D9, D10, D11, D12, R1, R2, R3, R4,
            R5, R6, R7, R8, R9,
        ]
    };

    /// Names of the codes, in the same order.
    const NAMES: [&str; 26] = [
        "S1", "S2", "S3", "S4", "S5", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D10",
        "D11", "D12", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9",
    ];

    /// The code as the specification writes it, such as `D5`.
    pub const fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_listed_in_order_and_named_as_in_the_specification() {
        for (index, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, index);
            assert_eq!(code.as_str(), format!("{code:?}"));
        }
    }
}
