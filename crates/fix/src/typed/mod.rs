//! What generated messages are made of: the types of their fields, and the bookkeeping of decoding.

mod multiple;
mod stamped;
mod text;

pub use multiple::{Item, Multiple};
pub use stamped::Stamped;
pub use text::Text;

use crate::error::{Error, ErrorKind};
use crate::reader::{Field, Message};
use crate::tag::Tag;

/// Place of the first field after BeginString, BodyLength and MsgType.
pub const BODY_START: usize = 3;
/// Deepest nesting of groups decoded.
pub const DEPTH_MAX: usize = 16;

/// Checks that a message is of the type wanted, and has no fault.
///
/// # Errors
/// The fault; [`ErrorKind::MsgType`].
#[inline]
pub fn check(message: &Message<'_>, msg_type: &str) -> Result<(), Error> {
    if let Some(fault) = message.fault() {
        return Err(fault);
    }
    if message.msg_type() != msg_type.as_bytes() {
        let offset = message.field_offset(2).unwrap_or(0);
        return Err(Error::new(ErrorKind::MsgType, Tag::MSG_TYPE.0, offset as usize));
    }
    Ok(())
}

/// Which members of a message or group entry have been met: a bit each, by their order.
#[derive(Clone, Copy, Debug)]
pub struct Met<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for Met<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> Met<WORDS> {
    /// Notes that a field is the member with that number, and returns it.
    ///
    /// # Errors
    /// [`ErrorKind::RepeatedTag`] if it was met before; [`ErrorKind::EmptyValue`].
    #[inline(always)]
    pub fn first<'f, 'm>(
        &mut self,
        number: usize,
        field: &'f Field<'m>,
    ) -> Result<&'f Field<'m>, Error> {
        let bit = 1 << (number & 63);
        let Some(word) = self.0.get_mut(number / 64) else { return Ok(field) };
        let is_repeated = *word & bit != 0;
        if is_repeated || field.value.is_empty() {
            return Err(field.repeated_or_empty(is_repeated));
        }
        *word |= bit;
        Ok(field)
    }

    /// Checks that every member of a list of numbers and tags has been met; `mask` has their bits.
    ///
    /// # Errors
    /// [`ErrorKind::RequiredTag`] with the first that is missing, at `offset`.
    #[inline(always)]
    pub fn require(
        &self,
        mask: [u64; WORDS],
        required: &[(usize, u32)],
        offset: usize,
    ) -> Result<(), Error> {
        if self.0.iter().zip(mask).all(|(met, mask)| met & mask == mask) {
            return Ok(());
        }
        Err(self.missing(required, offset))
    }

    #[cold]
    fn missing(&self, required: &[(usize, u32)], offset: usize) -> Error {
        let is_met = |number: usize| {
            self.0.get(number / 64).is_some_and(|word| word >> (number & 63) & 1 == 1)
        };
        let missing = required.iter().find(|(number, _)| !is_met(*number));
        Error::new(ErrorKind::RequiredTag, missing.map_or(0, |(_, tag)| *tag), offset)
    }
}

/// One entry of a repeating group.
pub trait GroupEntry<'m>: Sized {
    /// The field that begins each entry.
    const DELIMITER: u32;

    /// Decodes the entry that begins with the field at `at`; returns it and the place after it.
    ///
    /// # Errors
    /// As for messages.
    fn decode(message: &Message<'m>, at: usize, depth: usize) -> Result<(Self, usize), Error>;
}

/// Decodes the entries of the group counted by `count`, from the place `at` on, which follows it; returns
/// the place after them.
///
/// # Errors
/// [`ErrorKind::GroupCount`] if there are fewer or more entries than counted, [`ErrorKind::GroupOrder`] if
/// the first field is not the one that begins entries, and what an entry has.
pub fn decode_group<'m, E: GroupEntry<'m>>(
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
    while message.tags().get(at) == Some(&E::DELIMITER) {
        let (entry, next) = E::decode(message, at, depth + 1)?;
        entries.push(entry);
        at = next;
    }
    if entries.len() as u64 != said {
        return Err(count.refused(ErrorKind::GroupCount));
    }
    Ok(at)
}

impl Field<'_> {
    #[cold]
    #[inline(never)]
    fn repeated_or_empty(&self, is_repeated: bool) -> Error {
        self.refused(if is_repeated { ErrorKind::RepeatedTag } else { ErrorKind::EmptyValue })
    }

    /// Makes an error of this field.
    #[cold]
    pub fn refused(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.tag.0, self.offset as usize)
    }
}
