//! Decoding by what the messages before looked like.
//!
//! Which slots a message fills, whether a field is repeated and whether all that is required is there follow
//! from its tags and their order alone. A message with the tags of one before therefore needs only its values
//! read; one whose values cannot be read is decoded again field by field, for the error.

use super::check;
use super::fill::{Fields, decode, other};
use super::layout::{Kind, Layout};
use super::slots::{Fill, Value, Words, timestamp};
use crate::error::Error;
use crate::raw::Column;
use crate::reader::{Columns, Message};
use crate::value::{read_decimal, read_int, read_uint};

/// Shapes that are remembered.
const KNOWN_MAX: usize = 4;

/// The tags of messages decoded before, in order, and where the fields went: what has the same tags is decoded
/// without looking for the place of each.
///
/// One for each type of message, and one for its header; it remembers four shapes. What has groups or data is
/// not remembered.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    known: Vec<Shape>,
    /// The one that was met last.
    last: usize,
    /// The one that is forgotten next.
    oldest: usize,
}

/// The tags of a message and where its fields go.
#[derive(Clone, Debug)]
pub struct Shape {
    layout: &'static Layout,
    /// The tags from the start on, with the one that ended it.
    tags: Vec<u32>,
    /// Whether there is no field after them.
    is_whole: bool,
    /// How many of them belong to it.
    len: usize,
    texts: Vec<Entry>,
    chars: Vec<Entry>,
    decimals: Vec<Entry>,
    ints: Vec<Entry>,
    uints: Vec<Entry>,
    timestamps: Vec<Entry>,
    others: Vec<(Kind, Entry)>,
}

/// A field.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// How many fields are before it.
    at: u16,
    slot: u16,
}

impl Shapes {
    /// Creates one that remembers nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes in place of what there was, just as [`decode`] does.
    #[inline(always)]
    pub(super) fn decode<'m, S: Fields<'m>>(
        &mut self,
        target: &mut S,
        message: &Message<'m>,
        start: usize,
    ) -> Result<usize, Error> {
        if let Some(shape) = self.known.get(self.last)
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
        message: &Message<'m>,
        start: usize,
    ) -> Result<usize, Error> {
        for (at, shape) in self.known.iter().enumerate() {
            if at != self.last
                && let Some(end) = shape.decode(target, message, start)
            {
                self.last = at;
                return Ok(end);
            }
        }
        let end = decode(target, message, start)?;
        let tags = message.tags().get(start..).unwrap_or_default();
        let is_known = |shape: &Shape| shape.is_of(S::LAYOUT, tags);
        if !self.known.iter().any(is_known)
            && let Some(shape) = Shape::learn(S::LAYOUT, tags, end - start)
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
    /// Makes the shape of what has been decoded; `None` if it has more than texts and values.
    fn learn(layout: &'static Layout, tags: &[u32], len: usize) -> Option<Self> {
        let mut shape = Self {
            layout,
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
                Kind::UtcTimestamp => shape.timestamps.push(entry),
                Kind::Length | Kind::Group | Kind::Misplaced => return None,
                kind => shape.others.push((kind, entry)),
            }
        }
        Some(shape)
    }

    /// Whether it is the shape of what begins with these tags.
    #[inline(always)]
    fn is_of(&self, layout: &'static Layout, tags: &[u32]) -> bool {
        std::ptr::eq(self.layout, layout)
            && tags.starts_with(&self.tags)
            && (!self.is_whole || tags.len() == self.tags.len())
    }

    /// Decodes a message of this shape; `None` if it is of another, or a value cannot be read.
    #[inline(always)]
    fn decode<'m, S: Fields<'m>>(
        &self,
        target: &mut S,
        message: &Message<'m>,
        start: usize,
    ) -> Option<usize> {
        let columns = message.columns().after(start)?;
        if !self.is_of(S::LAYOUT, columns.tags()) {
            return None;
        }
        if let Some(msg_type) = S::MSG_TYPE {
            check(message, msg_type).ok()?;
        }
        target.clear();
        target.slots_mut().fill_alike(self, columns).then_some(start + self.len)
    }

    /// Fills slots; `None` if a value cannot be read.
    #[inline(always)]
    pub(super) fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        &self,
        texts: &mut Column<&'m [u8], T, TW>,
        values: &mut Column<Words, V, VW>,
        columns: Columns<'m>,
    ) -> Option<()> {
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
        for Entry { at, slot } in &self.ints {
            let spot = columns.spot((*at).into())?;
            let value = read_int(spot.value, spot.tail()).ok()?;
            values.put((*slot).into(), value.to_words());
        }
        for Entry { at, slot } in &self.uints {
            let spot = columns.spot((*at).into())?;
            let value = read_uint(spot.value, spot.tail()).ok()?;
            values.put((*slot).into(), value.to_words());
        }
        for Entry { at, slot } in &self.decimals {
            let spot = columns.spot((*at).into())?;
            let value = read_decimal(spot.value, spot.tail()).ok()?;
            values.put((*slot).into(), value.to_words());
        }
        for Entry { at, slot } in &self.timestamps {
            let (word, picos) = timestamp(columns.value((*at).into())?)?;
            values.put((*slot).into(), (word, picos));
        }
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
}
