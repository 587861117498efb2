//! Lines into nested blocks.

use crate::ast::{Case, Count, PatternText, Statement, StatementKind, Until};
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span};

use super::line::{BlockKind, Line};

/// The blocks that are open, outermost first, and the body of the program.
pub(super) struct Blocks {
    body: Vec<Statement>,
    open: Vec<Open>,
    nesting_max: usize,
    /// Blocks that are open too deep: they are counted, not kept.
    dropped: usize,
}

struct Open {
    head: Head,
    span: Span,
    index: u32,
    body: Vec<Statement>,
    cases: Vec<Case>,
}

enum Head {
    Case(PatternText),
    Loop(Option<Until>),
    Repeat(Count),
    Switch,
    WhileCount(Count),
}

impl Head {
    const fn kind(&self) -> BlockKind {
        match self {
            Self::Case(_) => BlockKind::Case,
            Self::Loop(_) => BlockKind::Loop,
            Self::Repeat(_) => BlockKind::Repeat,
            Self::Switch => BlockKind::Switch,
            Self::WhileCount(_) => BlockKind::WhileCount,
        }
    }
}

impl Blocks {
    pub(super) fn new(nesting_max: usize) -> Self {
        let nesting_max = nesting_max.min(crate::limits::NESTING_MAX);
        Self { body: Vec::new(), open: Vec::new(), nesting_max, dropped: 0 }
    }

    /// Takes a line that is not the end of a block.
    pub(super) fn add(
        &mut self,
        line: Line,
        span: Span,
        index: u32,
        diagnostics: &mut Diagnostics,
    ) {
        let is_case = matches!(line, Line::Case(_));
        let in_switch = self.open.last().is_some_and(|open| open.head.kind() == BlockKind::Switch);
        if is_case != in_switch && self.dropped == 0 {
            let (message, help) = misplaced(is_case);
            diagnostics.push(span, DiagnosticKind::UnbalancedBlock, message, help);
        }
        let head = match line {
            Line::Case(pattern) => Head::Case(pattern),
            Line::Loop(until) => Head::Loop(until),
            Line::Repeat(count) => Head::Repeat(count),
            Line::Switch => Head::Switch,
            Line::WhileCount(count) => Head::WhileCount(count),
            Line::End(_) => return,
            Line::Execute { action, span: at } => {
                return self.push(StatementKind::Execute { action, span: at }, span, index);
            }
            Line::Match(pattern) => {
                return self.push(StatementKind::Match { pattern }, span, index);
            }
            Line::Push => return self.push(StatementKind::Push, span, index),
            Line::Send { code, value } => {
                return self.push(StatementKind::Send { code, value }, span, index);
            }
        };
        if self.open.len() >= self.nesting_max {
            self.dropped += 1;
            if self.dropped == 1 {
                let message = format!("more than {} blocks inside one another", self.nesting_max);
                diagnostics.push(span, DiagnosticKind::TooLarge, message, "use fewer levels");
            }
            return;
        }
        self.open.push(Open { head, span, index, body: Vec::new(), cases: Vec::new() });
    }

    /// Takes the end of a block.
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

    /// The whole program; blocks that are still open are reported and closed.
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

    /// Puts the innermost block into the one around it.
    fn fold(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let Open { head, span, index, body, cases } = open;
        let kind = match head {
            Head::Case(pattern) => {
                if let Some(switch) = self.open.last_mut() {
                    switch.cases.push(Case { pattern, body, span, index });
                }
                return;
            }
            Head::Loop(until) => StatementKind::Loop { until, body },
            Head::Repeat(count) => StatementKind::Repeat { count, body },
            Head::Switch => StatementKind::Switch { cases },
            Head::WhileCount(count) => StatementKind::WhileCount { count, body },
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

fn misplaced(is_case: bool) -> (&'static str, &'static str) {
    if is_case {
        ("CASE stands outside WSWITCH", "put it directly inside WSWITCH .. ENDWSWITCH")
    } else {
        ("only CASE may stand directly inside WSWITCH", "put the statement into a case")
    }
}
