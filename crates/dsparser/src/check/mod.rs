//! Statements into the checked program: names resolved, patterns compiled, every rule looked at.

mod flow;
mod patterns;
mod switch;

use std::sync::Arc;

use crate::ast::{Count, CountEncoding, Statement, StatementKind, Until};
use crate::block::{CountSource, End, Node, NodeKind, Since, can_match_nothing, first};
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span, suggestion};
use crate::host::{ActionId, ActionNames};
use crate::limits::Limits;
use crate::pattern::Pattern;

use patterns::Patterns;

/// Checks a parsed program. What is returned is whole only if `diagnostics` stays empty.
pub(crate) fn check(
    body: &[Statement],
    actions: &ActionNames,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> (Vec<Node>, Vec<String>) {
    let mut checker = Checker {
        names: actions.names.clone(),
        open: actions.open,
        executed: false,
        patterns: Patterns::new(limits),
        diagnostics,
    };
    let mut nodes = checker.block(body).nodes;
    let names = checker.names;
    flow::annotate(&mut nodes);
    (nodes, names)
}

struct Checker<'a> {
    names: Vec<String>,
    open: bool,
    /// Whether an `EXECUTE` stands before in the text.
    executed: bool,
    patterns: Patterns<'a>,
    diagnostics: &'a mut Diagnostics,
}

/// A block; `whole` is false after a mistake in it, so that nothing is concluded from what is left.
struct Checked {
    nodes: Vec<Node>,
    whole: bool,
}

/// Longest counts, in bytes, by encoding: what 64 bits can need.
const fn count_bytes_max(encoding: CountEncoding) -> usize {
    match encoding {
        CountEncoding::BigEndian | CountEncoding::LittleEndian => 8,
        CountEncoding::StopBit => 10,
        CountEncoding::Decimal => 20,
    }
}

impl Checker<'_> {
    fn block(&mut self, body: &[Statement]) -> Checked {
        let mut checked = Checked { nodes: Vec::with_capacity(body.len()), whole: true };
        for statement in body {
            match self.statement(statement) {
                Some(kind) => checked.nodes.push(Node {
                    statement: statement.index,
                    kind,
                    before: Since::Other,
                }),
                None => checked.whole = false,
            }
        }
        checked
    }

    fn statement(&mut self, statement: &Statement) -> Option<NodeKind> {
        match &statement.kind {
            StatementKind::Execute { action, span } => {
                self.executed = true;
                let action = self.action(action, *span)?;
                Some(NodeKind::Execute { action, stop_bit: false })
            }
            StatementKind::Loop { until, body } => {
                self.loop_block(until.as_ref(), body, statement.span)
            }
            StatementKind::Match { pattern } => {
                self.patterns.compile(pattern, self.diagnostics).map(NodeKind::Match)
            }
            StatementKind::Push => Some(NodeKind::Push),
            StatementKind::Repeat { count, body } => {
                let count = self.count(count, "REPEAT");
                let body = self.block(body);
                self.body_consumes(&body, false, statement.span, "REPEAT");
                Some(NodeKind::Repeat { count: count?, body: body.nodes })
            }
            StatementKind::Send { code, value } => {
                Some(NodeKind::Send { code: *code, value: *value })
            }
            StatementKind::Switch { cases } => self.switch(cases, statement.span),
            StatementKind::WhileCount { count, body } => {
                let count = self.count(count, "WHILECNT");
                let body = self.block(body);
                self.body_consumes(&body, true, statement.span, "WHILECNT");
                let may_stall = can_match_nothing(&body.nodes, false);
                Some(NodeKind::WhileCount { count: count?, body: body.nodes, may_stall })
            }
        }
    }

    fn action(&mut self, name: &str, span: Span) -> Option<ActionId> {
        let known = self.names.iter().position(|known| known == name);
        let index = match known {
            Some(index) => index,
            None if self.open => {
                self.names.push(name.to_owned());
                self.names.len() - 1
            }
            None => {
                let help = match suggestion(name, self.names.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean {near}?"),
                    None if self.names.is_empty() => "the host has no actions".to_owned(),
                    None => format!("the host has {}", self.names.join(", ")),
                };
                let message = format!("unknown action `{name}`");
                self.diagnostics.push(span, DiagnosticKind::UnknownAction, message, help);
                return None;
            }
        };
        let id = u16::try_from(index).ok().map(ActionId);
        if id.is_none() {
            let help = "a program can use 65536 actions";
            self.diagnostics.push(span, DiagnosticKind::TooLarge, "too many actions", help);
        }
        id
    }

    fn loop_block(
        &mut self,
        until: Option<&Until>,
        body: &[Statement],
        span: Span,
    ) -> Option<NodeKind> {
        let until = match until {
            None => Some(None),
            Some(until) => self.end(until).map(Some),
        };
        let body = self.block(body);
        self.body_consumes(&body, false, span, "LOOP");
        Some(NodeKind::Loop { until: until?, first: first(&body.nodes), body: body.nodes })
    }

    fn end(&mut self, until: &Until) -> Option<End> {
        let pattern = self.patterns.compile(&until.pattern, self.diagnostics)?;
        if pattern.len_min == 0 {
            self.diagnostics.push(
                until.pattern.span,
                DiagnosticKind::CanMatchNothing,
                "the end of this loop can match nothing, so the loop would never run",
                "make the pattern take at least one byte",
            );
        }
        Some(End { pattern, last: until.last })
    }

    fn body_consumes(&mut self, body: &Checked, in_count: bool, span: Span, keyword: &str) {
        if body.whole && can_match_nothing(&body.nodes, in_count) {
            self.diagnostics.push(
                span,
                DiagnosticKind::CanMatchNothing,
                format!(
                    "the body of this {keyword} can match nothing, so it could repeat for ever"
                ),
                "put a MATCH into it that takes at least one byte",
            );
        }
    }

    fn count(&mut self, count: &Count, keyword: &str) -> Option<CountSource> {
        match count {
            Count::Value { span } => {
                if !self.executed {
                    self.diagnostics.push(
                        *span,
                        DiagnosticKind::ValueWithoutAction,
                        format!("{keyword} VALUE stands before any action"),
                        "put the EXECUTE that returns the value before it",
                    );
                }
                Some(CountSource::Value)
            }
            Count::Bytes { encoding, pattern: text } => {
                let pattern = self.patterns.compile(text, self.diagnostics)?;
                self.count_width(&pattern, *encoding, text.span);
                Some(CountSource::Bytes { encoding: *encoding, pattern })
            }
        }
    }

    fn count_width(&mut self, pattern: &Arc<Pattern>, encoding: CountEncoding, span: Span) {
        let max = count_bytes_max(encoding);
        if pattern.len_max.is_none_or(|len| len > max) {
            let wide = match pattern.len_max {
                Some(len) => format!("{len} bytes"),
                None => "any number of bytes".to_owned(),
            };
            self.diagnostics.push(
                span,
                DiagnosticKind::CountTooWide,
                format!(
                    "this count can be {wide} wide, more than the {max} bytes that fit 64 bits"
                ),
                format!("bound the repetitions, as in {{1,{max}}}"),
            );
        }
        if pattern.len_min == 0 {
            self.diagnostics.push(
                span,
                DiagnosticKind::CanMatchNothing,
                "this count can match nothing",
                "make the pattern take at least one byte",
            );
        }
    }
}

#[cfg(test)]
mod tests;
