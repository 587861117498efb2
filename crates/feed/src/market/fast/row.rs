//! The fields of a record by tag, for any decoding engine.

use tickwire_fast::generated::ModuleValue;
use tickwire_fast::{Decimal, FieldValue, Int, Record, Scaled, Slot, Text, UInt};

use super::MarketDataError;
use super::tags::{PLACES, place_of, tag};
use crate::book::{Amount, OrderId};

/// A value of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum FieldScalar<'m> {
    #[default]
    Absent,
    UInt(u64),
    Int(i64),
    Decimal(Decimal),
    Text(&'m [u8]),
}

/// How a field of a record of the dynamic engine is read.
#[derive(Clone, Debug, Default)]
pub(super) enum Bound {
    /// The segment does not have the field.
    #[default]
    Missing,
    UInt(Slot<UInt>),
    Int(Slot<Int>),
    Decimal(Slot<Scaled>),
    Text(Slot<Text>),
    /// A constant of the template.
    Number(u64),
    ConstantText(Box<[u8]>),
    /// Any other field, by its index in the segment, such as an optional constant.
    Field(usize),
}

/// The fields of a segment, by place.
pub(super) type Bounds = [Bound; PLACES];

/// A record whose fields are requested by tag.
pub(super) trait FieldRow<'m>: Copy {
    /// Returns the value at a place of [`TAGS`](super::tags::TAGS), or of a key field after them.
    fn at(self, place: usize) -> FieldScalar<'m>;

    /// Returns the value of a tag of [`TAGS`](super::tags::TAGS).
    #[inline(always)]
    fn get<const TAG: u32>(self) -> FieldScalar<'m> {
        self.at(const { place_of(TAG) })
    }
}

impl<'m> From<FieldValue<'m>> for FieldScalar<'m> {
    fn from(value: FieldValue<'m>) -> Self {
        match value {
            FieldValue::UInt(value) => Self::UInt(value),
            FieldValue::Int(value) => Self::Int(value),
            FieldValue::Decimal(value) => Self::Decimal(value),
            FieldValue::Ascii(text) | FieldValue::Unicode(text) | FieldValue::Bytes(text) => {
                Self::Text(text)
            }
            _ => Self::Absent,
        }
    }
}

/// Converts a value; a constant without a value counts as absent.
impl<'m> From<ModuleValue<'m>> for FieldScalar<'m> {
    #[inline(always)]
    fn from(value: ModuleValue<'m>) -> Self {
        match value {
            ModuleValue::UInt(value) => Self::UInt(value),
            ModuleValue::Int(value) => Self::Int(value),
            ModuleValue::Decimal(value) => Self::Decimal(value),
            ModuleValue::Bytes(text) => Self::Text(text),
            ModuleValue::Constant => Self::Absent,
        }
    }
}

/// A record of the dynamic engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotRow<'m> {
    pub(super) record: Record<'m>,
    pub(super) bounds: &'m Bounds,
}

impl<'m> FieldRow<'m> for SlotRow<'m> {
    #[inline(always)]
    fn at(self, place: usize) -> FieldScalar<'m> {
        let Some(bound) = self.bounds.get(place) else { return FieldScalar::Absent };
        match bound {
            Bound::Missing => FieldScalar::Absent,
            Bound::UInt(slot) => {
                self.record.read(slot).map_or(FieldScalar::Absent, FieldScalar::UInt)
            }
            Bound::Int(slot) => {
                self.record.read(slot).map_or(FieldScalar::Absent, FieldScalar::Int)
            }
            Bound::Decimal(slot) => {
                self.record.read(slot).map_or(FieldScalar::Absent, FieldScalar::Decimal)
            }
            Bound::Text(slot) => {
                self.record.read(slot).map_or(FieldScalar::Absent, FieldScalar::Text)
            }
            Bound::Number(value) => FieldScalar::UInt(*value),
            Bound::ConstantText(text) => FieldScalar::Text(text),
            Bound::Field(index) => self.record.value(*index).into(),
        }
    }
}

