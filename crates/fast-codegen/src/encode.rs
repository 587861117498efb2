//! Emits the functions that encode.
//!
//! If every presence-map bit has a fixed position, a function first decides for each field whether
//! it is sent, then writes the map, then the fields. Otherwise, or if two fields of a segment share
//! a dictionary entry, it reserves the map and writes the fields one by one.

use crate::decode::saved;
use crate::integer::IntegerShape;
use crate::module::Module;
use crate::operation::{
    FieldPart, charset, initial_bytes, initial_decimal, initial_integer, initial_text, option,
};
use crate::shape::{Root, StructMember, StructShape};
use tickwire_fast::rt::expanded::{FieldKind, Operation, SilentValue, StreamContent};
use tickwire_fast::template::{FieldType, Value};

/// Most bits of a presence map that is written with one store.
const MAP_BITS_MAX: u32 = 56;
/// Most bytes of a presence map that is written with one store.
const MAP_LEN_MAX: u32 = 8;
/// Most bytes of a 32-bit integer, nullable or not.
const INTEGER_LEN_MAX: u32 = 5;

/// Presence bits in the first byte of a map.
const FIRST_BITS: u32 = 7;

const ALLOW: &str = "#[allow(unused_variables, unused_mut, clippy::collapsible_if)]";

/// Code for one operator: statements before the decision, the decision to send, and the write.
struct EncodeStep {
    before: String,
    /// When the operator is sent; `None` if it has no bit.
    sends: Option<Sends>,
    write: String,
}

/// When an operator with a bit is sent.
enum Sends {
    /// If this condition is true.
    If(String),
    /// If this option is `Some`; `write` then uses its content as `value`.
    Given(String),
}

impl Sends {
    /// Returns the expression of the presence-map bit.
    fn bit(&self) -> String {
        match self {
            Self::If(condition) => condition.clone(),
            Self::Given(value) => format!("{value}.is_some()"),
        }
    }

    /// Returns the condition of `write`.
    fn test(&self) -> String {
        match self {
            Self::If(condition) => format!("if {condition}"),
            Self::Given(value) => format!("if let Some(value) = {value}"),
        }
    }
}

impl EncodeStep {
    /// Emits a field with `value`, an `Option` if the field is optional. `present` returns the statements
    /// that write a value that is there.
    fn of(
        before: String,
        sends: Option<Sends>,
        value: &str,
        is_optional: bool,
        present: impl Fn(&str) -> String,
    ) -> Self {
        let write = match (&sends, is_optional) {
            (Some(Sends::Given(_)), _) => present("value"),
            (_, false) => present(value),
            (_, true) => {
                let present = present("value");
                // A single expression needs no block.
                let single = present.strip_suffix(';').filter(|single| !single.contains(';'));
                let arm = single.map_or(format!("{{ {present} }}"), str::to_owned);
                format!("match {value} {{ Some(value) => {arm}, None => o.null()? }}")
            }
        };
        Self { before, sends, write: write + "\n" }
    }
}

impl<'p> Module<'p> {
    /// Returns the function that encodes a shape; empty for a module with a projection.
    pub(crate) fn encode_functions(&self, shape: &StructShape<'p>) -> String {
        if !self.is_complete {
            return String::new();
        }
        let encoding = EncodePrinter { module: self, shape, is_open: self.is_open(shape) };
        match &shape.root {
            Some(root) => encoding.root(root),
            None => encoding.segment(),
        }
    }

    /// True if the map of a shape is written bit by bit.
    fn is_open(&self, shape: &StructShape<'p>) -> bool {
        !shape.mode.is_fixed()
            || shape.map_bits > MAP_BITS_MAX
            || shape.body.is_dynamic()
            || shape.uses().values().any(|count| *count > 1)
    }
}

struct EncodePrinter<'m, 'p> {
    module: &'m Module<'p>,
    shape: &'m StructShape<'p>,
    is_open: bool,
}

