//! Starts of other sessions in a capture.

/// Packets of a capture before which other sessions begin, by index.
#[derive(Clone, Debug, Default)]
pub struct SessionStarts {
    /// Packets not reached yet, the last first.
    ahead: Vec<u64>,
}

impl SessionStarts {
    /// Creates it from packets in any order.
    #[must_use]
    pub fn new(mut packets: Vec<u64>) -> Self {
        packets.sort_unstable_by(|a, b| b.cmp(a));
        Self { ahead: packets }
    }

    /// Returns true if a session begins before this packet, or before a packet that was skipped
    /// since the last call. Packets must be passed in order.
    pub fn begins_before(&mut self, index: u64) -> bool {
        let before = self.ahead.len();
        while self.ahead.pop_if(|start| *start <= index).is_some() {}
        self.ahead.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_of_packets_that_are_left_out_count_for_the_next_one() {
        let mut starts = SessionStarts::new(vec![7, 0, 3, 4]);
        let begins = [0, 1, 5, 6, 7, 8].map(|index| starts.begins_before(index));
        assert_eq!(begins, [true, false, true, false, true, false]);
    }
}
