//! Where the fields of a struct are kept.

use std::collections::BTreeSet;
use std::fmt::Write;

use tickwire_fix::rt::Layout;

use super::put;
use crate::plan::{Kind, MemberPlan, Plan, Repr, Role, StructPlan};

/// Tags of one page of a table of places.
const PAGE: u32 = 64;

/// Tags that have their place in a table without pages.
const FLAT_MAX: u32 = 1024;

/// What a member is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Numbered,
    Text,
    Value,
}

/// Which slot each member has, in the order of members.
#[derive(Debug)]
pub(super) struct Assigned {
    slots: Vec<(Class, usize)>,
}

impl Assigned {
    /// Assigns slots: those that are required come first.
    pub(super) fn new(plan: &Plan, found: &StructPlan) -> Self {
        let mut slots: Vec<(Class, usize)> =
            found.members.iter().map(|member| (class(plan, &member.kind), 0)).collect();
        for wanted in [Class::Numbered, Class::Text, Class::Value] {
            let mut next = 0;
            for required in [true, false] {
                for (member, (class, slot)) in found.members.iter().zip(&mut slots) {
                    if *class == wanted && member.required == required {
                        *slot = next;
                        next += 1;
                    }
                }
            }
        }
        Self { slots }
    }

    /// Returns the slot of the member with that number.
    pub(super) fn slot(&self, number: usize) -> usize {
        self.slots.get(number).map_or(0, |(_, slot)| *slot)
    }

    fn count(&self, wanted: Class) -> usize {
        self.slots.iter().filter(|(class, _)| *class == wanted).count()
    }

    /// Returns the type of the slots.
    pub(super) fn slots_type(&self) -> String {
        let [texts, values] = [Class::Text, Class::Value].map(|class| self.count(class));
        let (text_words, value_words) = (texts.div_ceil(64), values.div_ceil(64));
        format!("rt::Slots<'m, {texts}, {text_words}, {values}, {value_words}>")
    }

    /// Returns the condition that one of some members is there that have slots.
    pub(super) fn any(&self, numbers: impl Iterator<Item = usize>) -> String {
        let slots: BTreeSet<(bool, usize)> = numbers
            .filter_map(|number| self.slots.get(number))
            .map(|(class, slot)| (*class == Class::Value, *slot))
            .collect();
        let words: BTreeSet<(bool, usize)> =
            slots.iter().map(|(is_value, slot)| (*is_value, slot / 64)).collect();
        let words = words.iter().map(|&(is_value, word)| {
            let here = slots.iter().filter(|(v, slot)| *v == is_value && slot / 64 == word);
            let mask = here.fold(0_u64, |mask, (_, slot)| mask | 1 << (slot % 64));
            let method = if is_value { "has_value" } else { "has_text" };
            format!("self.slots.{method}({word}, {mask:#x})")
        });
        words.collect::<Vec<_>>().join(" || ")
    }
}

/// Whether a table of places can hold a struct.
pub(super) fn fits(plan: &Plan, found: &StructPlan) -> bool {
    let assigned = Assigned::new(plan, found);
    let most = |class: Class| {
        if class == Class::Numbered { Layout::NUMBERED_MAX } else { Layout::SLOTS_MAX }
    };
    let is_small = |class: Class| {
        let required = found.members.iter().zip(&assigned.slots);
        let required = required.filter(|(member, slot)| member.required && slot.0 == class).count();
        assigned.count(class) <= most(class) && required <= Layout::REQUIRED_MAX
    };
    let misplaced = misplaced(plan, found);
    let tags: BTreeSet<u32> =
        found.members.iter().map(|member| member.tag).chain(misplaced).collect();
    let pages: BTreeSet<u32> = tags.iter().map(|tag| tag / PAGE).collect();
    [Class::Numbered, Class::Text, Class::Value].into_iter().all(is_small)
        && pages.len() <= Layout::PAGES_MAX
        && tags.last().is_none_or(|tag| *tag <= Layout::TAG_MAX)
}

fn class(plan: &Plan, kind: &Kind) -> Class {
    match kind {
        Kind::Group(_) | Kind::Length => Class::Numbered,
        Kind::Data(_) | Kind::Multiple(_) | Kind::Text => Class::Text,
        Kind::Enum(index) if plan.enums[*index].repr == Repr::Text => Class::Text,
        _ => Class::Value,
    }
}

/// Adds the table of members and places.
pub(super) fn layout(out: &mut String, plan: &Plan, found: &StructPlan, assigned: &Assigned) {
    put!(out, "    const LAYOUT: &'static rt::Layout = {{");
    put!(out, "        const MEMBERS: &[rt::Member] = &[");
    for (number, member) in found.members.iter().enumerate() {
        let necessity = if member.required { "required" } else { "optional" };
        let (tag, kind, slot) = (member.tag, kind_name(plan, member), assigned.slot(number));
        put!(out, "            rt::Member::{necessity}({tag}, rt::Kind::{kind}, {slot}),");
    }
    let misplaced = misplaced(plan, found);
    for tag in &misplaced {
        put!(out, "            rt::Member::optional({tag}, rt::Kind::Misplaced, 0),");
    }
    put!(out, "        ];");
    let tags = || found.members.iter().map(|member| member.tag).chain(misplaced.iter().copied());
    let flat = tags().filter(|tag| *tag < FLAT_MAX).max().map_or(0, |tag| tag + 1);
    let others = || tags().filter(|tag| *tag >= FLAT_MAX);
    let index = others().max().map_or(0, |tag| tag / PAGE + 1);
    let pages = others().map(|tag| tag / PAGE).collect::<BTreeSet<_>>().len() + 1;
    put!(
        out,
        "        static PLACES: rt::Places<{flat}, {index}, {pages}> = rt::Places::new(MEMBERS);"
    );
    match found.role {
        Role::Entry(delimiter) => {
            put!(out, "        &rt::Layout::entry({delimiter}, MEMBERS, &PLACES)");
        }
        Role::Header => put!(out, "        &rt::Layout::header(MEMBERS, &PLACES)"),
        _ => put!(out, "        &rt::Layout::message(MEMBERS, &PLACES)"),
    }
    put!(out, "    }};");
}

fn kind_name(plan: &Plan, member: &MemberPlan) -> &'static str {
    match &member.kind {
        Kind::Boolean => "Boolean",
        Kind::Char => "Char",
        Kind::Data(_) | Kind::Multiple(_) | Kind::Text => "Text",
        Kind::Date => "Date",
        Kind::Decimal => "Decimal",
        Kind::Enum(index) => match plan.enums[*index].repr {
            Repr::Char => "Char",
            Repr::Int => "Int",
            Repr::Text => "Text",
        },
        Kind::Group(_) => "Group",
        Kind::Int => "Int",
        Kind::Length => "Length",
        Kind::MonthYear => "MonthYear",
        Kind::Uint => "Uint",
        Kind::UtcTime => "UtcTime",
        Kind::UtcTimestamp => "UtcTimestamp",
    }
}

/// Returns the tags of groups of a message, which may not stand outside of them.
fn misplaced(plan: &Plan, found: &StructPlan) -> BTreeSet<u32> {
    let mut tags = BTreeSet::new();
    if let Role::Message(_) | Role::Trailer = found.role {
        group_tags(plan, found, &mut tags);
        for member in &found.members {
            tags.remove(&member.tag);
        }
    }
    tags
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
