//! Emits the expressions that decode the value of one operator.
//!
//! In every expression, `c` is the cursor, `x` the context, `state` the previous values and `map`
//! the presence map.

use crate::integer::IntegerShape;
use crate::module::Module;
use crate::past::PAST;
use crate::shape::StructShape;
use crate::source::bytes;
use tickwire_fast::rt::expanded::{Operation, SilentValue, StreamContent};
use tickwire_fast::template::{Decimal, FieldType, Value};

/// Longest string that is stored inline, without the arena, bytes.
const SHORT_MAX: usize = 7;

/// An operator of a field: of the whole field, an exponent, a mantissa or a length.
#[derive(Clone, Copy)]
pub(crate) struct FieldPart<'o> {
    pub(crate) operation: &'o Operation<'o>,
    pub(crate) is_optional: bool,
    /// Number of its presence-map bit, if it has one.
    pub(crate) bit: u32,
}

/// Expressions of a value, for the parts of a rule.
struct ValueParts {
    /// Reads it from the stream.
    sent: String,
    /// The initial value, or what replaces it if it is not given.
    initial: String,
    /// The previous value or the next after it.
    derived: String,
}

/// Context that the expressions of a segment share.
pub(crate) struct FieldScene<'m, 'p> {
    pub(crate) module: &'m Module<'p>,
    pub(crate) shape: &'m StructShape<'p>,
    /// The known state of the segment's entries, as a Rust type.
    pub(crate) past: &'static str,
}

impl FieldScene<'_, '_> {
    /// Returns the test of presence-map bit `bit`; consumes the bit if bits are read in order.
    pub(crate) fn test(&self, bit: u32) -> String {
        match self.shape.mode.place(bit) {
            Some(place) => format!("map & (1 << {place}) != 0"),
            None => "map.take()".to_owned(),
        }
    }

    /// As [`test`](Self::test), but true if the bit is 0.
    pub(crate) fn test_unset(&self, bit: u32) -> String {
        match self.shape.mode.place(bit) {
            Some(place) => format!("map & (1 << {place}) == 0"),
            None => "!map.take()".to_owned(),
        }
    }

    /// Returns presence-map bit `bit` as a number, if bits have fixed positions.
    fn sent(&self, bit: u32) -> String {
        match self.shape.mode.place(bit).unwrap_or_default() {
            0 => "(map & 1) as u8".to_owned(),
            shift => format!("(map >> {shift} & 1) as u8"),
        }
    }

    fn peek(&self, bit: u32) -> String {
        match self.shape.mode {
            mode if mode.is_fixed() => self.test(bit),
            _ => "map.peek()".to_owned(),
        }
    }

    /// Returns the type check (D4) of an entry that fields of several types share, as a statement.
    pub(crate) fn check_type(&self, FieldPart { operation, bit, .. }: FieldPart<'_>) -> String {
        let Some(tag) = self.module.expanded.checked_tag(operation) else { return String::new() };
        let slot = self.module.slot(operation);
        let replaces = match operation.rule.replaces_previous_value() {
            true => self.peek(bit),
            false => "false".to_owned(),
        };
        format!("state.check_type({slot}, {tag}, {replaces})?;\n")
    }

    /// Returns the statement that keeps a field's entry unchanged, if one is needed.
    pub(crate) fn leave(&self, operation: &Operation<'_>) -> String {
        match self.past {
            PAST if operation.entry.is_some() => {
                format!("state.leave::<{PAST}>({});", self.module.slot(operation))
            }
            _ => String::new(),
        }
    }

    /// Returns the expression of a value by its rule.
    fn by_rule(&self, part: FieldPart<'_>, parts: &ValueParts) -> String {
        let FieldPart { operation, is_optional, bit } = part;
        let rule = operation.rule;
        let initial = match is_optional {
            true => option(operation.initial.map(|_| parts.initial.clone())),
            false => parts.initial.clone(),
        };
        let sent = if rule.is_constant() { &initial } else { &parts.sent };
        let silent = match rule.silent {
            SilentValue::Never => return sent.clone(),
            SilentValue::Absent => &nothing(&self.leave(operation)),
            SilentValue::Initial => &format!("{}{initial}", self.leave(operation)),
            SilentValue::Previous | SilentValue::Next => &parts.derived,
        };
        format!("if {} {{ {sent} }} else {{ {silent} }}", self.test(bit))
    }

    /// Returns the expression of an integer, as a `u64` or, if optional, an `Option<u64>`.
    pub(crate) fn integer(&self, part: FieldPart<'_>, kind: IntegerShape) -> String {
        let value = self.any_integer(part, kind);
        let some = if part.is_optional { "Some(value)" } else { "value" };
        match self.quick_unsigned(part, kind) {
            Some(quick) => {
                format!("match {quick} {{ Some(value) => {some}, None => {value} }}")
            }
            None => value,
        }
    }

