//! Generated messages, collected by tag.

use tickwire_fast::rt::{Value, VisitTags};

use super::row::{Collected, Scalar};
use super::tags::{PLACES, TAGS, place_of};

const _: () = assert!(PLACES <= 64, "presence is a word");

/// Values by place.
pub(super) struct Values<'m> {
    values: [Scalar<'m>; PLACES],
    present: u64,
}

impl<'m> Values<'m> {
    const EMPTY: Self = Self { values: [Scalar::Absent; PLACES], present: 0 };

    #[inline(always)]
    fn set(&mut self, place: usize, value: Value<'m>) {
        if place < PLACES {
            self.values[place] = value.into();
            self.present |= 1 << place;
        }
    }

    pub(super) fn row(&self) -> Collected<'_, 'm> {
        Collected { values: &self.values, present: self.present }
    }
}

/// Sets a field: the tags of [`TAGS`] by a constant, those of a key by search.
#[inline(always)]
fn set<'m, const TAG: u32>(values: &mut Values<'m>, extra: &[u32], value: Value<'m>) {
    let place = const { place_of(TAG) };
    if place < PLACES {
        values.set(place, value);
    } else if let Some(index) = extra.iter().position(|tag| TAG != 0 && *tag == TAG) {
        values.set(TAGS.len() + index, value);
    }
}

/// Collects the root's fields.
pub(super) struct Root<'k, 'm> {
    pub(super) values: Values<'m>,
    key: &'k [u32],
}

impl<'k> Root<'k, '_> {
    pub(super) const fn new(key: &'k [u32]) -> Self {
        Self { values: Values::EMPTY, key }
    }
}

impl<'m> VisitTags<'m> for Root<'_, 'm> {
    #[inline(always)]
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: Value<'m>) {
        set::<TAG>(&mut self.values, self.key, value);
    }

    #[inline(always)]
    fn begin_sequence(&mut self, _index: usize, _len: usize) -> bool {
        false
    }

    fn begin_entry(&mut self) {}

    fn end_entry(&mut self) {}
}

/// Shows the entries of the sequence at `wanted` to a closure, each with its fields.
pub(super) struct Entries<'k, 'm, F> {
    values: Values<'m>,
    key: &'k [u32],
    wanted: usize,
    is_inside: bool,
    show: F,
}

impl<'k, F> Entries<'k, '_, F> {
    pub(super) const fn new(key: &'k [u32], wanted: usize, show: F) -> Self {
        Self { values: Values::EMPTY, key, wanted, is_inside: false, show }
    }
}

impl<'m, F: FnMut(Collected<'_, 'm>)> VisitTags<'m> for Entries<'_, 'm, F> {
    #[inline(always)]
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: Value<'m>) {
        if self.is_inside {
            set::<TAG>(&mut self.values, self.key, value);
        }
    }

    #[inline(always)]
    fn begin_sequence(&mut self, index: usize, _len: usize) -> bool {
        index == self.wanted
    }

    #[inline(always)]
    fn begin_entry(&mut self) {
        self.is_inside = true;
        self.values.present = 0;
    }

    #[inline(always)]
    fn end_entry(&mut self) {
        self.is_inside = false;
        (self.show)(self.values.row());
    }
}
