//! Support for generated code. It is not a public interface and may change in any version.

pub use crate::typed::BODY_START;
pub use crate::typed::encoding::Encoding;
pub use crate::typed::fill::{Fields, decode, decode_group};
pub use crate::typed::kept::{Form, Held, Kept, find, get, put, set};
pub use crate::typed::layout::{Kind, Layout, Member, Places, members};
pub use crate::typed::show::{Entries, Shown, show, show_listed};
pub use crate::typed::slots::{Fill, Slots, Value};
pub use crate::writer::{Sheet, Written};

use crate::error::{Error, ErrorKind};
use crate::reader::Message;
use crate::tag::Tag;

/// Decodes a message directly into a box.
///
/// # Errors
/// Those of [`decode`].
pub fn boxed<'m, S: Fields<'m>>(message: &Message<'m, '_>, start: usize) -> Result<Box<S>, Error> {
    let mut made = Box::new(S::blank());
    decode(&mut *made, message, start)?;
    Ok(made)
}

/// Returns the error for a message of unknown type, or its fault if it has one.
#[cold]
pub fn unknown(message: &Message<'_, '_>) -> Error {
    let offset = message.field_offset(2).unwrap_or(0);
    let error = Error::new(ErrorKind::MsgType, Tag::MSG_TYPE.0, offset as usize);
    message.fault().unwrap_or(error)
}
