//! Prints generated structs by their tables.

use std::fmt::{self, Debug};

use super::TimeWithPrecision;
use super::fill::TypedFields;
use super::kept::{SlotContents, SlotForm, SlotValue};
use super::layout::{TypedMember, TypedMemberKind};
use super::slots::{Fill, SlotWords, WordValue};
use crate::value::{FixDecimal, LocalMktDate, MonthYear, UtcTime, UtcTimestamp};

/// Prints the value of a field with listed values, by its tag.
pub type ShowListed = fn(u32, SlotContents<'_>, &mut fmt::Formatter<'_>) -> fmt::Result;

/// The entries of a group, for printing.
pub trait PrintableEntries: Debug {
    /// True if there are no entries.
    fn are_none(&self) -> bool;
}

impl<E: Debug> PrintableEntries for Vec<E> {
    fn are_none(&self) -> bool {
        self.is_empty()
    }
}

/// The printing table of a struct.
#[derive(Clone, Copy)]
pub struct PrintTable {
    /// Its name.
    pub name: &'static str,
    /// The names of its members in order, separated by spaces. `+` marks a member with listed
    /// values, `*` one of data.
    pub members: &'static str,
    /// Prints listed values.
    pub listed: ShowListed,
}

/// Prints the present members of a struct, in order. `groups` are its groups in order.
///
/// # Errors
/// Those of `out`.
pub fn show<'m, S: TypedFields<'m>>(
    of: &S,
    shown: PrintTable,
    groups: &[&dyn PrintableEntries],
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    show_members(of.slots(), S::LAYOUT.members, shown, groups, out)
}

fn show_members(
    slots: &dyn Fill<'_>,
    members: &[TypedMember],
    shown: PrintTable,
    groups: &[&dyn PrintableEntries],
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut groups = groups.iter();
    let mut found = out.debug_struct(shown.name);
    for (member, name) in members.iter().zip(shown.members.split(' ')) {
        let slot = usize::from(member.slot);
        let held = match member.kind {
            TypedMemberKind::Group => {
                if let Some(entries) = groups.next().filter(|entries| !entries.are_none()) {
                    found.field(name, entries);
                }
                continue;
            }
            TypedMemberKind::Foreign | TypedMemberKind::Length | TypedMemberKind::Misplaced => {
                continue;
            }
            TypedMemberKind::Text => slots.text(slot).map(SlotContents::Text),
            _ => slots.words(slot).map(SlotContents::Words),
        };
        let Some(held) = held else { continue };
        let plain = name.trim_end_matches(['+', '*']);
        let mark = &name[plain.len()..];
        let listed = (mark == "+").then_some(shown.listed);
        let is_data = mark == "*";
        found.field(plain, &Shows { member: *member, held, listed, is_data });
    }
    found.finish()
}

/// The value of a member, for printing.
struct Shows<'m> {
    member: TypedMember,
    held: SlotContents<'m>,
    listed: Option<ShowListed>,
    is_data: bool,
}

impl Debug for Shows<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(listed) = self.listed {
            return listed(self.member.tag, self.held, out);
        }
        match self.held {
            SlotContents::Text(text) if self.is_data => text.0.fmt(out),
            SlotContents::Text(text) => text.fmt(out),
            SlotContents::Words(words) => show_words(self.member.kind, words, out),
        }
    }
}

fn show_words(
    kind: TypedMemberKind,
    words: SlotWords,
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match kind {
        TypedMemberKind::Boolean => bool::from_words(words).fmt(out),
        TypedMemberKind::Char => u8::from_words(words).fmt(out),
        TypedMemberKind::Date => LocalMktDate::from_words(words).fmt(out),
        TypedMemberKind::Decimal => FixDecimal::from_words(words).fmt(out),
        TypedMemberKind::Int => i64::from_words(words).fmt(out),
        TypedMemberKind::MonthYear => MonthYear::from_words(words).fmt(out),
        TypedMemberKind::UtcTime => TimeWithPrecision::<UtcTime>::from_words(words).fmt(out),
        TypedMemberKind::UtcTimestamp => {
            TimeWithPrecision::<UtcTimestamp>::from_words(words).fmt(out)
        }
        _ => u64::from_words(words).fmt(out),
    }
}

/// Prints a listed value.
///
/// # Errors
/// Those of `out`.
pub fn show_listed<'m, A: SlotValue<'m> + Debug>(
    held: SlotContents<'m>,
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match A::Form::of(held) {
        Some(form) => A::from_form(form).fmt(out),
        None => Ok(()),
    }
}