impl<'p> EncodePrinter<'_, 'p> {
    fn root(&self, root: &Root) -> String {
        let (module, shape) = (self.module, self.shape);
        let Root { number, id, .. } = root;
        let function = shape.function("encode");
        let range = module.saved_range(root);
        let beginning = module.beginning(root, "if x.obeys_reset() { state.reset_values(); }\n");
        let arena = match shape.has_text {
            true => "let arena = &m.arena[..];\n",
            false => "let arena: &[u8] = &[];\n",
        };
        let body = self.body(&format!("if is_named {{ o.unsigned({id})?; }}\n"));
        let call = format!("{function}_fields(self, o, state, x)");
        let is_saved = if module.has_references() { "!x.is_nested()" } else { "true" };
        let (run, expect) = match self.longest() {
            Some(bytes) => (call, format!("o.expect_room({bytes})?;\n")),
            None => (saved(is_saved, &range, &call, "end"), String::new()),
        };
        let outgoing = outgoing_of(&shape.name, &run);
        format!(
            "{outgoing}{ALLOW}
            #[inline(always)]
            fn {function}_fields<'o, K: CpuKernel>(m: &{name}, mut o: OutputCursor<'o, K>, state: &mut State, x: &mut CodingContext) \
             -> Option<OutputCursor<'o, K>> {{
                x.begin_message({depth})?;
                {expect}{arena}let is_named = state.last_template() != Some({number});
                if is_named {{ state.set_last_template({number}); }}
                {beginning}{body}Some(o)
            }}\n",
            name = shape.name,
            depth = root.depth,
        )
    }

    fn segment(&self) -> String {
        let body = self.body("");
        outgoing_of(&self.shape.name, &format!("let m = self;\nlet mut o = o;\n{body}Some(o)"))
    }

    /// Returns the most bytes of a message whose encoding can only fail for lack of room in the
    /// output; `None` for other messages.
    fn longest(&self) -> Option<u32> {
        let is_certain = |member: &StructMember<'_>| match &member.plan.kind {
            FieldKind::Scalar { field_type, operation } => {
                let is_narrow = IntegerShape::of(field_type).is_some_and(|kind| kind.bits() < 64);
                operation.rule.is_constant() || is_narrow && !operation.rule.has_base()
            }
            _ => false,
        };
        let members = &self.shape.members;
        let is_certain = !self.is_open && members.iter().all(is_certain);
        is_certain.then(|| MAP_LEN_MAX + INTEGER_LEN_MAX * (members.len() as u32 + 1))
    }

    /// Returns the statements of a segment; `named` writes the template id.
    fn body(&self, named: &str) -> String {
        if self.is_open || !self.shape.has_map() {
            self.open_body(named)
        } else {
            self.closed_body(named)
        }
    }

    /// Decides about the fields of the map's first byte while it writes them; decides about later
    /// fields before, because they determine the length of the map.
    fn closed_body(&self, named: &str) -> String {
        // The last bit is the lowest: tests of low bits have the shortest instructions.
        let bits = self.shape.map_bits;
        let behind = bits.saturating_sub(FIRST_BITS);
        let (mut ask, mut write) = (String::new(), String::new());
        for member in &self.shape.members {
            let mut bit = member.bit;
            for step in self.steps(member) {
                let Some(sends) = step.sends else {
                    write.push_str(&(step.before + &step.write));
                    continue;
                };
                if bit < FIRST_BITS {
                    let place = FIRST_BITS - 1 - bit;
                    write.push_str(&format!(
                        "{}{} {{ first |= 1 << {place}; {} }}\n",
                        step.before,
                        sends.test(),
                        step.write
                    ));
                } else {
                    let place = bits - 1 - bit;
                    let (before, bit) = (step.before, sends.bit());
                    let shift = if place > 0 { format!(" << {place}") } else { String::new() };
                    ask.push_str(&format!("{before}map |= u64::from({bit}){shift};\n"));
                    let test = match sends {
                        Sends::If(_) => format!("if map & (1 << {place}) != 0"),
                        Sends::Given(_) => sends.test(),
                    };
                    if !step.write.is_empty() {
                        write.push_str(&format!("{test} {{ {} }}\n", step.write));
                    }
                }
                bit += 1;
            }
        }
        let map = match ask.is_empty() {
            true => "0".to_owned(),
            false => format!("map << {}", u64::BITS - FIRST_BITS - behind),
        };
        let begin = if ask.is_empty() { "" } else { "let mut map = 0u64;\n" };
        let first = match self.shape.root {
            Some(_) => "u8::from(is_named) << 6",
            None => "0u8",
        };
        let is_changed = if write.contains("first |=") { "mut " } else { "" };
        format!(
            "{begin}{ask}let map_at = o.begin_behind::<{behind}>({map})?;\n\
             let {is_changed}first = {first};\n{named}{write}o.end_first(map_at, first);\n"
        )
    }

    fn open_body(&self, named: &str) -> String {
        let shape = self.shape;
        let mut text = String::new();
        if shape.has_map() {
            text.push_str(&format!("let mut map = o.begin_map({})?;\n", shape.map_bits));
        }
        if shape.root.is_some() {
            text.push_str("o.push_bit(&mut map, is_named);\n");
        }
        text.push_str(named);
        for member in &shape.members {
            let mut close = String::new();
            for (number, step) in self.steps(member).into_iter().enumerate() {
                if number == 1 && member.plan.is_optional && is_parts(member) {
                    // The mantissa has a bit only if the exponent is present.
                    text.push_str(&format!("if m.{}().is_some() {{\n", member.ident));
                    close.push_str("}\n");
                }
                text.push_str(&step.before);
                text.push_str(&match step.sends {
                    Some(sends) => format!(
                        "let bit = {};\no.push_bit(&mut map, bit);\n{}",
                        sends.bit(),
                        match (step.write.is_empty(), sends) {
                            (true, _) => String::new(),
                            (false, Sends::If(_)) => format!("if bit {{ {} }}\n", step.write),
                            (false, sends) => format!("{} {{ {} }}\n", sends.test(), step.write),
                        }
                    ),
                    None => step.write,
                });
            }
            text.push_str(&close);
        }
        if shape.has_map() {
            text.push_str("o.end_map(map);\n");
        }
        text
    }

    fn steps(&self, member: &StructMember<'p>) -> Vec<EncodeStep> {
        match &member.plan.kind {
            FieldKind::Scalar { field_type, operation } => {
                vec![self.scalar(member, field_type, operation)]
            }
            FieldKind::Parts { exponent, mantissa } => self.parts(member, exponent, mantissa),
            FieldKind::Group(_) => vec![self.group(member)],
            FieldKind::Sequence { length, .. } => self.sequence(member, length),
            FieldKind::Dynamic => vec![self.dynamic(member)],
        }
    }

    fn scalar(
        &self,
        member: &StructMember<'p>,
        field_type: &FieldType,
        operation: &Operation<'_>,
    ) -> EncodeStep {
        let ident = &member.ident;
        let part = member.part(operation);
        let is_optional = part.is_optional;
        if operation.rule.is_constant() {
            let sends = is_optional.then(|| Sends::If(format!("m.{ident}()")));
            return EncodeStep { before: String::new(), sends, write: String::new() };
        }
        match (IntegerShape::of(field_type), field_type) {
            (Some(kind), _) => {
                let value = match is_optional {
                    false => kind.word(&format!("m.{ident}")),
                    true => kind.optional_word(&format!("m.{ident}()")),
                };
                self.integer(part, kind, &value)
            }
            (None, FieldType::Decimal) => self.decimal(part, ident),
            (None, _) => self.text(part, field_type, ident),
        }
    }

    /// Emits an integer's operator; `value` is a `u64`, or an `Option<u64>` if the field may be
    /// absent.
    fn integer(&self, part: FieldPart<'_>, kind: IntegerShape, value: &str) -> EncodeStep {
        let FieldPart { operation, is_optional, .. } = part;
        let slot = self.module.slot(operation);
        let initial = initial_integer(operation, kind);
        let given = option(initial.clone());
        let base = initial.unwrap_or("0".into());
        let sign = if kind.is_signed { "signed" } else { "unsigned" };
        let is_varied =
            operation.rule.replaces_previous_value() && !kind.is_signed && kind.bits() > u16::BITS;
        let suffix = match (is_optional, is_varied) {
            (true, _) => "_nullable",
            (false, true) => "_varied",
            (false, false) => "",
        };
        let sends = if is_optional { "sends_optional" } else { "sends" };
        let follows = |next: &str| {
            let sends = format!("state.{sends}({slot}, {value}, {given}, {next})");
            Some(self.checked(operation, &sends))
        };
        let sends = match operation.rule.silent {
            SilentValue::Never => None,
            SilentValue::Absent => Some(Sends::Given(value.to_owned())),
            SilentValue::Initial if is_optional => Some(Sends::If(format!("{value} != {given}"))),
            SilentValue::Initial => Some(Sends::If(format!("{value} != {base}"))),
            SilentValue::Previous => follows("rt::same"),
            SilentValue::Next => follows(&kind.next()),
        };
        if operation.rule.has_base() {
            check_base(operation);
            let difference = |value: &str| {
                format!(
                    "let base = state.base::<Unknown>({slot}, {base})?; \
                     o.{sign}_difference({value}, base, {is_optional})?; \
                     state.assign::<Unknown>({slot}, {value});"
                )
            };
            let before = self.foreign(operation);
            return EncodeStep::of(before, sends, value, is_optional, difference);
        }
        let present = |value: &str| format!("o.{sign}{suffix}({value})?;");
        EncodeStep::of(String::new(), sends, value, is_optional, present)
    }

    /// Returns the decision to send a value, which is also sent if it replaces one of another type (D4).
    /// Both operands update the entry, so both are evaluated.
    fn checked(&self, operation: &Operation<'_>, sends: &str) -> Sends {
        Sends::If(match self.module.expanded.checked_tag(operation) {
            Some(tag) => {
                format!("state.is_foreign({}, {tag}) | {sends}", self.module.slot(operation))
            }
            None => sends.to_owned(),
        })
    }

    /// Returns the check of deltas and tails, which cannot replace a previous value of another
    /// type.
    fn foreign(&self, operation: &Operation<'_>) -> String {
        self.module.expanded.checked_tag(operation).map_or(String::new(), |tag| {
            format!(
                "if state.is_foreign({}, {tag}) {{ return None; }}\n",
                self.module.slot(operation)
            )
        })
    }

    fn decimal(&self, part: FieldPart<'_>, ident: &str) -> EncodeStep {
        let FieldPart { operation, is_optional, .. } = part;
        let slot = self.module.slot(operation);
        let initial = initial_decimal(operation);
        let given = option(initial.clone());
        let (value, maybe) = values(ident, is_optional);
        let sends = match operation.rule.silent {
            SilentValue::Never => None,
            SilentValue::Absent => Some(Sends::Given(value.clone())),
            SilentValue::Initial => Some(Sends::If(format!("{maybe} != {given}"))),
            SilentValue::Previous | SilentValue::Next => Some(self.checked(
                operation,
                &format!("state.sends_copy_decimal({slot}, {maybe}, {given})"),
            )),
        };
        let check = check_exponent(ident, is_optional);
        if operation.rule.has_base() {
            check_base(operation);
            let base = initial.unwrap_or("Decimal { mantissa: 0, exponent: 0 }".into());
            let difference = |value: &str| {
                format!(
                    "let base = state.decimal_base({slot}, {base})?; \
                     o.signed_difference(i64::from({value}.exponent) as u64, i64::from(base.exponent) as u64, {is_optional})?; \
                     o.signed_difference({value}.mantissa as u64, base.mantissa as u64, false)?; \
                     state.assign_decimal({slot}, {value});"
                )
            };
            let before = check + &self.foreign(operation);
            return EncodeStep::of(before, sends, &value, is_optional, difference);
        }
        let nullable = if is_optional { "_nullable" } else { "" };
        EncodeStep::of(check, sends, &value, is_optional, |value| {
            format!(
                "o.signed{nullable}(i64::from({value}.exponent) as u64)?; \
                 o.signed({value}.mantissa as u64)?;"
            )
        })
    }

    fn text(&self, part: FieldPart<'_>, field_type: &FieldType, ident: &str) -> EncodeStep {
        let FieldPart { operation, is_optional, .. } = part;
        let slot = self.module.slot(operation);
        let charset = charset(field_type);
        let is_given = operation.initial.is_some();
        let given = option(initial_bytes(operation).map(|bytes| format!("&{bytes}[..]")));
        let base = initial_bytes(operation).unwrap_or("b\"\"".into());
        let (value, maybe) = values(ident, is_optional);
        let before = self.foreign(operation);
        let sends = match operation.rule.silent {
            SilentValue::Never => None,
            SilentValue::Absent => Some(Sends::Given(value.clone())),
            // A short string fits one word: comparing words compares strings.
            SilentValue::Initial if is_short(operation) => Some(Sends::If(format!(
                "!{maybe}.is_some_and(|text| text.is_short_text({}))",
                initial_text(operation)
            ))),
            SilentValue::Initial => Some(Sends::If(format!(
                "{maybe}.as_ref().map(|text| text.bytes(arena)) != {given}"
            ))),
            // Strings have no increment (S2).
            SilentValue::Previous | SilentValue::Next => Some(if operation.rule.has_base() {
                Sends::If(format!("state.sends_tail({slot}, {maybe}, {given}, arena)"))
            } else if !is_given || is_short(operation) {
                let given = option(is_given.then(|| initial_text(operation)));
                let sends = format!("state.sends_copy_short({slot}, {maybe}, {given}, arena)");
                self.checked(operation, &sends)
            } else {
                let sends = format!("state.sends_copy_text({slot}, {maybe}, {given}, arena)");
                self.checked(operation, &sends)
            }),
        };
        match operation.rule.stream {
            StreamContent::Tail => {
                let mut step = EncodeStep::of(before, sends, &value, is_optional, |value| {
                    format!(
                        "let base = state.tail_base({slot}, {base}); \
                         o.text_tail({value}.bytes(arena), base, {charset}, {is_optional}, x)?;"
                    )
                });
                step.write.push_str(&format!("state.keep_encoded({slot}, {maybe}, arena);\n"));
                step
            }
            StreamContent::Delta => EncodeStep::of(before, sends, &value, is_optional, |value| {
                format!(
                    "let base = state.text_base({slot}, {base})?; \
                         o.text_delta({value}.bytes(arena), base, {charset}, {is_optional}, x)?; \
                         state.keep_encoded({slot}, Some({value}), arena);"
                )
            }),
            StreamContent::Constant | StreamContent::Value => EncodeStep::of(
                String::new(),
                sends,
                &value,
                is_optional,
                |value| match field_type {
                    FieldType::Ascii => format!("o.ascii({value}, {is_optional}, arena, x)?;"),
                    _ => format!("o.vector({value}.bytes(arena), {charset}, {is_optional}, x)?;"),
                },
            ),
        }
    }

    fn parts(
        &self,
        member: &StructMember<'p>,
        exponent: &Operation<'_>,
        mantissa: &Operation<'_>,
    ) -> Vec<EncodeStep> {
        let ident = &member.ident;
        let is_optional = member.plan.is_optional;
        let exponent_value = match is_optional {
            true => format!("m.{ident}().map(|value| i64::from(value.exponent) as u64)"),
            false => format!("i64::from(m.{ident}.exponent) as u64"),
        };
        let [first, second] = member.parts(exponent, mantissa);
        let mut first = self.part(first, IntegerShape::EXPONENT, &exponent_value);
        first.before.insert_str(0, &check_exponent(ident, is_optional));
        let mantissa_value = format!("m.{ident}.mantissa as u64");
        let mut second = self.part(second, IntegerShape::MANTISSA, &mantissa_value);
        // A mantissa without a bit of its own is written together with the exponent.
        if is_optional && !mantissa.rule.has_map_bit() {
            let before = std::mem::take(&mut second.before);
            second.write = format!("if m.{ident}().is_some() {{ {before}{} }}\n", second.write);
        }
        vec![first, second]
    }

    /// Emits a part of a value: an exponent, a mantissa, a length. A constant part that differs from
    /// the value cannot be encoded (D3).
    fn part(&self, part: FieldPart<'_>, kind: IntegerShape, value: &str) -> EncodeStep {
        let FieldPart { operation, is_optional, .. } = part;
        if !operation.rule.is_constant() {
            return self.integer(part, kind, value);
        }
        let initial = initial_integer(operation, kind).unwrap_or("0".into());
        let (before, sends) = match is_optional {
            true => (
                format!("if {value}.is_some_and(|value| value != {initial}) {{ return None; }}\n"),
                Some(Sends::Given(value.to_owned())),
            ),
            false => (format!("if ({value}) != {initial} {{ return None; }}\n"), None),
        };
        EncodeStep { before, sends, write: String::new() }
    }

    fn group(&self, member: &StructMember<'p>) -> EncodeStep {
        let write = self.call(member, &format!("&m.{}", member.ident));
        let is_there = || Sends::If(format!("m.{}().is_some()", member.ident));
        let sends = member.plan.is_optional.then(is_there);
        EncodeStep { before: String::new(), sends, write }
    }

    fn call(&self, member: &StructMember<'p>, value: &str) -> String {
        let Some(child) = member.child else { return String::new() };
        let child = &self.module.shapes[child];
        if child.depth > tickwire_fast::Limits::DEPTH_MAX {
            return "return None;\n".to_owned();
        }
        format!("o = o.encode({value}, arena, state, x)?;\n")
    }

    fn sequence(&self, member: &StructMember<'p>, length: &Operation<'_>) -> Vec<EncodeStep> {
        let ident = &member.ident;
        let is_optional = member.plan.is_optional;
        let value = match is_optional {
            true => format!("m.{ident}().map(|entries| entries.len() as u64)"),
            false => format!("m.{ident}.len() as u64"),
        };
        let first = self.part(member.part(length), IntegerShape::LENGTH, &value);
        let entries = format!(
            "x.begin_sequence(entries.len() as u64)?; \
             for entry in entries.iter() {{ {} }}",
            self.call(member, "entry")
        );
        let write = match is_optional {
            true => format!("if let Some(entries) = m.{ident}() {{ {entries} }}\n"),
            false => format!("{{ let entries = &m.{ident}; {entries} }}\n"),
        };
        vec![first, EncodeStep { before: String::new(), sends: None, write }]
    }

    fn dynamic(&self, member: &StructMember<'p>) -> EncodeStep {
        let depth = self.shape.depth;
        let write = format!(
            "x.begin_nested({depth})?;\nlet message = m.{}.messages()?.message();\n\
             o = encode_message(o, message, state, x)?;\n\
             x.end_nested({depth});\n",
            member.ident
        );
        EncodeStep { before: String::new(), sends: None, write }
    }
}

