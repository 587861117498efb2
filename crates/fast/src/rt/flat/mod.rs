//! Templates that are flat: unsigned integers only, each of which repeats or counts on.
//!
//! Which fields such a message has, and how long they are, is what no branch predictor learns of a
//! feed of quotes. Where the CPU has vectors of 512 bits, all fields are read at once and nothing
//! depends on either. A lane is a field; its previous value is the dictionary word as far behind the
//! first field's.
//!
//! What does not fit (more than four bytes a field, values beyond the type, encodings longer than
//! needed, the end of the packet) is declined, and nothing has happened then.

#[cfg(vectors)]
mod vector;

use super::context::Context;
use super::cursor::Cursor;
use super::kernel::{Kernel, Segment};
use super::state::Slot;
use crate::dictionary::Word;

/// Most fields of a flat template.
pub const LANES: usize = 16;
/// Fewest: less are read faster one by one.
pub const FIELDS_MIN: usize = 5;

/// The words of all lanes.
pub type LaneWords = [Word; LANES];

/// A flat template.
pub trait FlatSegment: Segment {
    /// Its fields.
    const FIELDS: &'static Flat;

    /// Whether all its entries are assigned.
    fn is_warm(state: &Self::State) -> bool;

    /// The dictionary's words from the first field's on.
    fn words(state: &mut Self::State) -> Option<&mut LaneWords>;

    /// Stores a message's values, each at the distance of its word from the first field's.
    fn fill(lanes: &[u32; LANES], out: &mut Self::Out);
}

/// A value for each lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct FlatLanes([u32; LANES]);

/// The fields of a flat template, in wire order. Generated code has it as a constant.
#[derive(Clone, Debug)]
pub struct Flat {
    /// The first field's word.
    first: usize,
    /// Words from the first field's to the last field's.
    count: usize,
    /// The lanes that are fields,
    lanes: u16,
    /// and those that count on.
    increments: u16,
    /// Bits of the presence map, the template identifier's at the top, that no field has.
    unused: u64,
    /// What a lane that is not in the stream is more than before.
    add: FlatLanes,
    max: FlatLanes,
}

impl Flat {
    /// A template whose first field has this dictionary entry.
    pub const fn starting(first: Slot) -> Self {
        Self::from_word(first.word())
    }

    /// A template whose first field has this word.
    pub(crate) const fn from_word(first: usize) -> Self {
        Self {
            first,
            count: 0,
            lanes: 0,
            increments: 0,
            unused: u64::MAX >> 1,
            add: FlatLanes([0; LANES]),
            max: FlatLanes([u32::MAX; LANES]),
        }
    }

    /// With one more field, of operator copy and of at most `max`.
    ///
    /// # Panics
    /// When compiled: if its word is not behind the last field's, or too far behind the first's.
    #[must_use]
    pub const fn copied(self, slot: Slot, max: u64) -> Self {
        assert!(max <= u32::MAX as u64);
        match self.with(slot.word(), max as u32) {
            Some(flat) => flat,
            None => panic!("one word behind the other, and not too many"),
        }
    }

    /// With one more field, of operator increment.
    ///
    /// # Panics
    /// As [`copied`](Self::copied).
    #[must_use]
    pub const fn incremented(self, slot: Slot, max: u64) -> Self {
        self.copied(slot, max).counting()
    }

    /// With one more field that is repeated; `None` where its word is not behind the last field's, or too
    /// far behind the first's.
    pub(crate) const fn with(mut self, word: usize, max: u32) -> Option<Self> {
        if word < self.first + self.count || word >= self.first + LANES {
            return None;
        }
        let lane = word - self.first;
        self.count = lane + 1;
        self.lanes |= 1 << lane;
        self.unused >>= 1;
        self.max.0[lane] = max;
        Some(self)
    }

    /// With the last field counting on.
    pub(crate) const fn counting(mut self) -> Self {
        let lane = self.count - 1;
        self.increments |= 1 << lane;
        self.add.0[lane] = 1;
        self
    }
}

impl<'b, K: Kernel> Cursor<'b, K> {
    /// Decodes a flat template: at once where all its entries are assigned, else as any other.
    #[inline(always)]
    pub fn decode_flat<S: FlatSegment + Segment<Map<'b, K> = u64>>(
        self,
        map: u64,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut Context,
    ) -> Option<Self> {
        #[cfg(vectors)]
        if let Some(wide) = context.wide
            && let Some(end) = wide.decode_flat::<S, K>(self, map, state, out, context)
        {
            return Some(end);
        }
        self.decode::<S>(map, state, out, context)
    }
}

