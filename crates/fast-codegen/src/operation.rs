//! Expressions that decode the value of one operator.
//!
//! In every expression `c` is the cursor, `x` the context, `state` the previous values and `map` the
//! presence map.

use crate::integer::Integer;
use crate::module::Module;
use crate::shape::{MapMode, Shape};
use crate::source::bytes;
use tickwire_fast::rt::plan::{Operation, OperatorKind};
use tickwire_fast::template::{FieldType, Value};

/// What expressions of a segment have in common.
pub(crate) struct Scene<'m, 'p> {
    pub(crate) module: &'m Module<'p>,
    pub(crate) shape: &'m Shape<'p>,
}

impl Scene<'_, '_> {
    /// Whether the presence-map bit of number `bit` is set; uses it up where bits are taken.
    pub(crate) fn test(&self, bit: u32) -> String {
        match self.shape.mode {
            MapMode::Fixed => format!("map & (1 << {}) != 0", 63 - bit),
            MapMode::Narrow => format!("map & (1 << {}) != 0", 31 - bit),
            _ => "map.take()".to_owned(),
        }
    }

    /// As [`test`](Self::test): whether it is not set.
    pub(crate) fn test_unset(&self, bit: u32) -> String {
        match self.shape.mode {
            MapMode::Fixed => format!("map & (1 << {}) == 0", 63 - bit),
            MapMode::Narrow => format!("map & (1 << {}) == 0", 31 - bit),
            _ => "!map.take()".to_owned(),
        }
    }

    fn peek(&self, bit: u32) -> String {
        match self.shape.mode {
            mode if mode.is_fixed() => self.test(bit),
            _ => "map.peek()".to_owned(),
        }
    }

    /// The check of an entry that types share, as a statement.
    pub(crate) fn check_type(&self, operation: &Operation<'_>, bit: u32) -> String {
        let Some(tag) = operation.checked_tag else { return String::new() };
        let slot = self.module.slot(operation);
        let replaces = match operation.kind {
            OperatorKind::Copy | OperatorKind::Increment => self.peek(bit),
            _ => "false".to_owned(),
        };
        format!("state.check_type({slot}, {tag}, {replaces})?;\n")
    }

    /// An integer that is always there, as a `u64`.
    pub(crate) fn integer(&self, operation: &Operation<'_>, kind: Integer, bit: u32) -> String {
        let slot = self.module.slot(operation);
        let initial = initial_integer(operation, kind);
        let given = option(initial.clone());
        let read = kind.read();
        match operation.kind {
            OperatorKind::None => kind.read_plain(),
            OperatorKind::Constant => initial.unwrap_or("0".into()),
            OperatorKind::Default => {
                let initial = initial.unwrap_or("0".into());
                format!("if {} {{ {read} }} else {{ {initial} }}", self.test(bit))
            }
            OperatorKind::Copy => format!(
                "if {} {{ let value = {read}; state.assign::<false>({slot}, value) }} \
                 else {{ state.copied::<false>({slot}, {given})? }}",
                self.test(bit)
            ),
            OperatorKind::Increment => format!(
                "if {} {{ let value = {read}; state.assign::<false>({slot}, value) }} \
                 else {{ state.incremented::<false>({slot}, {given}, {})? }}",
                self.test(bit),
                kind.next()
            ),
            OperatorKind::Delta | OperatorKind::Tail => {
                let base = initial.unwrap_or("0".into());
                format!(
                    "{{ let delta = c.signed_word(x)?; \
                     state.added::<false>({slot}, {base}, delta, {})? }}",
                    kind.add()
                )
            }
        }
    }

