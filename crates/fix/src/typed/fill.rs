//! Fills a struct from the fields of a message, by its layout.

use super::layout::{Layout, TypedMemberKind};
use super::slots::{Fill, SlotWords, WordValue, timestamp};
use super::{DEPTH_MAX, Shapes, TimeWithPrecision, check};
use crate::error::{FixError, FixErrorKind};
use crate::raw::SlotColumn;
use crate::reader::{Columns, Field, FixMessage};
use crate::tag::Tag;
use crate::value::{UtcTime, read_decimal, read_int, read_uint};
use crate::writer::{Sheet, WriteState};

/// A generated header, message, trailer or entry; sealed.
pub trait TypedFields<'m>: Sized {
    #[doc(hidden)]
    /// Storage of all members except groups.
    type Slots: Fill<'m>;
    #[doc(hidden)]
    /// The layout of its members.
    const LAYOUT: &'static Layout;
    /// The MsgType of a message; `None` for header, trailer and entries.
    const MSG_TYPE: Option<&'static str>;

    #[doc(hidden)]
    /// Returns the initial value for decoding. It must never be handed out, because it lacks
    /// required members.
    fn blank() -> Self;

    #[doc(hidden)]
    /// Returns its slots.
    fn slots(&self) -> &Self::Slots;

    #[doc(hidden)]
    /// Returns its slots.
    fn slots_mut(&mut self) -> &mut Self::Slots;

    #[doc(hidden)]
    /// Writes its fields in the dictionary's order.
    fn encode_part(&self, sheet: Sheet<'_>, written: WriteState) -> WriteState;

    /// Clears slots and groups; groups keep their capacity.
    #[inline(always)]
    fn clear(&mut self) {
        self.slots_mut().clear();
    }

    #[doc(hidden)]
    /// Decodes the entries of the group with this number, from position `at` on. Returns the
    /// position after them.
    ///
    /// # Errors
    /// Those of [`decode_group`].
    fn decode_entries(
        &mut self,
        _message: &FixMessage<'m, '_>,
        _group: usize,
        _count: &Field<'m>,
        at: usize,
        _depth: usize,
    ) -> Result<usize, FixError> {
        Ok(at)
    }
}

/// Storage for a header or message that is decoded in place, so that no result is moved.
///
/// A message borrows the bytes that it was read from, so each message needs its own room; creating
/// one costs nothing.
#[derive(Clone, Debug)]
pub struct Room<S>(S);

impl<'m, S: TypedFields<'m>> Default for Room<S> {
    #[inline(always)]
    fn default() -> Self {
        Self(S::blank())
    }
}

