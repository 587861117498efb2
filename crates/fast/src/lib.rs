//! FAST 1.1 and 1.2: templates, dynamic decoder and encoder.
//!
//! [`template::TemplateSet`] reads and checks a template file; [`Program`] compiles it;
//! [`Decoder`] turns bytes into [`Message`]s.
#![cfg_attr(feature = "portable", forbid(unsafe_code))]

// Test support is written as for a user of the crate.
#[cfg(test)]
extern crate self as tickwire_fast;

mod builder;
pub mod code;
mod column_block;
mod decoder;
mod dictionary;
mod encoder;
mod error;
mod limits;
mod message;
mod message_decoder;
mod program;
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
pub use decoder::{
    Decoded, Decoder, DecoderOptions, Engine, MachineCode, MapBit, PacketMessages, PreviousValue,
    ResetPolicy, Step, TraceEvent, TracedField, TracedPart, Visitor,
};
pub use encoder::{Encoder, EncoderOptions, PacketEncoder};
pub use error::{Description, Error, ErrorKind};
pub use limits::Limits;
pub use message::{Entries, FieldHandle, FieldValue, Message, Record};
pub use message_decoder::MessageDecoder;
pub use program::{
    CompileError, CompileOptions, FieldLayout, FieldRef, Program, Segment, SegmentRef, Storage,
    TemplateLayout,
};
pub use slot::{
    GroupedEntries, GroupedRecord, GroupedSlot, Int, NumberKind, Repeated, Scaled, Slot, SlotGroup,
    SlotKind, Text, UInt,
};
pub use template::{Decimal, ParseDecimalError, TemplateId, TemplateSet};
pub use value::ConversionError;
pub use wire::{Conformance, Findings};

/// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
