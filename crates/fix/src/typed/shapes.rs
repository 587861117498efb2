//! Decoding by the shape of earlier messages.
//!
//! The tags of a message and their order alone determine which slots it fills, whether a field is
//! repeated and whether all required fields are present. For a message with the tags of an earlier
//! one, only the values are read. If a value cannot be read, the message is decoded again field by
//! field to find the error.

use super::check;
use super::fill::{Fields, decode, other};
use super::layout::{Kind, Layout, LayoutId};
use super::slots::{Fill, Value, Words, timestamp_near};
use crate::error::Error;
use crate::raw::{Avx512, Column, Filling, Plan, Reading};
use crate::reader::{Columns, Engine, Message};
use crate::value::{Minute, read_decimal, read_int, read_uint};

/// Shapes that are remembered.
const KNOWN_MAX: usize = 4;

/// The tags of messages decoded before, in order, and where the fields went: what has the same tags is decoded
/// without looking for the place of each.
///
/// One for each type of message, and one for its header; it remembers four shapes. What has groups or data is
/// not remembered.
#[derive(Clone, Debug)]
pub struct Shapes {
    engine: Engine,
    known: Vec<Shape>,
    /// The one that was met last.
    last: usize,
    /// The one that is forgotten next.
    oldest: usize,
}

/// The tags of a message and where its fields go.
#[derive(Clone, Debug)]
pub struct Shape {
    layout: LayoutId,
    /// The tags from the start on, with the one that ended it.
    tags: Vec<u32>,
    /// True if there is no field after them.
    is_whole: bool,
    /// How many of them belong to it.
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

/// Part of a shape for wide instructions: they compare tags and read texts, characters, numbers and
/// times.
#[derive(Clone, Debug)]
struct Planned {
    engine: Avx512,
    plan: Plan,
    /// The numbers of the plan in its order, and its moments.
    numbers: Vec<(Kind, Entry)>,
    moments: Vec<Entry>,
}

/// A field.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// How many fields are before it.
    at: u16,
    slot: u16,
}

impl Default for Shapes {
    fn default() -> Self {
        Self::new()
    }
}

impl Shapes {
    /// Creates one that remembers nothing, with the fastest engine.
    pub fn new() -> Self {
        Self { engine: Engine::detect(), known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Sets the engine. For tests and measurements; the default is the fastest.
    pub fn engine(self, engine: Engine) -> Self {
        Self { engine, known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Decodes in place of what there was, just as [`decode`] does.
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

    /// The same where the message is not as the last one.
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

    /// True if it is the shape of what begins at `start`.
    fn is_of(&self, layout: &'static Layout, message: &Message<'_, '_>, start: usize) -> bool {
        let tags = message.tags().get(start..);
        self.may_be_of(layout, message, start)
            && tags.is_some_and(|tags| tags.starts_with(&self.tags))
    }

    /// True if it is, if the tags are its own.
    #[inline(always)]
    fn may_be_of(&self, layout: &'static Layout, message: &Message<'_, '_>, start: usize) -> bool {
        // A place behind the message leaves more than any shape has.
        let left = message.len().wrapping_sub(start);
        self.layout == layout.id() && (!self.is_whole || left == self.len)
    }

    /// Decodes a message of this shape; `None` if it is of another, or a value cannot be read.
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

    /// Fills slots; `None` if the tags are others, or a value cannot be read.
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

    /// Compares the tags, and reads texts, characters, numbers and moments.
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

/// Reads a number.
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

/// Reads a moment.
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

    /// Compares the tags, and reads texts, characters, numbers and moments.
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

    /// Reads numbers that are long or have a sign, and moments that have a fraction or are in another minute.
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
