//! FAST 1.1 and 1.2: templates, dynamic decoder and encoder.
//!
//! [`template::TemplateSet`] reads and checks a template file; [`Program`] compiles it; [`Decoder`]
//! turns bytes into [`Message`]s, and [`Encoder`] messages into bytes. After warm-up a decoder does
//! not allocate. A [`FastError`] has the specification's error code, the field and the byte offset.
//!
//! | engine | what it is |
//! |---|---|
//! | portable | Rust without `unsafe`; defines the behaviour that the others must match |
//! | SIMD | AVX-512, for sequences and templates of short fields; chosen at run time |
//! | machine code | feature `jit`, x86-64: compiles hot templates |
//! | generated | modules written by `tickwire-fast-codegen`, run by [`generated::ModuleDecoder`] |
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use tickwire_fast::{Code, Decoder, FieldValue, Program, TemplateSet};
//!
//! let xml = r#"<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
//!   <template name="Trade" id="1">
//!     <uInt32 name="SeqNum"><increment/></uInt32>
//!     <decimal name="Price"><delta/></decimal>
//!   </template>
//! </templates>"#;
//! let program = Arc::new(Program::compile(TemplateSet::parse(xml)?)?);
//! let mut decoder = Decoder::new(program);
//!
//! // Presence map 1110000: template id 1, SeqNum 7. The price is 12345 x 10^-2.
//! let trade = decoder.decode(&[0xe0, 0x81, 0x87, 0xfe, 0x00, 0x60, 0xb9])?;
//! let Some(FieldValue::Decimal(price)) = trade.message.root().field("Price") else { panic!() };
//! assert_eq!((price.mantissa, price.exponent), (12345, -2));
//!
//! // Three bytes for the next: SeqNum counts on, the price is one more.
//! let trade = decoder.decode(&[0x80, 0x80, 0x81])?;
//! assert!(matches!(trade.message.root().field("SeqNum"), Some(FieldValue::UInt(8))));
//!
//! // After a reset there is nothing to count on from.
//! decoder.reset();
//! let error = decoder.decode(&[0xc0, 0x81, 0x80, 0x81]).unwrap_err();
//! assert_eq!((error.code(), error.offset()), (Some(Code::D5), 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `native`, on by default | Engines with `unsafe` code: AVX-512, BMI2, and several reads per bounds check. Without it `unsafe` is forbidden. |
//! | `jit` | JIT compiler (x86-64): machine code for hot templates, or for all templates when a decoder is created. |
//! | `serde` | `Serialize` of messages, records and values. |
#![cfg_attr(not(feature = "native"), forbid(unsafe_code))]

// Test support uses the crate's public paths, as a user does.
#[cfg(test)]
extern crate self as tickwire_fast;

mod builder;
pub mod code;
mod column_block;
mod decoder;
mod dictionary;
mod encoder;
mod error;
pub mod generated;
mod limits;
mod message;
mod message_decoder;
mod options;
mod program;
#[doc(hidden)]
pub mod rt;
#[cfg(feature = "serde")]
mod serialize;
mod slot;
pub mod template;
mod value;
mod wire;

pub use builder::{FieldKey, MessageBuilder};
pub use code::Code;
pub use column_block::{BlockText, ColumnBlock};
#[doc(hidden)]
pub use decoder::EngineUnderTest;
pub use decoder::{
    DecodedMessage, Decoder, DecoderOptions, EngineSelection, MapBit, MessageVisitor, MissingBytes,
    PacketMessages, PreviousValue, ResetPolicy, Step, TierUp, TraceEvent, TracedField, TracedPart,
};
pub use encoder::{Encoder, EncoderOptions, PacketEncoder};
pub use error::{Description, FastError, FastErrorKind};
pub use limits::Limits;
pub use message::{Entries, FieldHandle, FieldValue, Message, Record};
pub use message_decoder::MessageDecoder;
pub use program::{
    CompileError, CompileOptions, FieldLayout, FieldRef, Program, SegmentLayout, SegmentRef,
    Storage, TemplateLayout,
};
pub use rt::BufferedPacket;
pub use slot::{
    GroupedEntries, GroupedRecord, GroupedSlot, Int, NumberKind, Repeated, Scaled, Slot, SlotGroup,
    SlotKind, Text, UInt,
};
pub use template::{Decimal, ParseDecimalError, TemplateId, TemplateSet};
pub use value::ConversionError;
pub use wire::{Conformance, Findings};

/// Runs the README's example as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
