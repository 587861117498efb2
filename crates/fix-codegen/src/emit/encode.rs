//! Code that encodes.

use std::fmt::Write;

use super::put;
use super::structs::{is_plain, kept};
use crate::plan::{Kind, MemberPlan, Plan, Repr, Role, StructPlan};

/// Adds the methods that encode a struct.
pub(super) fn methods(out: &mut String, plan: &Plan, found: &StructPlan) {
    put!(out, "    /// Writes its fields in the dictionary's order.");
    let mutable = if found.members.is_empty() { "" } else { "mut " };
    put!(out, "    pub fn encode_fields<'b>(&self, {mutable}writer: Writer<'b>) -> Writer<'b> {{");
    for member in kept(found) {
        encode_member(out, plan, found, member);
    }
    put!(out, "        writer\n    }}");
    if let Role::Message(_) = found.role {
        put!(
            out,
            "\n    /// Encodes the whole message to `out`, which must be [`Writer::OVERHEAD`] longer."
        );
        put!(out, "    ///");
        put!(out, "    /// # Errors");
        put!(
            out,
            "    /// [`Writer::finish`]: no room, or text that is empty or holds a delimiter."
        );
        put!(
            out,
            "    pub fn encode<'b>(&self, header: &Header<'_>, out: &'b mut [u8]) -> Result<&'b [u8], Error> {{"
        );
        put!(out, "        let writer = Writer::new(out, BEGIN_STRING, Self::MSG_TYPE);");
        put!(out, "        self.encode_fields(header.encode_fields(writer)).finish()\n    }}");
    }
}

fn encode_member(out: &mut String, plan: &Plan, found: &StructPlan, member: &MemberPlan) {
    let (ident, constant) = (&member.ident, &member.constant);
    if let Kind::Group(_) = member.kind {
        let indent = if member.required { "        " } else { "            " };
        if !member.required {
            put!(out, "        if !self.{ident}.is_empty() {{");
        }
        put!(out, "{indent}writer.uint({constant}, self.{ident}.len() as u64);");
        put!(out, "{indent}for entry in &self.{ident} {{");
        put!(out, "{indent}    writer = entry.encode_fields(writer);");
        put!(out, "{indent}}}");
        if !member.required {
            put!(out, "        }}");
        }
        return;
    }
    let plain = is_plain(member);
    let value = if plain { format!("self.{ident}") } else { "value".to_owned() };
    let call = match &member.kind {
        Kind::Boolean => format!("boolean({constant}, {value})"),
        Kind::Char => format!("char({constant}, {value})"),
        Kind::Data(length) => {
            let length = found.members.iter().find(|other| other.tag == *length);
            let length = length.map_or(constant, |other| &other.constant);
            format!("data({length}, {constant}, {value})")
        }
        Kind::Date => format!("date({constant}, {value})"),
        Kind::Decimal => format!("decimal({constant}, {value})"),
        Kind::Enum(index) => match plan.enums[*index].repr {
            Repr::Char => format!("char({constant}, {value}.char())"),
            Repr::Int => format!("int({constant}, {value}.int())"),
            Repr::Text => format!("text({constant}, {value}.text().0)"),
        },
        Kind::Group(_) | Kind::Length => return,
        Kind::Int => format!("int({constant}, {value})"),
        Kind::MonthYear => format!("month_year({constant}, {value})"),
        Kind::Multiple(_) => format!("text({constant}, {value}.text().0)"),
        Kind::Text => format!("text({constant}, {value}.0)"),
        Kind::Uint => format!("uint({constant}, {value})"),
        Kind::UtcTime => format!("utc_time({constant}, {value}.value, {value}.precision)"),
        Kind::UtcTimestamp => {
            format!("utc_timestamp({constant}, {value}.value, {value}.precision)")
        }
    };
    if plain {
        put!(out, "        writer.{call};");
    } else {
        put!(out, "        if let Some(value) = self.{ident} {{");
        put!(out, "            writer.{call};\n        }}");
    }
}
