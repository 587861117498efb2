//! From XML to the checked model.
//!
//! Reading goes in three steps: the raw text is scanned for what would cost too much, a tree is
//! built and all template names are noted, then each template's body is read with the scopes
//! around it. Errors are collected; a template with errors is still read to its end.

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
