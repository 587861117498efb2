//! The parser: text to statements. A mistake in one line does not hide those in the next.

mod blocks;
mod line;
mod words;

use crate::ast::Statement;
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span};
use crate::lexer::{Token, TokenKind, to_u32, tokens};
use crate::limits::{GrammarLimits, INCLUDE_DEPTH_MAX};
use crate::run_error::StatementText;

use blocks::BlockParser;
use line::{GrammarLine, parse_line};

/// Returns the text of an included file, or the reason why there is none.
pub(crate) type SourceFiles<'f> = dyn FnMut(&str) -> Result<String, String> + 'f;

/// A parsed text: its statements as a tree and as written.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) body: Vec<Statement>,
    pub(crate) statements: Vec<StatementText>,
    /// Name and text of the included files.
    pub(crate) files: Vec<(String, String)>,
}

/// Parses a whole text and reports mistakes to `diagnostics`.
pub(crate) fn parse(
    text: &str,
    limits: &GrammarLimits,
    files: &mut SourceFiles<'_>,
    diagnostics: &mut Diagnostics,
) -> Parsed {
    let (statements, included, open) = Default::default();
    let bytes_left = limits.text_bytes_max.saturating_sub(text.len());
    let mut parser = Parser { limits, files, diagnostics, statements, included, open, bytes_left };
    let body = parser.file(text, 0);
    Parsed { body, statements: parser.statements, files: parser.included }
}

struct Parser<'p, 'f> {
    limits: &'p GrammarLimits,
    files: &'p mut SourceFiles<'f>,
    diagnostics: &'p mut Diagnostics,
    statements: Vec<StatementText>,
    /// Name and text of the included files.
    included: Vec<(String, String)>,
    /// The files being read, outermost first.
    open: Vec<String>,
    /// Number of bytes that further files may have.
    bytes_left: usize,
}

impl Parser<'_, '_> {
    /// Parses the text of file number `file`; 0 is the grammar itself.
    fn file(&mut self, text: &str, file: u32) -> Vec<Statement> {
        let mut blocks = BlockParser::new(self.limits.nesting_max);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line_text, number) in text.lines().zip(1..) {
            let pieces = tokens(line_text, (file, number), self.diagnostics);
            let Some(first) = pieces.first() else { continue };
            let span = first.span;
            let Some(line) = parse_line(&pieces, self.diagnostics) else { continue };
            match line {
                GrammarLine::End(kind) => blocks.close(kind, span, self.diagnostics),
                GrammarLine::Include { path, span } => {
                    if let Some(statements) = self.include(&path, span) {
                        blocks.splice(statements, span, self.diagnostics);
                    }
                }
                line => {
                    let Some(index) = self.keep_text(line_text, &pieces, span) else { break };
                    blocks.add(line, span, index, self.diagnostics);
                }
            }
        }
        blocks.finish(self.diagnostics)
    }

    /// Records a statement as written, for errors. Returns `None` if there are too many.
    fn keep_text(&mut self, line: &str, pieces: &[Token<'_>], span: Span) -> Option<u32> {
        let max = self.limits.statements_max;
        if self.statements.len() >= max {
            let message = format!("more than {max} statements, the limit `statements_max`");
            self.diagnostics.push(span, DiagnosticKind::TooLarge, message, "split the grammar");
            return None;
        }
        let index = to_u32(self.statements.len());
        let file = (span.file as usize).checked_sub(1);
        let file = file.and_then(|file| self.diagnostics.files.get(file).cloned());
        self.statements.push(StatementText {
            file: file.map(Into::into),
            line: span.line,
            text: as_written(line, pieces).into(),
        });
        Some(index)
    }

    /// Returns the statements of an included file.
    fn include(&mut self, path: &str, span: Span) -> Option<Vec<Statement>> {
        let mut refuse = |kind, message: String, help: &str| {
            self.diagnostics.push(span, kind, message, help);
        };
        if self.open.iter().any(|open| open == path) {
            let help = "include it from outside";
            refuse(DiagnosticKind::Recursion, format!("`{path}` includes itself"), help);
            return None;
        }
        if self.open.len() >= INCLUDE_DEPTH_MAX || self.included.len() >= self.limits.files_max {
            let message = match self.open.len() >= INCLUDE_DEPTH_MAX {
                true => format!("more than {INCLUDE_DEPTH_MAX} nested includes"),
                false => {
                    format!("more than {} files, the limit `files_max`", self.limits.files_max)
                }
            };
            refuse(DiagnosticKind::TooLarge, message, "include fewer files");
            return None;
        }
        let text = match (self.files)(path) {
            Ok(text) => text,
            Err(why) => {
                let message = format!("cannot include `{path}`: {why}");
                refuse(DiagnosticKind::Syntax, message, "name a file beside the grammar");
                return None;
            }
        };
        let Some(left) = self.bytes_left.checked_sub(text.len()) else {
            let max = self.limits.text_bytes_max;
            let message = format!(
                "all files together are longer than {max} bytes, the limit `text_bytes_max`"
            );
            refuse(DiagnosticKind::TooLarge, message, "split the grammar");
            return None;
        };
        self.bytes_left = left;
        self.included.push((path.to_owned(), text.clone()));
        self.diagnostics.files.push(path.to_owned());
        let file = to_u32(self.included.len());
        self.open.push(path.to_owned());
        let statements = self.file(&text, file);
        self.open.pop();
        Some(statements)
    }
}

