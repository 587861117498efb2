//! IntegerType types: how they are called, read and bounded.

use tickwire_fast::template::{FieldType, Width};

/// An integer type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntegerType {
    pub(crate) is_signed: bool,
    pub(crate) width: Width,
}

impl IntegerType {
    pub(crate) const LENGTH: Self = Self { is_signed: false, width: Width::W32 };
    pub(crate) const EXPONENT: Self = Self { is_signed: true, width: Width::W32 };
    pub(crate) const MANTISSA: Self = Self { is_signed: true, width: Width::W64 };

    /// The integer that a field's type is on the wire.
    pub(crate) fn of(field_type: &FieldType) -> Option<Self> {
        let (is_signed, width) = match field_type {
            FieldType::UInt(width) => (false, *width),
            FieldType::Int(width) => (true, *width),
            FieldType::Boolean => (false, Width::W8),
            FieldType::Enum(_) => (false, Width::W32),
            FieldType::Set(_) => (false, Width::W64),
            FieldType::Timestamp(_) => (true, Width::W64),
            _ => return None,
        };
        Some(Self { is_signed, width })
    }

    pub(crate) fn bits(self) -> u32 {
        self.width as u32
    }

    /// The Rust type.
    pub(crate) fn rust(self) -> String {
        format!("{}{}", if self.is_signed { 'i' } else { 'u' }, self.bits())
    }

    /// The constant argument of functions of this type.
    pub(crate) fn bound(self) -> String {
        match self.is_signed {
            true => self.bits().to_string(),
            false => format!("{{ max::U{} }}", self.bits()),
        }
    }

    fn sign(self) -> &'static str {
        if self.is_signed { "signed" } else { "unsigned" }
    }

    /// Reads a value as a `u64`.
    pub(crate) fn read(self) -> String {
        format!("c.{}::<{}>(x)?", self.sign(), self.bound())
    }

    /// Reads a value of an operator that is in the stream because it is another than before.
    pub(crate) fn read_varied(self) -> String {
        match self.is_signed {
            true => self.read(),
            false => format!("c.unsigned_varied::<{}>(x)?", self.bound()),
        }
    }

    /// As [`read_varied`](Self::read_varied), of a nullable value.
    pub(crate) fn read_varied_nullable(self) -> String {
        match self.is_signed {
            true => self.read_nullable(),
            false => format!("c.unsigned_varied_nullable::<{}>(x)?", self.bound()),
        }
    }

    /// Reads a value without operator: those of 64 bits are mostly long.
    pub(crate) fn read_plain(self) -> String {
        match (self.is_signed, self.width) {
            (false, Width::W64) => "c.unsigned_long(x)?".to_owned(),
            _ => self.read(),
        }
    }

    /// Reads a nullable value as an `Option<u64>`.
    pub(crate) fn read_nullable(self) -> String {
        format!("c.{}_nullable::<{}>(x)?", self.sign(), self.bound())
    }

    /// The function that increments.
    pub(crate) fn next(self) -> String {
        format!("rt::next_{}::<{}>", self.sign(), self.bound())
    }

    /// The function that adds a delta.
    pub(crate) fn add(self) -> String {
        format!("rt::add_{}::<{}>", self.sign(), self.bound())
    }

    /// A value, which is a `u64`, as the type of the field.
    pub(crate) fn cast(self, value: &str) -> String {
        match (self.is_signed, self.width) {
            (false, Width::W64) => value.to_owned(),
            _ => format!("{value} as {}", self.rust()),
        }
    }

    /// A literal of a `u64` that holds the value.
    pub(crate) fn literal(self, value: u64) -> String {
        match self.is_signed && (value as i64) < 0 {
            true => format!("({}i64) as u64", value as i64),
            false => value.to_string(),
        }
    }
}
