//! Emits code that decodes.

use std::fmt::Write;

use super::slots::{Assigned, layout};
use super::{encode, put};
use crate::plan::{DictionaryPlan, FieldRepresentation, MemberPlan, StructPlan, StructRole};

/// Emits the methods that decode a header, trailer or message.
pub(super) fn methods(out: &mut String, found: &StructPlan) {
    match &found.role {
        StructRole::Entry(_) => {}
        StructRole::Header => header_methods(out),
        StructRole::Message(_) | StructRole::Trailer => body_methods(out),
    }
}

fn header_methods(out: &mut String) {
    put!(out, "    /// Decodes the header. Also returns the position of the first field after it.");
    errors(out, ".");
    put!(out, "    #[inline(always)]");
    put!(
        out,
        "    pub fn decode(message: &FixMessage<'m, '_>) -> Result<(Self, usize), FixError> {{"
    );
    put!(out, "        let mut decoded = rt::TypedFields::blank();");
    put!(out, "        let end = rt::decode(&mut decoded, message, rt::BODY_START)?;");
    put!(out, "        Ok((decoded, end))\n    }}\n");
    put!(
        out,
        "    /// Decodes the header in place. Returns the position of the first field after it."
    );
    errors(out, ".");
    put!(out, "    #[inline]");
    put!(
        out,
        "    pub fn decode_into(&mut self, message: &FixMessage<'m, '_>) -> Result<usize, FixError> {{"
    );
    put!(out, "        rt::decode(self, message, rt::BODY_START)\n    }}\n");
}

fn body_methods(out: &mut String) {
    put!(out, "    /// Decodes the fields of `message`; ignores those that are not members.");
    errors(out, ".");
    put!(out, "    #[inline(always)]");
    put!(out, "    pub fn decode(message: &FixMessage<'m, '_>) -> Result<Self, FixError> {{");
    put!(out, "        Self::decode_from(message, rt::BODY_START)\n    }}\n");
    put!(
        out,
        "    /// Decodes from the field at `start` on, which is the position that `Header::decode` returned."
    );
    errors(out, ".");
    put!(out, "    #[inline(always)]");
    put!(
        out,
        "    pub fn decode_from(message: &FixMessage<'m, '_>, start: usize) -> Result<Self, FixError> {{"
    );
    put!(out, "        let mut decoded = rt::TypedFields::blank();");
    put!(out, "        rt::decode(&mut decoded, message, start)?;");
    put!(out, "        Ok(decoded)\n    }}\n");
    put!(
        out,
        "    /// Decodes in place, from the field at `start` on, which is the position after the header."
    );
    put!(out, "    ///");
    put!(
        out,
        "    /// The memory of groups is reused. After an error the contents are unspecified."
    );
    errors(out, ".");
    put!(out, "    #[inline]");
    put!(
        out,
        "    pub fn decode_into(&mut self, message: &FixMessage<'m, '_>, start: usize) -> Result<(), FixError> {{"
    );
    put!(out, "        rt::decode(self, message, start).map(|_| ())\n    }}\n");
}

/// Emits the documentation of errors, followed by `also`.
pub(super) fn errors(out: &mut String, also: &str) {
    put!(out, "    ///");
    put!(out, "    /// # Errors");
    put!(out, "    /// The reason to reject the message, with tag and offset{also}");
}

/// Emits the implementation of `Fields`, which decoding uses.
pub(super) fn fields(
    out: &mut String,
    plan: &DictionaryPlan,
    found: &StructPlan,
    assigned: &Assigned,
) {
    let groups: Vec<(usize, &MemberPlan)> = found
        .members
        .iter()
        .enumerate()
        .filter(|(_, member)| matches!(member.kind, FieldRepresentation::Group(_)))
        .collect();
    put!(out, "impl<'m> rt::TypedFields<'m> for {} {{", super::struct_type(found));
    put!(out, "    type Slots = {};", assigned.slots_type());
    layout(out, plan, found, assigned);
    let msg_type = match &found.role {
        StructRole::Message(_) => "Some(Self::MSG_TYPE)",
        _ => "None",
    };
    put!(out, "    const MSG_TYPE: Option<&'static str> = {msg_type};\n");
    put!(out, "    #[inline(always)]");
    put!(out, "    fn blank() -> Self {{");
    let rooms: String =
        groups.iter().map(|(_, group)| format!(", {}: Vec::new()", group.ident)).collect();
    put!(out, "        Self {{ slots: rt::Slots::new(){rooms} }}\n    }}\n");
    put!(out, "    #[inline(always)]");
    put!(out, "    fn slots(&self) -> &Self::Slots {{");
    put!(out, "        &self.slots\n    }}\n");
    put!(out, "    #[inline(always)]");
    put!(out, "    fn slots_mut(&mut self) -> &mut Self::Slots {{");
    put!(out, "        &mut self.slots\n    }}\n");
    encode::part(out, plan, found, assigned);
    if !groups.is_empty() {
        clear(out, &groups);
        entries(out, assigned, &groups);
    }
    put!(out, "}}\n");
}

/// Emits the method that clears slots and groups.
fn clear(out: &mut String, groups: &[(usize, &MemberPlan)]) {
    put!(out, "\n    #[inline(always)]");
    put!(out, "    fn clear(&mut self) {{");
    put!(out, "        rt::Fill::clear(&mut self.slots);");
    for (_, group) in groups {
        put!(out, "        self.{}.clear();", group.ident);
    }
    put!(out, "    }}\n");
}

/// Emits the method that decodes the entries of a group.
fn entries(out: &mut String, assigned: &Assigned, groups: &[(usize, &MemberPlan)]) {
    put!(out, "    fn decode_entries(");
    put!(out, "        &mut self,");
    put!(out, "        message: &FixMessage<'m, '_>,");
    put!(out, "        group: usize,");
    put!(out, "        count: &Field<'m>,");
    put!(out, "        at: usize,");
    put!(out, "        depth: usize,");
    put!(out, "    ) -> Result<usize, FixError> {{");
    put!(out, "        match group {{");
    for (number, group) in groups {
        put!(
            out,
            "            {} => rt::decode_group(message, count, at, depth, &mut self.{}),",
            assigned.slot(*number),
            group.ident
        );
    }
    put!(out, "            _ => Ok(at),\n        }}\n    }}");
}
