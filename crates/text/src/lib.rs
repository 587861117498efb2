//! Decoded messages as JSON lines, CSV, FIX text and plain text.
//!
//! Each format is a [`MessageWriter`] over any [`std::io::Write`]. A [`Header`] describes the
//! source of a message; the formats write those members that are present.
//!
//! | writer | output per message |
//! |---|---|
//! | [`JsonLines`] | one JSON object on a line |
//! | [`Csv`] | one row per innermost sequence entry |
//! | [`Fix`] | one line of tag=value fields |
//! | [`Plain`] | a heading and one line per record |
//!
//! [`FixConverter`] converts messages to FIX, with BodyLength, CheckSum, and the lengths of data
//! fields.
//!
//! Messages of generated code carry no field names and types at run time: convert them to a dynamic
//! [`Message`] first.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use tickwire_fast::{Decoder, Program, TemplateSet};
//! use tickwire_text::{Header, JsonLines, MessageWriter};
//!
//! let xml = r#"<templates><template name="T" id="1"><uInt32 name="n"/></template></templates>"#;
//! let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
//! let mut decoder = Decoder::new(program);
//! let decoded = decoder.decode(&[0xC0, 0x81, 0x85]).unwrap();
//!
//! let mut text = Vec::new();
//! let header = Header { time_ns: Some(7), line: Some("A"), ..Header::default() };
//! JsonLines::new(&mut text).write_message(&header, decoded.message)?;
//! assert_eq!(
//!     String::from_utf8_lossy(&text),
//!     "{\"time\": 7, \"line\": \"A\", \"t\": 1, \"n\": \"T\", \"msg\": {\"n\": 5}}\n"
//! );
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]

mod csv;
mod digits;
mod fields;
mod fix;
mod fix_converter;
mod header;
pub mod json;
mod json_lines;
mod literal;
pub mod outline;
mod plain;
mod scalar;
mod source;
pub mod words;

pub use csv::{Csv, CsvColumn};
pub use fields::{Fields, FieldsError};
pub use fix::{FieldSeparator, Fix};
pub use fix_converter::{ConvertError, FixConverter};
pub use header::Header;
pub use json_lines::JsonLines;
pub use plain::Plain;
pub use scalar::{element_name, push_date_time};

use std::io;
use tickwire_fast::Message;

/// Writes decoded messages in one format.
pub trait MessageWriter {
    /// Writes one message.
    ///
    /// # Errors
    /// The output's error.
    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()>;

    /// Flushes the output.
    ///
    /// # Errors
    /// The output's error.
    fn flush(&mut self) -> io::Result<()>;
}
