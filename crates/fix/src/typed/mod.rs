//! Field types of generated messages, and decoding into reusable memory.

pub(crate) mod encoding;
pub(crate) mod fill;
pub(crate) mod kept;
pub(crate) mod layout;
mod multiple;
mod shapes;
pub(crate) mod show;
pub(crate) mod slots;
mod stamped;
mod text;

pub use fill::{Fields, Room};
pub use multiple::{Item, Multiple};
pub use shapes::Shapes;
pub use stamped::Stamped;
pub use text::Text;

use crate::error::{Error, ErrorKind};
use crate::reader::{Field, Message};
use crate::tag::Tag;

/// Position of the first field after BeginString, BodyLength and MsgType.
pub const BODY_START: usize = 3;
/// Maximum nesting depth of decoded groups.
pub(crate) const DEPTH_MAX: usize = 16;

/// Checks that a message has the expected type and no fault.
///
/// # Errors
/// The message's fault; [`ErrorKind::MsgType`].
#[inline]
pub(crate) fn check(message: &Message<'_, '_>, msg_type: &str) -> Result<(), Error> {
    if let Some(fault) = message.fault() {
        return Err(fault);
    }
    if message.msg_type() != msg_type.as_bytes() {
        let offset = message.field_offset(2).unwrap_or(0);
        return Err(Error::new(ErrorKind::MsgType, Tag::MSG_TYPE.0, offset as usize));
    }
    Ok(())
}

impl Field<'_> {
    /// Creates an error for this field.
    #[inline(always)]
    pub fn refused(&self, kind: ErrorKind) -> Error {
        refused(kind, self.tag, self.offset)
    }
}

/// Out of line, with arguments by value: a reference would force the field into memory.
#[cold]
#[inline(never)]
fn refused(kind: ErrorKind, tag: Tag, offset: u32) -> Error {
    Error::new(kind, tag.0, offset as usize)
}
