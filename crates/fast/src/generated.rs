//! Decoders and encoders of generated modules, and what reads the messages of such modules.
//!
//! `tickwire-fast-codegen` writes a module from a template file: structs, and straight-line functions that decode and encode
//! them. [`Decoder`] and [`Encoder`] run a module; [`Templates`] is the trait that it implements. A message is a
//! [`Message`]: of the module, or of the dynamic engine, which decodes whatever generated code declines.

#[doc(inline)]
pub use crate::rt::{
    Decoded, Decoder, Encoder, Entries, EntryFacts, Growth, LinkError, Message, Reference,
    ShowTags, Step, TemplateFacts, Templates, Text, Value, Visit, VisitTags,
};
