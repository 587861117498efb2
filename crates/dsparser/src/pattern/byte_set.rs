//! Sets of bytes.

use std::fmt;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ByteSet {
    words: [u64; 4],
}

impl ByteSet {
    /// The empty set.
    pub const EMPTY: Self = Self { words: [0; 4] };

    /// True if `byte` is in the set.
    #[inline]
    pub fn contains(&self, byte: u8) -> bool {
        self.words[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Adds `byte` to the set.
    pub fn insert(&mut self, byte: u8) {
        self.words[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Returns the bytes that are in either set.
    pub fn union(mut self, other: &Self) -> Self {
        for (word, more) in self.words.iter_mut().zip(other.words) {
            *word |= more;
        }
        self
    }

    /// Returns the number of bytes in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the set as ascending ranges: the first and last byte of each.
    pub fn ranges(&self) -> Vec<(u8, u8)> {
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for byte in (0..=u8::MAX).filter(|byte| self.contains(*byte)) {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(byte) => *last = byte,
                _ => ranges.push((byte, byte)),
            }
        }
        ranges
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        let mut set = Self::EMPTY;
        for byte in bytes {
            set.insert(byte);
        }
        set
    }
}

impl fmt::Display for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.ranges();
        for (index, (first, last)) in ranges.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            match first == last {
                true => write!(f, "{separator}{first:02x}")?,
                false => write!(f, "{separator}{first:02x}-{last:02x}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByteSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_reach_both_ends() {
        let set: ByteSet = (0..=3).chain([7]).chain(250..=255).collect();
        assert_eq!(set.ranges(), [(0, 3), (7, 7), (250, 255)]);
        assert_eq!(set.to_string(), "00-03 07 fa-ff");
        assert_eq!(set.len(), 11);
        assert!(set.contains(255) && !set.contains(4));
    }
}
