//! Code that decodes.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::structs::{is_plain, kept};
use super::{message_type, put};
use crate::plan::{Kind, MemberPlan, Plan, Repr, Role, StructPlan};

/// Adds the methods that decode a header, trailer or message.
pub(super) fn methods(out: &mut String, plan: &Plan, found: &StructPlan) {
    let message = message_type(found);
    match &found.role {
        Role::Entry(_) => return,
        Role::Header => {
            put!(
                out,
                "    /// Decodes the header; returns it and the place of the first field after it."
            );
            errors(out);
            put!(out, "    #[inline(always)]");
            put!(out, "    pub fn decode(message: {message}) -> Result<(Self, usize), Error> {{");
            put!(out, "        let mut decoded = Self::BLANK;");
            put!(out, "        let end = decoded.fill(message, typed::BODY_START)?;");
            put!(out, "        Ok((decoded, end))\n    }}\n");
            put!(
                out,
                "    /// Decodes the header in place of what there was; returns the place after it."
            );
            errors(out);
            put!(
                out,
                "    pub fn decode_into(&mut self, message: {message}) -> Result<usize, Error> {{"
            );
            put!(out, "        self.clear();");
            put!(out, "        self.fill(message, typed::BODY_START)\n    }}\n");
        }
        Role::Message(_) | Role::Trailer => {
            put!(out, "    /// Decodes it; fields that do not belong to it are left alone.");
            errors(out);
            put!(out, "    #[inline(always)]");
            put!(out, "    pub fn decode(message: {message}) -> Result<Self, Error> {{");
            check(out, found);
            put!(out, "        let mut decoded = Self::BLANK;");
            put!(out, "        decoded.fill(message, typed::BODY_START)?;");
            put!(out, "        Ok(decoded)\n    }}\n");
            put!(
                out,
                "    /// Decodes it in place of what there was, from the field at `start` on: the place after the header."
            );
            put!(out, "    ///");
            put!(
                out,
                "    /// Room for groups is used again. After an error there is something of both."
            );
            errors(out);
            put!(
                out,
                "    pub fn decode_into(&mut self, message: {message}, start: usize) -> Result<(), Error> {{"
            );
            check(out, found);
            put!(out, "        self.clear();");
            put!(out, "        self.fill(message, start).map(|_| ())\n    }}\n");
        }
    }
    clear(out, found);
    put!(
        out,
        "    fn fill(&mut self, message: {message}, start: usize) -> Result<usize, Error> {{"
    );
    body(out, plan, found, "self");
    put!(out, "        Ok(at)\n    }}\n");
}

fn check(out: &mut String, found: &StructPlan) {
    if let Role::Message(_) = found.role {
        put!(out, "        typed::check(message, Self::MSG_TYPE)?;");
    }
}

fn errors(out: &mut String) {
    put!(out, "    ///");
    put!(out, "    /// # Errors");
    put!(out, "    /// What a session has to reject, with tag, offset and reason.");
}

/// Adds the method that empties a struct but keeps the room of its groups.
fn clear(out: &mut String, found: &StructPlan) {
    let groups: Vec<&str> = kept(found)
        .filter(|member| matches!(member.kind, Kind::Group(_)))
        .map(|member| member.ident.as_str())
        .collect();
    put!(out, "    fn clear(&mut self) {{");
    for group in &groups {
        put!(out, "        let mut {group} = std::mem::take(&mut self.{group});");
        put!(out, "        {group}.clear();");
    }
    let kept: String = groups.iter().map(|group| format!("{group}, ")).collect();
    match groups.is_empty() {
        true => put!(out, "        *self = Self::BLANK;\n    }}\n"),
        false => put!(out, "        *self = Self {{ {kept}..Self::BLANK }};\n    }}\n"),
    }
}

/// Adds the code that decodes an entry of a group.
pub(super) fn group_entry(out: &mut String, plan: &Plan, found: &StructPlan) {
    let Role::Entry(delimiter) = found.role else { return };
    put!(out, "impl<'m> GroupEntry<'m> for {} {{", super::struct_type(found));
    put!(out, "    const DELIMITER: u32 = {delimiter};\n");
    put!(
        out,
        "    fn decode(message: &Message<'m>, start: usize, depth: usize) -> Result<(Self, usize), Error> {{"
    );
    put!(out, "        let mut decoded = Self::BLANK;");
    body(out, plan, found, "decoded");
    put!(out, "        Ok((decoded, at))\n    }}\n}}\n");
    // A group that nests nothing does not look at its depth.
    if !found.members.iter().any(|member| matches!(member.kind, Kind::Group(_))) {
        let from = out.rfind("start: usize, depth: usize").unwrap_or(out.len());
        out.replace_range(from..from + "start: usize, depth".len(), "start: usize, _depth");
    }
}

/// Adds the loop over the fields, from `start` to `at`.
fn body(out: &mut String, plan: &Plan, found: &StructPlan, target: &str) {
    let words = found.members.len().div_ceil(64).max(1);
    let ends = matches!(found.role, Role::Entry(_) | Role::Header);
    if found.members.is_empty() {
        put!(out, "        let (_, at) = (message, start);");
        return;
    }
    put!(out, "        let mut met = Met::<{words}>::default();");
    put!(out, "        let mut at = start;");
    put!(out, "        let fields = message.columns();");
    put!(out, "        while let Some(field) = fields.field(at) {{");
    if let Role::Entry(_) = found.role {
        put!(out, "            if field.tag.0 == Self::DELIMITER && at > start {{");
        put!(out, "                break;\n            }}");
    }
    put!(out, "            at += 1;");
    if let ([member], false) = (&*found.members, ends)
        && !matches!(member.kind, Kind::Group(_))
    {
        put!(out, "            if field.tag.0 == {} {{", member.tag);
        let value = statement(plan, member, 0, target);
        put!(out, "                {value};\n            }}\n        }}");
        return require(out, found, words);
    }
    put!(out, "            match field.tag.0 {{");
    for (number, member) in found.members.iter().enumerate() {
        arm(
            out,
            plan,
            member,
            number,
            target,
            if matches!(found.role, Role::Entry(_)) { "depth" } else { "0" },
        );
    }
    if !ends {
        misplaced(out, plan, found);
    }
    if ends {
        put!(out, "                _ => {{");
        put!(out, "                    at -= 1;");
        put!(out, "                    break;\n                }}");
    } else {
        put!(out, "                _ => {{}}");
    }
    put!(out, "            }}\n        }}");
    require(out, found, words);
}