    /// An integer that may be absent, as an `Option<u64>`.
    pub(crate) fn integer_optional(
        &self,
        operation: &Operation<'_>,
        kind: Integer,
        bit: u32,
    ) -> String {
        let slot = self.module.slot(operation);
        let initial = initial_integer(operation, kind);
        let given = option(initial.clone());
        let read = kind.read_nullable();
        match operation.kind {
            OperatorKind::None => read,
            OperatorKind::Constant => {
                format!("if {} {{ {given} }} else {{ None }}", self.test(bit))
            }
            OperatorKind::Default => {
                format!("if {} {{ {read} }} else {{ {given} }}", self.test(bit))
            }
            OperatorKind::Copy => format!(
                "if {} {{ let value = {read}; state.assign_or_empty::<false>({slot}, value) }} \
                 else {{ state.copied_optional::<false>({slot}, {given}) }}",
                self.test(bit)
            ),
            OperatorKind::Increment => format!(
                "if {} {{ let value = {read}; state.assign_or_empty::<false>({slot}, value) }} \
                 else {{ state.incremented_optional::<false>({slot}, {given}, {}) }}",
                self.test(bit),
                kind.next()
            ),
            OperatorKind::Delta | OperatorKind::Tail => {
                let base = initial.unwrap_or("0".into());
                format!(
                    "match c.delta_nullable(x)? {{ \
                     Some(delta) => Some(state.added::<false>({slot}, {base}, delta, {})?), \
                     None => None }}",
                    kind.add()
                )
            }
        }
    }

    /// A string or byte vector that is always there, as a `Text`.
    pub(crate) fn text(&self, operation: &Operation<'_>, kind: &FieldType, bit: u32) -> String {
        let slot = self.module.slot(operation);
        let (read, charset) = (read_text(kind), charset(kind));
        let given = option(initial_bytes(operation));
        let base = initial_bytes(operation).unwrap_or("b\"\"".into());
        match operation.kind {
            OperatorKind::None | OperatorKind::Increment => read,
            OperatorKind::Constant => initial_text(operation),
            OperatorKind::Default => {
                format!("if {} {{ {read} }} else {{ {} }}", self.test(bit), initial_text(operation))
            }
            OperatorKind::Copy => format!(
                "if {} {{ let text = {read}; state.assign_text::<false>({slot}, text, x) }} \
                 else {{ state.copied_text::<false>({slot}, {given}, x)? }}",
                self.test(bit)
            ),
            OperatorKind::Tail => format!(
                "if {} {{ state.tail_text({slot}, {charset}, {base}, &mut c, x)? }} \
                 else {{ state.copied_text::<false>({slot}, {given}, x)? }}",
                self.test(bit)
            ),
            OperatorKind::Delta => {
                format!("state.delta_text({slot}, {charset}, {base}, &mut c, x)?")
            }
        }
    }

    /// A string or byte vector that may be absent, as an `Option<Text>`.
    pub(crate) fn text_optional(
        &self,
        operation: &Operation<'_>,
        kind: &FieldType,
        bit: u32,
    ) -> String {
        let slot = self.module.slot(operation);
        let (read, charset) = (read_text_nullable(kind), charset(kind));
        let given = option(initial_bytes(operation));
        let base = initial_bytes(operation).unwrap_or("b\"\"".into());
        let initial = option(operation.initial.map(|_| initial_text(operation)));
        match operation.kind {
            OperatorKind::None | OperatorKind::Increment => read,
            OperatorKind::Constant => {
                format!("if {} {{ {initial} }} else {{ None }}", self.test(bit))
            }
            OperatorKind::Default => {
                format!("if {} {{ {read} }} else {{ {initial} }}", self.test(bit))
            }
            OperatorKind::Copy => format!(
                "if {} {{ let text = {read}; \
                 state.assign_text_or_empty::<false>({slot}, text, x) }} \
                 else {{ state.copied_text_optional::<false>({slot}, {given}, x)? }}",
                self.test(bit)
            ),
            OperatorKind::Tail => format!(
                "if {} {{ state.tail_text_optional({slot}, {charset}, {base}, &mut c, x)? }} \
                 else {{ state.copied_text_optional::<false>({slot}, {given}, x)? }}",
                self.test(bit)
            ),
            OperatorKind::Delta => {
                format!("state.delta_text_optional({slot}, {charset}, {base}, &mut c, x)?")
            }
        }
    }

