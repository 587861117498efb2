//! Assembles lines into nested blocks.

use crate::ast::{Case, CaseHead, Condition, Count, Operand, Statement, StatementKind, Until};
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span};

use super::line::{BlockKind, GrammarLine};

/// The open blocks, outermost first, and the body of the program.
pub(super) struct BlockParser {
    body: Vec<Statement>,
    open: Vec<OpenBlock>,
    nesting_max: usize,
    /// Number of open blocks beyond the nesting limit; they are counted, not kept.
    dropped: usize,
}

struct OpenBlock {
    head: BlockHead,
    span: Span,
    index: u32,
    body: Vec<Statement>,
    cases: Vec<Case>,
    /// The statements before `ELSE`.
    before_else: Option<Vec<Statement>>,
    default: Option<Vec<Statement>>,
}

enum BlockHead {
    Block(String),
    Case(CaseHead),
    Choose(Option<Operand>),
    Default,
    If(Condition),
    Loop(Option<Until>),
    Repeat(Count),
    Switch,
    WhileCount(Count),
}

impl BlockHead {
    const fn kind(&self) -> BlockKind {
        match self {
            Self::Block(_) => BlockKind::Block,
            Self::Case(_) => BlockKind::Case,
            Self::Choose(_) => BlockKind::Choose,
            Self::Default => BlockKind::Default,
            Self::If(_) => BlockKind::If,
            Self::Loop(_) => BlockKind::Loop,
            Self::Repeat(_) => BlockKind::Repeat,
            Self::Switch => BlockKind::Switch,
            Self::WhileCount(_) => BlockKind::WhileCount,
        }
    }
}

impl BlockParser {
    pub(super) fn new(nesting_max: usize) -> Self {
        let nesting_max = nesting_max.min(crate::limits::NESTING_MAX);
        Self { body: Vec::new(), open: Vec::new(), nesting_max, dropped: 0 }
    }

    /// Adds a line that does not end a block.
    pub(super) fn add(
        &mut self,
        line: GrammarLine,
        span: Span,
        index: u32,
        diagnostics: &mut Diagnostics,
    ) {
        if let Some((message, help)) = self.misplaced(&line).filter(|_| self.dropped == 0) {
            diagnostics.push(span, DiagnosticKind::UnbalancedBlock, message, help);
        }
        let head = match line {
            GrammarLine::Block(name) => BlockHead::Block(name),
            GrammarLine::Case(head) => BlockHead::Case(head),
            GrammarLine::Choose(selector) => BlockHead::Choose(selector),
            GrammarLine::Default => BlockHead::Default,
            GrammarLine::If(condition) => BlockHead::If(condition),
            GrammarLine::Loop(until) => BlockHead::Loop(until),
            GrammarLine::Repeat(count) => BlockHead::Repeat(count),
            GrammarLine::Switch => BlockHead::Switch,
            GrammarLine::WhileCount(count) => BlockHead::WhileCount(count),
            GrammarLine::End(_) | GrammarLine::Include { .. } => return,
            GrammarLine::Else => return self.begin_else(),
            GrammarLine::Statement(kind) => return self.push(kind, span, index),
        };
        if self.open.len() >= self.nesting_max {
            self.dropped += 1;
            if self.dropped == 1 {
                let max = self.nesting_max;
                let message = format!("more than {max} nested blocks, the limit `nesting_max`");
                diagnostics.push(span, DiagnosticKind::TooLarge, message, "use fewer levels");
            }
            return;
        }
        let (body, cases, before_else, default) = Default::default();
        self.open.push(OpenBlock { head, span, index, body, cases, before_else, default });
    }

    /// Puts the statements of an included file into the innermost block.
    pub(super) fn splice(
        &mut self,
        statements: Vec<Statement>,
        span: Span,
        diagnostics: &mut Diagnostics,
    ) {
        if self.dropped > 0 {
            return;
        }
        let is_switch = self.open.last().is_some_and(|open| open.head.kind().is_switch());
        if is_switch && !statements.is_empty() {
            let help = "put it into a case";
            let message = "a file cannot be included directly inside a switch";
            diagnostics.push(span, DiagnosticKind::UnbalancedBlock, message, help);
            return;
        }
        match self.open.last_mut() {
            Some(open) => open.body.extend(statements),
            None => self.body.extend(statements),
        }
    }

    /// Starts the `ELSE` branch of the innermost block.
    fn begin_else(&mut self) {
        if let Some(open) = self.open.last_mut().filter(|open| open.before_else.is_none()) {
            open.before_else = Some(std::mem::take(&mut open.body));
        }
    }

