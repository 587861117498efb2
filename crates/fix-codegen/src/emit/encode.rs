//! Code that encodes.

use std::fmt::Write;

use super::put;
use super::slots::Assigned;
use crate::plan::{Kind, MemberPlan, Plan, Repr, Role, StructPlan};

/// Most members that are skipped by one look.
const RUN_MAX: usize = 12;

/// Adds the methods that encode a struct.
pub(super) fn methods(out: &mut String, plan: &Plan, found: &StructPlan, assigned: &Assigned) {
    put!(out, "    /// Writes its fields in the dictionary's order.");
    put!(out, "    #[inline]");
    put!(out, "    pub fn encode_fields<'b>(&self, mut writer: Writer<'b>) -> Writer<'b> {{");
    put!(out, "        writer.part(|sheet, written| self.encode_part(sheet, written));");
    put!(out, "        writer\n    }}\n");
    put!(out, "    #[doc(hidden)]");
    if found.members.is_empty() {
        put!(
            out,
            "    pub fn encode_part(&self, _: rt::Sheet<'_>, written: rt::Written) -> rt::Written {{"
        );
        put!(out, "        written\n    }}");
    } else {
        put!(
            out,
            "    pub fn encode_part(&self, sheet: rt::Sheet<'_>, written: rt::Written) -> rt::Written {{"
        );
        put!(out, "        let mut writer = rt::Part::new(sheet, written);");
        encode_members(out, plan, found, assigned);
        put!(out, "        writer.end()\n    }}");
    }
    if let Role::Message(_) = found.role {
        encode(out);
    }
}

/// Adds the code that writes all members.
fn encode_members(out: &mut String, plan: &Plan, found: &StructPlan, assigned: &Assigned) {
    for run in runs(found) {
        let is_long = run.len() > 1;
        if is_long {
            put!(out, "        if {} {{", assigned.any(run.iter().copied()));
        }
        for number in run {
            encode_member(out, plan, found, assigned, number);
        }
        if is_long {
            put!(out, "        }}");
        }
    }
}

/// Returns the numbers of members in runs: of one, or of several that may all be missing.
fn runs(found: &StructPlan) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut is_open = false;
    for (number, member) in found.members.iter().enumerate() {
        if member.kind == Kind::Length {
            continue;
        }
        let is_optional = !member.required && !matches!(member.kind, Kind::Group(_));
        match runs.last_mut() {
            Some(run) if is_open && is_optional && run.len() < RUN_MAX => run.push(number),
            _ => runs.push(vec![number]),
        }
        is_open = is_optional;
    }
    runs
}

/// Adds the method that encodes a whole message.
fn encode(out: &mut String) {
    put!(
        out,
        "\n    /// Encodes the whole message to `out`, which must be [`Writer::OVERHEAD`] longer."
    );
    put!(out, "    ///");
    put!(out, "    /// # Errors");
    put!(out, "    /// [`Writer::finish`]: no room, or text that is empty or holds a delimiter.");
    put!(
        out,
        "    pub fn encode<'b>(&self, header: &Header<'_>, out: &'b mut [u8]) -> Result<&'b [u8], Error> {{"
    );
    put!(out, "        let mut writer = Writer::new(out, BEGIN_STRING, Self::MSG_TYPE);");
    put!(out, "        writer.part(|sheet, written| {{");
    put!(out, "            self.encode_part(sheet, header.encode_part(sheet, written))");
    put!(out, "        }});");
    put!(out, "        writer.finish()\n    }}");
}

fn encode_group(out: &mut String, member: &MemberPlan) {
    let (ident, constant) = (&member.ident, &member.constant);
    let indent = if member.required { "        " } else { "            " };
    if !member.required {
        put!(out, "        if !self.{ident}.is_empty() {{");
    }
    put!(out, "{indent}writer.uint({constant}, self.{ident}.len() as u64);");
    put!(out, "{indent}for entry in &self.{ident} {{");
    put!(out, "{indent}    writer = rt::Part::new(sheet, entry.encode_part(sheet, writer.end()));");
    put!(out, "{indent}}}");
    if !member.required {
        put!(out, "        }}");
    }
}

fn encode_member(
    out: &mut String,
    plan: &Plan,
    found: &StructPlan,
    assigned: &Assigned,
    number: usize,
) {
    let Some(member) = found.members.get(number) else { return };
    let constant = &member.constant;
    let slot = assigned.slot(number);
    let value = |own: &str| format!("self.slots.value::<{own}>({slot})");
    let text = format!("self.slots.text({slot})");
    let time = |own: &str| value(&format!("Stamped<{own}>"));
    let (value, call) = match &member.kind {
        Kind::Group(_) => return encode_group(out, member),
        Kind::Length => return,
        Kind::Boolean => (value("bool"), format!("boolean({constant}, value)")),
        Kind::Char => (value("u8"), format!("char({constant}, value)")),
        Kind::Data(length) => {
            let length = found.members.iter().find(|other| other.tag == *length);
            let length = length.map_or(constant, |other| &other.constant);
            (text, format!("data({length}, {constant}, value.0)"))
        }
        Kind::Date => (value("LocalMktDate"), format!("date({constant}, value)")),
        Kind::Decimal => (value("Decimal"), format!("decimal({constant}, value)")),
        Kind::Enum(index) => match plan.enums[*index].repr {
            Repr::Char => (value("u8"), format!("char({constant}, value)")),
            Repr::Int => (value("i64"), format!("int({constant}, value)")),
            Repr::Text => (text, format!("text({constant}, value.0)")),
        },
        Kind::Int => (value("i64"), format!("int({constant}, value)")),
        Kind::MonthYear => (value("MonthYear"), format!("month_year({constant}, value)")),
        Kind::Multiple(_) | Kind::Text => (text, format!("text({constant}, value.0)")),
        Kind::Uint => (value("u64"), format!("uint({constant}, value)")),
        Kind::UtcTime => {
            (time("UtcTime"), format!("utc_time({constant}, value.value, value.precision)"))
        }
        Kind::UtcTimestamp => (
            time("UtcTimestamp"),
            format!("utc_timestamp({constant}, value.value, value.precision)"),
        ),
    };
    put!(out, "        if let Some(value) = {value} {{");
    put!(out, "            writer.{call};\n        }}");
}
