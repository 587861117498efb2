//! Parses one line: a keyword and its operands.

use crate::ast::{
    CaseHead, Condition, Count, CountEncoding, CountFrom, Operand, PatternText, ReadSource,
    StatementKind, Until,
};
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span, suggestion};
use crate::lexer::{Token, TokenKind};

use super::span_after;
use super::words::{comparison, integer_type, is_name, parse_integer, parse_number};

/// A construct that opens a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Block,
    Case,
    Choose,
    Default,
    If,
    Loop,
    Repeat,
    Switch,
    WhileCount,
}

impl BlockKind {
    pub(super) const fn keyword(self) -> &'static str {
        match self {
            Self::Block => "BLOCK",
            Self::Case => "CASE",
            Self::Choose => "SWITCH",
            Self::Default => "DEFAULT",
            Self::If => "IF",
            Self::Loop => "LOOP",
            Self::Repeat => "REPEAT",
            Self::Switch => "WSWITCH",
            Self::WhileCount => "WHILECNT",
        }
    }

    /// True if only cases may stand directly inside.
    pub(super) const fn is_switch(self) -> bool {
        matches!(self, Self::Choose | Self::Switch)
    }
}

/// One parsed line, without the block it may open.
#[derive(Clone, Debug)]
pub(super) enum GrammarLine {
    Block(String),
    Case(CaseHead),
    Choose(Option<Operand>),
    Default,
    Else,
    End(BlockKind),
    If(Condition),
    Include {
        path: String,
        span: Span,
    },
    Loop(Option<Until>),
    Repeat(Count),
    /// A statement that opens no block.
    Statement(StatementKind),
    Switch,
    WhileCount(Count),
}

const KEYWORDS: [&str; 26] = [
    "BLOCK",
    "CALL",
    "CASE",
    "DEFAULT",
    "ELSE",
    "ENDBLOCK",
    "ENDCASE",
    "ENDDEFAULT",
    "ENDIF",
    "ENDLOOP",
    "ENDREPEAT",
    "ENDSWITCH",
    "ENDWHILECNT",
    "ENDWSWITCH",
    "EXECUTE",
    "IF",
    "INCLUDE",
    "LOOP",
    "MARK",
    "MATCH",
    "PUSH",
    "READ",
    "REPEAT",
    "SEND",
    "SWITCH",
    "WHILECNT",
];

/// The only keyword that is missing from the list above.
const WSWITCH: &str = "WSWITCH";

/// Parses the tokens of a line that has at least one. Returns `None` after a mistake.
pub(super) fn parse_line(
    pieces: &[Token<'_>],
    diagnostics: &mut Diagnostics,
) -> Option<GrammarLine> {
    let mut cursor = TokenCursor { pieces, next: 1, diagnostics };
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
        "BLOCK" => GrammarLine::Block(cursor.name("BLOCK")?.0),
        "CALL" => {
            let (name, span) = cursor.name("CALL")?;
            GrammarLine::Statement(StatementKind::Call { name, span })
        }
        "CASE" => GrammarLine::Case(cursor.case()?),
        "DEFAULT" => GrammarLine::Default,
        "ELSE" => GrammarLine::Else,
        "ENDBLOCK" => GrammarLine::End(BlockKind::Block),
        "ENDCASE" => GrammarLine::End(BlockKind::Case),
        "ENDDEFAULT" => GrammarLine::End(BlockKind::Default),
        "ENDIF" => GrammarLine::End(BlockKind::If),
        "ENDLOOP" => GrammarLine::End(BlockKind::Loop),
        "ENDREPEAT" => GrammarLine::End(BlockKind::Repeat),
        "ENDSWITCH" => GrammarLine::End(BlockKind::Choose),
        "ENDWHILECNT" => GrammarLine::End(BlockKind::WhileCount),
        "ENDWSWITCH" => GrammarLine::End(BlockKind::Switch),
        "EXECUTE" => GrammarLine::Statement(cursor.execute()?),
        "IF" => GrammarLine::If(cursor.condition()?),
        "INCLUDE" => {
            let PatternText { text: path, span } = cursor.pattern("INCLUDE")?;
            GrammarLine::Include { path, span }
        }
        "LOOP" => GrammarLine::Loop(cursor.until()?),
        "MARK" => GrammarLine::Statement(StatementKind::Mark),
        "MATCH" => {
            let pattern = cursor.pattern("MATCH")?;
            GrammarLine::Statement(StatementKind::Match { pattern })
        }
        "PUSH" => GrammarLine::Statement(StatementKind::Push),
        "READ" => GrammarLine::Statement(cursor.read()?),
        "REPEAT" => GrammarLine::Repeat(cursor.count("REPEAT")?),
        "SEND" => GrammarLine::Statement(cursor.send()?),
        "SWITCH" => GrammarLine::Choose(cursor.selector()?),
        "WHILECNT" => GrammarLine::WhileCount(cursor.count("WHILECNT")?),
        _ => GrammarLine::Switch,
    };
    cursor.end_of_line(keyword);
    Some(line)
}

