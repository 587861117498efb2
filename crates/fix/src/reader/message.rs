//! A decoded message: its bytes and the positions of its fields.

use super::index::Index;
use crate::error::FixError;
use crate::tag::Tag;
use std::ops::Range;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'b> {
    /// The tag; 0 if the text before `=` is not a tag.
    pub tag: Tag,
    /// Offset of the value in the message.
    pub offset: u32,
    /// The value, without the delimiter.
    pub value: &'b [u8],
    /// The eight bytes that end with the value: values of at most eight bytes are parsed from a
    /// register.
    pub(crate) tail: u64,
}

impl<'b> Field<'b> {
    /// Creates a field that belongs to no message.
    pub const fn new(tag: Tag, value: &'b [u8]) -> Self {
        let (mut tail, mut at) = (0, value.len().saturating_sub(8));
        while at < value.len() {
            tail = tail >> 8 | (value[at] as u64) << 56;
            at += 1;
        }
        Self { tag, offset: 0, value, tail }
    }

    /// Creates the field whose value is at a range of `bytes`, such as those of several messages: faster than
    /// [`Self::new`]. `None` if the range is not within them.
    #[inline]
    pub fn within(tag: Tag, bytes: &'b [u8], range: Range<u32>) -> Option<Self> {
        let (before, _) = bytes.split_at_checked(range.end as usize)?;
        let value = before.get(range.start as usize..)?;
        Some(Spot { tag: tag.0, offset: range.start, value, before }.field())
    }
}

/// A message that is not garbled. It borrows its bytes (`'b`), as its fields do, and their index
/// (`'i`), which belongs to the reader or the caller.
#[derive(Clone, Copy, Debug)]
pub struct FixMessage<'b, 'i> {
    bytes: &'b [u8],
    index: &'i Index,
}

impl<'b, 'i> FixMessage<'b, 'i> {
    #[inline]
    pub(super) const fn new(bytes: &'b [u8], index: &'i Index) -> Self {
        Self { bytes, index }
    }

    /// Returns the whole message.
    #[inline]
    pub const fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Returns the first fault in a field, if any: the message is then invalid, but not garbled.
    #[inline]
    pub const fn fault(&self) -> Option<FixError> {
        self.index.fault
    }

    /// Returns the number of fields, including header and trailer.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a message is never empty")]
    pub const fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns the tags in order, one per field.
    #[inline]
    pub fn tags(&self) -> &'i [u32] {
        self.index.tags()
    }

    /// Returns the field at `index`, 0-based.
    #[inline]
    pub fn field_at(&self, index: usize) -> Option<Field<'b>> {
        self.columns().field(index)
    }

    /// Returns the columns of the index, limited to the fields of this message: for loops over
    /// them.
    #[inline(always)]
    pub fn columns(&self) -> Columns<'b, 'i> {
        let tags = self.index.tags();
        let equals = self.index.equals.get(..tags.len());
        let ends = self.index.ends.get(1..=tags.len());
        match (equals, ends) {
            (Some(equals), Some(ends)) => Columns { tags, equals, ends, bytes: self.bytes },
            _ => Columns { tags: &[], equals: &[], ends: &[], bytes: self.bytes },
        }
    }

    /// Returns the bytes and the index.
    #[inline(always)]
    pub(crate) const fn parts(&self) -> (&'b [u8], &'i Index) {
        (self.bytes, self.index)
    }

    /// Returns the offset of the field at `index`, which is the first digit of its tag.
    #[inline]
    pub fn field_offset(&self, index: usize) -> Option<u32> {
        (index < self.len()).then(|| self.index.start(index) as u32)
    }

    /// Returns the text before `=` in the field at `offset`, as in [`FixError::offset`].
    pub fn tag_text(&self, offset: u32) -> &'b [u8] {
        let field = self.bytes.get(offset as usize..).unwrap_or_default();
        let end = field.iter().position(|byte| matches!(byte, b'=' | &super::SOH));
        &field[..end.unwrap_or(field.len())]
    }

    /// Returns the first field with `tag`.
    #[inline]
    pub fn field(&self, tag: Tag) -> Option<Field<'b>> {
        self.field_at(self.index.position(tag.0, 0)?)
    }

    /// Returns the position of the first field at or after `from` with `tag`.
    #[inline]
    pub fn position(&self, tag: Tag, from: usize) -> Option<usize> {
        self.index.position(tag.0, from)
    }

    /// Returns all fields in order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'b>> + use<'b, 'i> {
        let message = *self;
        (0..message.len()).filter_map(move |index| message.field_at(index))
    }

    /// Returns the value of MsgType.
    #[inline]
    pub fn msg_type(&self) -> &'b [u8] {
        self.index.value(2, self.bytes)
    }

    /// Returns the value of BeginString.
    #[inline]
    pub fn begin_string(&self) -> &'b [u8] {
        self.index.value(0, self.bytes)
    }

    /// Returns a cursor for look-ups in the probable order of the fields.
    #[inline]
    pub const fn cursor(&self) -> Cursor<'b, 'i> {
        Cursor { message: *self, next: 0 }
    }
}

