//! One line: a keyword and what belongs to it.

use crate::ast::{Count, CountEncoding, PatternText, Until};
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span, suggestion};
use crate::lexer::{Token, TokenKind};

use super::span_after;

/// What opens or closes a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Case,
    Loop,
    Repeat,
    Switch,
    WhileCount,
}

impl BlockKind {
    pub(super) const fn keyword(self) -> &'static str {
        match self {
            Self::Case => "CASE",
            Self::Loop => "LOOP",
            Self::Repeat => "REPEAT",
            Self::Switch => "WSWITCH",
            Self::WhileCount => "WHILECNT",
        }
    }
}

/// One line, without the block it may open.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Case(PatternText),
    End(BlockKind),
    Execute { action: String, span: Span },
    Loop(Option<Until>),
    Match(PatternText),
    Push,
    Repeat(Count),
    Send { code: u32, value: u64 },
    Switch,
    WhileCount(Count),
}

const KEYWORDS: [&str; 14] = [
    "CASE",
    "ENDCASE",
    "ENDLOOP",
    "ENDREPEAT",
    "ENDWHILECNT",
    "ENDWSWITCH",
    "EXECUTE",
    "LOOP",
    "MATCH",
    "PUSH",
    "REPEAT",
    "SEND",
    "WHILECNT",
    "WSWITCH",
];

/// Parses the tokens of a line that has at least one; `None` after a mistake.
pub(super) fn parse_line(pieces: &[Token<'_>], diagnostics: &mut Diagnostics) -> Option<Line> {
    let mut cursor = Cursor { pieces, next: 1, diagnostics };
    let keyword = match pieces.first().map(|token| (&token.kind, token.span)) {
        Some((TokenKind::Word(word), span)) => keyword(word, span, cursor.diagnostics)?,
        _ => {
            cursor.syntax(
                "a statement begins with a keyword, not with a pattern",
                "write MATCH before it",
            );
            return None;
        }
    };
    let line = match keyword {
        "CASE" => Line::Case(cursor.pattern("CASE")?),
        "ENDCASE" => Line::End(BlockKind::Case),
        "ENDLOOP" => Line::End(BlockKind::Loop),
        "ENDREPEAT" => Line::End(BlockKind::Repeat),
        "ENDWHILECNT" => Line::End(BlockKind::WhileCount),
        "ENDWSWITCH" => Line::End(BlockKind::Switch),
        "EXECUTE" => cursor.execute()?,
        "LOOP" => Line::Loop(cursor.until()?),
        "MATCH" => Line::Match(cursor.pattern("MATCH")?),
        "PUSH" => Line::Push,
        "REPEAT" => Line::Repeat(cursor.count("REPEAT")?),
        "SEND" => cursor.send()?,
        "WHILECNT" => Line::WhileCount(cursor.count("WHILECNT")?),
        _ => Line::Switch,
    };
    cursor.end_of_line(keyword);
    Some(line)
}

fn keyword(word: &str, span: Span, diagnostics: &mut Diagnostics) -> Option<&'static str> {
    let found = KEYWORDS.into_iter().find(|known| *known == word);
    if found.is_none() {
        let help = match suggestion(word, KEYWORDS) {
            Some(near) => format!("did you mean {near}? Keywords are in capitals"),
            None => format!("the keywords are {}", KEYWORDS.join(", ")),
        };
        let message = format!("unknown keyword `{word}`");
        diagnostics.push(span, DiagnosticKind::UnknownKeyword, message, help);
    }
    found
}

/// The rest of a line.
struct Cursor<'a, 't> {
    pieces: &'a [Token<'t>],
    next: usize,
    diagnostics: &'a mut Diagnostics,
}

impl<'t> Cursor<'_, 't> {
    fn span(&self) -> Span {
        self.pieces.get(self.next).map_or_else(|| span_after(self.pieces), |token| token.span)
    }

    fn syntax(&mut self, message: impl Into<String>, help: impl Into<String>) {
        let span = self.span();
        self.diagnostics.push(span, DiagnosticKind::Syntax, message, help);
    }

    fn word(&mut self) -> Option<&'t str> {
        match self.pieces.get(self.next)?.kind {
            TokenKind::Word(word) => {
                self.next += 1;
                Some(word)
            }
            TokenKind::Pattern(_) => None,
        }
    }

    fn word_is(&mut self, word: &str) -> bool {
        let is = matches!(
            self.pieces.get(self.next),
            Some(Token { kind: TokenKind::Word(found), .. }) if *found == word
        );
        self.next += usize::from(is);
        is
    }

    fn pattern(&mut self, after: &str) -> Option<PatternText> {
        if let Some(Token { kind: TokenKind::Pattern(text), span }) = self.pieces.get(self.next) {
            self.next += 1;
            return Some(PatternText { text: (*text).to_owned(), span: *span });
        }
        self.syntax(
            format!("{after} needs a pattern here"),
            "write it between quotes, such as \"\\x01\\x02\"",
        );
        None
    }

    fn execute(&mut self) -> Option<Line> {
        let span = self.span();
        if let Some(action) = self.word() {
            return Some(Line::Execute { action: action.to_owned(), span });
        }
        self.syntax("EXECUTE needs the name of an action", "write the name without quotes");
        None
    }

    fn until(&mut self) -> Option<Option<Until>> {
        if !self.word_is("UNTIL") {
            return Some(None);
        }
        let last = self.word_is("LAST");
        let pattern = self.pattern("LOOP UNTIL")?;
        Some(Some(Until { pattern, last }))
    }

    fn count(&mut self, after: &str) -> Option<Count> {
        let span = self.span();
        if self.word_is("VALUE") {
            return Some(Count::Value { span });
        }
        let encoding = if self.word_is("LITTLE") {
            CountEncoding::LittleEndian
        } else if self.word_is("DECIMAL") {
            CountEncoding::Decimal
        } else if self.word_is("STOPBIT") {
            CountEncoding::StopBit
        } else {
            CountEncoding::BigEndian
        };
        if let Some(Token { kind: TokenKind::Word(word), .. }) = self.pieces.get(self.next) {
            self.syntax(
                format!("{after} does not know `{word}`"),
                "write VALUE, or a pattern with nothing, LITTLE, DECIMAL or STOPBIT before it",
            );
            return None;
        }
        Some(Count::Bytes { encoding, pattern: self.pattern(after)? })
    }

    fn send(&mut self) -> Option<Line> {
        let code = self.number("code", u64::from(u32::MAX))?;
        let value = self.number("value", u64::MAX)?;
        Some(Line::Send { code: u32::try_from(code).ok()?, value })
    }

    fn number(&mut self, what: &str, max: u64) -> Option<u64> {
        let before = self.next;
        let number = self.word().and_then(parse_number).filter(|number| *number <= max);
        if number.is_none() {
            self.next = before;
            self.syntax(
                format!("SEND needs a number as its {what}"),
                format!("write a decimal number or 0x and hexadecimal digits, at most {max:#x}"),
            );
        }
        number
    }

    fn end_of_line(&mut self, keyword: &str) {
        if self.next < self.pieces.len() {
            self.syntax(
                format!("nothing more may follow {keyword} on this line"),
                "write one statement a line, and # before a comment",
            );
        }
    }
}

fn parse_number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if word.starts_with('+') => None,
        None => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_hexadecimal_without_sign() {
        assert_eq!(parse_number("0x02"), Some(2));
        assert_eq!(parse_number("10"), Some(10));
        assert_eq!(parse_number("+1"), None);
        assert_eq!(parse_number("0x+1"), None);
        assert_eq!(parse_number("18446744073709551616"), None);
    }
}
