//! Functions that decode.

use crate::integer::Integer;
use crate::module::Module;
use crate::operation::Scene;
use crate::shape::{MapMode, Member, Shape, field_bits, is_constant};
use std::ops::Range;
use tickwire_fast::rt::plan::{FieldKind, FieldPlan, Operation, OperatorKind};
use tickwire_fast::template::FieldType;

impl<'p> Module<'p> {
    /// The functions of one shape.
    pub(crate) fn decode_functions(&self, index: usize) -> String {
        let shape = &self.shapes[index];
        let warm = if self.warm_entries(shape).is_some() { "WARM" } else { "false" };
        let scene = Scene { module: self, shape, warm };
        let body = Decoding { scene: &scene }.body();
        match &shape.root {
            Some(_) => self.root_functions(shape, &body),
            None => self.segment_function(shape, &body),
        }
    }

    fn root_functions(&self, shape: &Shape<'p>, fields: &str) -> String {
        let Some(root) = &shape.root else { return String::new() };
        let function = self.function(shape);
        let (from, len) = self.saved_words(root.template, root.is_dynamic);
        let state = self.state_type();
        let name = &shape.name;
        let map_type = if self.has_wide() { "Cursor<'b, K>" } else { "u64" };
        let map = if self.has_wide() { "start" } else { "map" };
        let (reset, is_forgotten) = match root.reset {
            true => ("if x.obeys_reset() { state.reset_values(); }\n", "x.forgets()"),
            false => ("", "false"),
        };
        let (begin_arena, end_arena) = match shape.has_text {
            true => ("x.begin_arena();\n", "x.end_arena(&mut out.arena);\n"),
            false => ("", ""),
        };
        let warm = self.warm_entries(shape);
        let call = |warm: &str| format!("{function}_fields{warm}(c, {map}, state, out, x)");
        let mut body = String::new();
        if let Some((entry, count)) = warm {
            let (save, put_back) = match self.changes_others(shape, entry..entry + count) {
                true => ("save", format!("restore::<{from}, {len}>")),
                false => {
                    ("save_words", format!("put_back_words::<{entry}, {count}, {from}, {len}>"))
                }
            };
            body = format!(
                "if state.is_warm::<{entry}, {count}>(true) {{
                    let saved = state.{save}::<{from}, {len}>();
                    let end = {};
                    if end.is_none() {{ state.{put_back}(&saved); }}
                    return end;
                }}\n",
                call("::<K, true>")
            );
        }
        body.push_str(&format!(
            "let saved = state.save_unless::<{from}, {len}>({is_forgotten});
            let end = {};
            if end.is_none() {{ state.put_back::<{from}, {len}>(&saved); }}
            end",
            call(if warm.is_some() { "::<K, false>" } else { "" })
        ));
        let generics = generics(warm.is_some());
        let flat = self.flat_segment(shape).unwrap_or_default();
        let segment = segment_of(name, &format!("{map}: {map_type}"), map_type, name, &body);
        format!(
            "{segment}{flat}
            {}#[inline(always)]
            fn {function}_fields<'b, {generics}>(mut c: Cursor<'b, K>, {map}: {map_type}, state: &mut {state}, \
             out: &mut {name}, x: &mut Context) -> Option<Cursor<'b, K>> {{
                x.begin_message({})?;
                {reset}{begin_arena}{}{body}x.check_end(&c)?;
                {end_arena}x.end_message()?;
                Some(c)
            }}\n",
            allow_unused(&format!("{reset}{fields}")),
            root.depth,
            self.root_map(shape),
            body = fields,
        )
    }

    /// How a template's function gets its map.
    fn root_map(&self, shape: &Shape<'p>) -> String {
        let read = match (self.has_wide(), shape.mode) {
            (false, MapMode::Fixed | MapMode::Narrow) => "",
            (false, _) => "let mut map = Bits::new(map << 1);\n",
            (true, MapMode::Fixed | MapMode::Narrow) => {
                "let mut start = start;\nlet map = start.map(x)?;\n"
            }
            (true, MapMode::Taken) => {
                "let mut start = start;\nlet mut map = Bits::new(start.map(x)? << 1);\n"
            }
            (true, MapMode::Wide(words)) => {
                return format!(
                    "let mut start = start;\nlet mut map = start.wide_map::<{words}>(x)?;\nmap.take();\n"
                );
            }
        };
        read.to_owned() + &fixed_map(shape)
    }

    fn segment_function(&self, shape: &Shape<'p>, body: &str) -> String {
        let map = match (shape.has_map(), shape.mode) {
            (false, _) => String::new(),
            (true, MapMode::Fixed | MapMode::Narrow) => {
                format!("let map = c.map(x)?;\n{}", fixed_map(shape))
            }
            (true, MapMode::Taken) => "let mut map = Bits::new(c.map(x)?);\n".to_owned(),
            (true, MapMode::Wide(words)) => {
                format!(
                    "let mut map = {{ let mut at = c; let map = at.wide_map::<{words}>(x)?; c = at; map }};\n"
                )
            }
        };
        let name = &shape.name;
        let (unit, out) = match shape.is_stored {
            true => (String::new(), name.as_str()),
            // Something to be a segment, where there is no struct.
            false => (format!("struct {name};\n"), "()"),
        };
        let body = match shape.depth > tickwire_fast::Limits::DEPTH_MAX {
            // Deeper than any decoder goes.
            true => "None".to_owned(),
            false => format!("{map}{body}Some(c)"),
        };
        if !is_leaf(shape) {
            return unit
                + &segment_of(name, "_: ()", "()", out, &format!("let mut c = c;\n{body}"));
        }
        // The entries of a sequence that nests nothing are decoded where the sequence is.
        let out = match shape.is_stored {
            true => format!("out: &mut {name}, "),
            false => String::new(),
        };
        format!(
            "{}#[inline(always)]\nfn {}<'b, {}>(mut c: Cursor<'b, K>, state: &mut State, {out}x: &mut Context) \
             -> Option<Cursor<'b, K>> {{ {body} }}\n",
            allow_unused(&body),
            self.function(shape),
            generics(self.warm_entries(shape).is_some()),
        )
    }

    /// The entries of a segment that has a form of its own for where they are all assigned: the number of
    /// the first and how many there are.
    pub(crate) fn warm_entries(&self, shape: &Shape<'p>) -> Option<(usize, usize)> {
        let is_reset = shape.root.as_ref().is_some_and(|root| root.reset);
        if !is_leaf(shape) || is_reset {
            return None;
        }
        let mut slots: Vec<usize> = Vec::new();
        let mut is_plain = true;
        for member in shape.members.iter().filter(|member| !is_mostly_absent(member.plan)) {
            let operations: &[&Operation<'_>] = match &member.plan.kind {
                FieldKind::Scalar { operation, .. } => &[operation],
                FieldKind::Parts { exponent, mantissa } => &[exponent, mantissa],
                _ => &[],
            };
            is_plain &= !matches!(member.plan.kind, FieldKind::Dynamic);
            for operation in operations {
                is_plain &= operation.checked_tag.is_none();
                slots.extend(self.slot_index(operation));
            }
        }
        slots.sort_unstable();
        let (first, last) = (*slots.first()?, *slots.last()?);
        // An entry that two fields share can be empty for the second.
        let is_each_once = slots.windows(2).all(|pair| pair[0] != pair[1]);
        let count = last - first + 1;
        (is_plain && is_each_once && count <= WARM_MAX).then_some((first, count))
    }

    /// Whether messages change the states of other entries than those that are looked at before: of
    /// fields that are mostly absent.
    fn changes_others(&self, shape: &Shape<'p>, warm: Range<usize>) -> bool {
        let members = shape.members.iter().filter(|member| is_mostly_absent(member.plan));
        members.into_iter().any(|member| match &member.plan.kind {
            FieldKind::Parts { mantissa, .. } => {
                mantissa.checked_tag.is_some()
                    || self.slot_index(mantissa).is_some_and(|slot| !warm.contains(&slot))
            }
            _ => false,
        })
    }

    /// `decode_` and the words of the struct's name.
    pub(crate) fn function(&self, shape: &Shape<'p>) -> String {
        format!("decode_{}", crate::names::snake(&shape.name).trim_end_matches('_'))
    }

    /// The words that a template's messages may change.
    pub(crate) fn saved_words(&self, template: usize, is_dynamic: bool) -> (usize, usize) {
        if is_dynamic {
            return (0, self.words);
        }
        let (mut from, mut to) = (usize::MAX, 0);
        self.plan.templates[template].body.for_each(&mut |operation| {
            if let Some(slot) = self.slot_index(operation) {
                let slot = &self.slots[slot];
                let scaled = slot
                    .kinds
                    .iter()
                    .any(|(_, kind)| *kind == tickwire_fast::rt::ValueKind::Scaled);
                from = from.min(slot.word);
                to = to.max(slot.word + if scaled { 2 } else { 1 });
            }
        });
        if from < to { (from, to - from) } else { (0, 0) }
    }

    /// Whether some template's map does not fit a word.
    pub(crate) fn has_wide(&self) -> bool {
        self.roots.iter().any(|root| matches!(self.shapes[*root].mode, MapMode::Wide(_)))
    }
}

