//! Emits the functions that decode.

use crate::integer::IntegerShape;
use crate::module::{EntrySlot, Module};
use crate::operation::{FieldPart, FieldScene};
use crate::past::{PAST, UNKNOWN, is_leaf, is_mostly_absent};
use crate::shape::{MapMode, Root, StructMember, StructShape, field_bits, is_constant};
use tickwire_fast::rt::ValueKind;
use tickwire_fast::rt::expanded::{FieldKind, Operation, OperatorRule, SilentValue};
use tickwire_fast::template::FieldType;

impl<'p> Module<'p> {
    /// Returns the functions of one shape.
    pub(crate) fn decode_functions(&self, shape: &StructShape<'p>) -> String {
        let past = if self.warm_entries(shape).is_some() { PAST } else { UNKNOWN };
        let body = FieldScene { module: self, shape, past }.body();
        match &shape.root {
            Some(root) => self.root_functions(shape, root, &body),
            None => {
                self.segment_function(shape, &body) + &self.lane_segment(shape).unwrap_or_default()
            }
        }
    }

    fn root_functions(&self, shape: &StructShape<'p>, root: &Root, fields: &str) -> String {
        let function = shape.function("decode");
        let range = self.saved_range(root);
        let state = self.state_type();
        let name = &shape.name;
        let map_type = if self.has_wide() { "InputCursor<'b, K>" } else { "u64" };
        let map = if self.has_wide() { "start" } else { "map" };
        let mut is_forgotten = "is_fresh".to_owned();
        if root.reset {
            is_forgotten.push_str(" || x.forgets()");
        }
        if self.has_references() {
            is_forgotten.push_str(" || x.is_nested()");
        }
        let reset = match self.begins_fresh(shape) {
            true => {
                "let is_fresh = if x.obeys_reset() { state.reset_values(); true } else { is_fresh };\n"
            }
            false => "if x.obeys_reset() { state.reset_values(); }\n",
        };
        let beginning = self.beginning(root, reset);
        let (begin_arena, end_arena) = match shape.has_text {
            true => ("x.begin_arena();\n", "x.end_arena(&mut out.arena);\n"),
            false => ("", ""),
        };
        let warm = self.warm_entries(shape);
        let is_fresh = match self.begins_fresh(shape) {
            true => ", is_fresh",
            false => "",
        };
        let call =
            |past: &str| format!("{function}_fields{past}(c, {map}, state, out, x{is_fresh})");
        let mut body = String::new();
        if let Some((entry, count)) = warm {
            let is_saved = if self.has_references() { "!x.is_nested()" } else { "true" };
            body = format!(
                "if K::HAS_FORMS && state.is_warm::<{entry}, {count}>() {{
                    {}
                }}\n",
                saved(is_saved, &range, &call("::<K, Warm>"), "return end;")
            );
        }
        body.push_str("let is_fresh = state.take_fresh();\n");
        let call = call(if warm.is_some() { "::<K, Unknown>" } else { "" });
        body.push_str(&saved(&format!("!({is_forgotten})"), &range, &call, "end"));
        let generics = generics(warm.is_some());
        let segment = segment_of(name, &format!("{map}: {map_type}"), map_type, name, &body);
        format!(
            "{segment}
            {}#[inline(always)]
            fn {function}_fields<'b, {generics}>(mut c: InputCursor<'b, K>, {map}: {map_type}, state: &mut {state}, \
             out: &mut {name}, x: &mut CodingContext{}) -> Option<InputCursor<'b, K>> {{
                x.begin_message({})?;
                {beginning}{begin_arena}{}{body}x.check_end(&c)?;
                {end_arena}x.end_message()?;
                Some(c)
            }}\n",
            allow_unused(&format!("{beginning}{fields}")),
            if is_fresh.is_empty() { "" } else { ", is_fresh: bool" },
            root.depth,
            self.root_map(shape),
            body = fields,
        )
    }

    /// Returns the code that passes a template's function its presence map.
    fn root_map(&self, shape: &StructShape<'p>) -> String {
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

    fn segment_function(&self, shape: &StructShape<'p>, body: &str) -> String {
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
        let (unit, out, parameter, argument) = match shape.is_stored {
            true => (String::new(), name.as_str(), format!("out: &mut {name}, "), "out, "),
            // A segment without a struct still needs a type for the `DecodeSegment` trait.
            false => (format!("struct {name};\n"), "()", String::new(), ""),
        };
        let segment = |body: &str| format!("{unit}{}", segment_of(name, "_: ()", "()", out, body));
        let body = match shape.depth > tickwire_fast::Limits::DEPTH_MAX {
            // No decoder accepts this depth.
            true => "None".to_owned(),
            false => format!("{map}{body}Some(c)"),
        };
        if !is_leaf(shape) {
            return segment(&format!("let mut c = c;\n{body}"));
        }
        // Entries without nested segments are decoded inline, in the sequence's loop. Entries whose
        // state is unknown are rare, so their function is kept out of line.
        let function = shape.function("decode");
        let is_warm = self.warm_entries(shape).is_some();
        let unknown = match is_warm {
            true => segment(&format!("{function}::<K, Unknown>(c, state, {argument}x)")),
            false => String::new(),
        };
        format!(
            "{unknown}{}#[inline(always)]\nfn {function}<'b, {}>(mut c: InputCursor<'b, K>, state: &mut State, {parameter}x: &mut CodingContext) \
             -> Option<InputCursor<'b, K>> {{ {body} }}\n",
            allow_unused(&body),
            generics(is_warm),
        )
    }

    /// Returns what the messages of a template may change, as generic arguments: the first word and how
    /// many, the first entry and how many.
    pub(crate) fn saved_range(&self, root: &Root) -> String {
        let [mut words, mut entries] = self.own_ranges(root);
        if root.is_dynamic {
            words = (0, self.words);
        }
        // A reset changes the states of all entries.
        if root.is_dynamic || root.reset {
            entries = (0, self.slots.len());
        }
        format!("{}, {}, {}, {}", words.0, words.1, entries.0, entries.1)
    }

    /// Returns the statements that begin a message of a template: they note which entries its own fields
    /// use, and `reset` follows if the template resets.
    pub(crate) fn beginning(&self, root: &Root, reset: &str) -> String {
        let [_, (entry, count)] = self.own_ranges(root);
        let used = match count {
            0 => String::new(),
            _ => format!("state.use_entries::<{entry}, {count}>();\n"),
        };
        if root.reset { used + reset } else { used }
    }

    /// Returns the words and the entries that a template's own fields use, each as the first and how many.
    fn own_ranges(&self, root: &Root) -> [(usize, usize); 2] {
        let (mut words, mut entries) = ((usize::MAX, 0), (usize::MAX, 0));
        let mut add = |slot: usize, of: &EntrySlot| {
            let is_scaled = of.kinds.iter().any(|(_, kind)| *kind == ValueKind::Scaled);
            let end = of.word + if is_scaled { 2 } else { 1 };
            words = (words.0.min(of.word), words.1.max(end));
            entries = (entries.0.min(slot), entries.1.max(slot + 1));
        };
        self.expanded.templates[root.template].body.for_each(&mut |operation| {
            if let Some(slot) = self.slot_index(operation) {
                add(slot, &self.slots[slot]);
            }
        });
        [words, entries].map(|(from, to)| (from.min(to), to - from.min(to)))
    }

    /// True if a template has a dynamic reference. Then messages may be nested in others, and only the
    /// outermost saves previous values.
    pub(crate) fn has_references(&self) -> bool {
        self.roots().any(|(_, root)| root.is_dynamic)
    }

    /// True if the presence map of any template exceeds one word.
    pub(crate) fn has_wide(&self) -> bool {
        self.roots().any(|(shape, _)| matches!(shape.mode, MapMode::Wide(_)))
    }
}