#[cfg(all(test, vectors))]
mod tests {
    use super::*;
    use crate::rt::kernel::Portable;
    use crate::rt::past::Unknown;
    use crate::rt::state::State;
    use crate::{Conformance, EngineUnderTest, Limits};

    const ENTRIES: [Slot; 5] =
        [Slot::new(0, 0), Slot::new(1, 1), Slot::new(2, 3), Slot::new(3, 4), Slot::new(4, 9)];
    const BEHIND: usize = 64;

    /// Entries 0 to 4, of which 0 counts on and 3 is of 8 bits.
    struct Five;

    impl Segment for Five {
        type State = State<LANES, 5, 0>;
        type Out = [u32; LANES];
        type Map<'b, K: Kernel> = u64;

        fn decode<'b, K: Kernel>(
            _: Cursor<'b, K>,
            _: u64,
            _: &mut Self::State,
            _: &mut Self::Out,
            _: &mut Context,
        ) -> Option<Cursor<'b, K>> {
            None
        }
    }

    impl FlatSegment for Five {
        const FIELDS: &'static Flat = &Flat::starting(ENTRIES[0])
            .incremented(ENTRIES[0], u32::MAX as u64)
            .copied(ENTRIES[1], u32::MAX as u64)
            .copied(ENTRIES[2], u16::MAX as u64)
            .copied(ENTRIES[3], u8::MAX as u64)
            .copied(ENTRIES[4], u32::MAX as u64);

        fn is_warm(state: &Self::State) -> bool {
            state.is_warm::<0, 5>()
        }

        fn words(state: &mut Self::State) -> Option<&mut LaneWords> {
            state.words_from(ENTRIES[0])
        }

        fn fill(lanes: &[u32; LANES], out: &mut Self::Out) {
            *out = *lanes;
        }
    }

    /// Decodes fields of which `sent` has a digit each, after the values 1 to 5.
    fn decode(sent: &str, fields: &[u8]) -> Option<([u32; 5], usize)> {
        let mut context =
            Context::new(vec![true], Conformance::Strict, &Limits::default(), true, 1);
        context.use_vectors(EngineUnderTest::Automatic);
        let mut state = State::new(0);
        for (slot, value) in ENTRIES.into_iter().zip(1..) {
            state.assign::<Unknown>(slot, value);
        }
        let words = state.clone().words_from::<LANES>(ENTRIES[0]).copied();
        let buffer = [fields, &[0; BEHIND]].concat();
        let cursor = Cursor::new(&buffer, Portable).expect("long enough");
        let start = cursor.address();
        context.begin_in(start + fields.len(), false);
        let map = u64::from_str_radix(sent, 2).expect("digits") << (63 - sent.len());
        let mut out = [0; LANES];
        let end = cursor.decode_flat::<Five>(map, &mut state, &mut out, &mut context);
        let after = state.words_from::<LANES>(ENTRIES[0]).copied();
        let values = [0, 1, 3, 4, 9].map(|lane| out[lane]);
        let kept = ENTRIES.map(|slot| state.word(slot) as u32);
        assert!(if end.is_some() { values == kept } else { words == after });
        end.map(|end| (values, end.address() - start))
    }

    #[test]
    fn what_fits_is_read_at_once_and_all_else_declined_untouched() {
        let mut context =
            Context::new(vec![true], Conformance::Strict, &Limits::default(), true, 1);
        context.use_vectors(EngineUnderTest::Automatic);
        if context.wide.is_none() {
            return eprintln!("SKIPPED: this CPU has no vectors of 512 bits");
        }
        assert_eq!(decode("00000", &[]), Some(([2, 2, 3, 4, 5], 0)));
        assert_eq!(decode("01000", &[0x8a]), Some(([2, 10, 3, 4, 5], 1)));
        assert_eq!(decode("10001", &[0x01, 0x80, 0x8b]), Some(([128, 2, 3, 4, 11], 3)));
        assert_eq!(
            decode("11111", b"\x83\x7f\x7f\x7f\xff\x03\x7f\xff\x01\xff\x87"),
            Some(([3, (1 << 28) - 1, 65_535, 255, 7], 11))
        );
        // Too long, too large, longer than needed, cut, a bit of no field.
        assert_eq!(decode("01000", b"\x01\x00\x00\x00\x80"), None);
        assert_eq!(decode("00100", b"\x04\x00\x80"), None);
        assert_eq!(decode("00010", b"\x02\x80"), None);
        assert_eq!(decode("00011", b"\x81\x00\x81"), None);
        assert_eq!(decode("00011", b"\x81"), None);
        assert_eq!(decode("00011", b"\x81\x01"), None);
        assert_eq!(decode("000001", &[]), None);
    }
}
