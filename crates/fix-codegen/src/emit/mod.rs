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

use crate::plan::{DictionaryPlan, FieldRepresentation, StructPlan, StructRole};

/// Appends formatted text to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => { _ = writeln!($out, $($format)*) };
}
use put;

/// Returns the source of a module.
pub(crate) fn module(plan: &DictionaryPlan, begin_string: &str) -> String {
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
pub(crate) fn too_large(plan: &DictionaryPlan) -> Option<&str> {
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
    let typed = used(&["FixText", "Multiple", "MultipleElement", "TimeWithPrecision"]);
    let value = used(&["LocalMktDate", "MonthYear", "UtcTime"]);
    let root = used(&[
        "Field",
        "FixDecimal",
        "FixError",
        "FixMessage",
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
fn tag_constants(out: &mut String, plan: &DictionaryPlan) {
    let members = plan.wanted_structs().flat_map(|found| &found.members);
    let tags: BTreeMap<u32, &str> =
        members.map(|member| (member.tag, member.constant.as_str())).collect();
    for (tag, constant) in tags {
        put!(out, "const {constant}: TagText = TagText::new(Tag({tag}));");
    }
    out.push('\n');
}

/// Returns the type of a member's value.
fn type_of(plan: &DictionaryPlan, kind: &FieldRepresentation) -> String {
    match kind {
        FieldRepresentation::Boolean => "bool".into(),
        FieldRepresentation::Char => "u8".into(),
        FieldRepresentation::Data(_) => "&'m [u8]".into(),
        FieldRepresentation::Date => "LocalMktDate".into(),
        FieldRepresentation::Decimal => "FixDecimal".into(),
        FieldRepresentation::Enum(index) => enums::type_of(&plan.enums[*index]),
        FieldRepresentation::Group(index) => format!("Vec<{}>", struct_type(&plan.structs[*index])),
        FieldRepresentation::Int => "i64".into(),
        FieldRepresentation::Length => "()".into(),
        FieldRepresentation::MonthYear => "MonthYear".into(),
        FieldRepresentation::Multiple(None) => "Multiple<'m, FixText<'m>>".into(),
        FieldRepresentation::Multiple(Some(index)) => {
            format!("Multiple<'m, {}>", enums::type_of(&plan.enums[*index]))
        }
        FieldRepresentation::Text => "FixText<'m>".into(),
        FieldRepresentation::Uint => "u64".into(),
        FieldRepresentation::UtcTime => "TimeWithPrecision<UtcTime>".into(),
        FieldRepresentation::UtcTimestamp => "TimeWithPrecision<UtcTimestamp>".into(),
    }
}

fn struct_type(found: &StructPlan) -> String {
    format!("{}<'m>", found.ident)
}

/// Describes the role of a struct.
fn role(found: &StructPlan) -> String {
    match &found.role {
        StructRole::Entry(_) => format!("An entry of {}.", crate::names::doc(&found.name)),
        StructRole::Header => "The header, without BeginString, BodyLength and MsgType.".to_owned(),
        StructRole::Message(msg_type) => {
            format!("{} (`{}`).", crate::names::doc(&found.name), crate::names::doc(msg_type))
        }
        StructRole::Trailer => "The trailer, without CheckSum.".to_owned(),
    }
}
