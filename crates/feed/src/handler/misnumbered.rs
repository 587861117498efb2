//! Detects damaged packets on feeds where the packet's own number equals that of its first message.
//!
//! The rule ends, and is learnt again, if the numbers diverge permanently: packets and messages
//! continue one by one, each in its own sequence, or two consecutive packets differ by the same
//! amount. A reset and a long gap end it too.

/// Consecutive packets with equal numbers that establish the rule.
const EQUAL_MIN: u32 = 16;

/// Consecutive packets with different numbers that end the rule.
const DIFFERING_MAX: u32 = 4;

/// Compares the number of each packet with that of its first message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NumberAgreement {
    equal: u32,
    differing: u32,
    /// The number of the previous packet.
    packet: u64,
    /// The number of its last message.
    message: u64,
    /// Difference of the numbers of the previous packet, if it broke the rule.
    apart: u64,
}

impl NumberAgreement {
    /// Compares the numbers of a packet. Returns true if they break the rule.
    #[inline]
    pub(super) fn is_broken_by(&mut self, packet: u64, message: u64) -> bool {
        let is_broken = packet != message && self.note_differing(packet, message);
        if packet == message {
            self.equal = self.equal.saturating_add(1);
            self.differing = 0;
        }
        (self.packet, self.message) = (packet, message);
        is_broken
    }

    /// Records the number of a further message of the packet.
    #[inline]
    pub(super) fn note_message(&mut self, message: u64) {
        self.message = message;
    }

    #[cold]
    fn note_differing(&mut self, packet: u64, message: u64) -> bool {
        let apart = packet.wrapping_sub(message);
        let is_next_packet = self.packet.checked_add(1) == Some(packet);
        let goes_on = is_next_packet && self.message.checked_add(1) == Some(message);
        let stays_apart = is_next_packet && self.differing > 0 && self.apart == apart;
        self.differing += 1;
        self.apart = apart;
        if self.equal < EQUAL_MIN || goes_on || stays_apart || self.differing >= DIFFERING_MAX {
            *self = Self::default();
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state after packets 1 to 17, whose numbers equal those of their messages.
    fn ruled() -> NumberAgreement {
        let mut agreement = NumberAgreement::default();
        assert!((1..18).all(|number| !agreement.is_broken_by(number, number)));
        agreement
    }

    #[test]
    fn a_rule_is_broken_by_single_packets_and_ended_by_several() {
        let mut agreement = NumberAgreement::default();
        assert!(!agreement.is_broken_by(1, 2));
        let mut agreement = ruled();
        assert!(agreement.is_broken_by(18, 146));
        assert!(!agreement.is_broken_by(19, 19));
        let numbers = [(20, 27), (21, 40), (22, 23), (23, 99), (24, 31), (25, 60)];
        let differing = numbers.map(|(packet, message)| agreement.is_broken_by(packet, message));
        assert_eq!(differing, [true, true, true, false, false, false]);
    }

    #[test]
    fn packets_that_are_apart_by_as_much_end_the_rule() {
        let mut agreement = ruled();
        let differing: Vec<bool> = (18..22).map(|n| agreement.is_broken_by(n, n + 7)).collect();
        assert_eq!(differing, [true, false, false, false]);
    }

    /// The first packet with several messages: packets and messages each count on by one.
    #[test]
    fn numbers_that_go_on_one_by_one_break_no_rule() {
        let mut agreement = ruled();
        assert!(!agreement.is_broken_by(18, 18));
        agreement.note_message(19);
        agreement.note_message(20);
        assert!(!agreement.is_broken_by(19, 21));
        assert!(!agreement.is_broken_by(20, 22));
    }
}
