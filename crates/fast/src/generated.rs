//! Decoders and encoders for generated modules, and traits to read their messages.
//!
//! `tickwire-fast-codegen` writes a module from a template file: structs, and straight-line
//! functions that decode and encode them. [`Decoder`] and [`Encoder`] run a module, which
//! implements the trait [`Templates`]. A decoded [`Message`] is either one of the module's structs,
//! or a message of the dynamic engine, which decodes what generated code does not support.

#[doc(inline)]
pub use crate::rt::{
    Decoded, Decoder, Encoder, Entries, EntryFacts, Growth, LinkError, Message, Reference,
    ShowTags, Step, TemplateFacts, Templates, Text, Value, Visit, VisitTags,
};
