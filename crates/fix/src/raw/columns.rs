//! The columns of an index while an engine fills them.

use std::marker::PhantomData;

use super::long_tags::IndexColumns;
use crate::reader::Index;

/// Pointers to the columns. The index is borrowed, so they stay valid.
pub(super) struct ColumnPointers<'i> {
    pub(super) tags: *mut u32,
    pub(super) equals: *mut u32,
    /// Including the slot for the delimiter before the message.
    pub(super) ends: *mut u32,
    /// Number of slots in `tags` and `equals`; `ends` has one more.
    pub(super) capacity: usize,
    index: PhantomData<&'i mut Index>,
}

impl<'i> ColumnPointers<'i> {
    /// Returns the columns as slices.
    pub(super) const fn lanes(&mut self) -> IndexColumns<'_> {
        // SAFETY: `new` took the columns, each with this many numbers, from an index that stays
        // borrowed as long as `self` lives, and no other reference to them is alive while this one
        // is borrowed.
        unsafe {
            IndexColumns {
                tags: std::slice::from_raw_parts_mut(self.tags, self.capacity),
                equals: std::slice::from_raw_parts(self.equals, self.capacity),
                ends: std::slice::from_raw_parts(self.ends, self.capacity + 1),
            }
        }
    }

    pub(super) fn new(index: &'i mut Index) -> Self {
        let capacity = index.capacity();
        let Index { tags, equals, ends, .. } = index;
        let (tags, equals, ends) = (tags.as_mut_ptr(), equals.as_mut_ptr(), ends.as_mut_ptr());
        Self { tags, equals, ends, capacity, index: PhantomData }
    }
}
