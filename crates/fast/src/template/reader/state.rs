//! State of the reader: errors, budgets and the path to the current field.

use super::Node;
use super::position::NodePositions;
use super::source::TemplateText;
use crate::code::Code;
use crate::template::error::{ErrorList, TemplateError};
use crate::template::limits::ParseLimits;
use crate::template::model::{Enumeration, Location, Name};
use roxmltree::NodeId;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// State of reading one file.
pub(super) struct TemplateReader<'a> {
    pub(super) limits: &'a ParseLimits,
    pub(super) errors: ErrorList,
    /// Namespaces and indexes of all templates of the file, by local name.
    pub(super) templates: HashMap<Box<str>, Vec<(Box<str>, usize)>>,
    /// Enumerations read so far, by their `enum` or `set` element.
    pub(super) enumerations: HashMap<NodeId, Arc<Enumeration>>,
    /// Namespace of the root element: treated as FAST's, whatever it is.
    pub(super) root_ns: String,
    source: &'a TemplateText<'a>,
    positions: NodePositions<'a>,
    template: String,
    path: Vec<String>,
    instructions: usize,
    text_bytes: usize,
    visits: Cell<usize>,
    exhausted: bool,
}

impl<'a> TemplateReader<'a> {
    pub(super) fn new(
        source: &'a TemplateText<'a>,
        root_ns: &str,
        limits: &'a ParseLimits,
    ) -> Self {
        Self {
            limits,
            errors: ErrorList::new(limits.errors_max),
            templates: HashMap::new(),
            enumerations: HashMap::new(),
            root_ns: root_ns.to_owned(),
            source,
            positions: source.positions(),
            template: String::new(),
            path: Vec::new(),
            instructions: 0,
            text_bytes: 0,
            visits: Cell::new(0),
            exhausted: false,
        }
    }

    /// Returns the position of an element.
    pub(super) fn location(&self, node: Node<'_>) -> Location {
        self.positions.at(self.source.offset(node.range().start))
    }

    pub(super) fn enter_template(&mut self, name: &str) {
        self.template = name.to_owned();
        self.path.clear();
    }

    pub(super) fn enter_field(&mut self, name: &str) {
        self.path.push(name.to_owned());
    }

    pub(super) fn leave_field(&mut self) {
        self.path.pop();
    }

    /// Records an error at an element.
    pub(super) fn error(
        &mut self,
        code: Code,
        node: Node<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Some(code), node, message.into(), help.into());
    }

    fn push(&mut self, code: Option<Code>, node: Node<'_>, message: String, help: String) {
        self.errors.push(TemplateError {
            code,
            location: self.location(node),
            template: self.template.clone(),
            field: self.path.join("/"),
            message,
            help,
        });
    }

    /// Records that a limit is reached; nothing more is read from then on.
    pub(super) fn exhaust(&mut self, node: Node<'_>, message: String, help: &str) {
        if !self.exhausted {
            self.exhausted = true;
            self.push(None, node, message, help.to_owned());
        }
    }

    /// True if a limit is reached.
    pub(super) fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// Takes element visits from the budget; false if too few are left.
    pub(super) fn visit(&self, count: usize) -> bool {
        self.visits.set(self.visits.get().saturating_add(count));
        self.visits.get() <= self.limits.visits()
    }

    /// Reports that the visit budget is used up, if it is.
    pub(super) fn check_visits(&mut self, node: Node<'_>) {
        if !self.visit(0) {
            let message = format!(
                "expanding the definitions visits more than {} elements",
                self.limits.visits()
            );
            let help = "use large definitions less often, or raise ParseLimits::elements_max";
            self.exhaust(node, message, help);
        }
    }

    /// Takes one instruction from the budget; false if none is left.
    pub(super) fn take_instruction(&mut self, node: Node<'_>) -> bool {
        self.check_visits(node);
        self.instructions += 1;
        if self.instructions > self.limits.instructions_max {
            let message = format!(
                "the file has more than {} instructions with definitions expanded",
                self.limits.instructions_max
            );
            let help = "raise ParseLimits::instructions_max if the file is meant to be so large";
            self.exhaust(node, message, help);
        }
        !self.exhausted
    }

    /// Takes text of the model from the budget; false if too little is left.
    pub(super) fn take_text(&mut self, bytes: usize, node: Node<'_>) -> bool {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
        if self.text_bytes > self.limits.text_bytes_max {
            let message = format!(
                "names and values of the templates take more than {} bytes",
                self.limits.text_bytes_max
            );
            let help = "shorten names and namespaces, or raise ParseLimits::text_bytes_max";
            self.exhaust(node, message, help);
        }
        !self.exhausted
    }

    /// Copies a name into the model; returns an empty name if the budget is used up.
    pub(super) fn name(&mut self, ns: &str, local: &str, node: Node<'_>) -> Name {
        if self.take_text(ns.len().saturating_add(local.len()), node) {
            Name { ns: ns.into(), local: local.into() }
        } else {
            Name::default()
        }
    }
}
