//! Integer types: their Rust types, reader functions and bounds.

use tickwire_fast::rt::expanded::SilentValue;
use tickwire_fast::template::{FieldType, Width};

/// An integer type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntegerShape {
    pub(crate) is_signed: bool,
    pub(crate) width: Width,
}

impl IntegerShape {
    pub(crate) const LENGTH: Self = Self { is_signed: false, width: Width::W32 };
    pub(crate) const EXPONENT: Self = Self { is_signed: true, width: Width::W32 };
    pub(crate) const MANTISSA: Self = Self { is_signed: true, width: Width::W64 };

    /// Returns the integer type that represents a field's type on the wire.
    pub(crate) fn of(field_type: &FieldType) -> Option<Self> {
        field_type.integer().map(|(is_signed, width)| Self { is_signed, width })
    }

    pub(crate) fn bits(self) -> u32 {
        self.width as u32
    }

    /// The Rust type.
    pub(crate) fn rust(self) -> String {
        format!("{}{}", if self.is_signed { 'i' } else { 'u' }, self.bits())
    }

    /// Returns the const argument for functions of this type.
    pub(crate) fn bound(self) -> String {
        match self.is_signed {
            true => self.bits().to_string(),
            false => format!("{:#x}", u64::MAX >> (u64::BITS - self.bits())),
        }
    }

    fn sign(self) -> &'static str {
        if self.is_signed { "signed" } else { "unsigned" }
    }

    /// Returns the call that reads a value as a `u64` or, if nullable, an `Option<u64>`. Values of
    /// 64 bits are mostly long if they are always sent; copied ones are sent because they changed.
    pub(crate) fn read(self, silent: SilentValue, is_nullable: bool) -> String {
        let varied = match silent {
            SilentValue::Never if !self.is_signed && self.bits() == 64 && !is_nullable => {
                return "c.unsigned_long(x)?".to_owned();
            }
            SilentValue::Previous if !self.is_signed => "_varied",
            _ => "",
        };
        let nullable = if is_nullable { "_nullable" } else { "" };
        format!("c.{}{varied}{nullable}::<{}>(x)?", self.sign(), self.bound())
    }

    /// Returns the function that increments.
    pub(crate) fn next(self) -> String {
        format!("rt::next_{}::<{}>", self.sign(), self.bound())
    }

    /// Returns the function that adds a delta.
    pub(crate) fn add(self) -> String {
        format!("rt::add_{}::<{}>", self.sign(), self.bound())
    }

    /// Converts a `u64` expression to the type of the field.
    pub(crate) fn cast(self, value: &str) -> String {
        match (self.is_signed, self.width) {
            (false, Width::W64) => value.to_owned(),
            _ => format!("{value} as {}", self.rust()),
        }
    }

    /// Converts an expression of the field's type to a `u64`, or to an `i64` if it is signed.
    pub(crate) fn wide(self, value: &str) -> String {
        match (self.is_signed, self.width) {
            (_, Width::W64) => value.to_owned(),
            (true, _) => format!("i64::from({value})"),
            (false, _) => format!("u64::from({value})"),
        }
    }

    /// Converts an expression of the field's type to a `u64`.
    pub(crate) fn word(self, value: &str) -> String {
        let as_word = if self.is_signed { " as u64" } else { "" };
        self.wide(value) + as_word
    }

    /// As [`word`](Self::word), for an `Option`.
    pub(crate) fn optional_word(self, value: &str) -> String {
        match (self.is_signed, self.width) {
            (false, Width::W64) => value.to_owned(),
            (false, _) => format!("{value}.map(u64::from)"),
            (true, _) => format!("{value}.map(|value| {})", self.word("value")),
        }
    }

    /// Returns a `u64` literal of the value.
    pub(crate) fn literal(self, value: u64) -> String {
        match self.is_signed && (value as i64) < 0 {
            true => format!("({}i64) as u64", value as i64),
            false => value.to_string(),
        }
    }
}
