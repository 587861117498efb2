//! Decoding by the shapes of earlier messages.
//!
//! The tags of a message and their order alone determine which slots are filled, whether a field is
//! repeated, and whether all required members are present. For a message with the tags of an
//! earlier one, only the values must therefore be parsed. If a value cannot be parsed, the message
//! is decoded again field by field, for the error.

use super::check;
use super::fill::{Fields, decode, other};
use super::layout::{Kind, Layout, LayoutId};
use super::slots::{Fill, Value, Words, timestamp_near};
use crate::error::Error;
use crate::raw::{Avx512, Column, Filling, Plan, Reading};
use crate::reader::{Columns, Engine, Message};
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
    engine: Engine,
    known: Vec<Shape>,
    /// Index of the shape that matched last.
    last: usize,
    /// Index of the shape that is replaced next.
    oldest: usize,
}

/// The tags of a message and the slots of its fields.
#[derive(Clone, Debug)]
pub struct Shape {
    layout: LayoutId,
    /// The tags from the start on, including the tag that ended the struct.
    tags: Vec<u32>,
    /// True if the message ends after these tags.
    is_whole: bool,
    /// Number of tags that belong to the struct.
    len: usize,
    texts: Vec<Entry>,
    chars: Vec<Entry>,
    decimals: Vec<Entry>,
    ints: Vec<Entry>,
    uints: Vec<Entry>,
    timestamps: Vec<(Entry, Minute)>,
    others: Vec<(Kind, Entry)>,
    planned: Option<Planned>,
}

/// The part of a shape that vector instructions handle: comparison of tags, and parsing of texts,
/// characters, numbers and timestamps.
#[derive(Clone, Debug)]
struct Planned {
    engine: Avx512,
    plan: Plan,
    /// The numbers and timestamps of the plan, in its order.
    numbers: Vec<(Kind, Entry)>,
    moments: Vec<Entry>,
}

