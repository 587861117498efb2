//! Converts XML to the checked model.
//!
//! Reading has three steps: a scan rejects raw text that would be too expensive; an XML tree is
//! built and all template names are collected; then each template's body is read within its scopes.
//! Errors are collected; a template with errors is still read to its end.

mod attributes;
mod enumeration;
mod group;
mod initial;
mod layers;
mod operator;
mod position;
mod scalar;
mod scan;
mod scope;
mod source;
mod state;
mod template;
#[cfg(test)]
mod testkit;

pub(in crate::template) use enumeration::{resolve_enum, resolve_set};
pub(in crate::template) use source::{read_bytes, read_text};

/// An element or other node of the XML tree.
type Node<'a> = roxmltree::Node<'a, 'a>;