/// Returns the line from its first to its last token.
fn as_written(line: &str, pieces: &[Token<'_>]) -> String {
    let Some((first, last)) = pieces.first().zip(pieces.last()) else { return String::new() };
    let end = match &last.kind {
        TokenKind::Word(word) => last.span.column as usize + word.chars().count(),
        TokenKind::Pattern(text) => last.span.column as usize + text.chars().count() + 1,
    };
    let start = first.span.column as usize;
    line.chars().skip(start - 1).take(end - start).collect()
}

/// Returns the position after the last token.
pub(crate) fn span_after(pieces: &[Token<'_>]) -> Span {
    let last = pieces.last();
    last.map_or(Span { file: 0, line: 1, column: 1 }, |token| {
        let length = match &token.kind {
            TokenKind::Word(word) => word.chars().count(),
            TokenKind::Pattern(text) => text.chars().count() + 1,
        };
        Span { column: token.span.column + to_u32(length), ..token.span }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::StatementKind;

    fn none(_: &str) -> Result<String, String> {
        Err("there are no files".to_owned())
    }

    fn kinds(text: &str) -> Vec<DiagnosticKind> {
        let mut diagnostics = Diagnostics::default();
        parse(text, &GrammarLimits::default(), &mut none, &mut diagnostics);
        if diagnostics.is_empty() {
            return Vec::new();
        }
        diagnostics.into_errors(100).diagnostics().iter().map(|d| d.kind).collect()
    }

    #[test]
    fn statements_keep_their_text_without_indentation_and_comment() {
        let mut diagnostics = Diagnostics::default();
        let text = "  MATCH  \"a#\"   # first\n\tPUSH\n";
        let parsed = parse(text, &GrammarLimits::default(), &mut none, &mut diagnostics);
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
        assert_eq!(kinds("ELSE\n"), [UnbalancedBlock]);
        assert_eq!(kinds("IF 1 == 1\nELSE\nELSE\nENDIF\n"), [UnbalancedBlock]);
        assert_eq!(
            kinds("WSWITCH\nCASE \"a\"\nENDCASE\nDEFAULT\nENDDEFAULT\nENDWSWITCH\n"),
            [UnbalancedBlock]
        );
        assert_eq!(kinds("LOOP\nBLOCK a\nENDBLOCK\nMATCH \".\"\nENDLOOP\n"), [UnbalancedBlock]);
        let two = "SWITCH\nDEFAULT\nENDDEFAULT\nDEFAULT\nENDDEFAULT\nENDSWITCH\n";
        assert_eq!(kinds(two), [UnbalancedBlock]);
    }

    #[test]
    fn limits_are_errors() {
        let deep = "LOOP\n".repeat(40) + &"ENDLOOP\n".repeat(40);
        assert!(kinds(&deep).contains(&DiagnosticKind::TooLarge));
        assert!(kinds(&"PUSH\n".repeat(5000)).contains(&DiagnosticKind::TooLarge));
    }

    #[test]
    fn files_that_include_themselves_or_too_many_are_errors() {
        let text = "INCLUDE \"a\"\n";
        let found = |give: &mut SourceFiles<'_>| {
            let mut diagnostics = Diagnostics::default();
            parse(text, &GrammarLimits::default(), give, &mut diagnostics);
            let errors = diagnostics.into_errors(100);
            let first = errors.diagnostics()[0].clone();
            (first.kind, first.file)
        };
        let itself = found(&mut |_| Ok("\nINCLUDE \"a\"\n".to_owned()));
        assert_eq!(itself, (DiagnosticKind::Recursion, Some("a".to_owned())));
        let deeper = found(&mut |name| Ok(format!("INCLUDE \"{name}a\"\n")));
        assert_eq!(deeper.0, DiagnosticKind::TooLarge);
        assert_eq!(found(&mut |_| Err("gone".to_owned())), (DiagnosticKind::Syntax, None));
        let long = found(&mut |_| Ok(" ".repeat(2 << 20)));
        assert_eq!(long, (DiagnosticKind::TooLarge, None));
    }
}
