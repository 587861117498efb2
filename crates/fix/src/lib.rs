//! FIX tag=value messages: reading, writing, dictionaries, validation and printing.
//!
//! [`Framer`] finds messages in a stream, [`Reader`] finds the fields of a message in the caller's
//! bytes and verifies BodyLength and CheckSum, [`Field`] gives typed values, and
//! [`Writer`] writes messages.

pub mod dictionary;
mod digits;
mod error;
mod framer;
mod group;
mod limits;
mod print;
mod raw;
pub mod reader;
mod reason;
#[doc(hidden)]
pub mod rt;
mod tag;
pub mod typed;
pub mod validate;
pub mod value;
mod writer;

pub use dictionary::Dictionary;
pub use error::{Error, ErrorKind};
pub use framer::{Framer, Step};
pub use group::{Entries, Entry};
pub use limits::Limits;
pub use print::Printed;
pub use reader::{Cursor, DataFields, Engine, Field, FieldIndex, FrameFault, Message, Reader};
pub use reason::{BusinessRejectReason, SessionRejectReason};
pub use tag::Tag;
pub use validate::{Checks, Validator};
pub use value::{Decimal, Precision, UtcTimestamp};
pub use writer::{TagText, Writer};
