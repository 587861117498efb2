//! Emits code that encodes.

use std::fmt::Write;

use super::put;
use super::slots::{Assigned, Class, block_slots};
use crate::plan::{
    BlockPlan, DictionaryPlan, FieldRepresentation, MemberPlan, Repr, StructPlan, StructRole,
};

/// Maximum number of members that one check skips if all are absent.
const RUN_MAX: usize = 16;
/// Maximum number of members that a nested check skips if a neighbour is present. Checking single
/// members would take a jump each.
const PART_MAX: usize = 4;

/// Emits the public methods that encode a struct.
pub(super) fn methods(out: &mut String, found: &StructPlan) {
    if let StructRole::Entry(_) = found.role {
        return;
    }
    put!(out, "    /// Writes the fields in the dictionary's order.");
    put!(out, "    #[inline]");
    put!(out, "    pub fn encode_fields<'b>(&self, mut writer: Writer<'b>) -> Writer<'b> {{");
    put!(
        out,
        "        writer.part(|sheet, written| rt::TypedFields::encode_part(self, sheet, written));"
    );
    put!(out, "        writer\n    }}");
    if let StructRole::Message(_) = found.role {
        encode(out);
    }
}

/// Emits the method that writes all members.
pub(super) fn part(
    out: &mut String,
    plan: &DictionaryPlan,
    found: &StructPlan,
    assigned: &Assigned,
) {
    if found.members.is_empty() {
        put!(
            out,
            "    fn encode_part(&self, _: rt::Sheet<'_>, written: rt::WriteState) -> rt::WriteState {{"
        );
        put!(out, "        written\n    }}");
        return;
    }
    put!(
        out,
        "    fn encode_part(&self, sheet: rt::Sheet<'_>, written: rt::WriteState) -> rt::WriteState {{"
    );
    put!(out, "        let mut out = rt::SlotWriter::new(self, sheet, written);");
    for step in steps(plan, found, assigned) {
        match step {
            WriteStep::Group(member) => encode_group(out, member),
            WriteStep::Run(run) => encode_run(out, plan, &run, false),
            WriteStep::Segment(block, number) => {
                put!(
                    out,
                    "        <Self as {}<'m>>::encode_segment_{number}(&mut out);",
                    block.ident
                );
            }
        }
    }
    put!(out, "        out.end()\n    }}");
}

/// Emits the functions that write the segments of a shared block.
pub(super) fn segments(out: &mut String, plan: &DictionaryPlan, block: &BlockPlan) {
    let members: Vec<SlotMember<'_>> = block
        .members
        .iter()
        .zip(block_slots(plan, block))
        .map(|(member, (class, slot))| SlotMember { member, class, slot })
        .collect();
    for (number, segment) in block.segments.iter().enumerate() {
        put!(out, "    #[doc(hidden)]\n    #[inline]");
        put!(
            out,
            "    fn encode_segment_{number}(out: &mut rt::SlotWriter<'_, '_, Self::Slots>) {{"
        );
        for run in members[segment.clone()].chunks(RUN_MAX) {
            encode_run(out, plan, run, true);
        }
        put!(out, "    }}\n");
    }
}

/// A member and its slot.
#[derive(Clone, Copy)]
struct SlotMember<'p> {
    member: &'p MemberPlan,
    class: Class,
    slot: usize,
}

/// Members that are written together.
enum WriteStep<'p> {
    Group(&'p MemberPlan),
    /// One member, or several optional ones.
    Run(Vec<SlotMember<'p>>),
    /// The segment with this number of a shared block.
    Segment(&'p BlockPlan, usize),
}

/// Returns the steps that write a struct.
fn steps<'p>(
    plan: &'p DictionaryPlan,
    found: &'p StructPlan,
    assigned: &Assigned,
) -> Vec<WriteStep<'p>> {
    let members: Vec<SlotMember<'p>> = found
        .members
        .iter()
        .enumerate()
        .filter(|(_, member)| member.kind != FieldRepresentation::Length)
        .map(|(number, member)| {
            let (class, slot) = assigned.place(number);
            SlotMember { member, class, slot }
        })
        .collect();
    let mut steps: Vec<WriteStep<'p>> = Vec::new();
    let mut rest = members.as_slice();
    let mut is_open = false;
    while let [first, after @ ..] = rest {
        if let Some((block, number, len)) = segment(plan, found, rest) {
            steps.push(WriteStep::Segment(block, number));
            rest = rest.get(len..).unwrap_or_default();
            is_open = false;
            continue;
        }
        rest = after;
        if let FieldRepresentation::Group(_) = first.member.kind {
            steps.push(WriteStep::Group(first.member));
            is_open = false;
            continue;
        }
        let is_optional = !first.member.required;
        match steps.last_mut() {
            Some(WriteStep::Run(run)) if is_open && is_optional && run.len() < RUN_MAX => {
                run.push(*first);
            }
            _ => steps.push(WriteStep::Run(vec![*first])),
        }
        // Members of a shared block have their slots elsewhere.
        is_open = is_optional && block_of(plan, found, first.member.tag).is_none();
    }
    steps
}

/// Returns the shared block of a member.
fn block_of<'p>(plan: &'p DictionaryPlan, found: &StructPlan, tag: u32) -> Option<&'p BlockPlan> {
    let mut blocks = found.blocks.iter().filter_map(|block| plan.blocks.get(*block));
    blocks.find(|block| block.has(tag))
}

