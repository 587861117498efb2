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

pub use fill::{Room, TypedFields};
pub use multiple::{Multiple, MultipleElement};
pub use shapes::Shapes;
pub use stamped::TimeWithPrecision;
pub use text::FixText;

use crate::error::{FixError, FixErrorKind};
use crate::reader::{Field, FixMessage};
use crate::tag::Tag;

/// Position of the first field after BeginString, BodyLength and MsgType.
pub const BODY_START: usize = 3;
/// Maximum nesting depth of decoded groups.
pub(crate) const DEPTH_MAX: usize = 16;

/// Checks that a message has the expected type and no fault.
///
/// # Errors
/// The message's fault; [`FixErrorKind::MsgType`].
#[inline]
pub(crate) fn check(message: &FixMessage<'_, '_>, msg_type: &str) -> Result<(), FixError> {
    if let Some(fault) = message.fault() {
        return Err(fault);
    }
    if message.msg_type() != msg_type.as_bytes() {
        let offset = message.field_offset(2).unwrap_or(0);
        return Err(FixError::new(FixErrorKind::MsgType, Tag::MSG_TYPE.0, offset as usize));
    }
    Ok(())
}

impl Field<'_> {
    /// Creates an error for this field.
    #[inline(always)]
    pub fn refused(&self, kind: FixErrorKind) -> FixError {
        refused(kind, self.tag, self.offset)
    }
}

/// Out of line, with arguments by value: a reference would force the field into memory.
#[cold]
#[inline(never)]
fn refused(kind: FixErrorKind, tag: Tag, offset: u32) -> FixError {
    FixError::new(kind, tag.0, offset as usize)
}
