//! A grammar as it is written: statements in blocks, nothing resolved yet.

use crate::diagnostic::Span;

/// Text between quotes, and where its first character stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternText {
    /// The text between the quotes.
    pub text: String,
    /// Where it begins.
    pub span: Span,
}

/// One statement, with its block if it opens one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// Where its keyword stands.
    pub span: Span,
    /// Its number in the order of the text, from 0; the index errors use.
    pub index: u32,
}

/// What a statement says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementKind {
    /// `EXECUTE name`
    Execute {
        /// The action's name.
        action: String,
        /// Where the name stands.
        span: Span,
    },
    /// `LOOP [UNTIL [LAST] "re"] .. ENDLOOP`
    Loop {
        /// What ends the loop, if it says so.
        until: Option<Until>,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// `MATCH "re"`
    Match {
        /// What the bytes at the position must match.
        pattern: PatternText,
    },
    /// `PUSH`
    Push,
    /// `REPEAT count .. ENDREPEAT`
    Repeat {
        /// How often.
        count: Count,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// `SEND code value`
    Send {
        /// The event's code.
        code: u32,
        /// The event's value.
        value: u64,
    },
    /// `WHILECNT count .. ENDWHILECNT`
    WhileCount {
        /// How many bytes.
        count: Count,
        /// What is repeated until they are used up.
        body: Vec<Statement>,
    },
    /// `WSWITCH .. ENDWSWITCH`
    Switch {
        /// The cases in the order of the text.
        cases: Vec<Case>,
    },
}

/// What ends a `LOOP UNTIL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Until {
    /// The pattern that ends the loop and is consumed.
    pub pattern: PatternText,
    /// Whether it must be the last of the input.
    pub last: bool,
}

/// Where a count comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// From bytes of the packet.
    Bytes {
        /// How the matched bytes are read.
        encoding: CountEncoding,
        /// Which bytes are the count.
        pattern: PatternText,
    },
    /// The value the last action returned.
    Value {
        /// Where the word stands.
        span: Span,
    },
}

/// How the bytes of a count are read. All counts are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountEncoding {
    /// Most significant byte first: the plain form.
    BigEndian,
    /// `DECIMAL`: the ASCII digits the match begins with; what follows them is a separator.
    Decimal,
    /// `LITTLE`: least significant byte first.
    LittleEndian,
    /// `STOPBIT`: the low seven bits of each byte, most significant first.
    StopBit,
}

/// One `CASE "re" .. ENDCASE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The pattern that selects the case and is consumed.
    pub pattern: PatternText,
    /// What follows the match.
    pub body: Vec<Statement>,
    /// Where its keyword stands.
    pub span: Span,
    /// Its number in the order of the text.
    pub index: u32,
}
