//! Filling a struct from the fields of a message, by its layout.

use super::layout::{Kind, Layout};
use super::slots::{Fill, Value, timestamp};
use super::{DEPTH_MAX, Stamped, check};
use crate::error::{Error, ErrorKind};
use crate::reader::{Columns, Field, Message};
use crate::value::UtcTime;

/// What a generated struct tells of itself; nothing else implements it.
pub trait Fields<'m>: Sized {
    /// What it keeps its members in, but for groups.
    type Slots: Fill<'m>;
    /// Where its members go.
    const LAYOUT: &'static Layout;
    /// The MsgType of a message; `None` for header, trailer and entries.
    const MSG_TYPE: Option<&'static str>;

    /// Returns what decoding begins with. Never to be handed out: it lacks what is required.
    fn blank() -> Self;

    /// Returns its slots.
    fn slots_mut(&mut self) -> &mut Self::Slots;

    /// Empties slots and groups; groups keep their room.
    fn clear(&mut self);

    /// Decodes the entries of the group with that number, from the place `at` on; returns the place after
    /// them.
    ///
    /// # Errors
    /// Those of [`decode_group`].
    fn decode_entries(
        &mut self,
        message: &Message<'m>,
        group: usize,
        count: &Field<'m>,
        at: usize,
        depth: usize,
    ) -> Result<usize, Error>;
}

/// Room for a header or message that is decoded where it stays, and not moved as a result is.
///
/// A message borrows from the bytes it was read from, so there is a room for each: making one costs nothing.
#[derive(Clone, Debug)]
pub struct Room<S>(S);

impl<'m, S: Fields<'m>> Default for Room<S> {
    #[inline(always)]
    fn default() -> Self {
        Self(S::blank())
    }
}

impl<'m, S: Fields<'m>> Room<S> {
    /// Decodes from the field at `start` on, which is [`super::BODY_START`] for a header and the place after
    /// the header for a message; returns the place after it, too.
    ///
    /// # Errors
    /// What a session has to reject, with tag, offset and reason.
    #[inline(always)]
    pub fn decode(
        &mut self,
        message: &Message<'m>,
        start: usize,
    ) -> Result<(&mut S, usize), Error> {
        let end = decode(&mut self.0, message, start)?;
        Ok((&mut self.0, end))
    }
}

/// Decodes a header, message or trailer in place of what there was, from the field at `start` on; returns
/// the place after it.
///
/// # Errors
/// A message's fault, or another type than wanted; and what a session has to reject, with tag, offset and
/// reason. Of both there is something in `target` then.
#[inline(always)]
pub fn decode<'m, S: Fields<'m>>(
    target: &mut S,
    message: &Message<'m>,
    start: usize,
) -> Result<usize, Error> {
    if let Some(msg_type) = S::MSG_TYPE {
        check(message, msg_type)?;
    }
    target.clear();
    decode_members(target, message, start, 0)
}

/// Decodes into a struct that is empty, from the field at `start` on; returns the place after it.
#[inline(never)]
fn decode_members<'m, S: Fields<'m>>(
    target: &mut S,
    message: &Message<'m>,
    start: usize,
    depth: usize,
) -> Result<usize, Error> {
    let mut numbered = [0; Layout::NUMBERED_WORDS];
    let mut at = start;
    loop {
        match fill(message.columns(), target, &mut numbered, start, at)? {
            Stop::End(end) => return Ok(end),
            Stop::Group { number, count } => {
                let Some(field) = message.field_at(count) else { return Ok(count) };
                at = target.decode_entries(message, number, &field, count + 1, depth)?;
            }
        }
    }
}

/// Decodes the entries of the group counted by `count`, from the place `at` on, which follows it; returns
/// the place after them.
///
/// # Errors
/// [`ErrorKind::GroupCount`] if there are fewer or more entries than counted, [`ErrorKind::GroupOrder`] if
/// the first field is not the one that begins entries, and what an entry has.
pub fn decode_group<'m, E: Fields<'m>>(
    message: &Message<'m>,
    count: &Field<'m>,
    mut at: usize,
    depth: usize,
    entries: &mut Vec<E>,
) -> Result<usize, Error> {
    let said = count.uint()?;
    if depth >= DEPTH_MAX {
        return Err(count.refused(ErrorKind::NestingTooDeep));
    }
    while message.tags().get(at) == Some(&E::LAYOUT.delimiter) {
        entries.push(E::blank());
        if let Some(entry) = entries.last_mut() {
            at = decode_members(entry, message, at, depth + 1)?;
        }
    }
    if entries.len() as u64 != said {
        return Err(count.refused(ErrorKind::GroupCount));
    }
    Ok(at)
}

/// Why filling stops.
enum Stop {
    /// All that belongs to the struct has been read: the place after it.
    End(usize),
    /// The entries of a group come next; the place of their number.
    Group { number: usize, count: usize },
}

const TEXT: u16 = Kind::Text as u16;
const CHAR: u16 = Kind::Char as u16;
const DECIMAL: u16 = Kind::Decimal as u16;
const UINT: u16 = Kind::Uint as u16;
const UTC_TIMESTAMP: u16 = Kind::UtcTimestamp as u16;
const INT: u16 = Kind::Int as u16;
const BOOLEAN: u16 = Kind::Boolean as u16;
const DATE: u16 = Kind::Date as u16;
const UTC_TIME: u16 = Kind::UtcTime as u16;
const MONTH_YEAR: u16 = Kind::MonthYear as u16;
const LENGTH: u16 = Kind::Length as u16;
const GROUP: u16 = Kind::Group as u16;
const MISPLACED: u16 = Kind::Misplaced as u16;

