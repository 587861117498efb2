//! FIX tag=value messages: reading, writing, dictionaries, validation and printing.
//!
//! | type | task |
//! |---|---|
//! | [`FixFramer`] | finds messages in a byte stream |
//! | [`Reader`] | finds the fields of a message in the caller's bytes; verifies BodyLength and CheckSum |
//! | [`Field`] | returns typed values |
//! | [`Writer`] | writes messages |
//! | [`Validator`] | checks messages against a [`Dictionary`] |
//!
//! Reading and writing a message does not allocate. The feature `shipped`, on by default, has the dictionaries of FIX 4.0 to 5.0SP2
//! ([`dictionary::shipped`]).
//!
//! # Examples
//!
//! ```
//! use tickwire_fix::{Reader, Tag, Writer};
//!
//! let mut buffer = [0; 200];
//! let mut writer = Writer::new(&mut buffer, "FIX.4.4", "D");
//! writer.str(Tag(11), "order-1");
//! writer.uint(Tag(38), 100);
//! let bytes = writer.finish()?;
//!
//! let mut reader = Reader::new();
//! let message = reader.decode(bytes)?;
//! let cl_ord_id = message.field(Tag(11)).expect("it was written");
//! assert_eq!(cl_ord_id.value, b"order-1");
//!
//! // A byte that was changed in transit.
//! let mut wrong = bytes.to_vec();
//! let place = wrong.len() - 10;
//! wrong[place] ^= 1;
//! assert!(reader.decode(&wrong).is_err());
//! # Ok::<(), tickwire_fix::FixError>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `shipped`, on by default | The dictionaries of FIX 4.0 to 5.0SP2 as part of the library. |

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
pub use error::{FixError, FixErrorKind};
pub use framer::{FixFramer, FramerStep};
pub use group::{GroupEntries, GroupEntry};
pub use limits::FixLimits;
pub use print::Printed;
pub use reader::{
    Cursor, DataFields, Field, FieldIndex, FixMessage, FrameFault, Reader, ReaderEngine,
};
pub use reason::{BusinessRejectReason, SessionRejectReason};
pub use tag::Tag;
pub use validate::{Checks, Validator};
pub use value::{FixDecimal, Precision, UtcTimestamp};
pub use writer::{TagText, Writer};
