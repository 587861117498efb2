//! Checks statements and turns them into the checked program: resolves names, compiles patterns,
//! applies every rule.

mod blocks;
mod flow;
mod names;
mod overrun;
mod patterns;
mod switch;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{
    Comparison, Condition, Count, CountEncoding, CountFrom, Operand, ReadSource, Statement,
    StatementKind, Until,
};
use crate::block::{
    Compare, CountNode, CountSource, LoopEnd, NodeKind, OperandNode, ReadNode, Since,
    StatementNode, can_match_nothing, first,
};
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span, suggestion};
use crate::host::{ActionId, ActionNames};
use crate::limits::GrammarLimits;
use crate::pattern::Pattern;

use blocks::BlockDefinition;
use names::GrammarNames;
use patterns::GrammarPatterns;

/// A checked program. It is complete only if there are no diagnostics.
pub(crate) struct CheckedProgram {
    pub(crate) body: Vec<StatementNode>,
    pub(crate) actions: Vec<String>,
    pub(crate) names: Vec<String>,
}

/// Checks a parsed program. Costly constructs that are not mistakes go to `warnings`.
pub(crate) fn check(
    body: &[Statement],
    actions: &ActionNames,
    limits: &GrammarLimits,
    diagnostics: &mut Diagnostics,
    warnings: &mut Diagnostics,
) -> CheckedProgram {
    let mut checker = GrammarChecker {
        actions: actions.names.clone(),
        open: actions.open,
        executed: false,
        names: GrammarNames::new(limits),
        blocks: HashMap::new(),
        calls: Vec::new(),
        counts: 0,
        loops: 0,
        expanded: 0,
        patterns: GrammarPatterns::new(limits),
        diagnostics,
        warnings,
    };
    checker.define(body);
    let mut nodes = checker.block(body).nodes;
    checker.check_uncalled();
    let (actions, names) = (checker.actions, checker.names.into_list());
    flow::annotate(&mut nodes);
    CheckedProgram { body: nodes, actions, names }
}

struct GrammarChecker<'a> {
    actions: Vec<String>,
    open: bool,
    /// True if an `EXECUTE` precedes in the text.
    executed: bool,
    names: GrammarNames,
    blocks: HashMap<String, BlockDefinition<'a>>,
    /// The blocks whose `CALL` is being expanded, outermost first.
    calls: Vec<String>,
    /// Number of counts and repetitions around the statement.
    counts: usize,
    /// Number of loops of any kind around the statement.
    loops: usize,
    /// Number of statements so far; those of a block count once for each call.
    expanded: usize,
    patterns: GrammarPatterns<'a>,
    diagnostics: &'a mut Diagnostics,
    warnings: &'a mut Diagnostics,
}

/// A checked block. `whole` is false after a mistake in it, so that no rule draws conclusions from
/// the rest.
struct Checked {
    nodes: Vec<StatementNode>,
    whole: bool,
}

/// Returns the longest count in bytes: the most that a 64-bit number can need in the encoding.
const fn count_bytes_max(encoding: CountEncoding) -> usize {
    match encoding {
        CountEncoding::BigEndian | CountEncoding::LittleEndian => 8,
        CountEncoding::StopBit => 10,
        CountEncoding::Decimal => 20,
    }
}

impl<'a> GrammarChecker<'a> {
    fn block(&mut self, body: &'a [Statement]) -> Checked {
        let mut checked = Checked { nodes: Vec::with_capacity(body.len()), whole: true };
        for statement in body {
            if let StatementKind::Block { .. } = statement.kind {
                continue;
            }
            if let StatementKind::Call { name, span } = &statement.kind {
                let called = self.call(name, *span);
                checked.whole &= called.whole;
                checked.nodes.extend(called.nodes);
                continue;
            }
            if !self.count_statement(statement.span) {
                checked.whole = false;
                return checked;
            }
            match self.statement(statement) {
                Some(kind) => checked.nodes.push(StatementNode {
                    statement: statement.index,
                    kind,
                    before: Since::Other,
                }),
                None => checked.whole = false,
            }
        }
        checked
    }

