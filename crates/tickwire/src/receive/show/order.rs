//! Messages in order while lost ones are replayed.

use std::collections::BTreeMap;
use tickwire_feed::arbiter::Gap;

/// Most text that is held.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Longest wait for a gap that is replayed.
const WAIT_NS: u64 = 60_000_000_000;

/// Sequence number of a packet, and the place of a message among those of this number.
type Place = (u64, usize);

/// Holds the text of messages behind a gap until nothing more is replayed of it. Beyond its limits it
/// lets go, and messages come as they arrived.
#[derive(Debug, Default)]
pub struct Order {
    /// Gaps that are requested, each with the time at which it was reported.
    open: Vec<(Gap, u64)>,
    held: BTreeMap<Place, Vec<u8>>,
    held_bytes: usize,
    /// The number of the latest message, for messages that have none.
    latest: u64,
}

impl Order {
    /// A gap is requested.
    pub fn open(&mut self, gap: Gap, now_ns: u64) {
        self.open.push((gap, now_ns));
    }

    /// Nothing more comes of a gap; returns what waited for it alone.
    pub fn close(&mut self, gap: Gap) -> Vec<u8> {
        self.open.retain(|(open, _)| *open != gap);
        self.release()
    }

    /// Forgets all gaps and returns what was held.
    pub fn close_all(&mut self) -> Vec<u8> {
        self.open.clear();
        self.release()
    }

    /// Takes the text of a message and returns what may be written now.
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

    /// Lets go of gaps that were waited for long enough, and of all if too much is held; returns what
    /// may be written.
    pub fn expire(&mut self, now_ns: u64) -> Vec<u8> {
        if self.held_bytes > HELD_BYTES_MAX {
            return self.close_all();
        }
        self.open.retain(|(_, told_ns)| now_ns.saturating_sub(*told_ns) < WAIT_NS);
        self.release()
    }

    /// Returns the messages that are not behind an open gap.
    fn release(&mut self) -> Vec<u8> {
        let first = self.open.iter().map(|(gap, _)| gap.first).min();
        let behind = first.map_or_else(BTreeMap::new, |first| self.held.split_off(&(first, 0)));
        // Replayed messages of an open gap wait too: later ones of it may come first.
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

    fn push(order: &mut Order, number: u64, now_ns: u64) -> String {
        let text = format!("{number} ");
        String::from_utf8(order.push(Some(number), text.into_bytes(), now_ns)).unwrap()
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn messages_behind_a_gap_wait_for_those_that_are_replayed() {
        let mut order = Order::default();
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
        let mut order = Order::default();
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