/// The statements that decode the fields of a segment.
struct Decoding<'s, 'm, 'p> {
    scene: &'s Scene<'m, 'p>,
}

impl<'p> Decoding<'_, '_, 'p> {
    fn body(&self) -> String {
        let shape = self.scene.shape;
        let mut text = String::new();
        for word in 0..shape.presence_words() {
            text.push_str(&format!(
                "let mut present{word} = {:#x}u64;\n",
                shape.presence_mask(word)
            ));
        }
        let mut members = &shape.members[..];
        while let Some(member) = members.first() {
            let run = members.iter().take_while(|member| self.is_rare(member)).count();
            if run > 1 {
                let (together, rest) = members.split_at(run);
                let mask =
                    together.iter().fold(0, |mask, member| mask | shape.mode.mask(member.bit));
                text.push_str(&format!("if map & {mask:#x} != 0 {{\n"));
                together.iter().for_each(|member| text.push_str(&self.member(member)));
                text.push_str(&format!("}} {}\n", or_else(&self.all_absent(together))));
                members = rest;
            } else {
                text.push_str(&self.member(member));
                members = &members[1..];
            }
        }
        if shape.presence > 0 {
            let words: Vec<String> =
                (0..shape.presence_words()).map(|word| format!("present{word}")).collect();
            text.push_str(&format!("out.present = [{}];\n", words.join(", ")));
        }
        if shape.has_map() {
            text.push_str(if shape.mode.is_fixed() { "" } else { "map.finish(x);\n" });
        }
        text
    }