    /// Returns message and help if a line must not stand here.
    fn misplaced(&self, line: &GrammarLine) -> Option<(&'static str, &'static str)> {
        let around = self.open.last().map(|open| open.head.kind());
        let in_switch = around.is_some_and(BlockKind::is_switch);
        match line {
            GrammarLine::Case(_) if !in_switch => Some((
                "CASE stands outside a switch",
                "put it directly inside WSWITCH .. ENDWSWITCH or SWITCH .. ENDSWITCH",
            )),
            GrammarLine::Default if around != Some(BlockKind::Choose) => Some((
                "DEFAULT stands outside SWITCH",
                "put it directly inside SWITCH .. ENDSWITCH; WSWITCH ends where no case fits",
            )),
            GrammarLine::Default if self.open.last().is_some_and(|open| open.default.is_some()) => {
                Some(("this SWITCH has two DEFAULTs", "remove one"))
            }
            GrammarLine::Case(_) | GrammarLine::Default => None,
            _ if in_switch => Some((
                "only CASE and DEFAULT may stand directly inside a switch",
                "put the statement into a case",
            )),
            GrammarLine::Else if around != Some(BlockKind::If) => {
                Some(("ELSE stands outside IF", "put it directly inside IF .. ENDIF"))
            }
            GrammarLine::Else
                if self.open.last().is_some_and(|open| open.before_else.is_some()) =>
            {
                Some(("this IF has two ELSEs", "remove one"))
            }
            GrammarLine::Block(_) if around.is_some() => {
                Some(("BLOCK stands inside another block", "put it outside, and CALL it here"))
            }
            _ => None,
        }
    }

    /// Closes a block.
    pub(super) fn close(&mut self, kind: BlockKind, span: Span, diagnostics: &mut Diagnostics) {
        if self.dropped > 0 {
            self.dropped -= 1;
            return;
        }
        let Some(depth) = self.open.iter().rposition(|open| open.head.kind() == kind) else {
            let keyword = kind.keyword();
            diagnostics.push(
                span,
                DiagnosticKind::UnbalancedBlock,
                format!("END{keyword} closes no block"),
                format!("remove it, or open the block with {keyword}"),
            );
            return;
        };
        while self.open.len() > depth + 1 {
            self.report_unclosed(Some((kind, span)), diagnostics);
            self.fold();
        }
        self.fold();
    }

    /// Returns the whole program. Reports and closes the blocks that are still open.
    pub(super) fn finish(mut self, diagnostics: &mut Diagnostics) -> Vec<Statement> {
        while !self.open.is_empty() {
            self.report_unclosed(None, diagnostics);
            self.fold();
        }
        self.body
    }

    fn report_unclosed(&self, by: Option<(BlockKind, Span)>, diagnostics: &mut Diagnostics) {
        let Some(open) = self.open.last() else { return };
        let keyword = open.head.kind().keyword();
        let before = match by {
            Some((kind, at)) => format!("before END{} in line {}", kind.keyword(), at.line),
            None => "before the end of the text".to_owned(),
        };
        diagnostics.push(
            open.span,
            DiagnosticKind::UnbalancedBlock,
            format!("{keyword} is not closed {before}"),
            format!("close it with END{keyword}"),
        );
    }

    /// Moves the innermost block into the one around it.
    fn fold(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let OpenBlock { head, span, index, body, cases, before_else, default } = open;
        let kind = match head {
            BlockHead::Block(name) => StatementKind::Block { name, body },
            BlockHead::Case(head) => {
                if let Some(switch) = self.open.last_mut() {
                    switch.cases.push(Case { head, body, span, index });
                }
                return;
            }
            BlockHead::Choose(selector) => StatementKind::Choose { selector, cases, default },
            BlockHead::Default => {
                if let Some(switch) = self.open.last_mut() {
                    switch.default = Some(body);
                }
                return;
            }
            BlockHead::If(condition) => {
                let (body, otherwise) = match before_else {
                    Some(before) => (before, body),
                    None => (body, Vec::new()),
                };
                StatementKind::If { condition, body, otherwise }
            }
            BlockHead::Loop(until) => StatementKind::Loop { until, body },
            BlockHead::Repeat(count) => StatementKind::Repeat { count, body },
            BlockHead::Switch => StatementKind::Switch { cases },
            BlockHead::WhileCount(count) => StatementKind::WhileCount { count, body },
        };
        self.push(kind, span, index);
    }

    fn push(&mut self, kind: StatementKind, span: Span, index: u32) {
        let statement = Statement { kind, span, index };
        match self.open.last_mut() {
            Some(open) => open.body.push(statement),
            None => self.body.push(statement),
        }
    }
}
