//! Packets whose own number and that of their first message are equal, as a rule: one where they are not is damaged.
//!
//! The rule is learnt anew where several packets have shown that numbers begin elsewhere: after a reset and a long gap.

/// Packets in a row whose numbers are equal that make it the rule.
const EQUAL_MIN: u32 = 16;

/// Packets in a row whose numbers differ that make an end of the rule.
const DIFFERING_MAX: u32 = 4;

/// Compares the number of each packet with that of its first message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NumberAgreement {
    equal: u32,
    differing: u32,
}

impl NumberAgreement {
    /// Takes the numbers of a packet. Returns whether they break the rule.
    #[inline]
    pub(super) fn is_broken_by(&mut self, packet: u64, message: u64) -> bool {
        if packet == message {
            self.equal = self.equal.saturating_add(1);
            self.differing = 0;
            return false;
        }
        self.note_differing()
    }

    #[cold]
    fn note_differing(&mut self) -> bool {
        self.differing += 1;
        if self.equal < EQUAL_MIN || self.differing >= DIFFERING_MAX {
            *self = Self::default();
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_broken_by_single_packets_and_ended_by_several() {
        let mut agreement = NumberAgreement::default();
        assert!(!agreement.is_broken_by(1, 2));
        assert!((2..18).all(|number| !agreement.is_broken_by(number, number)));
        assert!(agreement.is_broken_by(18, 146));
        assert!(!agreement.is_broken_by(19, 19));
        let differing: Vec<bool> = (20..26).map(|n| agreement.is_broken_by(n, n + 7)).collect();
        assert_eq!(differing, [true, true, true, false, false, false]);
    }
}
