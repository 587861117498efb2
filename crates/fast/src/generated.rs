//! Decoders and encoders for generated modules, and traits to read their messages.
//!
//! `tickwire-fast-codegen` writes a module from a template file: structs, and straight-line
//! functions that decode and encode them. [`ModuleDecoder`] and [`ModuleEncoder`] run a module, which
//! implements the trait [`Templates`]. A decoded [`ModuleMessage`] is either one of the module's structs,
//! or a message of the dynamic engine, which decodes what generated code does not support.

#[doc(inline)]
pub use crate::rt::{
    DecodedModuleMessage, EntryFacts, EntryList, Growth, LinkError, ModuleDecoder, ModuleEncoder,
    ModuleMessage, ModuleStep, ModuleValue, Reference, ShowTags, TemplateFacts, Templates,
    TextValue, Visit, VisitTags,
};
