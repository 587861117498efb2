//! Methods that get and set the members of a struct.

use std::fmt::Write;

use super::slots::Assigned;
use super::structs::is_required;
use super::{blank, put, type_of};
use crate::names::doc;
use crate::plan::{Kind, MemberPlan, Plan, Repr};

/// Adds the methods of one member that has a slot.
pub(super) fn methods(out: &mut String, plan: &Plan, member: &MemberPlan, slot: usize) {
    let MemberPlan { tag, name, ident, setter, .. } = member;
    let own = type_of(plan, &member.kind);
    put!(out, "    /// {} ({tag}).", doc(name));
    put!(out, "    #[inline]");
    if is_required(member) {
        put!(out, "    pub fn {ident}(&self) -> {own} {{");
        let blank = blank(plan, &member.kind);
        put!(out, "        {}.unwrap_or({blank})\n    }}\n", found(plan, &member.kind, slot));
        put!(out, "    /// Sets {} ({tag}).", doc(name));
        put!(out, "    #[inline]");
        put!(out, "    pub fn {setter}(&mut self, value: {own}) -> &mut Self {{");
        put!(out, "        let value = Some(value);");
    } else {
        put!(out, "    pub fn {ident}(&self) -> Option<{own}> {{");
        put!(out, "        {}\n    }}\n", found(plan, &member.kind, slot));
        put!(out, "    /// Sets {} ({tag}), or removes it.", doc(name));
        put!(out, "    #[inline]");
        put!(
            out,
            "    pub fn {setter}(&mut self, value: impl Into<Option<{own}>>) -> &mut Self {{"
        );
        put!(out, "        let value: Option<{own}> = value.into();");
    }
    put!(out, "        {};", set(plan, &member.kind, slot));
    put!(out, "        self\n    }}\n");
}

/// Returns what a slot holds, as an option of the member's type.
pub(super) fn found(plan: &Plan, kind: &Kind, slot: usize) -> String {
    let value = |own: &str| format!("self.slots.value::<{own}>({slot})");
    let text = format!("self.slots.text({slot})");
    match kind {
        Kind::Data(_) => format!("{text}.map(Text::as_bytes)"),
        Kind::Enum(index) => {
            let found = &plan.enums[*index];
            match found.repr {
                Repr::Char => format!("{}.map({}::from_char)", value("u8"), found.ident),
                Repr::Int => format!("{}.map({}::from_int)", value("i64"), found.ident),
                Repr::Text => format!("{text}.map({}::from_text)", found.ident),
            }
        }
        Kind::Multiple(_) => format!("self.slots.multiple({slot})"),
        Kind::Text => text,
        other => value(&type_of(plan, other)),
    }
}

/// Returns what sets a slot to `value`, an option of the member's type.
fn set(plan: &Plan, kind: &Kind, slot: usize) -> String {
    let method = |name: &str, value: &str| format!("self.slots.{name}({slot}, {value})");
    match kind {
        Kind::Data(_) => method("set_text", "value.map(Text)"),
        Kind::Enum(index) => {
            let found = &plan.enums[*index];
            let map = |to: &str| format!("value.map({}::{to})", found.ident);
            match found.repr {
                Repr::Char => method("set_value", &map("char")),
                Repr::Int => method("set_value", &map("int")),
                Repr::Text => method("set_text", &map("text")),
            }
        }
        Kind::Multiple(_) => method("set_text", "value.map(|value| value.text())"),
        Kind::Text => method("set_text", "value"),
        _ => method("set_value", "value"),
    }
}

/// Adds the methods of all members, and what prints them.
pub(super) fn debug(out: &mut String, ident: &str, members: &[&MemberPlan]) {
    put!(out, "impl std::fmt::Debug for {ident}<'_> {{");
    put!(out, "    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{");
    put!(out, "        let mut found = out.debug_struct({ident:?});");
    for member in members {
        let (ident, name) = (&member.ident, member.ident.trim_start_matches("r#"));
        match member.kind {
            Kind::Group(_) => {
                put!(out, "        if !self.{ident}.is_empty() {{");
                put!(out, "            found.field({name:?}, &self.{ident});\n        }}");
            }
            _ if is_required(member) => {
                put!(out, "        found.field({name:?}, &self.{ident}());");
            }
            _ => {
                put!(out, "        if let Some(value) = self.{ident}() {{");
                put!(out, "            found.field({name:?}, &value);\n        }}");
            }
        }
    }
    put!(out, "        found.finish()\n    }}\n}}\n");
}

/// Adds the methods of all members with slots.
pub(super) fn all(out: &mut String, plan: &Plan, members: &[MemberPlan], assigned: &Assigned) {
    for (number, member) in members.iter().enumerate() {
        if !matches!(member.kind, Kind::Group(_) | Kind::Length) {
            methods(out, plan, member, assigned.slot(number));
        }
    }
}
