//! Ordering of messages while lost ones are replayed.

use std::collections::BTreeMap;
use tickwire_feed::arbiter::Gap;

/// Maximum bytes of held text.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Longest wait for the replay of a gap, in nanoseconds.
const WAIT_NS: u64 = 60_000_000_000;

/// Sequence number of a packet, and the index of a message among those with this number.
type OrderKey = (u64, usize);

/// Holds the text of messages after a gap until its replay ends. Beyond the limits of size and time the text
/// is released, so that messages appear in the order of their arrival.
#[derive(Debug, Default)]
pub struct ReplayReorderer {
    /// Requested gaps, each with the time of its report.
    open: Vec<(Gap, u64)>,
    held: BTreeMap<OrderKey, Vec<u8>>,
    held_bytes: usize,
    /// Sequence number of the latest message, used for messages that have none.
    latest: u64,
}

impl ReplayReorderer {
    /// Records that a gap was requested.
    pub fn open(&mut self, gap: Gap, now_ns: u64) {
        self.open.push((gap, now_ns));
    }

    /// Removes a gap whose replay has ended; returns the text that waited only for it.
    pub fn close(&mut self, gap: Gap) -> Vec<u8> {
        self.open.retain(|(open, _)| *open != gap);
        self.release()
    }

    /// Removes all gaps and returns the held text.
    pub fn close_all(&mut self) -> Vec<u8> {
        self.open.clear();
        self.release()
    }

    /// Adds the text of a message and returns the text that may be written now.
    pub fn push(&mut self, seq_num: Option<u64>, text: Vec<u8>, now_ns: u64) -> Vec<u8> {
        let number = seq_num.unwrap_or(self.latest);
        self.latest = self.latest.max(number);
        if self.open.is_empty() {
            return text;
        }
        let after = self.held.range((number, 0)..=(number, usize::MAX)).next_back();
        let index = after.map_or(0, |((_, index), _)| index + 1);
        self.held_bytes += text.len();
        self.held.insert((number, index), text);
        self.expire(now_ns)
    }

    /// Removes gaps whose time limit has passed, and all gaps if too much text is held; returns the text that
    /// may be written.
    pub fn expire(&mut self, now_ns: u64) -> Vec<u8> {
        if self.held_bytes > HELD_BYTES_MAX {
            return self.close_all();
        }
        self.open.retain(|(_, told_ns)| now_ns.saturating_sub(*told_ns) < WAIT_NS);
        self.release()
    }

    /// Returns the messages that do not follow an open gap.
    fn release(&mut self) -> Vec<u8> {
        let first = self.open.iter().map(|(gap, _)| gap.first).min();
        let behind = first.map_or_else(BTreeMap::new, |first| self.held.split_off(&(first, 0)));
        // Replayed messages of an open gap wait too, because earlier ones of the gap may still arrive.
        let released = std::mem::replace(&mut self.held, behind);
        let released: Vec<u8> = released.into_values().flatten().collect();
        self.held_bytes = self.held_bytes.saturating_sub(released.len());
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(first: u64, count: u64) -> Gap {
        Gap { first, count }
    }

    fn push(order: &mut ReplayReorderer, number: u64, now_ns: u64) -> String {
        let text = format!("{number} ");
        String::from_utf8(order.push(Some(number), text.into_bytes(), now_ns)).unwrap()
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn messages_behind_a_gap_wait_for_those_that_are_replayed() {
        let mut order = ReplayReorderer::default();
        assert_eq!(push(&mut order, 1, 0), "1 ");
        order.open(gap(2, 2), 0);
        order.open(gap(6, 1), 0);
        for number in [4, 5, 7, 2, 3, 7] {
            assert_eq!(push(&mut order, number, 1), "");
        }
        assert_eq!(text(order.close(gap(2, 2))), "2 3 4 5 ");
        assert_eq!(push(&mut order, 6, 2), "");
        assert_eq!(text(order.close(gap(6, 1))), "6 7 7 ");
        assert_eq!(push(&mut order, 8, 3), "8 ");
    }

    #[test]
    fn a_gap_that_never_ends_is_let_go() {
        let mut order = ReplayReorderer::default();
        order.open(gap(2, 1), 5);
        assert_eq!(push(&mut order, 3, 6), "");
        assert_eq!(text(order.expire(4 + WAIT_NS)), "");
        assert_eq!(text(order.expire(5 + WAIT_NS)), "3 ");
        order.open(gap(4, 1), 6);
        assert_eq!(push(&mut order, 5, 7), "");
        let mut much = order.push(Some(6), vec![b'x'; HELD_BYTES_MAX], 8);
        much.truncate(4);
        assert_eq!(text(much), "5 xx");
    }
}
