//! What a decoder learns of its flat templates.

/// How often messages are declined: each time more are left to others.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::rt) struct Habit {
    strikes: u8,
    /// Messages to leave to others.
    skip: u8,
}

const STRIKES_MAX: u8 = 7;

impl Habit {
    /// Whether to leave this message to others.
    #[inline(always)]
    pub(super) fn skips(&mut self) -> bool {
        if self.skip == 0 {
            return false;
        }
        self.skip -= 1;
        true
    }

    /// Learns that a message was not declined.
    #[inline(always)]
    pub(super) fn done(&mut self) {
        if self.strikes > 0 {
            self.strikes -= 1;
        }
    }

    /// Learns that one was.
    #[cold]
    pub(super) fn declined(&mut self) {
        self.strikes = (self.strikes + 1).min(STRIKES_MAX);
        self.skip = (1 << self.strikes) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declined_again_and_again_is_hardly_tried_any_more() {
        let mut habit = Habit::default();
        let mut tried = 0;
        for _ in 0..1280 {
            if !habit.skips() {
                tried += 1;
                habit.declined();
            }
        }
        assert!((10..20).contains(&tried), "{tried} times");
        for _ in 0..2000 {
            if !habit.skips() {
                habit.done();
            }
        }
        assert!(!habit.skips() && habit.strikes == 0);
    }
}