    /// Whether nothing at all happens where the field's bit is 0.
    fn is_rare(&self, member: &Member<'_>) -> bool {
        if !self.scene.shape.mode.is_fixed() || !member.plan.is_optional {
            return false;
        }
        match &member.plan.kind {
            FieldKind::Scalar { operation, .. } | FieldKind::Parts { exponent: operation, .. } => {
                operation.kind == OperatorKind::Default && operation.initial.is_none()
                    || operation.kind == OperatorKind::Constant
            }
            FieldKind::Group(_) => true,
            _ => false,
        }
    }

    fn member(&self, member: &Member<'p>) -> String {
        match &member.plan.kind {
            FieldKind::Scalar { .. } => self.scalar(member),
            FieldKind::Parts { .. } => self.parts(member),
            FieldKind::Group(_) => self.group(member),
            FieldKind::Sequence { .. } => self.sequence(member),
            FieldKind::Dynamic => self.dynamic(member),
        }
    }

    fn scalar(&self, member: &Member<'p>) -> String {
        let FieldKind::Scalar { field_type, operation } = &member.plan.kind else {
            return String::new();
        };
        let (scene, bit) = (self.scene, member.bit);
        let is_optional = member.plan.is_optional;
        if operation.kind == OperatorKind::Constant {
            return match is_optional {
                true => self.present_by_bit(member),
                false => String::new(),
            };
        }
        if self.is_nothing_without_bit(member) {
            // Nothing happens where the bit is 0, and the value is read as one without operator.
            let none = Operation { kind: OperatorKind::None, initial: None, ..*operation };
            let (expression, cast) = self.value(field_type, &none, true, bit);
            return format!(
                "if {} {{ {} }} {}\n",
                scene.test(bit),
                self.store(member, &expression, cast),
                or_else(&self.absent(member))
            );
        }
        let check = scene.check_type(operation, bit);
        let (expression, cast) = self.value(field_type, operation, is_optional, bit);
        check + &self.store(member, &expression, cast)
    }

