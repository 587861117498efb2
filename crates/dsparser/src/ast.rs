//! The syntax tree of a grammar: statements in blocks, with names not yet resolved.

use crate::diagnostic::Span;

/// Text between quotes, with the position of its first character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternText {
    /// The text between the quotes.
    pub text: String,
    /// Position of its first character.
    pub span: Span,
}

/// One statement, with its block if it opens one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The statement itself.
    pub kind: StatementKind,
    /// Position of its keyword.
    pub span: Span,
    /// Its number in the order of the text, from 0; errors report this index.
    pub index: u32,
}

/// A statement, with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementKind {
    /// `BLOCK name .. ENDBLOCK`
    Block {
        /// Its name.
        name: String,
        /// The statements that replace each `CALL`.
        body: Vec<Statement>,
    },
    /// `CALL name`
    Call {
        /// The block's name.
        name: String,
        /// Position of the name.
        span: Span,
    },
    /// `SWITCH [operand] .. ENDSWITCH`
    Choose {
        /// The number that selects a case; `None` for a switch by the bytes at the position.
        selector: Option<Operand>,
        /// The cases in the order of the text.
        cases: Vec<Case>,
        /// Statements to run if no case fits; `None` if there is no `DEFAULT`.
        default: Option<Vec<Statement>>,
    },
    /// `EXECUTE name [FROM MARK]`
    Execute {
        /// The action's name.
        action: String,
        /// Position of the name.
        span: Span,
        /// True if the action's bytes begin at the second mark (`FROM MARK`).
        from_mark: bool,
    },
    /// `IF condition .. [ELSE ..] ENDIF`
    If {
        /// The condition.
        condition: Condition,
        /// Statements to run if the condition holds.
        body: Vec<Statement>,
        /// Statements to run if it does not hold.
        otherwise: Vec<Statement>,
    },
    /// `MARK`
    Mark,
    /// `LOOP [UNTIL [LAST] "re"] .. ENDLOOP`
    Loop {
        /// The pattern that ends the loop, if there is an `UNTIL`.
        until: Option<Until>,
        /// Statements to repeat.
        body: Vec<Statement>,
    },
    /// `MATCH "re"`
    Match {
        /// The pattern that the bytes at the position must match.
        pattern: PatternText,
    },
    /// `PUSH`
    Push,
    /// `READ type name`
    Read {
        /// The type of the number and the bytes it is read from.
        source: ReadSource,
        /// The name the number is bound to.
        name: String,
        /// Position of the name.
        span: Span,
    },
    /// `REPEAT count .. ENDREPEAT`
    Repeat {
        /// Number of repetitions.
        count: Count,
        /// Statements to repeat.
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
        /// Number of bytes.
        count: Count,
        /// Statements to repeat until these bytes are consumed.
        body: Vec<Statement>,
    },
    /// `WSWITCH .. ENDWSWITCH`
    Switch {
        /// The cases in the order of the text.
        cases: Vec<Case>,
    },
}

/// The end condition of a `LOOP UNTIL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Until {
    /// The pattern that ends the loop and is consumed.
    pub pattern: PatternText,
    /// True if the match must reach the end of the input (`LAST`).
    pub last: bool,
}

/// A number in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A number that `READ` bound to a name.
    Name {
        /// The name.
        name: String,
        /// Position of the name.
        span: Span,
    },
    /// A literal number.
    Number(i128),
    /// The value the last action returned.
    Value {
        /// Position of the word `VALUE`.
        span: Span,
    },
}

/// The condition of an `IF`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A comparison of two numbers.
    Compare {
        /// The left operand.
        left: Operand,
        /// The comparison operator.
        comparison: Comparison,
        /// The right operand.
        right: Operand,
    },
    /// A pattern that must match the bytes at the position; a match is consumed.
    Matches(PatternText),
}

/// A comparison operator.
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
    /// `&`: at least one bit is set in both.
    CommonBits,
}

/// The source of the number that `READ` binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadSource {
    /// A binary integer of a fixed size, such as `u16le`.
    Integer(IntegerType),
    /// An encoding and a pattern, as for a count.
    Bytes {
        /// Encoding of the matched bytes.
        encoding: CountEncoding,
        /// Pattern that matches the number's bytes.
        pattern: PatternText,
    },
}

/// A binary integer of a fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerType {
    /// Bytes, 1 to 8.
    pub bytes: u8,
    /// True for a signed (two's complement) type.
    pub is_signed: bool,
    /// True if the least significant byte comes first.
    pub is_little: bool,
}

/// A count with its adjustment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Source of the number.
    pub source: CountFrom,
    /// Number added to it; negative after `MINUS`.
    pub adjust: i128,
}

/// The source of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountFrom {
    /// A number in the packet's bytes.
    Bytes {
        /// Encoding of the matched bytes.
        encoding: CountEncoding,
        /// Pattern that matches the count's bytes.
        pattern: PatternText,
    },
    /// A number that `READ` bound.
    Name {
        /// The name.
        name: String,
        /// Position of the name.
        span: Span,
    },
    /// A literal number.
    Number(u64),
    /// The value the last action returned.
    Value {
        /// Position of the word `VALUE`.
        span: Span,
    },
}

/// The encoding of a count's bytes. All counts are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountEncoding {
    /// Most significant byte first; the default.
    BigEndian,
    /// `DECIMAL`: leading ASCII digits of the match; the rest of the match is a separator.
    Decimal,
    /// `LITTLE`: least significant byte first.
    LittleEndian,
    /// `STOPBIT`: the low seven bits of each byte, most significant group first.
    StopBit,
}

/// The selector of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseHead {
    /// A pattern; a match is consumed.
    Pattern(PatternText),
    /// Numbers, any of which selects the case.
    Numbers(Vec<i128>),
}

/// One `CASE head .. ENDCASE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The selector of the case.
    pub head: CaseHead,
    /// Statements to run after the match.
    pub body: Vec<Statement>,
    /// Position of its keyword.
    pub span: Span,
    /// Its number in the order of the text.
    pub index: u32,
}
