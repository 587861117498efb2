//! Assigns the fields of a struct to slots.

use std::collections::BTreeSet;
use std::fmt::Write;

use tickwire_fix::rt::Layout;

use super::put;
use crate::plan::{
    BlockPlan, DictionaryPlan, FieldRepresentation, MemberPlan, Repr, StructPlan, StructRole,
};

/// Number of tags per page of a table of places.
const PAGE: u32 = 64;

/// Number of tags with direct entries in a table.
const FLAT_MAX: u32 = 1024;

/// The storage class of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Numbered,
    Text,
    Value,
}

/// The slot of each member, in the order of members.
#[derive(Debug)]
pub(super) struct Assigned {
    slots: Vec<(Class, usize)>,
}

impl Assigned {
    /// Assigns slots: first the required members, then those of each shared block in its order,
    /// then the rest.
    pub(super) fn new(plan: &DictionaryPlan, found: &StructPlan) -> Self {
        let class_of = |member: &MemberPlan| class(plan, &member.kind);
        let mut slots: Vec<(Class, usize)> =
            found.members.iter().map(|member| (class_of(member), 0)).collect();
        let blocks = || found.blocks.iter().filter_map(|block| plan.blocks.get(*block));
        let is_shared = |member: &MemberPlan| blocks().any(|block| block.has(member.tag));
        let members = || found.members.iter().enumerate();
        let required = members().filter(|(_, member)| member.required);
        let shared = blocks().flat_map(|block| &block.members).filter_map(|member| {
            members().find(|(_, own)| own.tag == member.tag && own.has_accessors())
        });
        let others = members().filter(|(_, member)| !member.required && !is_shared(member));
        let mut next = [0; 3];
        for (number, member) in required.chain(shared).chain(others) {
            let next = &mut next[class_of(member) as usize];
            slots[number].1 = *next;
            *next += 1;
        }
        Self { slots }
    }

    /// Returns the first text slot and the first value slot of a shared block.
    pub(super) fn base(&self, found: &StructPlan, block: &BlockPlan) -> [usize; 2] {
        [Class::Text, Class::Value].map(|wanted| {
            let members = found.members.iter().zip(&self.slots);
            let slots = members
                .filter(|(member, (class, _))| *class == wanted && block.has(member.tag))
                .map(|(_, (_, slot))| *slot);
            slots.min().unwrap_or(0)
        })
    }

    /// Returns the slot of the member with this number.
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

    /// Returns class and slot of the member with this number.
    pub(super) fn place(&self, number: usize) -> (Class, usize) {
        self.slots.get(number).copied().unwrap_or((Class::Numbered, 0))
    }
}

/// Returns the slots of a block, relative to its first text and its first value.
pub(super) fn block_slots(plan: &DictionaryPlan, block: &BlockPlan) -> Vec<(Class, usize)> {
    let mut next = [0; 3];
    let slots = block.members.iter().map(|member| {
        let class = class(plan, &member.kind);
        next[class as usize] += 1;
        (class, next[class as usize] - 1)
    });
    slots.collect()
}