/// Adds the check that what is required has been met.
fn require(out: &mut String, found: &StructPlan, words: usize) {
    let required: Vec<(usize, &MemberPlan)> =
        found.members.iter().enumerate().filter(|(_, member)| member.required).collect();
    if required.is_empty() {
        return;
    }
    let mut mask = vec![0_u64; words];
    for (number, _) in &required {
        mask[number / 64] |= 1 << (number % 64);
    }
    let mask: Vec<String> = mask.iter().map(|word| format!("{word:#x}")).collect();
    let list: Vec<String> =
        required.iter().map(|(number, member)| format!("({number}, {})", member.tag)).collect();
    let offset = match found.role {
        Role::Entry(_) => "message.field_offset(start).unwrap_or(0) as usize",
        _ => "message.bytes().len()",
    };
    put!(out, "        met.require([{}], &[{}], {offset})?;", mask.join(", "), list.join(", "));
}

/// Adds the arm of one member.
fn arm(
    out: &mut String,
    plan: &Plan,
    member: &MemberPlan,
    number: usize,
    target: &str,
    depth: &str,
) {
    let (tag, ident) = (member.tag, &member.ident);
    if let Kind::Group(_) = member.kind {
        put!(out, "                {tag} => {{");
        put!(out, "                    let count = met.first({number}, &field)?;");
        put!(
            out,
            "                    at = typed::decode_group(message, count, at, {depth}, &mut {target}.{ident})?;"
        );
        put!(out, "                }}");
        return;
    }
    if member.kind == Kind::Length {
        put!(
            out,
            "                // The length of the data that follows, which the reader has verified."
        );
    }
    put!(out, "                {tag} => {},", statement(plan, member, number, target));
}

/// Returns what decodes one member that is no group.
fn statement(plan: &Plan, member: &MemberPlan, number: usize, target: &str) -> String {
    let ident = &member.ident;
    let first = format!("met.first({number}, &field)?");
    let value = match &member.kind {
        Kind::Group(_) | Kind::Length => return format!("_ = {first}"),
        Kind::Boolean => format!("{first}.boolean()?"),
        Kind::Char => format!("{first}.char()?"),
        Kind::Data(_) => format!("{first}.value"),
        Kind::Date => format!("{first}.date()?"),
        Kind::Decimal => format!("{first}.decimal()?"),
        Kind::Enum(index) => {
            let found = &plan.enums[*index];
            match found.repr {
                Repr::Char => format!("{}::from_char({first}.char()?)", found.ident),
                Repr::Int => format!("{}::from_int({first}.int()?)", found.ident),
                Repr::Text => format!("{}::from_text(Text({first}.value))", found.ident),
            }
        }
        Kind::Int => format!("{first}.int()?"),
        Kind::MonthYear => format!("{first}.month_year()?"),
        Kind::Multiple(_) => format!("Multiple::new(Text({first}.value))"),
        Kind::Text => format!("Text({first}.value)"),
        Kind::Uint => format!("{first}.uint()?"),
        Kind::UtcTime => format!("Stamped::<UtcTime>::decode({first})?"),
        Kind::UtcTimestamp => format!("Stamped::<UtcTimestamp>::decode({first})?"),
    };
    let value = if is_plain(member) { value } else { format!("Some({value})") };
    format!("{target}.{ident} = {value}")
}

/// Adds an arm for fields of groups that stand outside of them.
fn misplaced(out: &mut String, plan: &Plan, found: &StructPlan) {
    let mut tags = BTreeSet::new();
    group_tags(plan, found, &mut tags);
    for member in &found.members {
        tags.remove(&member.tag);
    }
    if tags.is_empty() {
        return;
    }
    put!(out, "                // Fields of groups, outside of them.");
    let lines: Vec<String> = ranges(&tags).chunks(12).map(|line| line.join(" | ")).collect();
    let indent = "\n                | ";
    put!(
        out,
        "                {} => return Err(field.refused(ErrorKind::GroupOrder)),",
        lines.join(indent)
    );
}

fn group_tags(plan: &Plan, found: &StructPlan, tags: &mut BTreeSet<u32>) {
    for member in &found.members {
        if let Kind::Group(index) = member.kind {
            let group = &plan.structs[index];
            tags.extend(group.members.iter().map(|member| member.tag));
            group_tags(plan, group, tags);
        }
    }
}

/// Returns patterns for sorted tags: three and more in a row are a range.
fn ranges(tags: &BTreeSet<u32>) -> Vec<String> {
    let tags: Vec<u32> = tags.iter().copied().collect();
    let runs = tags.chunk_by(|one, next| one + 1 == *next);
    runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first}..={last}")],
        few => few.iter().map(u32::to_string).collect(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_in_a_row_become_ranges() {
        let patterns = ranges(&[1, 2, 4, 6, 7, 8, 10].into());
        assert_eq!(patterns, ["1", "2", "4", "6..=8", "10"]);
    }
}
