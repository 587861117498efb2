//! Parses pattern text into a simplified syntax tree: byte regular expressions without captures,
//! look-around and anchors.

use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::Hir;
use regex_syntax::hir::translate::TranslatorBuilder;

use super::PatternError;

/// Maximum nesting depth of groups.
const NESTING_MAX: u32 = 50;

/// Parses a pattern.
pub(super) fn parse(text: &str) -> Result<Hir, PatternError> {
    if let Some(at) = text.chars().position(|character| !character.is_ascii()) {
        return Err(refused(at, "a character outside ASCII", "write its bytes as \\xHH"));
    }
    let ast = ast::parse::ParserBuilder::new()
        .nest_limit(NESTING_MAX)
        .build()
        .parse(text)
        .map_err(|error| bad(error.span().start.offset, &error.kind().to_string()))?;
    ast::visit(&ast, Refusals)?;
    TranslatorBuilder::new()
        .utf8(false)
        .unicode(false)
        .dot_matches_new_line(true)
        .build()
        .translate(text, &ast)
        .map_err(|error| bad(error.span().start.offset, &error.kind().to_string()))
}

fn bad(at: usize, reason: &str) -> PatternError {
    PatternError {
        at,
        too_large: false,
        message: format!("bad pattern: {reason}"),
        help: "patterns are byte regular expressions: . \\xHH [..] * + ? {m,n} | ( )".to_owned(),
    }
}

fn refused(at: usize, what: &str, help: &str) -> PatternError {
    PatternError {
        at,
        too_large: false,
        message: format!("bad pattern: {what} is not part of this language"),
        help: help.to_owned(),
    }
}

/// Finds constructs that the library supports and this language does not.
struct Refusals;

impl ast::Visitor for Refusals {
    type Output = ();
    type Err = PatternError;

    fn finish(self) -> Result<(), PatternError> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), PatternError> {
        let at = ast.span().start.offset;
        match ast {
            Ast::Assertion(_) => Err(refused(
                at,
                "an anchor or word boundary",
                "remove it: a pattern always begins at the position; escape ^ and $ as bytes",
            )),
            Ast::Flags(_) => Err(refused(at, "a flag", "write out both cases as a class")),
            Ast::Group(group) => match &group.kind {
                ast::GroupKind::CaptureIndex(_) => Ok(()),
                ast::GroupKind::NonCapturing(flags) if flags.items.is_empty() => Ok(()),
                ast::GroupKind::NonCapturing(_) => {
                    Err(refused(at, "a flag", "write out both cases as a class"))
                }
                ast::GroupKind::CaptureName { .. } => {
                    Err(refused(at, "a capture", "use PUSH and EXECUTE to hand out bytes"))
                }
            },
            Ast::Literal(literal) => literal_is_byte(literal),
            Ast::Repetition(repetition) if !repetition.greedy => Err(refused(
                repetition.op.span.start.offset,
                "a lazy repetition",
                "the longest match counts; end the repetition with a class that excludes its end",
            )),
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), PatternError> {
        match item {
            ast::ClassSetItem::Literal(literal) => literal_is_byte(literal),
            ast::ClassSetItem::Range(range) => {
                literal_is_byte(&range.start)?;
                literal_is_byte(&range.end)
            }
            _ => Ok(()),
        }
    }
}

fn literal_is_byte(literal: &ast::Literal) -> Result<(), PatternError> {
    let two_digits = ast::LiteralKind::HexFixed(ast::HexLiteralKind::X);
    if u32::from(literal.c) < 0x80 || literal.kind == two_digits {
        return Ok(());
    }
    let at = literal.span.start.offset;
    Err(refused(at, "a character outside ASCII", "write its bytes as \\xHH"))
}
