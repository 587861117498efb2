//! Context of an instruction: inherited attributes and definitions.

use super::Node;
use super::source::quote;
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::model::{DictionaryScope, Name};
use roxmltree::NodeId;
use std::collections::HashMap;

/// Scopes of an instruction.
#[derive(Clone, Copy)]
pub(super) struct ElementScope<'s> {
    /// Inherited `ns`.
    pub(super) ns: &'s str,
    /// Inherited `templateNs`.
    pub(super) template_ns: &'s str,
    /// Innermost `dictionary` attribute.
    pub(super) dictionary: Option<&'s str>,
    /// Name of the enclosing template.
    pub(super) template: &'s Name,
    /// Innermost `typeRef`.
    pub(super) application_type: Option<&'s Name>,
    /// Definitions in scope.
    pub(super) definitions: &'s Definitions<'s>,
    /// Definitions that are being expanded.
    pub(super) expanding: &'s [NodeId],
    /// Number of enclosing instructions.
    pub(super) depth: usize,
}

impl ElementScope<'_> {
    /// Returns the dictionary that a `dictionary` attribute refers to here.
    pub(super) fn dictionary(
        &self,
        reader: &mut TemplateReader<'_>,
        node: Node<'_>,
    ) -> DictionaryScope {
        match self.dictionary.unwrap_or("global") {
            "global" => DictionaryScope::Global,
            "template" => DictionaryScope::Template(reader.name(
                &self.template.ns,
                &self.template.local,
                node,
            )),
            "type" => DictionaryScope::Type(
                self.application_type.map(|name| reader.name(&name.ns, &name.local, node)),
            ),
            name => DictionaryScope::Named(reader.name("", name, node).local),
        }
    }
}

/// Definitions of one element and of the enclosing ones.
#[derive(Default)]
pub(super) struct Definitions<'s> {
    names: HashMap<&'s str, Node<'s>>,
    outer: Option<&'s Definitions<'s>>,
}

impl<'s> Definitions<'s> {
    /// Collects the `define` children of an element.
    pub(super) fn collect(
        reader: &mut TemplateReader<'_>,
        parent: Node<'s>,
        outer: Option<&'s Definitions<'s>>,
    ) -> Self {
        let mut names = HashMap::new();
        for node in reader.children(parent) {
            if node.tag_name().name() != "define" {
                continue;
            }
            let Some(name) = reader.attribute(node, "name").map(str::trim) else {
                reader.error(Code::S1, node, "a define has no name", "add a name attribute");
                continue;
            };
            if names.insert(name, node).is_some() {
                let message = format!("{} is defined twice", quote(name));
                reader.error(Code::S1, node, message, "give each define its own name");
            }
        }
        Self { names, outer }
    }

    /// Finds a definition, and the definitions in scope inside it.
    pub(super) fn find(&'s self, name: &str) -> Option<(Node<'s>, &'s Definitions<'s>)> {
        let mut here = Some(self);
        while let Some(definitions) = here {
            if let Some(&node) = definitions.names.get(name) {
                return Some((node, definitions));
            }
            here = definitions.outer;
        }
        None
    }
}
