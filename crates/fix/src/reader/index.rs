//! Positions of the fields of a message, in three columns, so that many tags can be searched at a
//! time.

use crate::raw::Lanes;

/// Columns of fields: tag, position of `=`, position of the delimiter. An invalid tag is 0.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Columns contain old values after `len`.
    pub(crate) tags: Lanes,
    pub(crate) equals: Lanes,
    /// One element longer than the other columns: the first one stands for a delimiter before the
    /// message, at position -1.
    pub(crate) ends: Lanes,
    pub(crate) len: usize,
    pub(crate) fault: Option<crate::error::FixError>,
}

impl Default for Index {
    fn default() -> Self {
        let (tags, equals, mut ends) = (Lanes::default(), Lanes::default(), Lanes::default());
        ends.grow(1);
        ends[0] = u32::MAX;
        Self { tags, equals, ends, len: 0, fault: None }
    }
}

impl Index {
    /// Number of fields that vector instructions process at a time.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const LANES: usize = 16;

    #[inline]
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.fault = None;
    }

    /// Returns the number of fields that fit the columns.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.tags.len().min(self.equals.len()).min(self.ends.len().saturating_sub(1))
    }

    /// Doubles the capacity.
    #[cold]
    pub(crate) fn grow(&mut self) {
        let len = (2 * self.capacity()).max(256);
        self.tags.grow(len);
        self.equals.grow(len);
        self.ends.grow(len + 1);
    }

    #[inline]
    pub(super) fn push(&mut self, tag: u32, equal: usize, end: usize) {
        if self.len == self.capacity() {
            self.grow();
        }
        self.tags[self.len] = tag;
        self.equals[self.len] = equal as u32;
        self.len += 1;
        self.ends[self.len] = end as u32;
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn tags(&self) -> &[u32] {
        self.tags.get(..self.len).unwrap_or_default()
    }

    /// Returns the start of field `at`, which must exist.
    #[inline]
    pub(super) fn start(&self, at: usize) -> usize {
        self.ends[at].wrapping_add(1) as usize
    }

    /// Returns the value of field `at`; empty if it does not exist.
    #[inline]
    pub(super) fn value<'b>(&self, at: usize, bytes: &'b [u8]) -> &'b [u8] {
        let (Some(equal), Some(end)) = (self.equals.get(at), self.ends.get(at + 1)) else {
            return &[];
        };
        bytes.get(*equal as usize + 1..*end as usize).unwrap_or_default()
    }

    /// Returns the first field at or after `from` with `tag`.
    #[inline]
    pub(super) fn position(&self, tag: u32, from: usize) -> Option<usize> {
        let tags = self.tags().get(from..)?;
        let (blocks, rest) = tags.as_chunks::<8>();
        for (block_index, block) in blocks.iter().enumerate() {
            let mut hits = 0_u32;
            for (lane, found) in block.iter().enumerate() {
                hits |= u32::from(*found == tag) << lane;
            }
            if hits != 0 {
                return Some(from + block_index * 8 + hits.trailing_zeros() as usize);
            }
        }
        let before = from + blocks.len() * 8;
        rest.iter().position(|found| *found == tag).map(|at| before + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_doubled() {
        let mut index = Index::default();
        for capacity in [256, 512, 1024] {
            index.grow();
            assert_eq!(index.capacity(), capacity);
        }
    }
}