/// A field.
#[derive(Clone, Copy, Debug)]
struct Entry {
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
        Self { engine: Engine::detect(), known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Sets the engine. For tests and measurements; the default is the fastest.
    pub fn engine(self, engine: Engine) -> Self {
        Self { engine, known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Decodes in place, with the same result as [`decode`].
    #[inline(always)]
    pub(super) fn decode<'m, S: Fields<'m>>(
        &mut self,
        target: &mut S,
        message: &Message<'m, '_>,
        start: usize,
    ) -> Result<usize, Error> {
        if let Some(shape) = self.known.get_mut(self.last)
            && let Some(end) = shape.decode(target, message, start)
        {
            return Ok(end);
        }
        self.decode_other(target, message, start)
    }

    /// As `decode`, for a message that does not match the last shape.
    #[inline(never)]
    fn decode_other<'m, S: Fields<'m>>(
        &mut self,
        target: &mut S,
        message: &Message<'m, '_>,
        start: usize,
    ) -> Result<usize, Error> {
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
        let is_known = |shape: &Shape| shape.is_of(S::LAYOUT, message, start);
        if !self.known.iter().any(is_known)
            && let Some(shape) = Shape::learn(S::LAYOUT, tags, end - start, self.engine)
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

impl Shape {
    /// Creates the shape of a decoded message; `None` if it has more than texts and values.
    fn learn(layout: &'static Layout, tags: &[u32], len: usize, engine: Engine) -> Option<Self> {
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
            let entry = Entry { at, slot };
            match Layout::kind(place) {
                Kind::Foreign => {}
                Kind::Text => shape.texts.push(entry),
                Kind::Char => shape.chars.push(entry),
                Kind::Decimal => shape.decimals.push(entry),
                Kind::Int => shape.ints.push(entry),
                Kind::Uint => shape.uints.push(entry),
                Kind::UtcTimestamp => shape.timestamps.push((entry, Minute::default())),
                Kind::Length | Kind::Group | Kind::Misplaced => return None,
                kind => shape.others.push((kind, entry)),
            }
        }
        shape.planned = engine.avx512().and_then(|engine| Planned::new(engine, layout, &shape));
        Some(shape)
    }

    /// True if the message from `start` on has this shape.
    fn is_of(&self, layout: &'static Layout, message: &Message<'_, '_>, start: usize) -> bool {
        let tags = message.tags().get(start..);
        self.may_be_of(layout, message, start)
            && tags.is_some_and(|tags| tags.starts_with(&self.tags))
    }

    /// True if the message has this shape, provided that its tags match.
    #[inline(always)]
    fn may_be_of(&self, layout: &'static Layout, message: &Message<'_, '_>, start: usize) -> bool {
        // A start beyond the message wraps to a length that no shape has.
        let left = message.len().wrapping_sub(start);
        self.layout == layout.id() && (!self.is_whole || left == self.len)
    }

    /// Decodes a message of this shape; `None` if the shape differs or a value cannot be parsed.
    #[inline(always)]
    fn decode<'m, S: Fields<'m>>(
        &mut self,
        target: &mut S,
        message: &Message<'m, '_>,
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
        texts: &mut Column<&'m [u8], T, TW>,
        values: &mut Column<Words, V, VW>,
        message: &Message<'m, '_>,
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
        for (kind, Entry { at, slot }) in &self.others {
            let (low, high) = match (kind, columns.value((*at).into())?) {
                (Kind::Boolean, b"Y") => true.to_words(),
                (Kind::Boolean, b"N") => false.to_words(),
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
        texts: &mut Column<&'m [u8], T, TW>,
        values: &mut Column<Words, V, VW>,
        columns: Columns<'m, '_>,
    ) -> Option<()> {
        if !columns.tags().starts_with(&self.tags) {
            return None;
        }
        let mut texts = texts.filling();
        for Entry { at, slot } in &self.texts {
            let text = columns.value((*at).into()).filter(|text| !text.is_empty())?;
            texts.put((*slot).into(), text);
        }
        texts.done();
        let mut values = values.filling();
        for Entry { at, slot } in &self.chars {
            let [byte] = columns.value((*at).into())? else { return None };
            values.put((*slot).into(), byte.to_words());
        }
        for (kind, entries) in
            [(Kind::Int, &self.ints), (Kind::Uint, &self.uints), (Kind::Decimal, &self.decimals)]
        {
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
    values: &mut Filling<'_, Words, V, VW>,
    columns: Columns<'_, '_>,
    kind: Kind,
    Entry { at, slot }: Entry,
) -> Option<()> {
    let spot = columns.spot(at.into())?;
    let (value, tail) = (spot.value, spot.tail());
    match kind {
        Kind::Decimal => {
            let value = read_decimal(value, tail).ok()?;
            values.put(slot.into(), value.to_words());
        }
        Kind::Uint => {
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
    values: &mut Filling<'_, Words, V, VW>,
    columns: Columns<'_, '_>,
    Entry { at, slot }: Entry,
    minute: &mut Minute,
) -> Option<()> {
    let (word, picos) = timestamp_near(minute, columns.value(at.into())?)?;
    values.put(slot.into(), (word, picos));
    Some(())
}

impl Planned {
    /// Plans a shape; `None` if it has too many fields.
    fn new(engine: Avx512, layout: &Layout, shape: &Shape) -> Option<Self> {
        let (mut numbers, mut readings) = (Vec::new(), Vec::new());
        for tag in shape.tags.iter().take(shape.len) {
            let place = layout.place(*tag);
            let (kind, at, slot) = (Layout::kind(place), readings.len(), Layout::slot(place));
            let reading = match kind {
                Kind::Text => Reading::Text,
                Kind::Char => Reading::Char,
                Kind::Decimal => Reading::Decimal,
                Kind::Int | Kind::Uint => Reading::Integer,
                Kind::UtcTimestamp => Reading::Moment,
                _ => Reading::Other,
            };
            if let Reading::Decimal | Reading::Integer = reading {
                numbers.push((kind, Entry { at: at as u16, slot: slot as u16 }));
            }
            readings.push((reading, slot));
        }
        let moments = shape.timestamps.iter().map(|(entry, _)| *entry).collect();
        Some(Self { engine, plan: Plan::new(&shape.tags, &readings)?, numbers, moments })
    }

    /// Compares the tags, and parses texts, characters, numbers and timestamps.
    #[inline(always)]
    fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        &mut self,
        texts: &mut Column<&'m [u8], T, TW>,
        values: &mut Column<Words, V, VW>,
        message: &Message<'m, '_>,
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
        values: &mut Column<Words, V, VW>,
        message: &Message<'_, '_>,
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
