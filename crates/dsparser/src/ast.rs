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
    /// `BLOCK name .. ENDBLOCK`
    Block {
        /// Its name.
        name: String,
        /// What `CALL` puts in its place.
        body: Vec<Statement>,
    },
    /// `CALL name`
    Call {
        /// The block's name.
        name: String,
        /// Where the name stands.
        span: Span,
    },
    /// `SWITCH [operand] .. ENDSWITCH`
    Choose {
        /// The number that selects a case; none where the bytes at the position do.
        selector: Option<Operand>,
        /// The cases in the order of the text.
        cases: Vec<Case>,
        /// What is done if no case fits.
        default: Option<Vec<Statement>>,
    },
    /// `EXECUTE name [FROM MARK]`
    Execute {
        /// The action's name.
        action: String,
        /// Where the name stands.
        span: Span,
        /// Whether its bytes begin at the second mark.
        from_mark: bool,
    },
    /// `IF condition .. [ELSE ..] ENDIF`
    If {
        /// What must hold.
        condition: Condition,
        /// What is done if it does.
        body: Vec<Statement>,
        /// What is done if not.
        otherwise: Vec<Statement>,
    },
    /// `MARK`
    Mark,
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
    /// `READ type name`
    Read {
        /// How its bytes are found and read.
        source: ReadSource,
        /// The name the number is bound to.
        name: String,
        /// Where the name stands.
        span: Span,
    },
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

/// A number in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// One that `READ` bound.
    Name {
        /// The name.
        name: String,
        /// Where it stands.
        span: Span,
    },
    /// Itself.
    Number(i128),
    /// The value the last action returned.
    Value {
        /// Where the word stands.
        span: Span,
    },
}

/// What an `IF` asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// How two numbers compare.
    Compare {
        /// On the left.
        left: Operand,
        /// How.
        comparison: Comparison,
        /// On the right.
        right: Operand,
    },
    /// Whether the bytes at the position match, which are then consumed.
    Matches(PatternText),
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `&`: some bit is set in both.
    CommonBits,
}

/// How `READ` makes a number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadSource {
    /// A binary integer of a fixed size, such as `u16le`.
    Integer(IntegerType),
    /// As a count: an encoding and a pattern.
    Bytes {
        /// How the matched bytes are read.
        encoding: CountEncoding,
        /// Which bytes they are.
        pattern: PatternText,
    },
}

/// A binary integer of a fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerType {
    /// Bytes, 1 to 8.
    pub bytes: u8,
    /// Whether the highest bit is a sign.
    pub is_signed: bool,
    /// Whether the least significant byte comes first.
    pub is_little: bool,
}

/// A count with what is added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Where the number comes from.
    pub source: CountFrom,
    /// What is added: negative after `MINUS`.
    pub adjust: i128,
}

/// Where a count comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountFrom {
    /// From bytes of the packet.
    Bytes {
        /// How the matched bytes are read.
        encoding: CountEncoding,
        /// Which bytes are the count.
        pattern: PatternText,
    },
    /// A number that `READ` bound.
    Name {
        /// The name.
        name: String,
        /// Where it stands.
        span: Span,
    },
    /// Itself.
    Number(u64),
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

/// What selects a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseHead {
    /// A pattern, which is consumed.
    Pattern(PatternText),
    /// Any of these numbers.
    Numbers(Vec<i128>),
}

/// One `CASE head .. ENDCASE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What selects the case.
    pub head: CaseHead,
    /// What follows the match.
    pub body: Vec<Statement>,
    /// Where its keyword stands.
    pub span: Span,
    /// Its number in the order of the text.
    pub index: u32,
}
