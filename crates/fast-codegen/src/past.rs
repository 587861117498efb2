//! Variants of a segment's decoder, by the known state of its dictionary entries: `Unknown` checks
//! each entry, `Warm` is for entries that are all assigned, `Fresh` for the first entries after a
//! reset.

use crate::module::Module;
use crate::shape::StructShape;
use tickwire_fast::rt::ValueKind;
use tickwire_fast::rt::expanded::{ExpandedField, FieldKind, SilentValue};

/// Generic parameter for the known state of a segment's entries.
pub(crate) const PAST: &str = "P";
/// Its argument if the state is unknown.
pub(crate) const UNKNOWN: &str = "Unknown";
/// Most entries that are checked before a segment.
const WARM_MAX: usize = 32;

impl<'p> Module<'p> {
    /// Returns the entries (first and count) of a segment that has a variant for entries that are
    /// all assigned.
    pub(crate) fn warm_entries(&self, shape: &StructShape<'p>) -> Option<(usize, usize)> {
        let is_reset = shape.root.as_ref().is_some_and(|root| root.reset);
        let has_forms = shape.members.iter().any(|member| has_forms(member.plan));
        if !is_leaf(shape) || is_reset || !has_forms {
            return None;
        }
        let slots = self.frequent_slots(shape)?;
        let first = *slots.first()?;
        let count = slots.last()? - first + 1;
        (count <= WARM_MAX).then_some((first, count))
    }

    /// Returns the sorted slots of a segment's fields, without fields that are mostly absent;
    /// `None` if a slot is used twice, or can be in a state other than assigned or undefined.
    fn frequent_slots(&self, shape: &StructShape<'p>) -> Option<Vec<usize>> {
        let mut slots: Vec<usize> = Vec::new();
        let mut is_plain = true;
        for member in shape.members.iter().filter(|member| !is_mostly_absent(member.plan)) {
            is_plain &= !matches!(member.plan.kind, FieldKind::Dynamic);
            for operation in member.plan.operations() {
                is_plain &= self.expanded.checked_tag(operation).is_none();
                slots.extend(self.slot_index(operation));
            }
        }
        slots.sort_unstable();
        // If two fields share an entry, the first may empty it before the second.
        let is_each_once = slots.windows(2).all(|pair| pair[0] != pair[1]);
        (is_plain && is_each_once).then_some(slots)
    }

    /// As [`warm_entries`](Self::warm_entries), for a sequence directly in a template that has a
    /// variant for the first entries after a reset. Requires that no other field of the message
    /// uses these dictionary entries, that they are contiguous, and that no field needs the state
    /// of its entry.
    pub(crate) fn fresh_entries(
        &self,
        root: &StructShape<'p>,
        child: &StructShape<'p>,
    ) -> Option<(usize, usize)> {
        let (first, count) = self.warm_entries(child)?;
        let is_static = root.root.as_ref().is_some_and(|root| !root.is_dynamic);
        let is_whole = self.frequent_slots(child)?.len() == count;
        let is_alone = root.uses().into_iter().all(|(entry, times)| {
            times == 1
                || !self
                    .slot_of_entry(entry)
                    .is_some_and(|slot| (first..first + count).contains(&slot))
        });
        let is_known = child.members.iter().all(|member| has_fresh_form(member.plan));
        (is_static && is_whole && is_alone && is_known).then_some((first, count))
    }

    /// True if a template has a variant for the first entries after a reset.
    pub(crate) fn begins_fresh(&self, shape: &StructShape<'p>) -> bool {
        let is_sequence = |kind: &FieldKind<'_>| matches!(kind, FieldKind::Sequence { .. });
        let sequences = shape.members.iter().filter(|member| is_sequence(&member.plan.kind));
        sequences
            .filter_map(|member| member.child)
            .any(|child| self.fresh_entries(shape, &self.shapes[child]).is_some())
    }
}

/// True if the known state of its entry changes the code of a field.
fn has_forms(field: &ExpandedField<'_>) -> bool {
    match &field.kind {
        FieldKind::Scalar { operation, .. } => {
            let is_given = match operation.values() {
                ValueKind::Scaled => false,
                ValueKind::Text => operation.rule.derives_from_previous(),
                ValueKind::Integer => true,
            };
            is_given && operation.entry.is_some()
        }
        FieldKind::Parts { exponent, mantissa } => {
            !is_mostly_absent(field) && (exponent.entry.is_some() || mantissa.entry.is_some())
        }
        _ => false,
    }
}

/// True if a field does not need the state of its entry when the entry is known to be undefined.
fn has_fresh_form(field: &ExpandedField<'_>) -> bool {
    let FieldKind::Scalar { operation, .. } = &field.kind else { return true };
    match operation.values() {
        ValueKind::Scaled => operation.entry.is_none(),
        ValueKind::Text => !operation.rule.has_base(),
        ValueKind::Integer => true,
    }
}

/// True for a decimal that is absent unless its exponent is in the stream.
pub(crate) fn is_mostly_absent(field: &ExpandedField<'_>) -> bool {
    matches!(&field.kind, FieldKind::Parts { exponent, .. }
        if field.is_optional
            && exponent.rule.silent == SilentValue::Absent
            && !exponent.rule.is_constant())
}

/// True if a segment has no nested segments.
pub(crate) fn is_leaf(shape: &StructShape<'_>) -> bool {
    shape.members.iter().all(|member| member.child.is_none())
}
