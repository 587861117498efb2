//! Detects whether the shapes of entries repeat.
//!
//! The shape of an entry is which fields are in the stream, and how long they are. If shapes
//! repeat, branches are predictable and decoding field by field is fastest; otherwise SIMD is,
//! whose time does not depend on the shape. Stop bits identify a shape, so sequences are sampled
//! and their stop bits looked up among earlier ones.

/// Number of shapes remembered.
const SEEN: usize = 256;
/// Counter of new shapes minus known ones: its maximum, and the threshold above which shapes do not
/// repeat.
const EXCESS_MAX: u8 = 8;
const EXCESS_MIN: u8 = 4;
/// Bytes sampled.
const BYTES: usize = 64;

/// Recently seen shapes of a sequence.
#[derive(Clone, Debug)]
pub(super) struct EntryShapes {
    excess: u8,
    seen: Box<[u64; SEEN]>,
}

impl Default for EntryShapes {
    fn default() -> Self {
        Self { excess: 0, seen: Box::new([0; SEEN]) }
    }
}

impl EntryShapes {
    /// Samples the entries at the front of the rest of a packet; returns true if the following
    /// entries are likely to have new shapes.
    pub(super) fn look(&mut self, bytes: &[u8]) -> bool {
        let bytes = bytes.get(..BYTES).unwrap_or(bytes);
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = words.iter().copied().chain([last]).map(u64::from_le_bytes);
        let stops = words.fold(0_u64, |stops, word| stops.rotate_left(8) ^ stops_of(word));
        // Fibonacci hashing: the top bits depend on all bits.
        let place = stops.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SEEN.ilog2());
        let seen = &mut self.seen[place as usize % SEEN];
        self.excess = match *seen == stops {
            true => self.excess.saturating_sub(1),
            false => (self.excess + 1).min(EXCESS_MAX),
        };
        *seen = stops;
        self.excess >= EXCESS_MIN
    }
}

/// Packs the stop bits of eight bytes into one byte.
fn stops_of(word: u64) -> u64 {
    const STOPS: u64 = 0x8080_8080_8080_8080;
    const TO_TOP: u64 = 0x0002_0408_1020_4081;
    (word & STOPS).wrapping_mul(TO_TOP) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples 40 bytes with these stop bits, one set after the other; returns the last result.
    fn look_at(shapes: &mut EntryShapes, sets: impl Iterator<Item = u64>) -> Option<bool> {
        let bytes = |stops: u64| (0..40).map(move |bit| ((stops >> bit & 1) as u8) << 7);
        sets.map(|stops| shapes.look(&bytes(stops).collect::<Vec<u8>>())).last()
    }

    #[test]
    fn shapes_that_repeat_are_foreseen_and_others_are_not() {
        let of = |seed: u64| seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20;
        let mut shapes = EntryShapes::default();
        assert_eq!(look_at(&mut shapes, (1..50).map(of)), Some(true), "all are new");
        let thirty = (0..200).map(|number| of(number % 30));
        assert_eq!(look_at(&mut shapes, thirty), Some(false), "30 repeat");
        assert_eq!(look_at(&mut shapes, (1000..1050).map(of)), Some(true), "all are new again");
    }

    #[test]
    fn stop_bits_are_all_looked_at() {
        for byte in 0..8 {
            assert_eq!(stops_of(0x80 << (8 * byte)), 1 << byte);
        }
        assert_eq!((stops_of(u64::MAX), stops_of(u64::MAX / 0xff * 0x7f)), (0xff, 0));
    }
}
