//! Emits methods that get and set members, and the printing of structs.

use std::fmt::Write;

use super::slots::{Assigned, Class, block_slots};
use super::structs::{groups, is_required};
use super::{put, type_of};
use crate::names::doc;
use crate::plan::{BlockPlan, DictionaryPlan, FieldRepresentation, MemberPlan, StructPlan};

/// Emits the methods of all members of a struct that have slots and are not in a shared block.
pub(super) fn all(
    out: &mut String,
    plan: &DictionaryPlan,
    found: &StructPlan,
    assigned: &Assigned,
) {
    let is_shared = |member: &MemberPlan| {
        let mut blocks = found.blocks.iter().filter_map(|block| plan.blocks.get(*block));
        blocks.any(|block| block.has(member.tag))
    };
    for (number, member) in found.members.iter().enumerate() {
        if member.has_accessors() && !is_shared(member) {
            methods(out, plan, member, "pub fn", &assigned.slot(number).to_string());
        }
    }
}

/// Emits the methods of a member.
fn methods(
    out: &mut String,
    plan: &DictionaryPlan,
    member: &MemberPlan,
    function: &str,
    slot: &str,
) {
    let MemberPlan { tag, name, ident, setter, .. } = member;
    let own = type_of(plan, &member.kind);
    let (name, required) = (doc(name), is_required(member));
    let (found, argument, get, set, or) = match required {
        true => (own.clone(), own, "get", "set", ""),
        false => (
            format!("Option<{own}>"),
            format!("impl Into<Option<{own}>>"),
            "find",
            "put",
            ", or removes it",
        ),
    };
    put!(out, "    /// {name} ({tag}).");
    put!(out, "    #[inline]");
    put!(out, "    {function} {ident}(&self) -> {found} {{");
    put!(out, "        rt::{get}(self, {slot})\n    }}\n");
    put!(out, "    /// Sets {name} ({tag}){or}.");
    put!(out, "    #[inline]");
    put!(out, "    {function} {setter}(&mut self, value: {argument}) -> &mut Self {{");
    put!(out, "        rt::{set}(self, {slot}, value)\n    }}\n");
}

/// Emits the trait of a shared block.
pub(super) fn block(out: &mut String, plan: &DictionaryPlan, block: &BlockPlan) {
    put!(
        out,
        "/// Accessors of the optional fields of {}, for the messages and groups that contain them.",
        doc(&block.name)
    );
    put!(out, "pub trait {}<'m>: rt::TypedFields<'m> {{", block.ident);
    put!(out, "    #[doc(hidden)]\n    const TEXTS: usize;");
    put!(out, "    #[doc(hidden)]\n    const VALUES: usize;\n");
    for (member, (class, slot)) in block.members.iter().zip(block_slots(plan, block)) {
        methods(out, plan, member, "fn", &class.shared_slot(slot));
    }
    super::encode::segments(out, plan, block);
    put!(out, "}}\n");
}

/// Emits the implementations of the shared blocks of a struct.
pub(super) fn blocks(
    out: &mut String,
    plan: &DictionaryPlan,
    found: &StructPlan,
    assigned: &Assigned,
) {
    for block in found.blocks.iter().filter_map(|block| plan.blocks.get(*block)) {
        let [texts, values] = assigned.base(found, block);
        put!(out, "impl<'m> {}<'m> for {} {{", block.ident, super::struct_type(found));
        put!(out, "    const TEXTS: usize = {texts};");
        put!(out, "    const VALUES: usize = {values};\n}}\n");
    }
}

impl Class {
    /// Returns a slot of a shared block, relative to its first slot.
    pub(super) fn shared_slot(self, slot: usize) -> String {
        let base = if self == Self::Value { "Self::VALUES" } else { "Self::TEXTS" };
        if slot == 0 { base.to_owned() } else { format!("{base} + {slot}") }
    }
}

/// Emits the printing of a struct.
pub(super) fn debug(out: &mut String, found: &StructPlan) {
    let ident = &found.ident;
    let names = found.members.iter().map(|member| {
        let mark = match member.kind {
            FieldRepresentation::Data(_) => "*",
            FieldRepresentation::Enum(_) => "+",
            _ => "",
        };
        format!("{}{mark}", member.ident.trim_start_matches("r#"))
    });
    let names = names.collect::<Vec<_>>().join(" ");
    let groups: Vec<String> = groups(found).map(|group| format!("&self.{}", group.ident)).collect();
    put!(out, "impl std::fmt::Debug for {ident}<'_> {{");
    put!(out, "    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{");
    put!(out, "        const SHOWN: rt::PrintTable =");
    put!(
        out,
        "            rt::PrintTable {{ name: {ident:?}, members: {names:?}, listed: show_listed }};"
    );
    put!(out, "        rt::show(self, SHOWN, &[{}], out)\n    }}\n}}\n", groups.join(", "));
}