/// Statements that decode the fields of a segment.
impl<'p> FieldScene<'_, 'p> {
    fn body(&self) -> String {
        let shape = self.shape;
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
                let places = together.iter().filter_map(|member| shape.mode.place(member.bit));
                let mask = places.fold(0u64, |mask, place| mask | 1 << place);
                text.push_str(&format!("if map & {mask:#x} != 0 {{\nrt::seldom();\n"));
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

    /// True if nothing happens when the field's bit is 0.
    fn is_rare(&self, member: &StructMember<'_>) -> bool {
        if !self.shape.mode.is_fixed() || !member.plan.is_optional {
            return false;
        }
        match &member.plan.kind {
            FieldKind::Scalar { operation, .. } | FieldKind::Parts { exponent: operation, .. } => {
                operation.rule.silent == SilentValue::Absent
            }
            FieldKind::Group(_) => true,
            _ => false,
        }
    }

    fn member(&self, member: &StructMember<'p>) -> String {
        match &member.plan.kind {
            FieldKind::Scalar { field_type, operation } => {
                self.scalar(member, field_type, operation)
            }
            FieldKind::Parts { exponent, mantissa } => self.parts(member, exponent, mantissa),
            FieldKind::Group(_) => self.group(member),
            FieldKind::Sequence { length, .. } => self.sequence(member, length),
            FieldKind::Dynamic => self.dynamic(member),
        }
    }

    fn scalar(
        &self,
        member: &StructMember<'p>,
        field_type: &FieldType,
        operation: &Operation<'_>,
    ) -> String {
        let part = member.part(operation);
        if operation.rule.is_constant() {
            return match part.is_optional {
                true => self.present_by_bit(member),
                false => String::new(),
            };
        }
        let check = self.check_type(part);
        if operation.rule.silent == SilentValue::Absent {
            let rule = OperatorRule { silent: SilentValue::Never, ..operation.rule };
            let sent = Operation { rule, ..*operation };
            let (expression, cast) = self.value(field_type, FieldPart { operation: &sent, ..part });
            let absent = self.leave(operation) + &self.absent(member);
            return format!(
                "{check}if {} {{ rt::seldom(); {} }} {}\n",
                self.test(part.bit),
                self.store(member, &expression, cast),
                or_else(&absent)
            );
        }
        let (expression, cast) = self.value(field_type, part);
        check + &self.store(member, &expression, cast)
    }

    /// Returns the expression of a scalar's value, and its type if it is an integer.
    fn value(&self, field_type: &FieldType, part: FieldPart<'_>) -> (String, Option<IntegerShape>) {
        match (IntegerShape::of(field_type), field_type) {
            (Some(kind), _) => (self.integer(part, kind), Some(kind)),
            (None, FieldType::Decimal) => (self.decimal(part), None),
            (None, _) => (self.text(part, field_type), None),
        }
    }

    /// Returns the statement that stores an expression's value.
    fn store(
        &self,
        member: &StructMember<'p>,
        expression: &str,
        cast: Option<IntegerShape>,
    ) -> String {
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

    /// Returns the statement that marks a field absent; presence bits are initially set.
    fn absent(&self, member: &StructMember<'p>) -> String {
        self.all_absent(std::slice::from_ref(member))
    }

    fn all_absent(&self, members: &[StructMember<'p>]) -> String {
        let clear = |word: usize| {
            let bits = members.iter().filter_map(|member| member.presence);
            let mask =
                bits.filter(|bit| bit / 64 == word).fold(0u64, |mask, bit| mask | 1 << (bit % 64));
            (mask != 0).then(|| format!("present{word} &= !{mask:#x};"))
        };
        (0..self.shape.presence_words()).filter_map(clear).collect()
    }

    /// Emits a field whose presence depends only on its bit.
    fn present_by_bit(&self, member: &StructMember<'p>) -> String {
        match member.presence {
            Some(_) => {
                format!("if {} {{ {} }}\n", self.test_unset(member.bit), self.absent(member))
            }
            None if self.shape.mode.is_fixed() => String::new(),
            None => format!("let _ = {};\n", self.test(member.bit)),
        }
    }

    fn parts(
        &self,
        member: &StructMember<'p>,
        exponent: &Operation<'_>,
        mantissa: &Operation<'_>,
    ) -> String {
        // Rarely present fields are not covered by the check of entries before the segment.
        let past = if is_mostly_absent(member.plan) { UNKNOWN } else { self.past };
        let scene = &FieldScene { past, ..*self };
        let absent = format!("{}{}", scene.leave(mantissa), self.absent(member));
        let [first, second] = member.parts(exponent, mantissa);
        let mantissa = format!(
            "let exponent = rt::exponent(exponent)?;\n{}let mantissa: u64 = {};\n",
            scene.check_type(second),
            scene.integer(second, IntegerShape::MANTISSA)
        );
        let store = match member.is_stored {
            true => format!(
                "out.{} = Decimal {{ mantissa: mantissa as i64, exponent }};\n",
                member.ident
            ),
            false => "let _ = (mantissa, exponent);\n".to_owned(),
        };
        let check = scene.check_type(first);
        let value = scene.integer(first, exponent_type(exponent));
        match first.is_optional {
            true => format!(
                "{check}let exponent = {value};\nif let Some(exponent) = exponent {{\n{mantissa}{store}}} {}\n",
                or_else(&absent)
            ),
            false => format!("{check}{{ let exponent = {value};\n{mantissa}{store}}}\n"),
        }
    }

    fn group(&self, member: &StructMember<'p>) -> String {
        let Some(child) = member.child else { return String::new() };
        let child = &self.module.shapes[child];
        let out = format!("&mut out.{}", member.ident);
        let call = match self.is_warm(child) {
            None => self.call(&out, child),
            Some(is_warm) => self.call_by_past(&out, child, &is_warm),
        };
        match member.plan.is_optional {
            true => {
                let absent = or_else(&self.absent(member));
                format!("if {} {{ c = {call}; }} {absent}\n", self.test(member.bit))
            }
            false => format!("{{ c = {call}; }}\n"),
        }
    }

    /// Decodes a nested segment.
    fn call(&self, out: &str, child: &StructShape<'p>) -> String {
        match (is_leaf(child), child.is_stored) {
            (true, _) => self.call_leaf("", out, child),
            (false, true) => format!("c.decode::<{}>((), state, {out}, x)?", child.name),
            (false, false) => format!("c.decode::<{}>((), state, &mut (), x)?", child.name),
        }
    }

    /// Decodes a nested segment that has no nested segments itself.
    fn call_leaf(&self, generics: &str, out: &str, child: &StructShape<'p>) -> String {
        let function = child.function("decode");
        let out = if child.is_stored { format!("{out}, ") } else { String::new() };
        format!("{function}{generics}(c, state, {out}x)?")
    }

    /// Decodes a nested segment, with the variant for entries that are all assigned if they are.
    fn call_by_past(&self, out: &str, child: &StructShape<'p>, is_warm: &str) -> String {
        let unknown_out = if child.is_stored { out } else { "&mut ()" };
        format!(
            "if {is_warm} {{ {} }} else {{ c.decode::<{}>((), state, {unknown_out}, x)? }}",
            self.call_leaf("::<K, Warm>", out, child),
            child.name
        )
    }

    /// Returns the condition that all entries of a segment are assigned, if it has a variant for
    /// that.
    fn is_warm(&self, child: &StructShape<'p>) -> Option<String> {
        let (first, count) = self.module.warm_entries(child)?;
        Some(format!("K::HAS_FORMS && state.is_warm::<{first}, {count}>()"))
    }

    fn sequence(&self, member: &StructMember<'p>, length: &Operation<'_>) -> String {
        let Some(child) = member.child else { return String::new() };
        let child = &self.module.shapes[child];
        let begin = match child.takes_bytes {
            true => "x.begin_sequence_of_bytes(count, &c)",
            false => "x.begin_sequence(count)",
        };
        let entries = format!("let count = {begin}?;\n{}", self.entries(member, child));
        let part = member.part(length);
        let check = self.check_type(part);
        let clear = match member.is_stored {
            true => format!("out.{}.clear();", member.ident),
            false => String::new(),
        };
        let value = self.integer(part, IntegerShape::LENGTH);
        match part.is_optional {
            true => format!(
                "{check}let count = {value};\nif let Some(count) = count {{ {entries} }} else {{ {clear} {} }}\n",
                self.absent(member)
            ),
            false => format!("{check}{{ let count = {value};\n{entries} }}\n"),
        }
    }

    /// Decodes as many entries as the length says.
    fn entries(&self, member: &StructMember<'p>, child: &StructShape<'p>) -> String {
        let (over, each, one) = match child.is_stored {
            true => (
                format!("out.{}.prepare(count, &mut x.growth)?", member.ident),
                "entry",
                "Some(entry)",
            ),
            false => ("0..count".to_owned(), "_", "Some(_)"),
        };
        let Some(is_warm) = self.is_warm(child) else {
            let call = self.call("entry", child);
            return format!("for {each} in {over} {{ c = {call}; x.check_end(&c)?; }}\n");
        };
        let look = format!(
            "{{ c = {}; x.check_end(&c)?; }}\n",
            self.call_by_past("entry", child, &is_warm)
        );
        let Some((first, count)) = self.module.fresh_entries(self.shape, child) else {
            return format!("for {each} in {over} {look}");
        };
        let (prepare, iterate) = match child.is_stored {
            true => (format!("let entries = {over};\n"), "entries.iter_mut()"),
            false => (String::new(), over.as_str()),
        };
        let one_by_one = format!(
            "let mut entries = {iterate};
            if K::HAS_FORMS && is_fresh && let {one} = entries.next() {{
                state.mark_assigned::<{first}, {count}>();
                c = {};
                x.check_end(&c)?;
            }}
            for {each} in entries {look}",
            self.call_leaf("::<K, Fresh>", "entry", child)
        );
        let entries = match self.module.laned_number(child) {
            None => one_by_one,
            Some(_) => format!(
                "if is_fresh && let Some(end) = c.decode_entries::<{}>(entries, state, x) {{ c = end; }} else {{ {one_by_one} }}\n",
                child.name
            ),
        };
        prepare + &entries
    }

    fn dynamic(&self, member: &StructMember<'p>) -> String {
        let depth = self.shape.depth;
        format!(
            "x.begin_nested({depth})?;
            (c, _) = decode_message(c, state, out.{}.prepare(&mut x.growth)?, x).ok()?;
            x.end_nested({depth});\n",
            member.ident
        )
    }
}

/// Returns the statements of a call that may change the entries of `range`
/// ([`saved_range`](Module::saved_range)); they are restored if it fails. If `is_saved` is false, a failure
/// resets all dictionaries.
pub(crate) fn saved(is_saved: &str, range: &str, call: &str, result: &str) -> String {
    format!(
        "let is_saved = {is_saved};
        if is_saved {{ state.save::<{range}>(); }}
        let end = {call};
        if end.is_none() {{ state.put_back::<{range}>(is_saved); }}
        {result}"
    )
}

/// Returns the generic parameters of a function that decodes a segment.
fn generics(is_warm: bool) -> &'static str {
    if is_warm { "K: CpuKernel, P: Past" } else { "K: CpuKernel" }
}

/// Returns a segment with a function of its own.
fn segment_of(name: &str, map: &str, map_type: &str, out: &str, body: &str) -> String {
    format!(
        "impl DecodeSegment for {name} {{
            type State = State;
            type Out = {out};
            type Map<'b, K: CpuKernel> = {map_type};
            #[allow(unused_mut, unused_variables)]
            #[inline(always)]
            fn decode<'b, K: CpuKernel>(c: InputCursor<'b, K>, {map}, state: &mut State, out: &mut {out}, \
             x: &mut CodingContext) -> Option<InputCursor<'b, K>> {{ {body} }}
        }}\n"
    )
}

/// Returns an `else` block, or nothing for an empty text.
fn or_else(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("else {{ {text} }}") }
}

/// Returns the type that an exponent is read as. Checking the exponent's range (R1) includes the
/// range of int32, unless it is a constant, copied or added to.
fn exponent_type(exponent: &Operation<'_>) -> IntegerShape {
    match exponent.rule.uses_dictionary() || exponent.rule.is_constant() {
        true => IntegerShape::EXPONENT,
        false => IntegerShape::MANTISSA,
    }
}

/// Returns the code that reports unused bits of a map; the other bits are tested where fields use
/// them.
fn fixed_map(shape: &StructShape<'_>) -> String {
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

/// Returns an `allow` attribute for functions that do not use all their parameters.
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