    /// Checks the body of a loop.
    fn loop_body(&mut self, body: &'a [Statement]) -> Checked {
        self.loops += 1;
        let body = self.block(body);
        self.loops -= 1;
        body
    }

    /// Checks the body of a statement that keeps a counter.
    fn counted_body(&mut self, body: &'a [Statement], span: Span) -> Checked {
        self.counts += 1;
        if self.counts > crate::limits::NESTING_MAX {
            let message = format!(
                "more than {} nested counts, including those of called blocks",
                crate::limits::NESTING_MAX
            );
            self.diagnostics.push(span, DiagnosticKind::TooLarge, message, "use fewer levels");
            self.counts -= 1;
            return Checked { nodes: Vec::new(), whole: false };
        }
        let body = self.loop_body(body);
        self.counts -= 1;
        body
    }

    fn statement(&mut self, statement: &'a Statement) -> Option<NodeKind> {
        match &statement.kind {
            // `block` handles these.
            StatementKind::Block { .. } | StatementKind::Call { .. } => None,
            StatementKind::Choose { selector: None, cases, default } => {
                self.choose(cases, default.as_deref(), statement.span)
            }
            StatementKind::Choose { selector: Some(selector), cases, default } => {
                self.choose_number(selector, cases, default.as_deref(), statement.span)
            }
            StatementKind::Execute { action, span, from_mark } => {
                self.executed = true;
                let (action, from_mark) = (self.action(action, *span)?, *from_mark);
                Some(NodeKind::Execute { action, stop_bit: false, from_mark })
            }
            StatementKind::If { condition, body, otherwise } => {
                self.condition(condition, body, otherwise)
            }
            StatementKind::Mark => Some(NodeKind::Mark),
            StatementKind::Read { source, name, span } => self.read(source, name, *span),
            StatementKind::Loop { until, body } => {
                self.loop_block(until.as_ref(), body, statement.span)
            }
            StatementKind::Match { pattern } => {
                let compiled = self.patterns.compile(pattern, self.diagnostics)?;
                self.warn_of_overrun(&compiled, pattern.span, overrun::Use::Match);
                Some(NodeKind::Match(compiled))
            }
            StatementKind::Push => Some(NodeKind::Push),
            StatementKind::Repeat { count, body } => {
                let count = self.count(count, "REPEAT");
                let body = self.counted_body(body, statement.span);
                let may_stall = can_match_nothing(&body.nodes, false);
                Some(NodeKind::Repeat { count: count?, body: body.nodes, may_stall })
            }
            StatementKind::Send { code, value } => {
                Some(NodeKind::Send { code: *code, value: *value })
            }
            StatementKind::Switch { cases } => self.switch(cases, statement.span),
            StatementKind::WhileCount { count, body } => {
                let count = self.count(count, "WHILECNT");
                let body = self.counted_body(body, statement.span);
                self.body_consumes(&body, true, statement.span, "WHILECNT");
                let may_stall = can_match_nothing(&body.nodes, false);
                Some(NodeKind::WhileCount { count: count?, body: body.nodes, may_stall })
            }
        }
    }

