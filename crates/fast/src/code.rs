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
    /// An integer is longer than necessary.
    R8,
    /// A presence map is longer than necessary.
    R9,
}

impl Code {
    /// Every code, in the order of the specification.
    pub const ALL: [Self; 26] = [
        Self::S1,
        Self::S2,
        Self::S3,
        Self::S4,
        Self::S5,
        Self::D1,
        Self::D2,
        Self::D3,
        Self::D4,
        Self::D5,
        Self::D6,
        Self::D7,
        Self::D8,
        Self::D9,
        Self::D10,
        Self::D11,
        Self::D12,
        Self::R1,
        Self::R2,
        Self::R3,
        Self::R4,
        Self::R5,
        Self::R6,
        Self::R7,
        Self::R8,
        Self::R9,
    ];

    /// The code as the specification writes it, such as `D5`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::S1 => "S1",
            Self::S2 => "S2",
            Self::S3 => "S3",
            Self::S4 => "S4",
            Self::S5 => "S5",
            Self::D1 => "D1",
            Self::D2 => "D2",
            Self::D3 => "D3",
            Self::D4 => "D4",
            Self::D5 => "D5",
            Self::D6 => "D6",
            Self::D7 => "D7",
            Self::D8 => "D8",
            Self::D9 => "D9",
            Self::D10 => "D10",
            Self::D11 => "D11",
            Self::D12 => "D12",
            Self::R1 => "R1",
            Self::R2 => "R2",
            Self::R3 => "R3",
            Self::R4 => "R4",
            Self::R5 => "R5",
            Self::R6 => "R6",
            Self::R7 => "R7",
            Self::R8 => "R8",
            Self::R9 => "R9",
        }
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
    fn every_code_has_a_name_of_its_own() {
        for (index, code) in Code::ALL.into_iter().enumerate() {
            assert!(Code::ALL[index + 1..].iter().all(|other| other.as_str() != code.as_str()));
        }
    }
}
