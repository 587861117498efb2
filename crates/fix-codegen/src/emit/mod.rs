//! Emits a plan as source.

mod any;
mod decode;
mod encode;
mod enums;
mod members;
mod slots;
mod structs;

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::plan::{Kind, Plan, Role, StructPlan};

/// Appends formatted text to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => { _ = writeln!($out, $($format)*) };
}
use put;

/// Returns the source of a module.
pub(crate) fn module(plan: &Plan, begin_string: &str) -> String {
    let mut body = String::new();
    put!(body, "/// BeginString of every message.");
    put!(body, "pub const BEGIN_STRING: &str = {begin_string:?};");
    body.push('\n');
    tag_constants(&mut body, plan);
    for found in plan.wanted_enums() {
        enums::enumeration(&mut body, found);
    }
    enums::listed(&mut body, plan);
    for (_, found) in plan.wanted_blocks() {
        members::block(&mut body, plan, found);
    }
    for found in plan.wanted_structs() {
        structs::structure(&mut body, plan, found);
    }
    any::message(&mut body, plan);
    format!("{}\n{body}", imports(&body))
}

/// Returns the name of a struct that is too large, if any.
pub(crate) fn too_large(plan: &Plan) -> Option<&str> {
    let found = plan.wanted_structs().find(|found| !slots::fits(plan, found));
    found.map(|found| found.name.as_str())
}

/// Returns the imports that `body` needs.
fn imports(body: &str) -> String {
    let is_used = |name: &&&str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        body.match_indices(**name).any(|(at, _)| {
            let before = body[..at].chars().next_back().is_some_and(is_part);
            let after = body[at + name.len()..].chars().next().is_some_and(is_part);
            !before && !after
        })
    };
    let used = |names: &[&str]| {
        let used: Vec<&str> = names.iter().filter(is_used).copied().collect();
        used.join(", ")
    };
    let typed = used(&["Item", "Multiple", "Stamped", "Text"]);
    let value = used(&["LocalMktDate", "MonthYear", "UtcTime"]);
    let root = used(&[
        "Decimal",
        "Error",
        "Field",
        "Message",
        "Tag",
        "TagText",
        "UtcTimestamp",
        "Writer",
        "rt",
    ]);
    let lines =
        [("tickwire_fix::typed", typed), ("tickwire_fix::value", value), ("tickwire_fix", root)];
    let mut imports = String::new();
    for (path, names) in lines.iter().filter(|(_, names)| !names.is_empty()) {
        put!(imports, "use {path}::{{{names}}};");
    }
    imports
}

/// Emits constants with the text of every tag.
fn tag_constants(out: &mut String, plan: &Plan) {
    let members = plan.wanted_structs().flat_map(|found| &found.members);
    let tags: BTreeMap<u32, &str> =
        members.map(|member| (member.tag, member.constant.as_str())).collect();
    for (tag, constant) in tags {
        put!(out, "const {constant}: TagText = TagText::new(Tag({tag}));");
    }
    out.push('\n');
}

/// Returns the type of a member's value.
fn type_of(plan: &Plan, kind: &Kind) -> String {
    match kind {
        Kind::Boolean => "bool".into(),
        Kind::Char => "u8".into(),
        Kind::Data(_) => "&'m [u8]".into(),
        Kind::Date => "LocalMktDate".into(),
        Kind::Decimal => "Decimal".into(),
        Kind::Enum(index) => enums::type_of(&plan.enums[*index]),
        Kind::Group(index) => format!("Vec<{}>", struct_type(&plan.structs[*index])),
        Kind::Int => "i64".into(),
        Kind::Length => "()".into(),
        Kind::MonthYear => "MonthYear".into(),
        Kind::Multiple(None) => "Multiple<'m, Text<'m>>".into(),
        Kind::Multiple(Some(index)) => {
            format!("Multiple<'m, {}>", enums::type_of(&plan.enums[*index]))
        }
        Kind::Text => "Text<'m>".into(),
        Kind::Uint => "u64".into(),
        Kind::UtcTime => "Stamped<UtcTime>".into(),
        Kind::UtcTimestamp => "Stamped<UtcTimestamp>".into(),
    }
}

fn struct_type(found: &StructPlan) -> String {
    format!("{}<'m>", found.ident)
}

/// Describes the role of a struct.
fn role(found: &StructPlan) -> String {
    match &found.role {
        Role::Entry(_) => format!("An entry of {}.", crate::names::doc(&found.name)),
        Role::Header => "The header, without BeginString, BodyLength and MsgType.".to_owned(),
        Role::Message(msg_type) => {
            format!("{} (`{}`).", crate::names::doc(&found.name), crate::names::doc(msg_type))
        }
        Role::Trailer => "The trailer, without CheckSum.".to_owned(),
    }
}
