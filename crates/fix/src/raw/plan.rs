//! Reading plans: for a known sequence of tags, the length limits of the values and their target
//! slots.

use crate::value::Minute;

/// Maximum number of fields of a plan, including the one that follows them.
pub(crate) const FIELDS_MAX: usize = 32;
/// Number of fields checked together.
const HALF: usize = 16;
/// Number of 64-slot words.
pub(super) const WORDS: usize = 4;
/// Length of a slot in bytes.
pub(super) const SLOT: usize = 16;
/// Length of a UTCTimestamp without a fraction.
const MOMENT_LEN: u32 = 17;

/// How to read the value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueFormat {
    /// As text, which must not be empty.
    Text,
    /// One byte, as a value.
    Char,
    /// As the two words of a decimal.
    Decimal,
    /// As an unsigned number.
    Integer,
    /// A UTCTimestamp, as two words.
    Moment,
    /// Not supported by a plan.
    Other,
}

/// The tags of a message, and how to read its values.
///
/// Every target refers to one of the fields, which are not more than the tags, and to a slot below
/// the number of slots.
#[derive(Clone, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no engine reads it"))]
pub(crate) struct TagPlan {
    pub(super) tags: FieldNumbers,
    /// Minimum distance from `=` to the end of the value.
    pub(super) span_min: FieldNumbers,
    /// Maximum excess over that distance. Unsigned comparison rejects shorter values too: a
    /// negative difference is larger than any message.
    pub(super) longer_max: FieldNumbers,
    /// Number of tags; the tag after the fields may be among them.
    pub(super) tag_count: usize,
    /// Bitmaps of the tags, and of the fields.
    pub(super) tagged: [u16; 2],
    pub(super) used: [u16; 2],
    pub(super) texts: Vec<ValueTarget>,
    pub(super) chars: Vec<ValueTarget>,
    /// Numbers; true for integers, which have no decimal point.
    pub(super) numbers: Vec<(ValueTarget, bool)>,
    pub(super) moments: Vec<(ValueTarget, Minute)>,
    /// Required numbers of slots.
    pub(super) text_slots: usize,
    pub(super) value_slots: usize,
    /// Bitmaps of the slots that the plan writes.
    pub(super) text_bits: [u64; WORDS],
    pub(super) value_bits: [u64; WORDS],
}

/// A number for each field, aligned to cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct FieldNumbers(pub(super) [u32; FIELDS_MAX]);

/// A field and its slot.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no engine reads it"))]
pub(super) struct ValueTarget {
    pub(super) at: u16,
    /// Offset of the slot in bytes.
    pub(super) offset: u16,
}

impl TagPlan {
    /// Creates the plan of a message that begins with these tags. The fields, with their reading
    /// and slot, belong to all tags or to all but the last. `None` if there are too many.
    pub(crate) fn new(tags: &[u32], fields: &[(ValueFormat, usize)]) -> Option<Self> {
        if tags.len() > FIELDS_MAX || fields.len() > tags.len() {
            return None;
        }
        let mut plan = Self {
            tags: FieldNumbers([0; FIELDS_MAX]),
            span_min: FieldNumbers([1; FIELDS_MAX]),
            longer_max: FieldNumbers([i32::MAX as u32; FIELDS_MAX]),
            tag_count: tags.len(),
            tagged: halves(tags.len()),
            used: halves(fields.len()),
            texts: Vec::new(),
            chars: Vec::new(),
            numbers: Vec::new(),
            moments: Vec::new(),
            text_slots: 0,
            value_slots: 0,
            text_bits: [0; WORDS],
            value_bits: [0; WORDS],
        };
        plan.tags.0[..tags.len()].copy_from_slice(tags);
        for (at, (reading, slot)) in fields.iter().enumerate() {
            plan.add(at, *reading, *slot)?;
        }
        Some(plan)
    }

    fn add(&mut self, at: usize, reading: ValueFormat, slot: usize) -> Option<()> {
        let (bits, slots) = match reading {
            ValueFormat::Other => return Some(()),
            ValueFormat::Text => (&mut self.text_bits, &mut self.text_slots),
            _ => (&mut self.value_bits, &mut self.value_slots),
        };
        *bits.get_mut(slot / 64)? |= 1 << (slot % 64);
        *slots = (*slots).max(slot + 1);
        let target = ValueTarget { at: at as u16, offset: u16::try_from(slot * SLOT).ok()? };
        match reading {
            ValueFormat::Text => {
                self.span_min.0[at] = 2;
                self.texts.push(target);
            }
            ValueFormat::Char => {
                (self.span_min.0[at], self.longer_max.0[at]) = (2, 0);
                self.chars.push(target);
            }
            ValueFormat::Moment => {
                self.span_min.0[at] = 1 + MOMENT_LEN;
                self.moments.push((target, Minute::default()));
            }
            reading => self.numbers.push((target, reading == ValueFormat::Integer)),
        }
        Some(())
    }

    /// Returns the expected minute of a timestamp, 0-based in the order of timestamps.
    pub(crate) fn minute(&mut self, moment: usize) -> Option<&mut Minute> {
        self.moments.get_mut(moment).map(|(_, minute)| minute)
    }
}

/// Returns two halves of a bitmap with the first `count` of 32 bits set.
const fn halves(count: usize) -> [u16; 2] {
    let bits = (1_u64 << count) - 1;
    [bits as u16, (bits >> HALF) as u16]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_its_limits() {
        let fields = [(ValueFormat::Decimal, 3); FIELDS_MAX];
        let plan = TagPlan::new(&[1; FIELDS_MAX], &fields).expect("fits");
        assert_eq!((plan.numbers.len(), plan.value_slots, plan.value_bits[0]), (32, 4, 8));
        assert_eq!((plan.used, halves(17)), ([u16::MAX; 2], [u16::MAX, 1]));
        assert!(TagPlan::new(&[1; FIELDS_MAX + 1], &fields).is_none());
        assert!(TagPlan::new(&[1; FIELDS_MAX - 1], &fields).is_none());
        for (slot, fits) in [(255, true), (256, false), (65_536, false)] {
            assert_eq!(TagPlan::new(&[1], &[(ValueFormat::Text, slot)]).is_some(), fits);
            assert!(TagPlan::new(&[1], &[(ValueFormat::Other, slot)]).is_some());
        }
    }
}