    /// Whether the field is an optional default without an initial value.
    fn is_nothing_without_bit(&self, member: &Member<'_>) -> bool {
        matches!(&member.plan.kind, FieldKind::Scalar { operation, .. }
            if member.plan.is_optional
                && operation.kind == OperatorKind::Default
                && operation.initial.is_none())
    }

    /// The expression of a scalar's value, and its type if it is an integer.
    fn value(
        &self,
        field_type: &FieldType,
        operation: &Operation<'_>,
        is_optional: bool,
        bit: u32,
    ) -> (String, Option<Integer>) {
        let scene = self.scene;
        match (Integer::of(field_type), field_type, is_optional) {
            (Some(kind), _, false) => (scene.integer(operation, kind, bit), Some(kind)),
            (Some(kind), _, true) => (scene.integer_optional(operation, kind, bit), Some(kind)),
            (None, FieldType::Decimal, false) => (scene.decimal(operation, bit), None),
            (None, FieldType::Decimal, true) => (scene.decimal_optional(operation, bit), None),
            (None, _, false) => (scene.text(operation, field_type, bit), None),
            (None, _, true) => (scene.text_optional(operation, field_type, bit), None),
        }
    }

    /// Stores the value of an expression.
    fn store(&self, member: &Member<'p>, expression: &str, cast: Option<Integer>) -> String {
        let cast = |value: &str| cast.map_or(value.to_owned(), |kind| kind.cast(value));
        let ident = &member.ident;
        match (member.is_stored, member.plan.is_optional) {
            (false, _) => format!("let _ = {expression};\n"),
            (true, false) if cast("v") == "v" => format!("out.{ident} = {expression};\n"),
            (true, false) => {
                format!("let value = {expression};\nout.{ident} = {};\n", cast("value"))
            }
            (true, true) => format!(
                "let value = {expression};\nif let Some(value) = value {{ out.{ident} = {}; }} else {{ {} }}\n",
                cast("value"),
                self.absent(member)
            ),
        }
    }

    /// Says that the field is absent: presence bits begin set.
    fn absent(&self, member: &Member<'p>) -> String {
        self.all_absent(std::slice::from_ref(member))
    }

