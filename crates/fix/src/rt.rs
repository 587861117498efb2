//! Support for generated code. It is not a public interface and may change in any version.

pub use crate::typed::BODY_START;
pub use crate::typed::encoding::SlotWriter;
pub use crate::typed::fill::{TypedFields, decode, decode_group};
pub use crate::typed::kept::{SlotContents, SlotForm, SlotValue, find, get, put, set};
pub use crate::typed::layout::{Layout, TagTable, TypedMember, TypedMemberKind, members};
pub use crate::typed::show::{PrintTable, PrintableEntries, show, show_listed};
pub use crate::typed::slots::{Fill, Slots, WordValue};
pub use crate::writer::{Sheet, WriteState};

use crate::error::{FixError, FixErrorKind};
use crate::reader::FixMessage;
use crate::tag::Tag;

/// Decodes a message directly into a box.
///
/// # Errors
/// Those of [`decode`].
pub fn boxed<'m, S: TypedFields<'m>>(
    message: &FixMessage<'m, '_>,
    start: usize,
) -> Result<Box<S>, FixError> {
    let mut made = Box::new(S::blank());
    decode(&mut *made, message, start)?;
    Ok(made)
}

/// Returns the error for a message of unknown type, or its fault if it has one.
#[cold]
pub fn unknown(message: &FixMessage<'_, '_>) -> FixError {
    let offset = message.field_offset(2).unwrap_or(0);
    let error = FixError::new(FixErrorKind::MsgType, Tag::MSG_TYPE.0, offset as usize);
    message.fault().unwrap_or(error)
}
