//! Occupied slots of a ring, searched by words of bits.

/// `words` has one bit per slot, `summary` one bit per non-zero word. Finding the next taken slot
/// reads one word and scans `slots / 4096` summary words: 2 for a window of 8,192 numbers.
#[derive(Debug)]
pub(super) struct Occupancy {
    words: Vec<u64>,
    summary: Vec<u64>,
}

/// The lowest bit of `word` at or above `from`.
fn bit_from(word: u64, from: usize) -> Option<usize> {
    let masked = word & (u64::MAX << from);
    (masked != 0).then(|| masked.trailing_zeros() as usize)
}

/// The highest bit of `word` at or below `to`.
fn bit_to(word: u64, to: usize) -> Option<usize> {
    let masked = word & (u64::MAX >> (63 - to));
    (masked != 0).then(|| 63 - masked.leading_zeros() as usize)
}

/// The first bit set in `words` at or after bit `from`.
fn first_from(words: &[u64], from: usize) -> Option<usize> {
    let start = from / 64;
    let found = bit_from(*words.get(start)?, from % 64).map(|bit| start * 64 + bit);
    let mut rest = (start + 1..).zip(words.get(start + 1..)?);
    found.or_else(|| rest.find_map(|(at, word)| bit_from(*word, 0).map(|bit| at * 64 + bit)))
}

/// The last bit set in `words` at or before bit `to`.
fn last_to(words: &[u64], to: usize) -> Option<usize> {
    let start = to / 64;
    let found = bit_to(*words.get(start)?, to % 64).map(|bit| start * 64 + bit);
    let mut rest = words[..start].iter().enumerate().rev();
    found.or_else(|| rest.find_map(|(at, word)| bit_to(*word, 63).map(|bit| at * 64 + bit)))
}

impl Occupancy {
    pub(super) fn new(slots: usize) -> Self {
        let words = slots.div_ceil(64);
        Self { words: vec![0; words], summary: vec![0; words.div_ceil(64)] }
    }

    pub(super) fn set(&mut self, slot: usize) {
        self.words[slot / 64] |= 1 << (slot % 64);
        self.summary[slot / 4096] |= 1 << (slot / 64 % 64);
    }

    pub(super) fn clear(&mut self, slot: usize) {
        let word = &mut self.words[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.summary[slot / 4096] &= !(1 << (slot / 64 % 64));
        }
    }

    /// The first taken slot at or after `slot`, without wrapping round.
    pub(super) fn next(&self, slot: usize) -> Option<usize> {
        let word = slot / 64;
        if let Some(bit) = bit_from(self.words[word], slot % 64) {
            return Some(word * 64 + bit);
        }
        let word = first_from(&self.summary, word + 1)?;
        bit_from(self.words[word], 0).map(|bit| word * 64 + bit)
    }

    /// The last taken slot at or before `slot`, without wrapping round.
    pub(super) fn previous(&self, slot: usize) -> Option<usize> {
        let word = slot / 64;
        if let Some(bit) = bit_to(self.words[word], slot % 64) {
            return Some(word * 64 + bit);
        }
        let word = last_to(&self.summary, word.checked_sub(1)?)?;
        bit_to(self.words[word], 63).map(|bit| word * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn searches_agree_with_a_scan(
            taken in proptest::collection::btree_set(0_usize..10_000, 0..40),
            cleared in proptest::collection::vec(0_usize..10_000, 0..40),
            slots in proptest::collection::vec(0_usize..10_000, 1..40),
        ) {
            let mut occupancy = Occupancy::new(10_000);
            let mut expected = taken.clone();
            taken.iter().for_each(|slot| occupancy.set(*slot));
            for slot in &cleared {
                occupancy.clear(*slot);
                expected.remove(slot);
            }
            for slot in slots.into_iter().chain([0, 9_999]).chain(taken) {
                prop_assert_eq!(occupancy.next(slot), expected.range(slot..).next().copied());
                let previous = expected.range(..=slot).next_back().copied();
                prop_assert_eq!(occupancy.previous(slot), previous);
            }
        }
    }
}