impl<'m, S: TypedFields<'m>> Room<S> {
    /// Decodes from the field at `start` on, which is [`super::BODY_START`] for a header and the
    /// position after the header for a message. Also returns the position after the last field.
    ///
    /// # Errors
    /// The reason to reject the message, with tag and offset.
    #[inline(always)]
    pub fn decode(
        &mut self,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> Result<(&mut S, usize), FixError> {
        let end = decode(&mut self.0, message, start)?;
        Ok((&mut self.0, end))
    }

    /// Decodes as [`Room::decode`], but faster for messages with the same tags in the same order as
    /// an earlier message decoded with `shapes`.
    ///
    /// # Errors
    /// Those of [`Room::decode`].
    #[inline(always)]
    pub fn decode_alike(
        &mut self,
        shapes: &mut Shapes,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> Result<(&mut S, usize), FixError> {
        let end = shapes.decode(&mut self.0, message, start)?;
        Ok((&mut self.0, end))
    }
}

/// Decodes a header, message or trailer in place, from the field at `start` on. Returns the
/// position after it.
///
/// # Errors
/// The message's fault, a wrong message type, or the reason to reject the message with tag and
/// offset. `target` then has unspecified contents.
#[inline(always)]
pub fn decode<'m, S: TypedFields<'m>>(
    target: &mut S,
    message: &FixMessage<'m, '_>,
    start: usize,
) -> Result<usize, FixError> {
    if let Some(msg_type) = S::MSG_TYPE {
        check(message, msg_type)?;
    }
    target.clear();
    decode_members(target, message, start, 0)
}

/// Decodes into an empty struct, from the field at `start` on. Returns the position after it.
#[inline(never)]
fn decode_members<'m, S: TypedFields<'m>>(
    target: &mut S,
    message: &FixMessage<'m, '_>,
    start: usize,
    depth: usize,
) -> Result<usize, FixError> {
    let (layout, columns) = (S::LAYOUT, message.columns());
    let mut numbered = [0; Layout::NUMBERED_WORDS];
    let mut at = start;
    loop {
        let slots = target.slots_mut();
        match slots.fill(layout, columns, &mut numbered, start, at) {
            FillStop::End(end) if is_complete(layout, slots.texts(), slots.values(), &numbered) => {
                return Ok(end);
            }
            FillStop::Group { number, count } => {
                let Some(field) = message.field_at(count) else { return Ok(count) };
                at = target.decode_entries(message, number, &field, count + 1, depth)?;
            }
            stop => return Err(refusal(target, message, &numbered, start, stop)),
        }
    }
}

/// Returns the reason why a message is refused.
#[cold]
#[inline(never)]
fn refusal<'m, S: TypedFields<'m>>(
    target: &mut S,
    message: &FixMessage<'m, '_>,
    numbered: &Numbered,
    start: usize,
    stop: FillStop,
) -> FixError {
    let (layout, columns) = (S::LAYOUT, message.columns());
    let slots = target.slots_mut();
    let met = [slots.texts(), slots.values(), numbered];
    let at = match stop {
        FillStop::Repeated(at) | FillStop::Wrong(at) => at,
        FillStop::End(_) | FillStop::Group { .. } => return missing(columns, layout, met, start),
    };
    let field = columns.field(at).unwrap_or(Field::new(Tag(0), &[]));
    match stop {
        FillStop::Repeated(_) => field.refused(FixErrorKind::RepeatedTag),
        _ => wrong(field, layout, met),
    }
}

/// Decodes the entries of the group counted by `count`, from position `at` on, which follows it.
/// Returns the position after them.
///
/// # Errors
/// [`FixErrorKind::GroupCount`] if there are fewer or more entries than counted,
/// [`FixErrorKind::GroupOrder`] if the first field is not the one that begins entries, and the errors
/// of entries.
pub fn decode_group<'m, E: TypedFields<'m>>(
    message: &FixMessage<'m, '_>,
    count: &Field<'m>,
    mut at: usize,
    depth: usize,
    entries: &mut Vec<E>,
) -> Result<usize, FixError> {
    let said = count.uint()?;
    if depth >= DEPTH_MAX {
        return Err(count.refused(FixErrorKind::NestingTooDeep));
    }
    while message.tags().get(at) == Some(&E::LAYOUT.delimiter) {
        entries.push(E::blank());
        if let Some(entry) = entries.last_mut() {
            at = decode_members(entry, message, at, depth + 1)?;
        }
    }
    if entries.len() as u64 != said {
        return Err(count.refused(FixErrorKind::GroupCount));
    }
    Ok(at)
}

/// Bitmap of lengths and groups.
pub(super) type Numbered = [u64; Layout::NUMBERED_WORDS];

/// The reason why filling stops.
#[derive(Clone, Copy, Debug)]
pub enum FillStop {
    /// The struct is complete; the position after it.
    End(usize),
    /// The field at this position repeats a tag.
    Repeated(usize),
    /// The field at this position is invalid.
    Wrong(usize),
    /// The entries of a group follow; `count` is the position of its NumInGroup field.
    Group { number: usize, count: usize },
}

const FOREIGN: u16 = TypedMemberKind::Foreign as u16;
const TEXT: u16 = TypedMemberKind::Text as u16;
const CHAR: u16 = TypedMemberKind::Char as u16;
const DECIMAL: u16 = TypedMemberKind::Decimal as u16;
const UINT: u16 = TypedMemberKind::Uint as u16;
const UTC_TIMESTAMP: u16 = TypedMemberKind::UtcTimestamp as u16;
const INT: u16 = TypedMemberKind::Int as u16;
const BOOLEAN: u16 = TypedMemberKind::Boolean as u16;
const DATE: u16 = TypedMemberKind::Date as u16;
const UTC_TIME: u16 = TypedMemberKind::UtcTime as u16;
const LENGTH: u16 = TypedMemberKind::Length as u16;
const GROUP: u16 = TypedMemberKind::Group as u16;
const MISPLACED: u16 = TypedMemberKind::Misplaced as u16;

/// Fills slots from the field at `at` on, until the end or a group.
///
/// Returns only the position of a refused field: the details would occupy registers on the hot
/// path.
#[inline(always)]
pub(super) fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
    (texts, values): (&mut SlotColumn<&'m [u8], T, TW>, &mut SlotColumn<SlotWords, V, VW>),
    layout: &'static Layout,
    columns: Columns<'m, '_>,
    numbered: &mut Numbered,
    start: usize,
    mut at: usize,
) -> FillStop {
    let (mut texts, mut values) = (texts.filling(), values.filling());
    let stop = loop {
        let Some(spot) = columns.spot(at) else { break FillStop::End(at) };
        if layout.delimiter != 0 && spot.tag == layout.delimiter && at > start {
            break FillStop::End(at);
        }
        let place = layout.place(spot.tag);
        let (slot, value) = (Layout::slot(place), spot.value);
        // Each kind writes its slot in a separate branch: a common write would force the values
        // into memory.
        let filled = match place & 15 {
            FOREIGN if layout.ends => break FillStop::End(at),
            FOREIGN => Some(false),
            TEXT if value.is_empty() => None,
            TEXT => Some(texts.put(slot, value)),
            CHAR => match value {
                [byte] => Some(values.put(slot, byte.to_words())),
                _ => None,
            },
            DECIMAL => match read_decimal(value, spot.tail()) {
                Ok(value) => Some(values.put(slot, value.to_words())),
                Err(_) => None,
            },
            UINT => match read_uint(value, spot.tail()) {
                Ok(value) => Some(values.put(slot, value.to_words())),
                Err(_) => None,
            },
            INT => match read_int(value, spot.tail()) {
                Ok(value) => Some(values.put(slot, value.to_words())),
                Err(_) => None,
            },
            UTC_TIMESTAMP => timestamp(value).map(|(word, picos)| values.put(slot, (word, picos))),
            BOOLEAN if value == b"Y" => Some(values.put(slot, true.to_words())),
            BOOLEAN if value == b"N" => Some(values.put(slot, false.to_words())),
            LENGTH | GROUP if value.is_empty() => None,
            LENGTH | GROUP => {
                let word = &mut numbered[slot / 64 % Layout::NUMBERED_WORDS];
                let (before, bit) = (*word, 1 << (slot & 63));
                *word |= bit;
                if place & 15 == GROUP && before & bit == 0 {
                    break FillStop::Group { number: slot, count: at };
                }
                Some(before & bit != 0)
            }
            MISPLACED => None,
            kind => other(kind, value).map(|words| values.put(slot, words)),
        };
        match filled {
            Some(false) => at += 1,
            Some(true) => break FillStop::Repeated(at),
            None => break FillStop::Wrong(at),
        }
    };
    texts.done();
    values.done();
    stop
}

/// Parses a value of a rare kind.
#[inline(never)]
pub(super) fn other(kind: u16, value: &[u8]) -> Option<SlotWords> {
    let field = Field::new(Tag(0), value);
    match kind {
        BOOLEAN => field.boolean().map(WordValue::to_words),
        DATE => field.date().map(WordValue::to_words),
        UTC_TIME => TimeWithPrecision::<UtcTime>::decode(&field).map(WordValue::to_words),
        _ => field.month_year().map(WordValue::to_words),
    }
    .ok()
}

/// Returns the error of a field. A repeated tag takes precedence, then an empty value.
fn wrong(field: Field<'_>, layout: &Layout, met: [&[u64]; 3]) -> FixError {
    let place = layout.place(field.tag.0);
    let kind = Layout::kind(place);
    if kind == TypedMemberKind::Misplaced {
        return field.refused(FixErrorKind::GroupOrder);
    }
    if is_met(met, kind, Layout::slot(place)) {
        return field.refused(FixErrorKind::RepeatedTag);
    }
    if field.value.is_empty() {
        return field.refused(FixErrorKind::EmptyValue);
    }
    let error = match kind {
        TypedMemberKind::Decimal => field.decimal().err(),
        TypedMemberKind::Uint => field.uint().err(),
        TypedMemberKind::Int => field.int().err(),
        _ => None,
    };
    error.unwrap_or_else(|| field.refused(FixErrorKind::ValueFormat))
}

/// True if a slot is set in the bitmaps of texts, values or numbers.
fn is_met([texts, values, numbered]: [&[u64]; 3], kind: TypedMemberKind, slot: usize) -> bool {
    let words = match kind {
        TypedMemberKind::Text => texts,
        TypedMemberKind::Length | TypedMemberKind::Group => numbered,
        _ => values,
    };
    words.get(slot / 64).is_some_and(|word| word >> (slot & 63) & 1 == 1)
}

/// True if all required members are present.
#[inline(always)]
fn is_complete(
    layout: &'static Layout,
    texts: &[u64],
    values: &[u64],
    numbered: &Numbered,
) -> bool {
    let required = &layout.required;
    let lacks = |wanted: &[u64], met: &[u64]| {
        wanted.iter().zip(met).fold(0, |lacking, (wanted, met)| lacking | (wanted & !met))
    };
    let lacking = lacks(&required.texts, texts)
        | lacks(&required.values, values)
        | if required.has_numbered { lacks(&required.numbered, numbered) } else { 0 };
    lacking == 0
}

/// Returns the error for the first required member that is missing.
fn missing(columns: Columns<'_, '_>, layout: &Layout, met: [&[u64]; 3], start: usize) -> FixError {
    let missing = layout
        .members
        .iter()
        .find(|member| member.required && !is_met(met, member.kind, member.slot.into()));
    let offset = match layout.delimiter {
        0 => columns.message_len(),
        _ => columns.offset(start).unwrap_or(0),
    };
    FixError::new(FixErrorKind::RequiredTag, missing.map_or(0, |member| member.tag), offset)
}
