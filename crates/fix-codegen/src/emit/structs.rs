//! Structs and how they are made.

use std::fmt::Write;

use super::{blank, impl_of, put, role, struct_type, type_of};
use super::{decode, encode};
use crate::names::doc;
use crate::plan::{Kind, MemberPlan, Plan, Role, StructPlan};

/// Most arguments that clippy likes.
const ARGUMENTS_MAX: usize = 7;

/// Adds a struct with all its code.
pub(super) fn structure(out: &mut String, plan: &Plan, found: &StructPlan) {
    put!(out, "/// {}", role(found));
    put!(out, "#[derive(Clone, Debug, PartialEq)]");
    put!(out, "pub struct {} {{", struct_type(found));
    for member in kept(found) {
        let required = if member.required { ", required" } else { "" };
        put!(out, "    /// {} ({}){required}.", doc(&member.name), member.tag);
        put!(out, "    pub {}: {},", member.ident, member_type(plan, member));
    }
    put!(out, "}}\n");
    put!(out, "{} {{", impl_of(found));
    if let Role::Message(msg_type) = &found.role {
        put!(out, "    /// MsgType.");
        put!(out, "    pub const MSG_TYPE: &'static str = {msg_type:?};\n");
    }
    constructor(out, plan, found);
    blank_constant(out, plan, found);
    decode::methods(out, plan, found);
    encode::methods(out, plan, found);
    put!(out, "}}\n");
    if arguments(found).next().is_none() {
        put!(out, "impl Default for {} {{", anonymous(found));
        put!(out, "    fn default() -> Self {{\n        Self::new()\n    }}\n}}\n");
    }
    decode::group_entry(out, plan, found);
}

/// Returns the members that are fields of the struct.
pub(super) fn kept(found: &StructPlan) -> impl Iterator<Item = &MemberPlan> {
    found.members.iter().filter(|member| member.kind != Kind::Length)
}

/// Whether a member is there always.
pub(super) fn is_plain(member: &MemberPlan) -> bool {
    member.required || matches!(member.kind, Kind::Group(_))
}

fn member_type(plan: &Plan, member: &MemberPlan) -> String {
    let own = type_of(plan, &member.kind);
    if is_plain(member) { own } else { format!("Option<{own}>") }
}

/// Returns the members that a struct cannot be made without.
fn arguments(found: &StructPlan) -> impl Iterator<Item = &MemberPlan> {
    kept(found).filter(|member| member.required && !matches!(member.kind, Kind::Group(_)))
}

fn anonymous(found: &StructPlan) -> String {
    format!("{}{}", found.ident, if found.borrows { "<'_>" } else { "" })
}

fn constructor(out: &mut String, plan: &Plan, found: &StructPlan) {
    let names: Vec<&str> = arguments(found).map(|member| member.ident.as_str()).collect();
    let typed: Vec<String> = arguments(found)
        .map(|member| format!("{}: {}", member.ident, type_of(plan, &member.kind)))
        .collect();
    put!(out, "    /// Creates one with what is required, and nothing else.");
    if names.len() > ARGUMENTS_MAX {
        put!(
            out,
            "    #[allow(clippy::too_many_arguments, reason = \"so many fields are required\")]"
        );
    }
    put!(out, "    pub const fn new({}) -> Self {{", typed.join(", "));
    // What is required is given, and what is not has a value of its own: nothing is left of a blank one.
    put!(out, "        Self {{");
    for member in kept(found) {
        if names.contains(&member.ident.as_str()) {
            put!(out, "            {},", member.ident);
        } else {
            put!(out, "            {}: {},", member.ident, absent(member));
        }
    }
    put!(out, "        }}\n    }}\n");
}

fn absent(member: &MemberPlan) -> &'static str {
    if matches!(member.kind, Kind::Group(_)) { "Vec::new()" } else { "None" }
}

/// Adds what decoding begins with: a constant, so that it is copied and not put together.
fn blank_constant(out: &mut String, plan: &Plan, found: &StructPlan) {
    let blanks: Vec<String> = arguments(found).map(|member| blank(plan, &member.kind)).collect();
    put!(out, "    /// What decoding begins with; never handed out.");
    put!(out, "    const BLANK: Self = Self::new({});\n", blanks.join(", "));
}