    /// A decimal with one operator that is always there.
    pub(crate) fn decimal(&self, operation: &Operation<'_>, bit: u32) -> String {
        let slot = self.module.slot(operation);
        let initial = initial_decimal(operation);
        let given = option(initial.clone());
        let base = initial.unwrap_or("Decimal { mantissa: 0, exponent: 0 }".into());
        match operation.kind {
            OperatorKind::Constant => base,
            OperatorKind::Default => {
                format!("if {} {{ c.decimal(x)? }} else {{ {base} }}", self.test(bit))
            }
            OperatorKind::Copy => format!(
                "if {} {{ let value = c.decimal(x)?; state.assign_decimal({slot}, value) }} \
                 else {{ state.copied_decimal({slot}, {given})? }}",
                self.test(bit)
            ),
            OperatorKind::Delta => format!("state.delta_decimal({slot}, {base}, &mut c, x)?"),
            _ => "c.decimal(x)?".to_owned(),
        }
    }

    /// A decimal with one operator that may be absent, as an `Option<Decimal>`.
    pub(crate) fn decimal_optional(&self, operation: &Operation<'_>, bit: u32) -> String {
        let slot = self.module.slot(operation);
        let initial = initial_decimal(operation);
        let given = option(initial.clone());
        let base = initial.unwrap_or("Decimal { mantissa: 0, exponent: 0 }".into());
        let read = "c.decimal_nullable(x)?";
        match operation.kind {
            OperatorKind::Constant => {
                format!("if {} {{ {given} }} else {{ None }}", self.test(bit))
            }
            OperatorKind::Default => {
                format!("if {} {{ {read} }} else {{ {given} }}", self.test(bit))
            }
            OperatorKind::Copy => format!(
                "if {} {{ let value = {read}; state.assign_decimal_or_empty({slot}, value) }} \
                 else {{ state.copied_decimal_optional({slot}, {given}) }}",
                self.test(bit)
            ),
            OperatorKind::Delta => {
                format!("state.delta_decimal_optional({slot}, {base}, &mut c, x)?")
            }
            _ => read.to_owned(),
        }
    }
}

/// `Some(..)` or `None`.
pub(crate) fn option(value: Option<String>) -> String {
    value.map_or("None".to_owned(), |value| format!("Some({value})"))
}

fn read_text(kind: &FieldType) -> String {
    match kind {
        FieldType::Ascii => "c.ascii(x)?".to_owned(),
        _ => format!("c.vector({}, x)?", charset(kind)),
    }
}

fn read_text_nullable(kind: &FieldType) -> String {
    match kind {
        FieldType::Ascii => "c.ascii_nullable(x)?".to_owned(),
        _ => format!("c.vector_nullable({}, x)?", charset(kind)),
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
pub(crate) fn initial_integer(operation: &Operation<'_>, kind: Integer) -> Option<String> {
    match operation.initial? {
        Value::UInt(value) => Some(kind.literal(*value)),
        Value::Int(value) => Some(kind.literal(*value as u64)),
        _ => None,
    }
}

/// The initial value as a byte string.
pub(crate) fn initial_bytes(operation: &Operation<'_>) -> Option<String> {
    match operation.initial? {
        Value::Bytes(value) => Some(bytes(value)),
        _ => None,
    }
}

/// The initial value as a `Text`.
pub(crate) fn initial_text(operation: &Operation<'_>) -> String {
    match operation.initial {
        Some(Value::Bytes(value)) if value.len() <= 7 => {
            format!("const {{ Text::literal({}) }}", bytes(value))
        }
        Some(Value::Bytes(value)) => format!("x.text({})?", bytes(value)),
        _ => "Text::default()".to_owned(),
    }
}

/// The initial value as a `Decimal`.
pub(crate) fn initial_decimal(operation: &Operation<'_>) -> Option<String> {
    match operation.initial? {
        Value::Decimal(value) => Some(format!(
            "Decimal {{ mantissa: {}, exponent: {} }}",
            value.mantissa, value.exponent
        )),
        _ => None,
    }
}