/// The fields of a generated record, collected by place.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectedRow<'c, 'm> {
    pub(super) values: &'c [FieldScalar<'m>; PLACES],
    pub(super) present: u64,
}

impl<'m> FieldRow<'m> for CollectedRow<'_, 'm> {
    #[inline(always)]
    fn at(self, place: usize) -> FieldScalar<'m> {
        if place < PLACES && self.present >> place & 1 != 0 {
            self.values[place]
        } else {
            FieldScalar::Absent
        }
    }
}

pub(super) fn invalid(tag: u32) -> MarketDataError {
    MarketDataError::FieldValue { tag }
}

pub(super) fn required<T>(value: Option<T>, tag: u32) -> Result<T, MarketDataError> {
    value.ok_or(MarketDataError::FieldAbsent { tag })
}

impl<'m> FieldScalar<'m> {
    #[inline(always)]
    pub(super) fn unsigned(self, tag: u32) -> Result<Option<u64>, MarketDataError> {
        match self {
            Self::Absent => Ok(None),
            Self::UInt(value) => Ok(Some(value)),
            Self::Int(value) => u64::try_from(value).map(Some).map_err(|_| invalid(tag)),
            Self::Text(text) => digits(text).map(Some).ok_or(invalid(tag)),
            Self::Decimal(_) => Err(invalid(tag)),
        }
    }

    #[inline(always)]
    pub(super) fn amount(self, tag: u32) -> Result<Option<Amount>, MarketDataError> {
        match self {
            Self::Absent => Ok(None),
            Self::Decimal(value) => Ok(Some(value.into())),
            Self::Int(value) => Ok(Some(Amount::integer(value))),
            Self::UInt(value) => {
                i64::try_from(value).map(Amount::integer).map(Some).map_err(|_| invalid(tag))
            }
            Self::Text(_) => Err(invalid(tag)),
        }
    }

    /// Reads a field of one character, sent as a string or as a number below ten.
    #[inline(always)]
    pub(super) fn character(self, tag: u32) -> Result<Option<u8>, MarketDataError> {
        match self {
            Self::Absent => Ok(None),
            Self::Text(&[byte]) => Ok(Some(byte)),
            Self::UInt(digit @ 0..=9) => Ok(Some(b'0' + digit as u8)),
            Self::Int(digit @ 0..=9) => Ok(Some(b'0' + digit as u8)),
            _ => Err(invalid(tag)),
        }
    }

    /// Returns the text; empty if the value is not text.
    pub(super) fn text(self) -> &'m [u8] {
        match self {
            Self::Text(text) => text,
            _ => &[],
        }
    }

    /// Returns the id of an order.
    pub(super) fn order_id(self, tag: u32) -> Result<Option<OrderId>, MarketDataError> {
        match self {
            Self::Absent => Ok(None),
            Self::UInt(id) => Ok(Some(OrderId::number(id))),
            // Uses the bits: ids are compared for equality only.
            Self::Int(id) => Ok(Some(OrderId::number(id.cast_unsigned()))),
            Self::Text(text) => OrderId::text(text).map(Some).ok_or(invalid(tag)),
            Self::Decimal(_) => Err(invalid(tag)),
        }
    }
}

/// Parses a text of digits as a number.
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// True if the QuoteCondition (276), a list separated by spaces, marks an implied price.
#[inline(always)]
pub(super) fn is_implied<'m>(row: impl FieldRow<'m>) -> bool {
    match row.get::<{ tag::QUOTE_CONDITION }>() {
        FieldScalar::Text(text) => has_implied(text),
        _ => false,
    }
}

/// True if a list of conditions separated by spaces contains K.
pub(super) fn has_implied(text: &[u8]) -> bool {
    text.split(|byte| *byte == b' ').any(|condition| condition == b"K")
}