    /// Returns a fast path for values that are mostly one byte or not sent; `None` if it would not
    /// help.
    fn quick_unsigned(&self, part: FieldPart<'_>, kind: IntegerShape) -> Option<String> {
        let FieldPart { operation, is_optional, bit } = part;
        if !operation.rule.replaces_previous_value() {
            return None;
        }
        let next = next(operation, kind);
        let is_plain = !kind.is_signed
            && self.shape.mode.is_fixed()
            && self.module.expanded.checked_tag(operation).is_none();
        if !is_plain || !is_small(part, kind) {
            return None;
        }
        Some(format!(
            "c.quick_unsigned::<{is_optional}, {}, _, _, _>({}, state, {}, {}, {next})",
            self.past,
            self.sent(bit),
            self.module.slot(operation),
            option(initial_integer(operation, kind)),
        ))
    }

    fn any_integer(&self, part: FieldPart<'_>, kind: IntegerShape) -> String {
        let FieldPart { operation, is_optional, .. } = part;
        let past = self.past;
        let slot = self.module.slot(operation);
        let initial = initial_integer(operation, kind);
        let given = option(initial.clone());
        let base = initial.unwrap_or("0".into());
        let (or_empty, or_fail) = suffixes(is_optional);
        let read = kind.read(operation.rule.silent, is_optional);
        let sent = match operation.rule.stream {
            StreamContent::Constant => String::new(),
            StreamContent::Value if operation.rule.derives_from_previous() => {
                format!("let value = {read}; state.assign{or_empty}::<{past}>({slot}, value)")
            }
            StreamContent::Value => read,
            StreamContent::Delta | StreamContent::Tail => {
                let read = format!("c.delta::<{is_optional}>(x)?{or_fail}");
                let added =
                    format!("state.added::<{past}>({slot}, {base}, delta, {})?", kind.add());
                match is_optional {
                    false => format!("{{ let delta = {read}; {added} }}"),
                    true => format!(
                        "match {read} {{ Some(delta) => Some({added}), None => {} }}",
                        nothing(&self.leave(operation))
                    ),
                }
            }
        };
        let next = next(operation, kind);
        let derived = format!("state.derived::<{past}>({slot}, {given}, {next}){or_fail}");
        self.by_rule(part, &ValueParts { sent, initial: base, derived })
    }

    /// Returns the expression of a string or byte vector, as a `Text` or, if optional, an
    /// `Option<Text>`.
    pub(crate) fn text(&self, part: FieldPart<'_>, kind: &FieldType) -> String {
        let FieldPart { operation, is_optional, bit } = part;
        let value = self.any_text(part, kind);
        let is_short =
            !matches!(operation.initial, Some(Value::Bytes(value)) if value.len() > SHORT_MAX);
        let is_quick = !is_optional
            && *kind == FieldType::Ascii
            && operation.rule.replaces_previous_value()
            && self.shape.mode.is_fixed()
            && self.module.expanded.checked_tag(operation).is_none()
            && is_short;
        if !is_quick {
            return value;
        }
        let initial = operation.initial.map(|_| initial_text(operation));
        format!(
            "match c.quick_ascii::<{}, _, _, _>({}, state, {}, {}) {{ Some(text) => text, None => {value} }}",
            self.past,
            self.sent(bit),
            self.module.slot(operation),
            option(initial),
        )
    }

    fn any_text(&self, part: FieldPart<'_>, kind: &FieldType) -> String {
        let FieldPart { operation, is_optional, .. } = part;
        let past = self.past;
        let slot = self.module.slot(operation);
        let (read, charset) = (read_text(kind, is_optional), charset(kind));
        let given = option(initial_bytes(operation));
        let base = initial_bytes(operation).unwrap_or("b\"\"".into());
        let (or_empty, or_fail) = suffixes(is_optional);
        let derived = format!("state.copied_text::<{past}>({slot}, {given}, x)?{or_fail}");
        let changed = |operator: &str| {
            format!(
                "state.{operator}_text::<{is_optional}, _>({slot}, {charset}, {base}, &mut c, x)?{or_fail}"
            )
        };
        let sent = match operation.rule.stream {
            StreamContent::Value if operation.rule.derives_from_previous() => {
                format!("let text = {read}; state.assign_text{or_empty}::<{past}>({slot}, text, x)")
            }
            StreamContent::Constant | StreamContent::Value => read,
            StreamContent::Delta => changed("delta"),
            StreamContent::Tail => changed("tail"),
        };
        let initial = initial_text(operation);
        self.by_rule(part, &ValueParts { sent, initial, derived })
    }