/// The columns of a message: tags, positions of `=` and of delimiters, all of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'b, 'i> {
    tags: &'i [u32],
    equals: &'i [u32],
    ends: &'i [u32],
    bytes: &'b [u8],
}

impl<'b, 'i> Columns<'b, 'i> {
    /// Returns the field at `index`, 0-based.
    #[inline(always)]
    pub fn field(&self, index: usize) -> Option<Field<'b>> {
        self.spot(index).map(|spot| spot.field())
    }

    /// Returns the field at `index` without its last eight bytes.
    #[inline(always)]
    pub(crate) fn spot(&self, index: usize) -> Option<Spot<'b>> {
        let tag = *self.tags.get(index)?;
        let offset = self.equals.get(index)?.wrapping_add(1);
        let (before, _) = self.bytes.split_at_checked(*self.ends.get(index)? as usize)?;
        let value = before.get(offset as usize..)?;
        Some(Spot { tag, offset, value, before })
    }

    /// Returns the columns from the field at `start` on.
    #[inline(always)]
    pub(crate) fn after(self, start: usize) -> Option<Self> {
        let Self { tags, equals, ends, bytes } = self;
        let (tags, equals, ends) = (tags.get(start..)?, equals.get(start..)?, ends.get(start..)?);
        Some(Self { tags, equals, ends, bytes })
    }

    /// Returns the tags.
    #[inline(always)]
    pub(crate) const fn tags(&self) -> &'i [u32] {
        self.tags
    }

    /// Returns the value of the field at `index`.
    #[inline(always)]
    pub(crate) fn value(&self, index: usize) -> Option<&'b [u8]> {
        let equal = *self.equals.get(index)? as usize;
        self.bytes.get(equal + 1..*self.ends.get(index)? as usize)
    }

    /// Returns the length of the message in bytes.
    pub(crate) const fn message_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the offset of the field at `index`.
    pub(crate) fn offset(&self, index: usize) -> Option<usize> {
        let before = index.checked_sub(1).map(|before| self.ends.get(before));
        match before {
            Some(end) => Some(*end? as usize + 1),
            None => Some(0),
        }
    }
}

/// A field, and the bytes of the message before its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'b> {
    pub(crate) tag: u32,
    pub(crate) value: &'b [u8],
    offset: u32,
    before: &'b [u8],
}

impl<'b> Spot<'b> {
    /// Returns the eight bytes that end with the value, last byte highest.
    #[inline(always)]
    pub(crate) fn tail(&self) -> u64 {
        // BeginString precedes every other value, so there are eight bytes unless BeginString
        // itself is too short.
        match self.before.last_chunk() {
            Some(tail) => u64::from_le_bytes(*tail),
            None => short_tail(self.value),
        }
    }

    /// Returns the field.
    #[inline(always)]
    pub(crate) fn field(&self) -> Field<'b> {
        let Self { tag, value, offset, .. } = *self;
        Field { tag: Tag(tag), offset, value, tail: self.tail() }
    }
}

#[cold]
#[inline(never)]
fn short_tail(value: &[u8]) -> u64 {
    Field::new(Tag(0), value).tail
}

/// Looks fields up, each first directly after the previous one: one comparison if the guess is
/// right.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'b, 'i> {
    message: FixMessage<'b, 'i>,
    next: usize,
}

impl<'b> Cursor<'b, '_> {
    /// Returns the first field with `tag` after the last one found, otherwise the first in the
    /// message.
    #[inline]
    pub fn field(&mut self, tag: Tag) -> Option<Field<'b>> {
        let index = &self.message.index;
        let at = match index.tags().get(self.next) {
            Some(found) if *found == tag.0 => self.next,
            _ => index.position(tag.0, self.next).or_else(|| index.position(tag.0, 0))?,
        };
        self.next = at + 1;
        self.message.field_at(at)
    }
}