fn keyword(word: &str, span: Span, diagnostics: &mut Diagnostics) -> Option<&'static str> {
    let known = || KEYWORDS.into_iter().chain([WSWITCH]);
    let found = known().find(|known| *known == word);
    if found.is_none() {
        let help = match suggestion(word, known()) {
            Some(near) => format!("did you mean {near}? Keywords are in capitals"),
            None => format!("the keywords are {}, {WSWITCH}", KEYWORDS.join(", ")),
        };
        let message = format!("unknown keyword `{word}`");
        diagnostics.push(span, DiagnosticKind::UnknownKeyword, message, help);
    }
    found
}

/// The remaining tokens of a line.
struct TokenCursor<'a, 't> {
    pieces: &'a [Token<'t>],
    next: usize,
    diagnostics: &'a mut Diagnostics,
}

impl<'t> TokenCursor<'_, 't> {
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

    fn execute(&mut self) -> Option<StatementKind> {
        let span = self.span();
        let Some(action) = self.word().map(str::to_owned) else {
            self.syntax("EXECUTE needs the name of an action", "write the name without quotes");
            return None;
        };
        let from_mark = self.word_is("FROM");
        if from_mark && !self.word_is("MARK") {
            self.syntax("FROM is followed by MARK", "write EXECUTE name FROM MARK");
            return None;
        }
        Some(StatementKind::Execute { action, span, from_mark })
    }

    /// Parses a name and returns it with its position.
    fn name(&mut self, after: &str) -> Option<(String, Span)> {
        let span = self.span();
        match self.word().filter(|word| is_name(word)) {
            Some(name) => Some((name.to_owned(), span)),
            None => {
                let message = format!("{after} needs a name here");
                self.syntax(message, "write a small letter, then letters, digits and underscores");
                None
            }
        }
    }

    fn case(&mut self) -> Option<CaseHead> {
        if !matches!(self.pieces.get(self.next), Some(Token { kind: TokenKind::Word(_), .. })) {
            return self.pattern("CASE").map(CaseHead::Pattern);
        }
        let mut numbers = Vec::new();
        while self.next < self.pieces.len() {
            let before = self.next;
            let Some(number) = self.word().and_then(parse_integer) else {
                self.next = before;
                self.syntax("CASE needs a pattern or numbers", "write \"..\", or 1 2 0x10");
                return None;
            };
            numbers.push(number);
        }
        Some(CaseHead::Numbers(numbers))
    }

    fn selector(&mut self) -> Option<Option<Operand>> {
        match self.next < self.pieces.len() {
            true => self.operand("SWITCH").map(Some),
            false => Some(None),
        }
    }

    fn condition(&mut self) -> Option<Condition> {
        if let Some(Token { kind: TokenKind::Pattern(_), .. }) = self.pieces.get(self.next) {
            return self.pattern("IF").map(Condition::Matches);
        }
        let left = self.operand("IF")?;
        let before = self.next;
        let Some(comparison) = self.word().and_then(comparison) else {
            self.next = before;
            self.syntax("IF needs a comparison here", "write ==, !=, <, <=, >, >= or &");
            return None;
        };
        let right = self.operand("IF")?;
        Some(Condition::Compare { left, comparison, right })
    }

    fn operand(&mut self, after: &str) -> Option<Operand> {
        let span = self.span();
        if self.word_is("VALUE") {
            return Some(Operand::Value { span });
        }
        let before = self.next;
        let word = self.word().unwrap_or_default();
        if let Some(number) = parse_integer(word) {
            return Some(Operand::Number(number));
        }
        if is_name(word) {
            return Some(Operand::Name { name: word.to_owned(), span });
        }
        self.next = before;
        let message = format!("{after} needs a name, VALUE or a number here");
        self.syntax(message, "READ binds numbers to names");
        None
    }

    fn read(&mut self) -> Option<StatementKind> {
        let source = match self.pieces.get(self.next).map(|token| &token.kind) {
            Some(TokenKind::Word(word)) if integer_type(word).is_some() => {
                self.next += 1;
                integer_type(word).map(ReadSource::Integer)?
            }
            Some(TokenKind::Word("LITTLE" | "DECIMAL" | "STOPBIT") | TokenKind::Pattern(_)) => {
                let encoding = self.encoding();
                ReadSource::Bytes { encoding, pattern: self.pattern("READ")? }
            }
            _ => {
                self.syntax(
                    "READ needs a type here",
                    "write u8, i8, u16le, u16be and so on up to i64be, or an encoding and a pattern",
                );
                return None;
            }
        };
        let (name, span) = self.name("READ")?;
        Some(StatementKind::Read { source, name, span })
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
        let source = self.count_from(after)?;
        let sign = match () {
            () if self.word_is("MINUS") => -1,
            () if self.word_is("PLUS") => 1,
            () => return Some(Count { source, adjust: 0 }),
        };
        let before = self.next;
        let Some(number) = self.word().and_then(parse_number) else {
            self.next = before;
            self.syntax("MINUS and PLUS need a number", "write it in decimal or as 0x..");
            return None;
        };
        Some(Count { source, adjust: sign * i128::from(number) })
    }

    fn count_from(&mut self, after: &str) -> Option<CountFrom> {
        let span = self.span();
        if self.word_is("VALUE") {
            return Some(CountFrom::Value { span });
        }
        let encoding = self.encoding();
        let Some(Token { kind: TokenKind::Word(word), .. }) = self.pieces.get(self.next) else {
            return Some(CountFrom::Bytes { encoding, pattern: self.pattern(after)? });
        };
        let is_plain = encoding == CountEncoding::BigEndian;
        if let Some(number) = parse_number(word).filter(|_| is_plain) {
            self.next += 1;
            return Some(CountFrom::Number(number));
        }
        if is_plain && is_name(word) {
            self.next += 1;
            return Some(CountFrom::Name { name: (*word).to_owned(), span });
        }
        self.syntax(
            format!("{after} does not know `{word}`"),
            "write VALUE, a number, a name that READ bound, or a pattern with nothing, LITTLE, DECIMAL or \
             STOPBIT before it",
        );
        None
    }

    fn encoding(&mut self) -> CountEncoding {
        if self.word_is("LITTLE") {
            CountEncoding::LittleEndian
        } else if self.word_is("DECIMAL") {
            CountEncoding::Decimal
        } else if self.word_is("STOPBIT") {
            CountEncoding::StopBit
        } else {
            CountEncoding::BigEndian
        }
    }

    fn send(&mut self) -> Option<StatementKind> {
        let code = self.number("code", u64::from(u32::MAX))?;
        let value = self.number("value", u64::MAX)?;
        Some(StatementKind::Send { code: u32::try_from(code).ok()?, value })
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
                "write one statement per line, and # before a comment",
            );
        }
    }
}
