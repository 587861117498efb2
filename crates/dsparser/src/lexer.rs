//! The lexer: splits a line of a grammar into words and patterns with their columns.

use crate::diagnostic::{DiagnosticKind, Diagnostics, Span};

/// One piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) span: Span,
    pub(crate) kind: TokenKind<'t>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind<'t> {
    /// A keyword, an action name or a number.
    Word(&'t str),
    /// The text between quotes; the token's column is that of the first character inside.
    Pattern(&'t str),
}

/// Splits a line into tokens and drops comments and blanks. A mistake ends the line.
pub(crate) fn tokens<'t>(
    line: &'t str,
    (file, number): (u32, u32),
    diagnostics: &mut Diagnostics,
) -> Vec<Token<'t>> {
    let mut found = Vec::new();
    let mut characters = line.char_indices().enumerate().peekable();
    while let Some((column, (start, character))) = characters.next() {
        let span = Span { file, line: number, column: to_u32(column + 1) };
        if character == '#' {
            break;
        }
        if character.is_whitespace() {
            continue;
        }
        if is_quote(character) {
            let inside = start + character.len_utf8();
            let Some(length) = pattern_length(&line[inside..], character) else {
                diagnostics.push(
                    span,
                    DiagnosticKind::Syntax,
                    "this pattern has no closing quote",
                    "close it on the same line; write a quote inside it as \\x22",
                );
                return found;
            };
            let span = Span { column: span.column + 1, ..span };
            found.push(Token { span, kind: TokenKind::Pattern(&line[inside..inside + length]) });
            while characters.next_if(|(_, (at, _))| *at <= inside + length).is_some() {}
            continue;
        }
        let mut end = start + character.len_utf8();
        while let Some((_, (at, next))) = characters.next_if(|(_, (_, next))| is_word(*next)) {
            end = at + next.len_utf8();
        }
        found.push(Token { span, kind: TokenKind::Word(&line[start..end]) });
    }
    found
}

fn is_word(character: char) -> bool {
    !character.is_whitespace() && character != '#' && !is_quote(character)
}

fn is_quote(character: char) -> bool {
    character == '"' || is_typographic(character)
}

fn is_typographic(character: char) -> bool {
    matches!(character, '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}')
}

/// Returns the length in bytes up to the quote that closes a pattern opened by `opening`. A
/// backslash escapes the next character.
fn pattern_length(text: &str, opening: char) -> Option<usize> {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        let closes = if opening == '"' { character == '"' } else { is_typographic(character) };
        if closes && !escaped {
            return Some(at);
        }
        escaped = character == '\\' && !escaped;
    }
    None
}

pub(crate) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(line: &str) -> (Vec<(u32, TokenKind<'_>)>, bool) {
        let mut diagnostics = Diagnostics::default();
        let found = tokens(line, (0, 1), &mut diagnostics);
        let kinds = found.into_iter().map(|token| (token.span.column, token.kind)).collect();
        (kinds, diagnostics.is_empty())
    }

    #[test]
    fn words_and_patterns_have_columns_and_comments_vanish() {
        let (found, clean) = lex("  CASE \"[#\\\"a]\"  # \"x\"");
        assert!(clean);
        assert_eq!(found, [(3, TokenKind::Word("CASE")), (9, TokenKind::Pattern("[#\\\"a]"))]);
    }

    #[test]
    fn typographic_quotes_are_quotes() {
        let (found, clean) = lex("MATCH \u{201c}.....\u{201d} x");
        assert!(clean);
        assert_eq!(found[1], (8, TokenKind::Pattern(".....")));
        assert_eq!(found[2], (15, TokenKind::Word("x")));
    }

    #[test]
    fn an_open_quote_is_an_error() {
        assert!(!lex("MATCH \"abc").1);
        assert!(!lex("MATCH \"abc\\\"").1);
    }
}
