//! Decoding by the shapes of earlier messages.
//!
//! The tags of a message and their order alone determine which slots are filled, whether a field is
//! repeated, and whether all required members are present. For a message with the tags of an
//! earlier one, only the values must therefore be parsed. If a value cannot be parsed, the message
//! is decoded again field by field, for the error.

use super::check;
use super::fill::{TypedFields, decode, other};
use super::layout::{Layout, LayoutId, TypedMemberKind};
use super::slots::{Fill, SlotWords, WordValue, timestamp_near};
use crate::error::FixError;
use crate::raw::{Avx512, Filling, SlotColumn, TagPlan, ValueFormat};
use crate::reader::{Columns, FixMessage, ReaderEngine};
use crate::value::{Minute, read_decimal, read_int, read_uint};

/// Number of remembered shapes.
const KNOWN_MAX: usize = 4;

/// The tags of earlier messages, in order, and the slots of their fields: messages with the same
/// tags are decoded without looking up each field.
///
/// Use one for each message type, and one for its header. It remembers four shapes; structs with
/// groups or data are not remembered.
#[derive(Clone, Debug)]
pub struct Shapes {
    engine: ReaderEngine,
    known: Vec<MessageShape>,
    /// Index of the shape that matched last.
    last: usize,
    /// Index of the shape that is replaced next.
    oldest: usize,
}

/// The tags of a message and the slots of its fields.
#[derive(Clone, Debug)]
pub struct MessageShape {
    layout: LayoutId,
    /// The tags from the start on, including the tag that ended the struct.
    tags: Vec<u32>,
    /// True if the message ends after these tags.
    is_whole: bool,
    /// Number of tags that belong to the struct.
    len: usize,
    texts: Vec<ShapeEntry>,
    chars: Vec<ShapeEntry>,
    decimals: Vec<ShapeEntry>,
    ints: Vec<ShapeEntry>,
    uints: Vec<ShapeEntry>,
    timestamps: Vec<(ShapeEntry, Minute)>,
    others: Vec<(TypedMemberKind, ShapeEntry)>,
    planned: Option<VectorShape>,
}

/// The part of a shape that vector instructions handle: comparison of tags, and parsing of texts,
/// characters, numbers and timestamps.
#[derive(Clone, Debug)]
struct VectorShape {
    engine: Avx512,
    plan: TagPlan,
    /// The numbers and timestamps of the plan, in its order.
    numbers: Vec<(TypedMemberKind, ShapeEntry)>,
    moments: Vec<ShapeEntry>,
}

/// A field.
#[derive(Clone, Copy, Debug)]
struct ShapeEntry {
    /// Number of fields before it.
    at: u16,
    slot: u16,
}

impl Default for Shapes {
    fn default() -> Self {
        Self::new()
    }
}

