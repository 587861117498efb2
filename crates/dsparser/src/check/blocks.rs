//! Named blocks: replaces each `CALL` by the statements of its block.

use crate::ast::{Statement, StatementKind};
use crate::diagnostic::{DiagnosticKind, Span, suggestion};

use super::{Checked, GrammarChecker};

/// A named block.
#[derive(Clone, Copy)]
pub(super) struct BlockDefinition<'a> {
    body: &'a [Statement],
    span: Span,
    /// True if a `CALL` uses it.
    is_called: bool,
}

impl<'a> GrammarChecker<'a> {
    /// Records the blocks of a program before any `CALL` is resolved.
    pub(super) fn define(&mut self, body: &'a [Statement]) {
        for statement in body {
            let StatementKind::Block { name, body } = &statement.kind else { continue };
            let definition = BlockDefinition { body, span: statement.span, is_called: false };
            if let Some(first) = self.blocks.get(name) {
                let message =
                    format!("the block `{name}` is already defined in line {}", first.span.line);
                let help = "take another name";
                self.diagnostics.push(statement.span, DiagnosticKind::Syntax, message, help);
                continue;
            }
            self.blocks.insert(name.clone(), definition);
        }
    }

    /// Returns the checked statements that replace a `CALL`.
    pub(super) fn call(&mut self, name: &str, span: Span) -> Checked {
        let nothing = Checked { nodes: Vec::new(), whole: false };
        // Calls count as statements too: a block of two calls doubles the program without adding
        // any.
        if !self.count_statement(span) {
            return nothing;
        }
        let Some(definition) = self.blocks.get_mut(name) else {
            let help = match suggestion(name, self.blocks.keys().map(String::as_str)) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("define it with BLOCK {name} .. ENDBLOCK"),
            };
            let message = format!("there is no block `{name}`");
            self.diagnostics.push(span, DiagnosticKind::UnknownName, message, help);
            return nothing;
        };
        definition.is_called = true;
        let body = definition.body;
        if self.calls.iter().any(|open| open == name) {
            let message = format!("the block `{name}` calls itself");
            let help = "use LOOP to repeat something";
            self.diagnostics.push(span, DiagnosticKind::Recursion, message, help);
            return nothing;
        }
        self.calls.push(name.to_owned());
        let checked = self.block(body);
        self.calls.pop();
        checked
    }

    /// Checks the blocks that nothing calls, so that mistakes in them are reported.
    pub(super) fn check_uncalled(&mut self) {
        let mut uncalled: Vec<(Span, String)> = self
            .blocks
            .iter()
            .filter(|(_, definition)| !definition.is_called)
            .map(|(name, definition)| (definition.span, name.clone()))
            .collect();
        uncalled.sort();
        // Restored afterwards: uncalled blocks must not affect the rest of the check.
        let (executed, expanded) = (self.executed, self.expanded);
        for (span, name) in uncalled {
            self.executed = true;
            self.call(&name, span);
        }
        (self.executed, self.expanded) = (executed, expanded);
    }

    /// Counts a statement. Returns false above the limit, which is reported once.
    pub(super) fn count_statement(&mut self, span: Span) -> bool {
        let max = self.patterns.limits.expanded_max;
        self.expanded += 1;
        if self.expanded == max + 1 {
            let message = format!(
                "more than {max} statements with those of every CALL, the limit `expanded_max`"
            );
            self.diagnostics.push(span, DiagnosticKind::TooLarge, message, "call fewer blocks");
        }
        self.expanded <= max
    }
}