/// Fills slots from the field at `at` on, until the end or a group.
#[inline(always)]
fn fill<'m, S: Fields<'m>>(
    columns: Columns<'m>,
    target: &mut S,
    numbered: &mut [u64; Layout::NUMBERED_WORDS],
    start: usize,
    mut at: usize,
) -> Result<Stop, Error> {
    let layout = S::LAYOUT;
    let slots = target.slots_mut();
    while let Some(field) = columns.field(at) {
        let tag = field.tag.0;
        if layout.delimiter != 0 && tag == layout.delimiter && at > start {
            break;
        }
        let place = layout.place(tag);
        let slot = Layout::slot(place);
        let words = match place & 15 {
            TEXT => {
                let is_repeated = slots.put_text(slot, field.value);
                if is_repeated || field.value.is_empty() {
                    return Err(field.repeated_or_empty(is_repeated));
                }
                at += 1;
                continue;
            }
            LENGTH | GROUP => {
                let word = &mut numbered[slot / 64 % Layout::NUMBERED_WORDS];
                let bit = 1 << (slot & 63);
                let is_repeated = *word & bit != 0;
                if is_repeated || field.value.is_empty() {
                    return Err(field.repeated_or_empty(is_repeated));
                }
                *word |= bit;
                if place & 15 == GROUP {
                    return Ok(Stop::Group { number: slot, count: at });
                }
                at += 1;
                continue;
            }
            MISPLACED => return Err(field.refused(ErrorKind::GroupOrder)),
            // What is repeated or empty is told of before what is written wrongly.
            CHAR => field.char().map(Value::to_words),
            DECIMAL => field.decimal().map(Value::to_words),
            UINT => field.uint().map(Value::to_words),
            UTC_TIMESTAMP => match timestamp(field.value) {
                Some(words) => Ok(words),
                None => Err(field.refused(ErrorKind::ValueFormat)),
            },
            INT => field.int().map(Value::to_words),
            BOOLEAN => field.boolean().map(Value::to_words),
            DATE => field.date().map(Value::to_words),
            UTC_TIME => Stamped::<UtcTime>::decode(&field).map(Value::to_words),
            MONTH_YEAR => field.month_year().map(Value::to_words),
            _ if layout.ends => break,
            _ => {
                at += 1;
                continue;
            }
        };
        let words = match words {
            Ok(words) => words,
            Err(error) => return Err(first_error(slots.values(), slot, field, error)),
        };
        if slots.put_value(slot, words) {
            return Err(field.repeated_or_empty(true));
        }
        at += 1;
    }
    require(columns, layout, slots, numbered, start)?;
    Ok(Stop::End(at))
}

/// Tells what is wrong with a value that could not be read: first of all that there is one before it, or
/// that there is none.
#[cold]
#[inline(never)]
fn first_error(values: &[u64], slot: usize, field: Field<'_>, error: Error) -> Error {
    let word = values.get(slot / 64).copied().unwrap_or(0);
    let is_repeated = word >> (slot & 63) & 1 == 1;
    if is_repeated || field.value.is_empty() { field.repeated_or_empty(is_repeated) } else { error }
}

/// Checks that everything required has been met.
#[inline(always)]
fn require<'m>(
    columns: Columns<'m>,
    layout: &Layout,
    slots: &impl Fill<'m>,
    numbered: &[u64; Layout::NUMBERED_WORDS],
    start: usize,
) -> Result<(), Error> {
    let required = &layout.required;
    let lacks = |wanted: &[u64], met: &[u64]| {
        wanted.iter().zip(met).fold(0, |lacking, (wanted, met)| lacking | (wanted & !met))
    };
    let lacking = lacks(&required.texts, slots.texts())
        | lacks(&required.values, slots.values())
        | if required.has_numbered { lacks(&required.numbered, numbered) } else { 0 };
    if lacking == 0 {
        Ok(())
    } else {
        {
            let met = [slots.texts(), slots.values(), numbered];
            Err(missing(columns, layout, met, start))
        }
    }
}

/// Names the first member that is required and missing.
#[cold]
#[inline(never)]
fn missing(
    columns: Columns<'_>,
    layout: &Layout,
    [texts, values, numbered]: [&[u64]; 3],
    start: usize,
) -> Error {
    let is_met = |kind: Kind, slot: u16| {
        let words = match kind {
            Kind::Text => texts,
            Kind::Length | Kind::Group => numbered,
            _ => values,
        };
        words.get(usize::from(slot) / 64).is_some_and(|word| word >> (slot & 63) & 1 == 1)
    };
    let missing =
        layout.members.iter().find(|member| member.required && !is_met(member.kind, member.slot));
    let offset = match layout.delimiter {
        0 => columns.message_len(),
        _ => columns.offset(start).unwrap_or(0),
    };
    Error::new(ErrorKind::RequiredTag, missing.map_or(0, |member| member.tag), offset)
}