    /// Returns the expression of a decimal with one operator, as a `Decimal` or, if optional, an
    /// `Option<Decimal>`.
    pub(crate) fn decimal(&self, part: FieldPart<'_>) -> String {
        let FieldPart { operation, is_optional, .. } = part;
        let slot = self.module.slot(operation);
        let initial = initial_decimal(operation);
        let given = option(initial.clone());
        let base = initial.unwrap_or("Decimal { mantissa: 0, exponent: 0 }".into());
        let (or_empty, or_fail) = suffixes(is_optional);
        let read = format!("c.decimal::<{is_optional}>(x)?{or_fail}");
        let sent = match operation.rule.stream {
            StreamContent::Value if operation.rule.derives_from_previous() => {
                format!("let value = {read}; state.assign_decimal{or_empty}({slot}, value)")
            }
            StreamContent::Constant | StreamContent::Value => read,
            StreamContent::Delta | StreamContent::Tail => {
                format!(
                    "state.delta_decimal::<{is_optional}, _>({slot}, {base}, &mut c, x)?{or_fail}"
                )
            }
        };
        let derived = format!("state.copied_decimal({slot}, {given}){or_fail}");
        self.by_rule(part, &ValueParts { sent, initial: base, derived })
    }
}

/// Returns the function that turns a previous value into the value of a field that is not in the stream.
fn next(operation: &Operation<'_>, kind: IntegerShape) -> String {
    match operation.rule.silent {
        SilentValue::Never | SilentValue::Absent | SilentValue::Initial | SilentValue::Previous => {
            "rt::same".to_owned()
        }
        SilentValue::Next => kind.next(),
    }
}

/// Returns two suffixes: of the name of a function that assigns a value, and of a call that returns `None`
/// without one. An optional field is absent then; decoding a mandatory one fails.
fn suffixes(is_optional: bool) -> (&'static str, &'static str) {
    if is_optional { ("_or_empty", "") } else { ("", "?") }
}

/// Heuristic: true if values are likely to be one byte. Fields with an initial value, and price
/// levels (optional increments), are small numbers; identifiers and times have no initial value.
fn is_small(part: FieldPart<'_>, kind: IntegerShape) -> bool {
    let is_level = part.is_optional && part.operation.rule.silent == SilentValue::Next;
    match part.operation.initial {
        Some(Value::UInt(value)) => *value < 0x7f,
        _ => kind.bits() <= 16 || is_level,
    }
}

/// Returns an expression that executes `done` and is `None`.
fn nothing(done: &str) -> String {
    if done.is_empty() { "None".to_owned() } else { format!("{{ {done} None }}") }
}

/// Returns `Some(..)` or `None` as source.
pub(crate) fn option(value: Option<String>) -> String {
    value.map_or("None".to_owned(), |value| format!("Some({value})"))
}

fn read_text(kind: &FieldType, is_optional: bool) -> String {
    let (_, or_fail) = suffixes(is_optional);
    match kind {
        FieldType::Ascii => format!("c.ascii::<{is_optional}>(x)?{or_fail}"),
        _ => format!("c.vector::<{is_optional}>({}, x)?{or_fail}", charset(kind)),
    }
}

pub(crate) fn charset(kind: &FieldType) -> &'static str {
    match kind {
        FieldType::Ascii => "Charset::Ascii",
        FieldType::Unicode => "Charset::Unicode",
        _ => "Charset::Bytes",
    }
}

/// The initial value as a `u64`.
pub(crate) fn initial_integer(operation: &Operation<'_>, kind: IntegerShape) -> Option<String> {
    match operation.initial? {
        Value::UInt(value) => Some(kind.literal(*value)),
        Value::Int(value) => Some(kind.literal(*value as u64)),
        _ => None,
    }
}

/// The initial value as a byte string.
pub(crate) fn initial_bytes(operation: &Operation<'_>) -> Option<String> {
    operation.initial.filter(|value| matches!(value, Value::Bytes(_))).map(literal)
}

/// The initial value as a `Text`.
pub(crate) fn initial_text(operation: &Operation<'_>) -> String {
    match operation.initial {
        Some(Value::Bytes(value)) if value.len() <= SHORT_MAX => {
            format!("const {{ TextValue::literal({}) }}", bytes(value))
        }
        Some(Value::Bytes(value)) => format!("x.text({})?", bytes(value)),
        _ => "TextValue::default()".to_owned(),
    }
}

/// The initial value as a `Decimal`.
pub(crate) fn initial_decimal(operation: &Operation<'_>) -> Option<String> {
    operation.initial.filter(|value| matches!(value, Value::Decimal(_))).map(literal)
}

/// Returns a value as source.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Bytes(value) => bytes(value),
        Value::Decimal(Decimal { mantissa, exponent }) => {
            format!("Decimal {{ mantissa: {mantissa}, exponent: {exponent} }}")
        }
        Value::UInt(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
    }
}
