//! Sequence numbers that are missing in a capture.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// Most missing ranges remembered per channel; late numbers may fill them.
const RANGES_MAX: usize = 64;
/// A number further back than this restarts the sequence.
const LATE_MAX: u64 = 10_000;
/// Most channels followed.
const CHANNELS_MAX: usize = 256;

/// Counts the gaps in the sequence numbers of preambles, by destination.
///
/// A repeated number is a copy, a number far behind restarts the sequence, and a late number that
/// belongs to a gap makes the gap smaller. Numbers may count packets or messages. A number that is
/// ahead by the message count of the previous packet is a gap, unless all numbers of the channel
/// advance in this way.
#[derive(Default)]
pub struct SequenceGaps {
    channels: HashMap<Option<SocketAddr>, ChannelGaps>,
    /// The channel of the last packet.
    last: Option<Option<SocketAddr>>,
    is_numbered: bool,
}

#[derive(Default)]
struct ChannelGaps {
    /// The highest number, and the number of messages in its packet.
    seq_num: u64,
    messages: u64,
    /// True if a packet of several messages was followed by the next number.
    counts_packets: bool,
    missing: Vec<Missing>,
    /// Jumps by the message count of the previous packet: gaps only if numbers count packets.
    by_messages: Tally,
    /// All other gaps.
    certain: Tally,
    /// The number of the last packet that restarted the sequence.
    restarted_at: Option<u64>,
}

/// A range of missing numbers, from the first to the last.
struct Missing {
    first: u64,
    last: u64,
    is_certain: bool,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    gaps: u64,
    numbers: u64,
}

impl SequenceGaps {
    /// Records the number of a packet, or of a part of it that has its own.
    pub fn note(&mut self, destination: Option<SocketAddr>, seq_num: u64) {
        self.is_numbered = true;
        self.last = Some(destination);
        if let Some(channel) = self.channels.get_mut(&destination) {
            if !channel.note(seq_num) {
                // The messages that follow do not belong to the highest number.
                self.last = None;
            }
        } else if self.channels.len() < CHANNELS_MAX {
            self.channels.insert(destination, ChannelGaps { seq_num, ..ChannelGaps::default() });
        }
    }

    /// Records the numbers of all messages of a packet, for feeds whose numbers count messages. With `restarts` a
    /// packet whose number is not the next one restarts the sequence, unless it is a copy of the last one that did.
    pub fn note_range(
        &mut self,
        destination: Option<SocketAddr>,
        numbers: RangeInclusive<u64>,
        restarts: bool,
    ) {
        self.is_numbered = true;
        let (first, last) = numbers.into_inner();
        if let Some(channel) = self.channels.get_mut(&destination) {
            channel.note_range(first, last, restarts);
        } else if self.channels.len() < CHANNELS_MAX {
            let restarted_at = restarts.then_some(first);
            self.channels.insert(
                destination,
                ChannelGaps { seq_num: last, restarted_at, ..ChannelGaps::default() },
            );
        }
    }

    /// Records a message of the last packet.
    pub fn note_message(&mut self) {
        if let Some(last) = &self.last
            && let Some(channel) = self.channels.get_mut(last)
        {
            channel.messages += 1;
        }
    }

    /// Returns the number of gaps; `None` if no packet had a number.
    pub fn gaps(&self) -> Option<u64> {
        self.is_numbered.then(|| self.tallies().map(|tally| tally.gaps).sum())
    }

    /// Returns how many numbers are missing; `None` if no packet had a number.
    pub fn missing(&self) -> Option<u64> {
        self.is_numbered
            .then(|| self.tallies().fold(0, |sum: u64, tally| sum.saturating_add(tally.numbers)))
    }

    fn tallies(&self) -> impl Iterator<Item = Tally> {
        self.channels.values().flat_map(|channel| {
            let by_messages = channel.counts_packets.then_some(channel.by_messages);
            [Some(channel.certain), by_messages].into_iter().flatten()
        })
    }
}

impl ChannelGaps {
    /// Records the numbers of a packet's messages.
    fn note_range(&mut self, first: u64, last: u64, restarts: bool) {
        if restarts
            && self.restarted_at.replace(first) != Some(first)
            && first != self.seq_num.wrapping_add(1)
        {
            self.missing.clear();
            self.seq_num = last;
            return;
        }
        if first > self.seq_num {
            // A gap before the first number, if any; the others follow it.
            self.note(first);
            self.seq_num = self.seq_num.max(last);
            return;
        }
        (first..=last).for_each(|number| _ = self.note(number));
    }

    /// Records a number; returns true if it is the highest.
    fn note(&mut self, seq_num: u64) -> bool {
        let before = self.seq_num;
        if seq_num > before {
            let next = before + 1;
            self.counts_packets |= seq_num == next && self.messages > 1;
            if seq_num > next {
                let is_certain = seq_num - before != self.messages;
                self.add(Missing { first: next, last: seq_num - 1, is_certain });
            }
            (self.seq_num, self.messages) = (seq_num, 0);
        } else if before - seq_num > LATE_MAX {
            (self.seq_num, self.messages) = (seq_num, 0);
            self.missing.clear();
        } else if let Some(at) = self.missing.iter().position(|missing| missing.has(seq_num)) {
            let Missing { first, last, is_certain } = self.missing.swap_remove(at);
            let tally = self.tally(is_certain);
            tally.gaps -= 1;
            tally.numbers = tally.numbers.saturating_sub((last - first).saturating_add(1));
            for (first, last) in [(first, seq_num - 1), (seq_num + 1, last)] {
                if first <= last {
                    self.add(Missing { first, last, is_certain });
                }
            }
        }
        seq_num == self.seq_num
    }

