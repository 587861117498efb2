//! Emits structs and their constructors.

use std::fmt::Write;

use super::slots::Assigned;
use super::{decode, encode, members};
use super::{put, role, struct_type, type_of};
use crate::names::doc;
use crate::plan::{DictionaryPlan, FieldRepresentation, MemberPlan, StructPlan, StructRole};

/// Maximum number of required members passed as arguments; more are passed in a struct that names
/// them.
const ARGUMENTS_MAX: usize = 4;

/// Emits a struct with all its code.
pub(super) fn structure(out: &mut String, plan: &DictionaryPlan, found: &StructPlan) {
    let assigned = Assigned::new(plan, found);
    if has_required_struct(found) {
        required_struct(out, plan, found);
    }
    put!(out, "/// {}", role(found));
    put!(out, "#[derive(Clone, PartialEq)]");
    put!(out, "pub struct {} {{", struct_type(found));
    put!(out, "    slots: {},", assigned.slots_type());
    for member in groups(found) {
        let required = if member.required { ", required" } else { "" };
        put!(out, "    /// {} ({}){required}.", doc(&member.name), member.tag);
        put!(out, "    pub {}: {},", member.ident, type_of(plan, &member.kind));
    }
    put!(out, "}}\n");
    put!(out, "impl<'m> {} {{", struct_type(found));
    if let StructRole::Message(msg_type) = &found.role {
        put!(out, "    /// The MsgType of this message.");
        put!(out, "    pub const MSG_TYPE: &'static str = {msg_type:?};\n");
    }
    constructor(out, plan, found);
    members::all(out, plan, found, &assigned);
    decode::methods(out, found);
    encode::methods(out, found);
    put!(out, "}}\n");
    members::blocks(out, plan, found, &assigned);
    members::debug(out, found);
    if arguments(found).next().is_none() {
        put!(out, "impl Default for {}<'_> {{", found.ident);
        put!(out, "    fn default() -> Self {{\n        Self::new()\n    }}\n}}\n");
    }
    decode::fields(out, plan, found, &assigned);
}

/// Returns the groups.
pub(super) fn groups(found: &StructPlan) -> impl Iterator<Item = &MemberPlan> {
    found.members.iter().filter(|member| matches!(member.kind, FieldRepresentation::Group(_)))
}

/// Returns the members that are visible to users.
fn kept(found: &StructPlan) -> impl Iterator<Item = &MemberPlan> {
    found.members.iter().filter(|member| member.kind != FieldRepresentation::Length)
}

/// True if a member is always present. An absent group has no entries.
pub(super) fn is_required(member: &MemberPlan) -> bool {
    member.required && !matches!(member.kind, FieldRepresentation::Group(_))
}

/// Returns the members that a constructor requires.
fn arguments(found: &StructPlan) -> impl Iterator<Item = &MemberPlan> {
    kept(found).filter(|member| is_required(member))
}

fn constructor(out: &mut String, plan: &DictionaryPlan, found: &StructPlan) {
    let is_struct = has_required_struct(found);
    let typed: Vec<String> = arguments(found)
        .map(|member| format!("{}: {}", member.ident, type_of(plan, &member.kind)))
        .collect();
    let parameters = match is_struct {
        true => format!("required: {}", required_type(plan, found)),
        false => typed.join(", "),
    };
    put!(out, "    /// Creates a value that has only the required fields.");
    put!(out, "    pub fn new({parameters}) -> Self {{");
    if typed.is_empty() {
        put!(out, "        rt::TypedFields::blank()\n    }}\n");
        return;
    }
    put!(out, "        let mut made: Self = rt::TypedFields::blank();");
    let from = if is_struct { "required." } else { "" };
    for member in arguments(found) {
        put!(out, "        made.{}({from}{});", member.setter, member.ident);
    }
    put!(out, "        made\n    }}\n");
}

/// True if the required members are passed in a separate struct.
fn has_required_struct(found: &StructPlan) -> bool {
    arguments(found).count() > ARGUMENTS_MAX
}

/// Returns the type of the struct of required members.
fn required_type(plan: &DictionaryPlan, found: &StructPlan) -> String {
    let borrows = arguments(found).any(|member| type_of(plan, &member.kind).contains("'m"));
    format!("{}{}", found.required, if borrows { "<'m>" } else { "" })
}

/// Emits the struct of required members.
fn required_struct(out: &mut String, plan: &DictionaryPlan, found: &StructPlan) {
    put!(out, "/// Required fields of [`{}`].", found.ident);
    put!(out, "#[derive(Clone, Copy, Debug, PartialEq)]");
    put!(out, "pub struct {} {{", required_type(plan, found));
    for member in arguments(found) {
        put!(out, "    /// {} ({}).", doc(&member.name), member.tag);
        put!(out, "    pub {}: {},", member.ident, type_of(plan, &member.kind));
    }
    put!(out, "}}\n");
}
