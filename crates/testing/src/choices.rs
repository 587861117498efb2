//! Choices of a test: from a seed, or from a tape that property tests shrink.

use fastrand::Rng;

/// Draws the choices of a test.
///
/// A seed gives an endless sequence. A tape gives choices word by word: a property test draws the
/// tape, so a failure shrinks to a short tape of small words, which means few, simple choices.
/// After its end, every choice is the first one.
#[derive(Clone, Debug)]
pub struct Choices {
    tape: std::vec::IntoIter<u16>,
    then: Option<Rng>,
}

impl Choices {
    /// Returns the choices of a seed, equal in every run.
    pub fn seeded(seed: u64) -> Self {
        Self::tape_then_seed(Vec::new(), seed)
    }

    /// Returns the choices of a tape; after its end, always the first one.
    pub fn tape(words: Vec<u16>) -> Self {
        Self { tape: words.into_iter(), then: None }
    }

    /// Returns the choices of a tape, then those of a seed: for runs whose end depends on the
    /// choices.
    pub fn tape_then_seed(words: Vec<u16>, seed: u64) -> Self {
        Self { tape: words.into_iter(), then: Some(Rng::with_seed(seed)) }
    }

    /// Returns any number; it takes four words of a tape, the lowest first.
    pub fn number(&mut self) -> u64 {
        if self.tape.as_slice().is_empty() {
            return self.then.as_mut().map_or(0, |random| random.u64(..));
        }
        self.tape.by_ref().take(4).enumerate().map(|(at, word)| u64::from(word) << (16 * at)).sum()
    }

    /// Returns a number below `count`.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn below(&mut self, count: u64) -> u64 {
        if self.tape.as_slice().is_empty() {
            return self.then.as_mut().map_or(0, |random| random.u64(..count));
        }
        let is_long = count > 1 << 16;
        let number = if is_long { self.number() } else { self.tape.next().unwrap_or(0).into() };
        number % count
    }

    /// Returns an index below `len`.
    ///
    /// # Panics
    /// If `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns one of `values`.
    ///
    /// # Panics
    /// If `values` is empty.
    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.index(values.len())]
    }

    /// Returns true once in `times`; the first choice is false.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == times - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_choices() {
        let draw = |seed| {
            let mut choices = Choices::seeded(seed);
            [(); 20].map(|()| choices.below(1000))
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn a_tape_is_read_word_by_word_and_followed_by_first_choices() {
        let mut choices = Choices::tape(vec![7, 12, 1, 1, 0, 0, 9]);
        assert_eq!((choices.below(5), choices.of(&['a', 'b', 'c'])), (2, 'a'));
        assert_eq!(choices.number(), 1 << 16 | 1);
        assert!(choices.once_in(10));
        assert_eq!((choices.below(5), choices.number(), choices.once_in(2)), (0, 0, false));
    }

    #[test]
    fn a_seed_may_follow_a_tape() {
        let mut choices = Choices::tape_then_seed(vec![3], 1);
        assert_eq!(choices.below(10), 3);
        assert_eq!(choices.number(), Choices::seeded(1).number());
    }
}
