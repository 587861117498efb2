//! The data fields, whose values may contain delimiters, and the length field before each.

use super::index::Index;
use super::parse_length;

/// Length fields of the standard, each with the data field that follows it.
const STANDARD: [(u32, u32); 40] = [
    (90, 91),
    (93, 89),
    (95, 96),
    (212, 213),
    (348, 349),
    (350, 351),
    (352, 353),
    (354, 355),
    (356, 357),
    (358, 359),
    (360, 361),
    (362, 363),
    (364, 365),
    (445, 446),
    (618, 619),
    (621, 622),
    (1184, 1185),
    (1277, 1278),
    (1280, 1281),
    (1282, 1283),
    (1397, 1398),
    (1401, 1402),
    (1403, 1404),
    (1468, 1469),
    (1525, 1527),
    (1578, 1580),
    (1620, 1621),
    (1664, 1665),
    (1678, 1697),
    (1733, 1734),
    (1777, 1778),
    (1871, 1872),
    (2071, 2072),
    (2111, 2112),
    (2178, 2179),
    (2179, 2180),
    (2351, 2352),
    (2372, 2371),
    (2482, 2481),
    (2494, 2493),
];

/// Length fields, each with the data field that follows it. Sorted by length tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFields {
    pairs: Vec<(u32, u32)>,
    filter: TagFilter,
}

/// A set of tags modulo 512, small enough for one register: no false negatives, few false
/// positives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TagFilter(pub(crate) [u32; 16]);

impl TagFilter {
    /// True if the set may contain `tag`.
    #[inline]
    pub(crate) fn may_hold(&self, tag: u32) -> bool {
        self.bits(tag) & 1 != 0
    }

    /// Returns a number that is odd if the set may contain `tag`.
    #[inline]
    pub(super) fn bits(&self, tag: u32) -> u32 {
        self.0[(tag >> 5) as usize & 15] >> (tag & 31)
    }
}

impl Default for DataFields {
    fn default() -> Self {
        Self::standard()
    }
}

impl DataFields {
    /// Returns the pairs of the standard.
    pub fn standard() -> Self {
        let mut fields = Self::none();
        STANDARD.iter().for_each(|(length, data)| fields.add(*length, *data));
        fields
    }

    /// Returns no pairs: every field ends at the next delimiter.
    pub const fn none() -> Self {
        Self { pairs: Vec::new(), filter: TagFilter([0; 16]) }
    }

    /// Adds the data field `data` with the length field `length`, or replaces the pair of that
    /// length field.
    pub fn add(&mut self, length: u32, data: u32) {
        match self.pairs.binary_search_by_key(&length, |pair| pair.0) {
            Ok(index) => self.pairs[index].1 = data,
            Err(index) => self.pairs.insert(index, (length, data)),
        }
        self.filter.0[(length >> 5) as usize & 15] |= 1 << (length & 31);
    }

    /// Adds the pairs of another set.
    pub fn extend(&mut self, other: &Self) {
        other.pairs.iter().for_each(|(length, data)| self.add(*length, *data));
    }

    /// Returns the data field of the length field `length`.
    #[inline]
    pub fn data_of(&self, length: u32) -> Option<u32> {
        if !self.filter.may_hold(length) {
            return None;
        }
        let index = self.pairs.binary_search_by_key(&length, |pair| pair.0).ok()?;
        Some(self.pairs[index].1)
    }

    /// Returns all pairs of a length field and its data field, ascending by length field.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.pairs.iter().copied()
    }

    pub(crate) const fn filter(&self) -> &TagFilter {
        &self.filter
    }

    /// True if every length field of `index` is followed by its data field with exactly this
    /// length, so that no data contains a delimiter.
    pub(super) fn agree(&self, bytes: &[u8], index: &Index) -> bool {
        index.tags().iter().enumerate().all(|(at, tag)| {
            let Some(data) = self.data_of(*tag) else { return true };
            index.tags().get(at + 1) == Some(&data)
                && parse_length(index.value(at, bytes)) == Some(index.value(at + 1, bytes).len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_by_length_tag_only() {
        let mut fields = DataFields::standard();
        assert_eq!(fields.data_of(95), Some(96));
        assert_eq!(fields.data_of(96), None);
        assert_eq!(fields.data_of(95 + 512), None);
        fields.add(5001, 5002);
        assert_eq!(fields.data_of(5001), Some(5002));
        assert!(fields.pairs().any(|pair| pair == (5001, 5002)) && fields.pairs().is_sorted());
        assert_eq!(DataFields::none().data_of(95), None);
    }
}