    fn all_absent(&self, members: &[Member<'p>]) -> String {
        let clear = |word: usize| {
            let bits = members.iter().filter_map(|member| member.presence);
            let mask =
                bits.filter(|bit| bit / 64 == word).fold(0u64, |mask, bit| mask | 1 << (bit % 64));
            (mask != 0).then(|| format!("present{word} &= !{mask:#x};"))
        };
        (0..self.scene.shape.presence_words()).filter_map(clear).collect()
    }

    /// A field that is present or not by its bit alone.
    fn present_by_bit(&self, member: &Member<'p>) -> String {
        match member.presence {
            Some(_) => {
                format!("if {} {{ {} }}\n", self.scene.test_unset(member.bit), self.absent(member))
            }
            None if self.scene.shape.mode.is_fixed() => String::new(),
            None => format!("let _ = {};\n", self.scene.test(member.bit)),
        }
    }

    fn parts(&self, member: &Member<'p>) -> String {
        let FieldKind::Parts { exponent, mantissa } = &member.plan.kind else {
            return String::new();
        };
        // What is seldom there does not count where entries are looked at before.
        let warm = if is_mostly_absent(member.plan) { "false" } else { self.scene.warm };
        let scene = &Scene { warm, ..*self.scene };
        let is_optional = member.plan.is_optional;
        let mantissa_bit = member.bit + crate::shape::map_bits(exponent, is_optional);
        let mantissa = format!(
            "let exponent = rt::exponent(exponent)?;\n{}let mantissa = {};\n",
            scene.check_type(mantissa, mantissa_bit),
            scene.integer(mantissa, Integer::MANTISSA, mantissa_bit)
        );
        let store = match member.is_stored {
            true => format!(
                "out.{} = Decimal {{ mantissa: mantissa as i64, exponent }};\n",
                member.ident
            ),
            false => "let _ = (mantissa, exponent);\n".to_owned(),
        };
        let check = scene.check_type(exponent, member.bit);
        match is_optional {
            true => format!(
                "{check}let exponent = {};\nif let Some(exponent) = exponent {{\n{mantissa}{store}}} {}\n",
                scene.integer_optional(exponent, exponent_type(exponent), member.bit),
                or_else(&self.absent(member))
            ),
            false => format!(
                "{check}{{ let exponent = {};\n{mantissa}{store}}}\n",
                scene.integer(exponent, exponent_type(exponent), member.bit),
            ),
        }
    }

    fn group(&self, member: &Member<'p>) -> String {
        let Some(child) = member.child else { return String::new() };
        let child = &self.scene.module.shapes[child];
        let is_warm = self.is_warm(child, "false");
        let call =
            format!("c = {};\n", self.call(&format!("&mut out.{}", member.ident), child, &is_warm));
        match member.plan.is_optional {
            true => {
                let absent = or_else(&self.absent(member));
                format!("if {} {{ {call} }} {absent}\n", self.scene.test(member.bit))
            }
            false => format!("{{ {call} }}\n"),
        }
    }

    /// Decodes a nested segment.
    fn call(&self, out: &str, child: &Shape<'p>, is_warm: &str) -> String {
        let function = self.scene.module.function(child);
        let out_argument = if child.is_stored { format!("{out}, ") } else { String::new() };
        match (self.scene.module.warm_entries(child), is_leaf(child), child.is_stored) {
            (Some(_), ..) => format!(
                "if {is_warm} {{ {function}::<K, true>(c, state, {out_argument}x)? }} \
                 else {{ {function}::<K, false>(c, state, {out_argument}x)? }}"
            ),
            (None, true, _) => format!("{function}(c, state, {out_argument}x)?"),
            (None, false, true) => format!("c.decode::<{}>((), state, {out}, x)?", child.name),
            (None, false, false) => format!("c.decode::<{}>((), state, &mut (), x)?", child.name),
        }
    }

    /// The question whether all entries of a segment are assigned; `was` is what was answered before.
    fn is_warm(&self, child: &Shape<'p>, was: &str) -> String {
        let (first, count) = self.scene.module.warm_entries(child).unwrap_or((0, 0));
        format!("state.is_warm::<{first}, {count}>({was})")
    }

    fn sequence(&self, member: &Member<'p>) -> String {
        let FieldKind::Sequence { length, .. } = &member.plan.kind else { return String::new() };
        let Some(child) = member.child else { return String::new() };
        let child = &self.scene.module.shapes[child];
        let scene = self.scene;
        let room = if child.takes_bytes { "x.remaining(&c)" } else { "usize::MAX" };
        let call = self.call("entry", child, "is_warm");
        let (over, each) = match child.is_stored {
            true => (format!("out.{}.prepare(count)", member.ident), "entry"),
            false => ("0..count".to_owned(), "_"),
        };
        let (begin, look) = match self.scene.module.warm_entries(child) {
            Some(_) => (
                "let mut is_warm = false;\n",
                format!("is_warm = {};\n", self.is_warm(child, "is_warm")),
            ),
            None => ("", String::new()),
        };
        let entries = format!(
            "let count = x.begin_sequence(count, {room})?;
            {begin}for {each} in {over} {{ {look}c = {call}; x.check_end(&c)?; }}\n"
        );
        let check = scene.check_type(length, member.bit);
        let clear = match member.is_stored {
            true => format!("out.{}.clear();", member.ident),
            false => String::new(),
        };
        match member.plan.is_optional {
            true => format!(
                "{check}let count = {};\nif let Some(count) = count {{ {entries} }} else {{ {clear} {} }}\n",
                scene.integer_optional(length, Integer::LENGTH, member.bit),
                self.absent(member)
            ),
            false => format!(
                "{check}{{ let count = {};\n{entries} }}\n",
                scene.integer(length, Integer::LENGTH, member.bit)
            ),
        }
    }

    fn dynamic(&self, member: &Member<'p>) -> String {
        let depth = self.scene.shape.depth;
        format!(
            "x.begin_nested({depth})?;
            c = decode_message(c, state, out.{}.messages_mut(), x)?;
            x.end_nested({depth});\n",
            member.ident
        )
    }
}

/// Whether a field is a decimal that is absent unless its exponent is in the stream.
fn is_mostly_absent(field: &FieldPlan<'_>) -> bool {
    matches!(&field.kind, FieldKind::Parts { exponent, .. }
        if field.is_optional
            && exponent.kind == OperatorKind::Default
            && exponent.initial.is_none())
}

/// Entries that are looked at before a segment.
const WARM_MAX: usize = 32;

/// What a function that decodes a segment is generic over.
fn generics(is_warm: bool) -> &'static str {
    if is_warm { "K: Kernel, const WARM: bool" } else { "K: Kernel" }
}

