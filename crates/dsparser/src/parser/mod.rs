//! Text to statements. A mistake in one line does not hide those in the next.

mod blocks;
mod line;

use crate::ast::Statement;
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span};
use crate::lexer::{to_u32, tokens};
use crate::limits::Limits;
use crate::run_error::StatementText;

use blocks::Blocks;
use line::{Line, parse_line};

/// What a text holds: its statements, and each of them as written.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) body: Vec<Statement>,
    pub(crate) statements: Vec<StatementText>,
}

/// Parses a whole text; what is wrong goes to `diagnostics`.
pub(crate) fn parse(text: &str, limits: &Limits, diagnostics: &mut Diagnostics) -> Parsed {
    let mut statements = Vec::new();
    let mut blocks = Blocks::new(limits.nesting_max);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line_text, number) in text.lines().zip(1..) {
        let pieces = tokens(line_text, number, diagnostics);
        let Some(first) = pieces.first() else { continue };
        let span = first.span;
        let Some(line) = parse_line(&pieces, diagnostics) else { continue };
        if let Line::End(kind) = line {
            blocks.close(kind, span, diagnostics);
            continue;
        }
        if statements.len() >= limits.statements_max {
            let message = format!("more than {} statements", limits.statements_max);
            diagnostics.push(span, DiagnosticKind::TooLarge, message, "split the grammar");
            break;
        }
        let index = to_u32(statements.len());
        statements
            .push(StatementText { line: number, text: as_written(line_text, &pieces).into() });
        blocks.add(line, span, index, diagnostics);
    }
    Parsed { body: blocks.finish(diagnostics), statements }
}

/// The line from its first to its last token.
fn as_written(line: &str, pieces: &[crate::lexer::Token<'_>]) -> String {
    let Some((first, last)) = pieces.first().zip(pieces.last()) else { return String::new() };
    let end = match &last.kind {
        crate::lexer::TokenKind::Word(word) => last.span.column as usize + word.chars().count(),
        crate::lexer::TokenKind::Pattern(text) => {
            last.span.column as usize + text.chars().count() + 1
        }
    };
    let start = first.span.column as usize;
    line.chars().skip(start - 1).take(end - start).collect()
}

/// What the blocks and lines need to say where something stands.
pub(crate) fn span_after(pieces: &[crate::lexer::Token<'_>]) -> Span {
    let last = pieces.last();
    last.map_or(Span { line: 1, column: 1 }, |token| {
        let length = match &token.kind {
            crate::lexer::TokenKind::Word(word) => word.chars().count(),
            crate::lexer::TokenKind::Pattern(text) => text.chars().count() + 1,
        };
        Span { line: token.span.line, column: token.span.column + to_u32(length) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::StatementKind;

    fn kinds(text: &str) -> Vec<DiagnosticKind> {
        let mut diagnostics = Diagnostics::default();
        parse(text, &Limits::default(), &mut diagnostics);
        if diagnostics.is_empty() {
            return Vec::new();
        }
        diagnostics.into_errors(100).diagnostics().iter().map(|d| d.kind).collect()
    }

    #[test]
    fn statements_keep_their_text_without_indentation_and_comment() {
        let mut diagnostics = Diagnostics::default();
        let text = "  MATCH  \"a#\"   # first\n\tPUSH\n";
        let parsed = parse(text, &Limits::default(), &mut diagnostics);
        assert!(diagnostics.is_empty());
        assert_eq!(parsed.statements[0], StatementText::borrowed(1, "MATCH  \"a#\""));
        assert_eq!(parsed.statements[1], StatementText::borrowed(2, "PUSH"));
        assert!(matches!(parsed.body[1].kind, StatementKind::Push));
    }

    #[test]
    fn every_line_reports_its_own_mistake() {
        use DiagnosticKind::{Syntax, UnbalancedBlock, UnknownKeyword};
        let text = "match \"a\"\nMATCH\nPUSH now\nSEND 1\nENDLOOP\nLOOP\n";
        assert_eq!(
            kinds(text),
            [UnknownKeyword, Syntax, Syntax, Syntax, UnbalancedBlock, UnbalancedBlock]
        );
    }

    #[test]
    fn a_wrong_end_names_both_blocks_and_closes_what_it_can() {
        use DiagnosticKind::UnbalancedBlock;
        assert_eq!(kinds("LOOP\nWHILECNT \".\"\nMATCH \".\"\nENDLOOP\n"), [UnbalancedBlock]);
        assert_eq!(kinds("WSWITCH\nMATCH \"a\"\nENDWSWITCH\n"), [UnbalancedBlock]);
        assert_eq!(kinds("CASE \"a\"\nENDCASE\n"), [UnbalancedBlock]);
    }

    #[test]
    fn limits_are_errors() {
        let deep = "LOOP\n".repeat(40) + &"ENDLOOP\n".repeat(40);
        assert!(kinds(&deep).contains(&DiagnosticKind::TooLarge));
        assert!(kinds(&"PUSH\n".repeat(5000)).contains(&DiagnosticKind::TooLarge));
    }
}