/// Returns the segment at the start of `members`: its block, number and length.
fn segment<'p>(
    plan: &'p DictionaryPlan,
    found: &StructPlan,
    members: &[SlotMember<'_>],
) -> Option<(&'p BlockPlan, usize, usize)> {
    let block = block_of(plan, found, members.first()?.member.tag)?;
    let is_here = |segment: &std::ops::Range<usize>| {
        let own = &block.members[segment.clone()];
        members.len() >= own.len()
            && own.iter().zip(members).all(|(own, found)| own.tag == found.member.tag)
    };
    let number = block.segments.iter().position(is_here)?;
    Some((block, number, block.segments[number].len()))
}

/// Emits the code that writes several members. Slots are relative to a block if `is_block`,
/// otherwise absolute.
fn encode_run(out: &mut String, plan: &DictionaryPlan, run: &[SlotMember<'_>], is_block: bool) {
    if run.len() == 1 {
        return encode_members(out, plan, run, is_block);
    }
    put!(out, "        if {} {{", are_any(run, is_block));
    for part in run.chunks(PART_MAX) {
        let is_skipped = part.len() > 1 && part.len() < run.len();
        if is_skipped {
            put!(out, "        if {} {{", are_any(part, is_block));
        }
        encode_members(out, plan, part, is_block);
        if is_skipped {
            put!(out, "        }}");
        }
    }
    put!(out, "        }}");
}

/// Emits a call for each member.
fn encode_members(
    out: &mut String,
    plan: &DictionaryPlan,
    members: &[SlotMember<'_>],
    is_block: bool,
) {
    for placed in members {
        put!(out, "        out.{};", call(plan, placed, is_block));
    }
}

/// Returns the condition that any of several optional members with consecutive slots is present.
fn are_any(run: &[SlotMember<'_>], is_block: bool) -> String {
    let terms =
        [(Class::Text, "has_texts"), (Class::Value, "has_values")].map(|(class, method)| {
            let slots =
                || run.iter().filter(|placed| placed.class == class).map(|placed| placed.slot);
            let first = slots().min()?;
            Some(format!("out.{method}({}, {})", slot_of(class, first, is_block), slots().count()))
        });
    terms.into_iter().flatten().collect::<Vec<_>>().join(" || ")
}

fn slot_of(class: Class, slot: usize, is_block: bool) -> String {
    if is_block { class.shared_slot(slot) } else { slot.to_string() }
}

/// Returns the call that writes a member.
fn call(plan: &DictionaryPlan, placed: &SlotMember<'_>, is_block: bool) -> String {
    let SlotMember { member, class, slot } = placed;
    let slot = slot_of(*class, *slot, is_block);
    let constant = &member.constant;
    let method = match &member.kind {
        FieldRepresentation::Data(length) => {
            let length = constant_of(plan, *length).unwrap_or(constant);
            return format!("data({length}, {constant}, {slot})");
        }
        FieldRepresentation::Boolean => "boolean",
        FieldRepresentation::Char => "char",
        FieldRepresentation::Date => "date",
        FieldRepresentation::Decimal => "decimal",
        FieldRepresentation::Enum(index) => match plan.enums[*index].repr {
            Repr::Char => "char",
            Repr::Int => "int",
            Repr::Text => "text",
        },
        FieldRepresentation::Int => "int",
        FieldRepresentation::MonthYear => "month_year",
        FieldRepresentation::Group(_)
        | FieldRepresentation::Length
        | FieldRepresentation::Multiple(_)
        | FieldRepresentation::Text => "text",
        FieldRepresentation::Uint => "uint",
        FieldRepresentation::UtcTime => "utc_time",
        FieldRepresentation::UtcTimestamp => "utc_timestamp",
    };
    format!("{method}({constant}, {slot})")
}

/// Returns the constant of a tag.
fn constant_of(plan: &DictionaryPlan, tag: u32) -> Option<&String> {
    let mut members = plan.structs.iter().flat_map(|found| &found.members);
    members.find(|member| member.tag == tag).map(|member| &member.constant)
}

fn encode_group(out: &mut String, member: &MemberPlan) {
    let method = if member.required { "required_group" } else { "group" };
    put!(out, "        out.{method}({}, &self.{});", member.constant, member.ident);
}

/// Emits the method that encodes a whole message.
fn encode(out: &mut String) {
    put!(
        out,
        "\n    /// Encodes the message to `out`, which must be [`Writer::OVERHEAD`] bytes longer than it."
    );
    put!(out, "    ///");
    put!(out, "    /// # Errors");
    put!(
        out,
        "    /// Those of [`Writer::finish`]: `out` is too short; a text is empty or has a delimiter."
    );
    put!(
        out,
        "    pub fn encode<'b>(&self, header: &Header<'_>, out: &'b mut [u8]) -> Result<&'b [u8], FixError> {{"
    );
    put!(out, "        let mut writer = Writer::new(out, BEGIN_STRING, Self::MSG_TYPE);");
    put!(out, "        writer.part(|sheet, written| {{");
    put!(
        out,
        "            rt::TypedFields::encode_part(self, sheet, rt::TypedFields::encode_part(header, sheet, written))"
    );
    put!(out, "        }});");
    put!(out, "        writer.finish()\n    }}");
}