/// Whether a segment nests nothing.
fn is_leaf(shape: &Shape<'_>) -> bool {
    shape.members.iter().all(|member| member.child.is_none())
}

/// A segment with a function of its own.
fn segment_of(name: &str, map: &str, map_type: &str, out: &str, body: &str) -> String {
    format!(
        "impl Segment for {name} {{
            type State = State;
            type Out = {out};
            type Map<'b, K: Kernel> = {map_type};
            #[allow(unused_mut, unused_variables)]
            #[inline(always)]
            fn decode<'b, K: Kernel>(c: Cursor<'b, K>, {map}, state: &mut State, out: &mut {out}, \
             x: &mut Context) -> Option<Cursor<'b, K>> {{ {body} }}
        }}\n"
    )
}

/// What is done otherwise, if anything is.
fn or_else(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("else {{ {text} }}") }
}

/// The type an exponent is read as: the check of its range includes that of its type, unless it is
/// kept or added to.
fn exponent_type(exponent: &Operation<'_>) -> Integer {
    match exponent.kind {
        OperatorKind::None | OperatorKind::Default => Integer::MANTISSA,
        _ => Integer::EXPONENT,
    }
}

/// The bits of a map that no field uses counted, the others where they are tested.
fn fixed_map(shape: &Shape<'_>) -> String {
    let unused = match shape.map_bits {
        bits @ 0..63 => (u64::MAX >> bits) & !1,
        _ => 0,
    };
    let is_tested = shape.members.iter().any(|member| {
        field_bits(member.plan) > 0 && (member.is_stored || !is_constant(member.plan))
    });
    let narrow = match shape.mode {
        MapMode::Narrow if !is_tested => "",
        MapMode::Narrow => "let map = (map >> 32) as u32;\n",
        MapMode::Fixed => "",
        _ => return String::new(),
    };
    format!("x.unused_map_bits(map & {unused:#x});\n{narrow}")
}

/// For functions that do not need all they are given.
fn allow_unused(body: &str) -> &'static str {
    let uses = |name: &str| body.contains(name);
    let moves = [
        "c.unsigned",
        "c.signed",
        "c.ascii",
        "c.vector",
        "c.delta",
        "c.decimal",
        "c.map",
        "&mut c",
        "c = ",
    ]
    .into_iter()
    .any(uses);
    match moves && uses("state") && uses("out.") && uses("x") {
        true => "",
        false => "#[allow(unused_mut, unused_variables)]\n",
    }
}