/// Returns a function for a segment that is encoded out of line.
fn outgoing_of(name: &str, body: &str) -> String {
    format!(
        "impl EncodeSegment for {name} {{
            type State = State;
            type Context = CodingContext;
            {ALLOW}
            #[inline(always)]
            fn encode<'o, K: CpuKernel>(&self, o: OutputCursor<'o, K>, arena: &[u8], state: &mut State, x: &mut CodingContext) \
             -> Option<OutputCursor<'o, K>> {{ {body} }}
        }}\n"
    )
}

/// Returns the expression of a field's value, an `Option` if the field is optional, and that of an `Option`
/// in any case.
fn values(ident: &str, is_optional: bool) -> (String, String) {
    match is_optional {
        true => (format!("m.{ident}()"), format!("m.{ident}()")),
        false => (format!("m.{ident}"), format!("Some(m.{ident})")),
    }
}

/// A delta is computed after the decision to send the value, which would have overwritten the base value if it compared the
/// value with the previous one. No operator has such a rule.
fn check_base(operation: &Operation<'_>) {
    assert!(
        !operation.rule.derives_from_previous(),
        "the encoder of a module cannot have {:?}",
        operation.rule
    );
}

/// Returns the check of a decimal's exponent (R1), as a statement.
fn check_exponent(ident: &str, is_optional: bool) -> String {
    match is_optional {
        true => format!(
            "if let Some(value) = m.{ident}() {{ rt::exponent(i64::from(value.exponent) as u64)?; }}\n"
        ),
        false => format!("rt::exponent(i64::from(m.{ident}.exponent) as u64)?;\n"),
    }
}

fn is_parts(member: &StructMember<'_>) -> bool {
    matches!(&member.plan.kind, FieldKind::Parts { mantissa, .. } if mantissa.rule.has_map_bit())
}

/// True if the initial value of a string fits one word.
fn is_short(operation: &Operation<'_>) -> bool {
    matches!(operation.initial, Some(Value::Bytes(bytes)) if bytes.len() <= 7)
}