/// True if a table of places can hold the struct.
pub(super) fn fits(plan: &DictionaryPlan, found: &StructPlan) -> bool {
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

fn class(plan: &DictionaryPlan, kind: &FieldRepresentation) -> Class {
    match kind {
        FieldRepresentation::Group(_) | FieldRepresentation::Length => Class::Numbered,
        FieldRepresentation::Data(_)
        | FieldRepresentation::Multiple(_)
        | FieldRepresentation::Text => Class::Text,
        FieldRepresentation::Enum(index) if plan.enums[*index].repr == Repr::Text => Class::Text,
        _ => Class::Value,
    }
}

/// Emits the table of members and places.
pub(super) fn layout(
    out: &mut String,
    plan: &DictionaryPlan,
    found: &StructPlan,
    assigned: &Assigned,
) {
    let count = found.members.len();
    put!(out, "    const LAYOUT: &'static rt::Layout = {{");
    put!(
        out,
        "        const MEMBERS: &[rt::TypedMember] = &rt::members::<{count}>(\"{}\");",
        table(plan, found, assigned)
    );
    let misplaced = misplaced(plan, found);
    let tags = || found.members.iter().map(|member| member.tag).chain(misplaced.iter().copied());
    let flat = tags().filter(|tag| *tag < FLAT_MAX).max().map_or(0, |tag| tag + 1);
    let others = || tags().filter(|tag| *tag >= FLAT_MAX);
    let index = others().max().map_or(0, |tag| tag / PAGE + 1);
    let pages = others().map(|tag| tag / PAGE).collect::<BTreeSet<_>>().len() + 1;
    put!(out, "        static PLACES: rt::TagTable<{flat}, {index}, {pages}> =");
    put!(out, "            rt::TagTable::new(MEMBERS, &[{}]);", group_layouts(plan, found));
    let made = match found.role {
        StructRole::Entry(delimiter) => format!("entry({delimiter}, "),
        StructRole::Header => "header(".to_owned(),
        StructRole::Message(_) | StructRole::Trailer => "message(".to_owned(),
    };
    put!(out, "        &rt::Layout::{made}MEMBERS, &PLACES)");
    put!(out, "    }};");
}

/// Returns the table of members in the form that `rt::members` parses.
fn table(plan: &DictionaryPlan, found: &StructPlan, assigned: &Assigned) -> String {
    let members = found.members.iter().enumerate().map(|(number, member)| {
        let mark = if member.required { "!" } else { "" };
        format!("{}{}{}{mark}", member.tag, kind_letter(plan, member), assigned.slot(number))
    });
    members.collect::<Vec<_>>().join(" ")
}

/// Returns the layouts of all groups of a message, each once; empty for other structs, which do not
/// need them.
fn group_layouts(plan: &DictionaryPlan, found: &StructPlan) -> String {
    let mut groups = BTreeSet::new();
    if let StructRole::Message(_) | StructRole::Trailer = found.role {
        all_groups(plan, found, &mut groups);
    }
    let layouts = groups.iter().filter_map(|index| plan.structs.get(*index));
    let layouts = layouts.map(|group| format!("{}::LAYOUT", group.ident));
    layouts.collect::<Vec<_>>().join(", ")
}

/// Collects the indices of the groups of a struct, including nested ones.
fn all_groups(plan: &DictionaryPlan, found: &StructPlan, groups: &mut BTreeSet<usize>) {
    for member in &found.members {
        if let FieldRepresentation::Group(index) = member.kind
            && groups.insert(index)
            && let Some(group) = plan.structs.get(index)
        {
            all_groups(plan, group, groups);
        }
    }
}

fn kind_letter(plan: &DictionaryPlan, member: &MemberPlan) -> char {
    match &member.kind {
        FieldRepresentation::Boolean => 'B',
        FieldRepresentation::Char => 'C',
        FieldRepresentation::Data(_)
        | FieldRepresentation::Multiple(_)
        | FieldRepresentation::Text => 'T',
        FieldRepresentation::Date => 'Y',
        FieldRepresentation::Decimal => 'D',
        FieldRepresentation::Enum(index) => match plan.enums[*index].repr {
            Repr::Char => 'C',
            Repr::Int => 'I',
            Repr::Text => 'T',
        },
        FieldRepresentation::Group(_) => 'G',
        FieldRepresentation::Int => 'I',
        FieldRepresentation::Length => 'L',
        FieldRepresentation::MonthYear => 'M',
        FieldRepresentation::Uint => 'U',
        FieldRepresentation::UtcTime => 'H',
        FieldRepresentation::UtcTimestamp => 'S',
    }
}

/// Returns the tags of a message's groups that must not occur outside of them.
fn misplaced(plan: &DictionaryPlan, found: &StructPlan) -> BTreeSet<u32> {
    let mut groups = BTreeSet::new();
    if let StructRole::Message(_) | StructRole::Trailer = found.role {
        all_groups(plan, found, &mut groups);
    }
    let groups = groups.iter().filter_map(|index| plan.structs.get(*index));
    let mut tags: BTreeSet<u32> =
        groups.flat_map(|group| &group.members).map(|member| member.tag).collect();
    for member in &found.members {
        tags.remove(&member.tag);
    }
    tags
}