    fn add(&mut self, missing: Missing) {
        let tally = self.tally(missing.is_certain);
        tally.gaps += 1;
        tally.numbers =
            tally.numbers.saturating_add((missing.last - missing.first).saturating_add(1));
        if self.missing.len() == RANGES_MAX {
            self.missing.remove(0);
        }
        self.missing.push(missing);
    }

    const fn tally(&mut self, is_certain: bool) -> &mut Tally {
        if is_certain { &mut self.certain } else { &mut self.by_messages }
    }
}

impl Missing {
    fn has(&self, seq_num: u64) -> bool {
        (self.first..=self.last).contains(&seq_num)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(numbers: &[u64]) -> (Option<u64>, Option<u64>) {
        let mut gaps = SequenceGaps::default();
        numbers.iter().for_each(|number| gaps.note(None, *number));
        (gaps.gaps(), gaps.missing())
    }

    #[test]
    fn numbers_that_leap_do_not_overflow() {
        assert_eq!(counted(&[0, u64::MAX, 0, u64::MAX]), (Some(2), Some(u64::MAX)));
    }

    #[test]
    fn gaps_are_counted_with_what_is_missing() {
        assert_eq!(counted(&[]), (None, None));
        assert_eq!(counted(&[5, 6, 7]), (Some(0), Some(0)));
        assert_eq!(counted(&[5, 5, 6, 5]), (Some(0), Some(0)), "copies");
        assert_eq!(counted(&[1, 4, 5, 10]), (Some(2), Some(6)));
        assert_eq!(counted(&[u64::MAX - 1, u64::MAX, u64::MAX]), (Some(0), Some(0)));
        assert_eq!(counted(&[0, u64::MAX]), (Some(1), Some(u64::MAX - 1)));
    }

    #[test]
    fn numbers_that_come_late_make_gaps_smaller() {
        assert_eq!(counted(&[1, 3, 2, 4]), (Some(0), Some(0)));
        assert_eq!(counted(&[1, 5, 3]), (Some(2), Some(2)));
        assert_eq!(counted(&[1, 5, 4, 2]), (Some(1), Some(1)));
        assert_eq!(counted(&[50_000, 50_002, 1, 2, 3]), (Some(1), Some(1)), "begins anew");
    }

    #[test]
    fn numbers_of_messages_are_counted_by_packet() {
        let counted = |packets: &[(u64, u64, bool)]| {
            let mut gaps = SequenceGaps::default();
            packets.iter().for_each(|(first, last, restarts)| {
                gaps.note_range(None, *first..=*last, *restarts);
            });
            (gaps.gaps(), gaps.missing())
        };
        assert_eq!(counted(&[(1, 3, false), (4, 4, false), (5, 9, false)]), (Some(0), Some(0)));
        // A line integrity message repeats the last number; a copy.
        assert_eq!(
            counted(&[(1, 2, false), (2, 2, false), (1, 2, false), (3, 3, false)]).0,
            Some(0)
        );
        assert_eq!(counted(&[(1, 3, false), (6, 8, false), (10, 10, false)]), (Some(2), Some(3)));
        assert_eq!(
            counted(&[(1, 3, false), (7, 8, false), (4, 5, false)]),
            (Some(1), Some(1)),
            "late"
        );
        // The numbers restart once, although the packet is repeated.
        let restarted =
            [(500, 600, false), (1, 1, true), (2, 9, false), (1, 1, true), (10, 11, false)];
        assert_eq!(counted(&restarted), (Some(0), Some(0)));
        assert_eq!(counted(&[(1, 5, false), (6, 6, true), (7, 7, false)]), (Some(0), Some(0)));
        assert_eq!(counted(&[(9, 9, true), (8, 8, false), (10, 10, false)]), (Some(0), Some(0)));
        assert_eq!(counted(&[(0, u64::MAX, false), (0, 0, false)]), (Some(0), Some(0)));
    }

    #[test]
    fn numbers_may_count_messages_and_channels_count_apart() {
        let with_messages = |packets: &[(u64, u64)]| {
            let mut gaps = SequenceGaps::default();
            for (number, messages) in packets {
                gaps.note(None, *number);
                (0..*messages).for_each(|_| gaps.note_message());
            }
            gaps
        };
        let packets = with_messages(&[(1, 2), (3, 2), (4, 1), (5, 1)]);
        assert_eq!((packets.gaps(), packets.missing()), (Some(1), Some(1)));
        let mut gaps = with_messages(&[(1, 3), (4, 2), (6, 1), (9, 1)]);
        assert_eq!((gaps.gaps(), gaps.missing()), (Some(1), Some(2)));
        let other = "233.0.0.1:5000".parse().ok();
        gaps.note(other, 500);
        gaps.note(None, 10);
        gaps.note(other, 501);
        assert_eq!(gaps.gaps(), Some(1));
    }
}