    fn action(&mut self, name: &str, span: Span) -> Option<ActionId> {
        let known = self.actions.iter().position(|known| known == name);
        let index = match known {
            Some(index) => index,
            None if self.open => {
                self.actions.push(name.to_owned());
                self.actions.len() - 1
            }
            None => {
                let help = match suggestion(name, self.actions.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean {near}?"),
                    None if self.actions.is_empty() => "the host has no actions".to_owned(),
                    None => format!("the host has {}", self.actions.join(", ")),
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
        body: &'a [Statement],
        span: Span,
    ) -> Option<NodeKind> {
        let until = match until {
            None => Some(None),
            Some(until) => self.end(until).map(Some),
        };
        let body = self.loop_body(body);
        self.body_consumes(&body, false, span, "LOOP");
        Some(NodeKind::Loop { until: until?, first: first(&body.nodes), body: body.nodes })
    }

    fn end(&mut self, until: &Until) -> Option<LoopEnd> {
        let pattern = self.patterns.compile(&until.pattern, self.diagnostics)?;
        let tried = if until.last { overrun::Use::TriedLast } else { overrun::Use::Tried };
        self.loops += 1;
        self.warn_of_overrun(&pattern, until.pattern.span, tried);
        self.loops -= 1;
        if pattern.len_min == 0 {
            self.diagnostics.push(
                until.pattern.span,
                DiagnosticKind::CanMatchNothing,
                "the end of this loop can match zero bytes, so the loop would never run",
                "make the pattern take at least one byte",
            );
        }
        Some(LoopEnd { pattern, last: until.last })
    }

    fn body_consumes(&mut self, body: &Checked, in_count: bool, span: Span, keyword: &str) {
        if body.whole && can_match_nothing(&body.nodes, in_count) {
            self.diagnostics.push(
                span,
                DiagnosticKind::CanMatchNothing,
                format!(
                    "the body of this {keyword} can match zero bytes, so it could repeat forever"
                ),
                "put a MATCH into it that takes at least one byte",
            );
        }
    }

    fn count(&mut self, count: &Count, keyword: &str) -> Option<CountNode> {
        let source = match &count.source {
            CountFrom::Value { span } => {
                self.value_is_there(*span, keyword);
                CountSource::Value
            }
            CountFrom::Number(number) => CountSource::Number(*number),
            CountFrom::Name { name, span } => {
                CountSource::Name(self.names.find(name, *span, self.diagnostics)?)
            }
            CountFrom::Bytes { encoding, pattern: text } => {
                let pattern = self.patterns.compile(text, self.diagnostics)?;
                self.warn_of_overrun(&pattern, text.span, overrun::Use::Match);
                self.count_width(&pattern, *encoding, text.span);
                CountSource::Bytes { encoding: *encoding, pattern }
            }
        };
        Some(CountNode { source, adjust: count.adjust })
    }

    /// Reports a `VALUE` that no earlier action can have returned.
    fn value_is_there(&mut self, span: Span, keyword: &str) {
        if !self.executed {
            self.diagnostics.push(
                span,
                DiagnosticKind::ValueWithoutAction,
                format!("{keyword} VALUE stands before any action"),
                "put the EXECUTE that returns the value before it",
            );
        }
    }

    fn operand(&mut self, operand: &Operand, keyword: &str) -> Option<OperandNode> {
        Some(match operand {
            Operand::Name { name, span } => {
                OperandNode::Name(self.names.find(name, *span, self.diagnostics)?)
            }
            Operand::Number(number) => OperandNode::Number(*number),
            Operand::Value { span } => {
                self.value_is_there(*span, keyword);
                OperandNode::Value
            }
        })
    }

    fn condition(
        &mut self,
        condition: &Condition,
        body: &'a [Statement],
        otherwise: &'a [Statement],
    ) -> Option<NodeKind> {
        match condition {
            Condition::Matches(text) => {
                let pattern = self.patterns.compile(text, self.diagnostics);
                let body = self.block(body).nodes;
                let otherwise = self.block(otherwise).nodes;
                self.if_matches(pattern?, text.span, body, otherwise)
            }
            Condition::Compare { left, comparison, right } => {
                let left = self.operand(left, "IF");
                let right = self.operand(right, "IF");
                let body = self.block(body).nodes;
                let otherwise = self.block(otherwise).nodes;
                let comparison: Comparison = *comparison;
                let condition = Compare { left: left?, comparison, right: right? };
                Some(NodeKind::If { condition, body, otherwise })
            }
        }
    }

    fn read(&mut self, source: &ReadSource, name: &str, span: Span) -> Option<NodeKind> {
        let (source, is_signed) = match source {
            ReadSource::Integer(kind) => (Some(ReadNode::Integer(*kind)), kind.is_signed),
            ReadSource::Bytes { encoding, pattern: text } => {
                let pattern = self.patterns.compile(text, self.diagnostics);
                if let Some(pattern) = &pattern {
                    self.warn_of_overrun(pattern, text.span, overrun::Use::Match);
                    self.count_width(pattern, *encoding, text.span);
                }
                let encoding = *encoding;
                (pattern.map(|pattern| ReadNode::Bytes { encoding, pattern }), false)
            }
        };
        let name = self.names.bind(name, is_signed, span, self.diagnostics)?;
        Some(NodeKind::Read { name: name.id, source: source? })
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
