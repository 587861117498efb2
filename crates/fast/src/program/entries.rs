//! Numbers of dictionary entries: which operators share one, and with which types.

use crate::template::{DictionaryScope, EntryKey, FieldType, Name, Operator, Width};
use std::borrow::Cow;
use std::collections::HashMap;

/// The dictionary entries of a template set, numbered in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct EntryNumbers<'s> {
    by_key: HashMap<Cow<'s, EntryKey>, u32>,
    /// For each entry, the types of the fields that use it: bits by type tag.
    types: Vec<u16>,
}

/// Bits of the types that have a text buffer.
const TEXT_TYPES: u16 = 0b111 << 8;

/// Returns a type's tag. Types with different tags must not share an entry.
pub(super) fn type_tag(field_type: &FieldType) -> u8 {
    let width = |width: Width| (width as u8).trailing_zeros() as u8 - 3;
    match field_type {
        FieldType::UInt(w) => width(*w),
        FieldType::Int(w) => 4 + width(*w),
        FieldType::Timestamp(_) => 7,
        FieldType::Ascii => 8,
        FieldType::Unicode => 9,
        FieldType::ByteVector => 10,
        FieldType::Decimal => 11,
        FieldType::Boolean => 12,
        FieldType::Enum(_) => 13,
        FieldType::Set(_) => 14,
    }
}

/// Kind of an entry's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An integer, or a part of a decimal.
    Integer,
    /// A decimal as a whole.
    Scaled,
    /// A string or byte vector.
    Text,
}

impl ValueKind {
    /// Returns the kind of the values of types with this tag.
    pub(super) fn of_tag(tag: u8) -> Self {
        match tag {
            8..=10 => Self::Text,
            11 => Self::Scaled,
            _ => Self::Integer,
        }
    }
}

impl<'s> EntryNumbers<'s> {
    /// Returns the entry of an operator that uses one, of a field with this type tag.
    /// `around` is the application type around it.
    pub(super) fn number(&mut self, operator: &'s Operator, around: Option<&Name>, tag: u8) -> u32 {
        let next = self.types.len() as u32;
        let entry = *self.by_key.entry(key(operator, around)).or_insert(next);
        if entry == next {
            self.types.push(0);
        }
        self.types[entry as usize] |= 1 << tag;
        entry
    }

    /// True if fields of several types use the entry. Known only when all operators are numbered.
    pub(super) fn is_mixed(&self, entry: u32) -> bool {
        self.types[entry as usize].count_ones() > 1
    }

    pub(super) fn text_buffers(&self) -> Vec<u32> {
        let mut next = 0;
        let buffer = |types: &u16| {
            if types & TEXT_TYPES == 0 {
                return u32::MAX;
            }
            next += 1;
            next - 1
        };
        self.types.iter().map(buffer).collect()
    }
}

/// Returns the key of an operator's entry. A referenced template without a type of its own inherits
/// the type around the reference.
///
/// Spec: FAST 1.1 §6.1.
fn key<'s>(operator: &'s Operator, around: Option<&Name>) -> Cow<'s, EntryKey> {
    match (&operator.entry.dictionary, around) {
        (DictionaryScope::Type(None), Some(around)) => Cow::Owned(EntryKey {
            dictionary: DictionaryScope::Type(Some(around.clone())),
            ..operator.entry.clone()
        }),
        _ => Cow::Borrowed(&operator.entry),
    }
}
