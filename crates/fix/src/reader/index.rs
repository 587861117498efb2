//! Where the fields of a message are: three columns, so that tags can be searched many at a time.

use super::data::Filter;

/// Columns of fields: tag, position of `=`, position of the delimiter. A tag that is no number is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Columns are of equal length, a multiple of [`Index::LANES`], and hold old values after `len`.
    pub(super) tags: Vec<u32>,
    pub(super) equals: Vec<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) len: usize,
    pub(super) fault: Option<crate::error::Error>,
}

impl Index {
    /// How many fields wide instructions handle at a time.
    pub(super) const LANES: usize = 16;

    #[inline]
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.fault = None;
    }

    /// Makes the columns at least `len` long.
    #[inline]
    pub(super) fn reserve(&mut self, len: usize) {
        if self.ends.len() < len {
            self.grow(len);
        }
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let len = len.next_power_of_two().max(256);
        self.tags.resize(len, 0);
        self.equals.resize(len, 0);
        self.ends.resize(len, 0);
    }

    #[inline]
    pub(super) fn push(&mut self, tag: u32, equal: usize, end: usize) {
        self.reserve(self.len + 1);
        self.tags[self.len] = tag;
        self.equals[self.len] = equal as u32;
        self.ends[self.len] = end as u32;
        self.len += 1;
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn tags(&self) -> &[u32] {
        self.tags.get(..self.len).unwrap_or_default()
    }

    /// Returns where field `at` starts; it must exist.
    #[inline]
    pub(super) fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ends[at - 1] as usize + 1 }
    }

    /// Returns the value of field `at`; empty if it does not exist.
    #[inline]
    pub(super) fn value<'b>(&self, at: usize, bytes: &'b [u8]) -> &'b [u8] {
        let (Some(equal), Some(end)) = (self.equals.get(at), self.ends.get(at)) else {
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

    /// Whether any tag may be in the set.
    #[inline]
    pub(super) fn may_hold(&self, filter: &Filter) -> bool {
        self.tags().iter().fold(0, |hits, tag| hits | filter.bit(*tag)) != 0
    }
}