impl Shapes {
    /// Creates an empty cache of shapes with the fastest engine.
    pub fn new() -> Self {
        Self { engine: ReaderEngine::detect(), known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Sets the engine. For tests and measurements; the default is the fastest.
    pub fn engine(self, engine: ReaderEngine) -> Self {
        Self { engine, known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Decodes in place, with the same result as [`decode`].
    #[inline(always)]
    pub(super) fn decode<'m, S: TypedFields<'m>>(
        &mut self,
        target: &mut S,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> Result<usize, FixError> {
        if let Some(shape) = self.known.get_mut(self.last)
            && let Some(end) = shape.decode(target, message, start)
        {
            return Ok(end);
        }
        self.decode_other(target, message, start)
    }

    /// As `decode`, for a message that does not match the last shape.
    #[inline(never)]
    fn decode_other<'m, S: TypedFields<'m>>(
        &mut self,
        target: &mut S,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> Result<usize, FixError> {
        for (at, shape) in self.known.iter_mut().enumerate() {
            if at != self.last
                && let Some(end) = shape.decode(target, message, start)
            {
                self.last = at;
                return Ok(end);
            }
        }
        let end = decode(target, message, start)?;
        let tags = message.tags().get(start..).unwrap_or_default();
        let is_known = |shape: &MessageShape| shape.is_of(S::LAYOUT, message, start);
        if !self.known.iter().any(is_known)
            && let Some(shape) = MessageShape::learn(S::LAYOUT, tags, end - start, self.engine)
        {
            self.last = self.oldest;
            self.oldest = (self.oldest + 1) % KNOWN_MAX;
            match self.known.get_mut(self.last) {
                Some(known) => *known = shape,
                None => self.known.push(shape),
            }
        }
        Ok(end)
    }
}

impl MessageShape {
    /// Creates the shape of a decoded message; `None` if it has more than texts and values.
    fn learn(
        layout: &'static Layout,
        tags: &[u32],
        len: usize,
        engine: ReaderEngine,
    ) -> Option<Self> {
        let mut shape = Self {
            layout: layout.id(),
            tags: tags.iter().take(len + 1).copied().collect(),
            is_whole: len == tags.len(),
            len,
            texts: Vec::new(),
            chars: Vec::new(),
            decimals: Vec::new(),
            ints: Vec::new(),
            uints: Vec::new(),
            timestamps: Vec::new(),
            others: Vec::new(),
            planned: None,
        };
        for (at, tag) in tags.iter().enumerate().take(len) {
            let place = layout.place(*tag);
            let (at, slot) = (u16::try_from(at).ok()?, Layout::slot(place) as u16);
            let entry = ShapeEntry { at, slot };
            match Layout::kind(place) {
                TypedMemberKind::Foreign => {}
                TypedMemberKind::Text => shape.texts.push(entry),
                TypedMemberKind::Char => shape.chars.push(entry),
                TypedMemberKind::Decimal => shape.decimals.push(entry),
                TypedMemberKind::Int => shape.ints.push(entry),
                TypedMemberKind::Uint => shape.uints.push(entry),
                TypedMemberKind::UtcTimestamp => shape.timestamps.push((entry, Minute::default())),
                TypedMemberKind::Length | TypedMemberKind::Group | TypedMemberKind::Misplaced => {
                    return None;
                }
                kind => shape.others.push((kind, entry)),
            }
        }
        shape.planned = engine.avx512().and_then(|engine| VectorShape::new(engine, layout, &shape));
        Some(shape)
    }

    /// True if the message from `start` on has this shape.
    fn is_of(&self, layout: &'static Layout, message: &FixMessage<'_, '_>, start: usize) -> bool {
        let tags = message.tags().get(start..);
        self.may_be_of(layout, message, start)
            && tags.is_some_and(|tags| tags.starts_with(&self.tags))
    }

    /// True if the message has this shape, provided that its tags match.
    #[inline(always)]
    fn may_be_of(
        &self,
        layout: &'static Layout,
        message: &FixMessage<'_, '_>,
        start: usize,
    ) -> bool {
        // A start beyond the message wraps to a length that no shape has.
        let left = message.len().wrapping_sub(start);
        self.layout == layout.id() && (!self.is_whole || left == self.len)
    }

    /// Decodes a message of this shape; `None` if the shape differs or a value cannot be parsed.
    #[inline(always)]
    fn decode<'m, S: TypedFields<'m>>(
        &mut self,
        target: &mut S,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> Option<usize> {
        if !self.may_be_of(S::LAYOUT, message, start) {
            return None;
        }
        if let Some(msg_type) = S::MSG_TYPE {
            check(message, msg_type).ok()?;
        }
        target.clear();
        target.slots_mut().fill_alike(self, message, start).then(|| start + self.len)
    }

    /// Fills slots; `None` if the tags differ or a value cannot be parsed.
    #[inline(always)]
    pub(super) fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        &mut self,
        texts: &mut SlotColumn<&'m [u8], T, TW>,
        values: &mut SlotColumn<SlotWords, V, VW>,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> Option<()> {
        match &mut self.planned {
            Some(planned) => planned.fill(texts, values, message, start)?,
            None => self.fill_one_by_one(texts, values, message.columns().after(start)?)?,
        }
        if self.others.is_empty() {
            return Some(());
        }
        let columns = message.columns().after(start)?;
        let mut values = values.filling();
        for (kind, ShapeEntry { at, slot }) in &self.others {
            let (low, high) = match (kind, columns.value((*at).into())?) {
                (TypedMemberKind::Boolean, b"Y") => true.to_words(),
                (TypedMemberKind::Boolean, b"N") => false.to_words(),
                (kind, text) => other(*kind as u16, text)?,
            };
            values.put((*slot).into(), (low, high));
        }
        values.done();
        Some(())
    }

    /// Compares the tags, and parses texts, characters, numbers and timestamps.
    #[inline(always)]
    fn fill_one_by_one<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        &mut self,
        texts: &mut SlotColumn<&'m [u8], T, TW>,
        values: &mut SlotColumn<SlotWords, V, VW>,
        columns: Columns<'m, '_>,
    ) -> Option<()> {
        if !columns.tags().starts_with(&self.tags) {
            return None;
        }
        let mut texts = texts.filling();
        for ShapeEntry { at, slot } in &self.texts {
            let text = columns.value((*at).into()).filter(|text| !text.is_empty())?;
            texts.put((*slot).into(), text);
        }
        texts.done();
        let mut values = values.filling();
        for ShapeEntry { at, slot } in &self.chars {
            let [byte] = columns.value((*at).into())? else { return None };
            values.put((*slot).into(), byte.to_words());
        }
        for (kind, entries) in [
            (TypedMemberKind::Int, &self.ints),
            (TypedMemberKind::Uint, &self.uints),
            (TypedMemberKind::Decimal, &self.decimals),
        ] {
            for entry in entries {
                number(&mut values, columns, kind, *entry)?;
            }
        }
        for (entry, minute) in &mut self.timestamps {
            moment(&mut values, columns, *entry, minute)?;
        }
        values.done();
        Some(())
    }
}

/// Parses a number.
#[inline(always)]
fn number<const V: usize, const VW: usize>(
    values: &mut Filling<'_, SlotWords, V, VW>,
    columns: Columns<'_, '_>,
    kind: TypedMemberKind,
    ShapeEntry { at, slot }: ShapeEntry,
) -> Option<()> {
    let spot = columns.spot(at.into())?;
    let (value, tail) = (spot.value, spot.tail());
    match kind {
        TypedMemberKind::Decimal => {
            let value = read_decimal(value, tail).ok()?;
            values.put(slot.into(), value.to_words());
        }
        TypedMemberKind::Uint => {
            let value = read_uint(value, tail).ok()?;
            values.put(slot.into(), value.to_words());
        }
        _ => {
            let value = read_int(value, tail).ok()?;
            values.put(slot.into(), value.to_words());
        }
    }
    Some(())
}

/// Parses a timestamp.
#[inline(always)]
fn moment<const V: usize, const VW: usize>(
    values: &mut Filling<'_, SlotWords, V, VW>,
    columns: Columns<'_, '_>,
    ShapeEntry { at, slot }: ShapeEntry,
    minute: &mut Minute,
) -> Option<()> {
    let (word, picos) = timestamp_near(minute, columns.value(at.into())?)?;
    values.put(slot.into(), (word, picos));
    Some(())
}

impl VectorShape {
    /// Plans a shape; `None` if it has too many fields.
    fn new(engine: Avx512, layout: &Layout, shape: &MessageShape) -> Option<Self> {
        let (mut numbers, mut readings) = (Vec::new(), Vec::new());
        for tag in shape.tags.iter().take(shape.len) {
            let place = layout.place(*tag);
            let (kind, at, slot) = (Layout::kind(place), readings.len(), Layout::slot(place));
            let reading = match kind {
                TypedMemberKind::Text => ValueFormat::Text,
                TypedMemberKind::Char => ValueFormat::Char,
                TypedMemberKind::Decimal => ValueFormat::Decimal,
                TypedMemberKind::Int | TypedMemberKind::Uint => ValueFormat::Integer,
                TypedMemberKind::UtcTimestamp => ValueFormat::Moment,
                _ => ValueFormat::Other,
            };
            if let ValueFormat::Decimal | ValueFormat::Integer = reading {
                numbers.push((kind, ShapeEntry { at: at as u16, slot: slot as u16 }));
            }
            readings.push((reading, slot));
        }
        let moments = shape.timestamps.iter().map(|(entry, _)| *entry).collect();
        Some(Self { engine, plan: TagPlan::new(&shape.tags, &readings)?, numbers, moments })
    }

    /// Compares the tags, and parses texts, characters, numbers and timestamps.
    #[inline(always)]
    fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        &mut self,
        texts: &mut SlotColumn<&'m [u8], T, TW>,
        values: &mut SlotColumn<SlotWords, V, VW>,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> Option<()> {
        let left = self.engine.fill(&self.plan, message.parts(), start, texts, values)?;
        if left == 0 { Some(()) } else { self.fill_left(values, message, start, left) }
    }

    /// Parses numbers that are long or have a sign, and timestamps with a fraction or in another
    /// minute.
    #[inline(never)]
    fn fill_left<const V: usize, const VW: usize>(
        &mut self,
        values: &mut SlotColumn<SlotWords, V, VW>,
        message: &FixMessage<'_, '_>,
        start: usize,
        mut left: u64,
    ) -> Option<()> {
        let columns = message.columns().after(start)?;
        let mut values = values.filling();
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some((kind, entry)) = self.numbers.get(at) {
                number(&mut values, columns, *kind, *entry)?;
                continue;
            }
            let at = at - self.numbers.len();
            moment(&mut values, columns, *self.moments.get(at)?, self.plan.minute(at)?)?;
        }
        values.done();
        Some(())
    }
}
