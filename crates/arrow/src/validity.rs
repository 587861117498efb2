//! Validity bits of a column.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use crate::values::RowSpread;

/// Bits of a word.
const BITS: usize = 64;

/// One bit per value. While no value is null, only their number is kept.
#[derive(Default)]
pub(crate) struct Validity {
    len: usize,
    /// From the lowest bit on; bits after the last value are 0. Empty while no value is null.
    words: Vec<u64>,
    has_nulls: bool,
}

/// Returns a word with the lowest `count` bits set; `count` is at most 64.
fn low_bits(count: usize) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (BITS - count) }
}

impl Validity {
    /// Appends `count` values, all present or all null.
    #[inline]
    pub(crate) fn append_n(&mut self, count: usize, is_present: bool) {
        if !self.has_nulls && is_present {
            self.len += count;
        } else if count > 0 {
            self.append_many(count, is_present);
        }
    }

    fn append_many(&mut self, mut count: usize, is_present: bool) {
        while count > 0 {
            let step = count.min(BITS);
            self.append_bits(if is_present { u64::MAX } else { 0 }, step);
            count -= step;
        }
    }

    /// Appends up to 64 values from the lowest bits of `bits`.
    #[inline]
    pub(crate) fn append_bits(&mut self, bits: u64, count: usize) {
        let bits = bits & low_bits(count);
        if !self.has_nulls {
            if bits == low_bits(count) {
                self.len += count;
                return;
            }
            self.begin_nulls();
        }
        let used = self.len % BITS;
        self.len += count;
        match self.words.last_mut() {
            Some(last) if used > 0 => {
                *last |= bits << used;
                if used + count > BITS {
                    self.words.push(bits >> (BITS - used));
                }
            }
            _ if count > 0 => self.words.push(bits),
            _ => {}
        }
    }

    /// Writes the bits of the earlier values, all present.
    #[cold]
    fn begin_nulls(&mut self) {
        self.has_nulls = true;
        self.words.clear();
        self.words.resize(self.len / BITS, u64::MAX);
        if !self.len.is_multiple_of(BITS) {
            self.words.push(low_bits(self.len % BITS));
        }
    }

    /// Appends the bits of a block's records, each repeated for its number of rows.
    pub(crate) fn append_block(&mut self, bits: u64, count: usize, spread: &RowSpread<'_>) {
        match spread {
            RowSpread::One => self.append_bits(bits, count),
            RowSpread::Runs { counts, .. } => {
                for (record, count) in counts.iter().enumerate() {
                    self.append_n(*count as usize, bits >> record & 1 != 0);
                }
            }
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.words.truncate(self.len.div_ceil(BITS));
        if let (Some(last), true) = (self.words.last_mut(), !self.len.is_multiple_of(BITS)) {
            *last &= low_bits(self.len % BITS);
        }
    }

    /// Returns the null buffer, if any value is null, and removes all values.
    pub(crate) fn take(&mut self) -> Option<NullBuffer> {
        let Self { len, words, has_nulls } = std::mem::take(self);
        if !has_nulls {
            return None;
        }
        let room = Vec::with_capacity(words.len());
        self.words = room;
        let bytes = Buffer::from_vec(words.into_iter().map(u64::to_le).collect::<Vec<_>>());
        Some(NullBuffer::new(BooleanBuffer::new(bytes, 0, len)))
            .filter(|nulls| nulls.null_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_that_were_appended() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let mut validity = Validity::default();
            let mut expected: Vec<bool> = Vec::new();
            let starts_full = rng.usize(..200);
            validity.append_n(starts_full, true);
            expected.resize(starts_full, true);
            for _ in 0..20 {
                match rng.u8(..3) {
                    0 => {
                        let (count, is_present) = (rng.usize(..200), rng.bool());
                        validity.append_n(count, is_present);
                        expected.resize(expected.len() + count, is_present);
                    }
                    1 => {
                        let (bits, count) = (rng.u64(..), rng.usize(..=64));
                        validity.append_bits(bits, count);
                        expected.extend((0..count).map(|bit| bits >> bit & 1 != 0));
                    }
                    _ => {
                        let len = expected.len() - rng.usize(..=expected.len().min(70));
                        validity.truncate(len);
                        expected.truncate(len);
                    }
                }
            }
            let has_nulls = expected.contains(&false);
            let nulls = validity.take();
            assert_eq!(nulls.is_some(), has_nulls);
            if let Some(nulls) = nulls {
                assert_eq!(nulls.iter().collect::<Vec<_>>(), expected);
            }
            validity.append_n(3, true);
            assert!(validity.take().is_none(), "it begins anew");
        }
    }
}
