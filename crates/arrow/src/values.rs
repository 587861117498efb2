//! Number columns under construction.

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{PrimitiveArray, types};
use arrow_buffer::ScalarBuffer;

use crate::recycled::{ROOM_BEHIND, Recycled};
use crate::validity::Validity;

/// Runs are written in steps of this many values: a short run takes one store.
const STEP: usize = 8;
/// Smallest initial capacity, values.
const FIRST_ROOM: usize = 1024;

/// Rows per record of a block.
pub(crate) enum RowSpread<'a> {
    /// One row per record.
    One,
    /// These numbers of rows, `rows` in all.
    Runs { counts: &'a [u32], rows: usize },
}

impl<'a> RowSpread<'a> {
    /// Returns the spread for records with these numbers of rows.
    pub(crate) fn of(counts: &'a [u32]) -> Self {
        let rows = counts.iter().map(|count| *count as usize).sum();
        if rows == counts.len() { Self::One } else { Self::Runs { counts, rows } }
    }

    /// Returns the number of rows of `count` records.
    pub(crate) fn rows(&self, count: usize) -> usize {
        match self {
            Self::One => count,
            Self::Runs { rows, .. } => *rows,
        }
    }
}

/// Numbers, with nulls.
///
/// Many columns are entirely null in a capture or for a template. Until the first number arrives, only rows
/// are counted, and batches share one array of nulls.
pub(crate) struct ColumnNumbers<A: ArrowPrimitiveType> {
    /// The first `len` are the values, unless all are null; the rest is capacity with arbitrary contents.
    room: Vec<A::Native>,
    len: usize,
    /// True until the first number; nothing is written until then.
    is_missing: bool,
    validity: Validity,
    nulls: Option<PrimitiveArray<A>>,
    recycled: Recycled,
}

impl<A: ArrowPrimitiveType> ColumnNumbers<A> {
    pub(crate) fn new() -> Self {
        Self {
            room: Vec::new(),
            len: 0,
            is_missing: true,
            validity: Validity::default(),
            nulls: None,
            recycled: Recycled::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends a number, or null, `count` times.
    pub(crate) fn append(&mut self, value: Option<A::Native>, count: usize) {
        let Some(value) = value else { return self.append_nulls(count) };
        self.room_for(count)[..count].fill(value);
        self.validity.append_n(count, true);
        self.len += count;
    }

    fn append_nulls(&mut self, count: usize) {
        if !self.is_missing {
            self.room_for(count)[..count].fill(A::Native::default());
            self.validity.append_n(count, false);
        }
        self.len += count;
    }

    /// Appends numbers of up to 64 records. `presence` has a bit per record that has the number, `all` a bit
    /// per record.
    #[inline(always)]
    pub(crate) fn append_block(
        &mut self,
        numbers: impl ExactSizeIterator<Item = A::Native>,
        presence: u64,
        all: u64,
        spread: &RowSpread<'_>,
    ) {
        let count = numbers.len();
        let rows = spread.rows(count);
        if presence == 0 {
            return self.append_nulls(rows);
        }
        let room = self.room_for(rows);
        match spread {
            RowSpread::One => {
                room.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
                clear(room, all & !presence);
            }
            RowSpread::Runs { counts, .. } if presence == all => write_runs(room, numbers, counts),
            RowSpread::Runs { counts, .. } => {
                let present = numbers.enumerate().map(|(record, number)| {
                    if presence >> record & 1 != 0 { number } else { A::Native::default() }
                });
                write_runs(room, present, counts);
            }
        }
        match presence == all {
            true => self.validity.append_n(rows, true),
            false => self.validity.append_block(presence, count, spread),
        }
        self.len += rows;
    }

    /// Ensures capacity for `end` values and one more step.
    #[inline(always)]
    fn room_for(&mut self, rows: usize) -> &mut [A::Native] {
        let end = self.len + rows + STEP;
        if self.is_missing || end > self.room.len() {
            self.make_room(end);
        }
        &mut self.room[self.len..]
    }

    /// Grows the capacity to `end`; at the first number, writes the earlier rows as null.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, end: usize) {
        if self.room.is_empty() {
            self.room = self.recycled.vector();
        }
        let zero = A::Native::default();
        if self.room.is_empty() {
            // `vec![zero; n]` takes zeroed pages from the system without clearing them again.
            self.room = vec![zero; end.max(self.recycled.room()).max(FIRST_ROOM)];
        } else if end > self.room.len() {
            let room = self.room.capacity();
            self.room.resize(if end <= room { room } else { end.max(2 * room) }, zero);
        }
        if std::mem::take(&mut self.is_missing) {
            self.room[..self.len].fill(zero);
            self.validity.append_n(self.len, false);
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        if !self.is_missing {
            self.validity.truncate(self.len);
        }
    }

    /// Returns all numbers and empties the column.
    pub(crate) fn take(&mut self) -> PrimitiveArray<A> {
        let len = std::mem::take(&mut self.len);
        if std::mem::replace(&mut self.is_missing, true) {
            let made = self.nulls.take().filter(|made| made.len() >= len);
            let made = made.unwrap_or_else(|| PrimitiveArray::new_null(len + ROOM_BEHIND));
            let nulls = made.slice(0, len);
            self.nulls = Some(made);
            return nulls;
        }
        let mut values = std::mem::take(&mut self.room);
        values.truncate(len);
        let values = ScalarBuffer::new(self.recycled.lend(values), 0, len);
        PrimitiveArray::new(values, self.validity.take())
    }
}

/// Sets the values at these bits to zero.
fn clear<T: Default>(values: &mut [T], mut bits: u64) {
    while bits != 0 {
        values[bits.trailing_zeros() as usize] = T::default();
        bits &= bits - 1;
    }
}

/// Writes each value for its number of rows. The last run may be written beyond its end, by less than a step.
#[inline(always)]
fn write_runs<T: Copy>(room: &mut [T], values: impl Iterator<Item = T>, counts: &[u32]) {
    let (mut at, mut end) = (0, 0);
    for (value, count) in values.zip(counts) {
        end += *count as usize;
        while at < end {
            room[at..at + STEP].copy_from_slice(&[value; STEP]);
            at += STEP;
        }
        at = end;
    }
}

/// Indexes of entries.
pub(crate) type IndexColumn = ColumnNumbers<types::UInt32Type>;

impl IndexColumn {
    /// Appends 0, 1, ... up to `count` - 1.
    pub(crate) fn append_up_to(&mut self, count: usize) {
        let room = self.room_for(count);
        for start in (0..count).step_by(STEP) {
            let indexes: [u32; STEP] = std::array::from_fn(|index| (start + index) as u32);
            room[start..start + STEP].copy_from_slice(&indexes);
        }
        self.validity.append_n(count, true);
        self.len += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    type Numbers = ColumnNumbers<types::UInt64Type>;

    /// Appends random blocks, runs and nulls, and records the expected values.
    fn fill(rng: &mut fastrand::Rng, values: &mut Numbers, expected: &mut Vec<Option<u64>>) {
        match rng.u8(..4) {
            0 => {
                let (value, count) = (rng.bool().then(|| rng.u64(..)), rng.usize(..40));
                values.append(value, count);
                expected.resize(expected.len() + count, value);
            }
            1 => {
                let len = expected.len() - rng.usize(..=expected.len().min(50));
                values.truncate(len);
                expected.truncate(len);
            }
            _ => {
                let numbers: Vec<u64> = (0..rng.usize(1..=64)).map(|_| rng.u64(..)).collect();
                let all = u64::MAX >> (64 - numbers.len());
                let presence = all & [0, u64::MAX, rng.u64(..)][rng.usize(..3)];
                let most = [2, 12][rng.usize(..2)];
                let counts: Vec<u32> = numbers.iter().map(|_| rng.u32(1..most)).collect();
                let spread = RowSpread::of(&counts);
                values.append_block(numbers.iter().copied(), presence, all, &spread);
                for (record, (number, count)) in numbers.iter().zip(&counts).enumerate() {
                    let value = (presence >> record & 1 != 0).then_some(*number);
                    expected.resize(expected.len() + *count as usize, value);
                }
            }
        }
    }

    #[test]
    fn values_are_those_that_were_appended_though_memory_is_used_again() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..50 {
            let mut values = Numbers::new();
            let mut held = Vec::new();
            for _ in 0..20 {
                let mut expected = Vec::new();
                for _ in 0..rng.usize(..30) {
                    fill(&mut rng, &mut values, &mut expected);
                    assert_eq!(values.len(), expected.len());
                }
                held.push((values.take(), expected));
                held.drain(..held.len().saturating_sub(rng.usize(..4)));
                for (array, expected) in &held {
                    assert_eq!(array.iter().collect::<Vec<_>>(), *expected);
                    let is_clear = |row| array.is_valid(row) || array.value(row) == 0;
                    assert!((0..array.len()).all(is_clear), "what is missing is 0 in memory");
                }
            }
        }
    }

    #[test]
    fn indexes_begin_anew() {
        let mut indexes = IndexColumn::new();
        indexes.append(None, 2);
        for count in [1, 8, 0, 17] {
            indexes.append_up_to(count);
        }
        let array = indexes.take();
        let expected = [0..1, 0..8, 0..17].into_iter().flatten().map(Some);
        let expected: Vec<_> = [None, None].into_iter().chain(expected).collect();
        assert_eq!(array.iter().collect::<Vec<_>>(), expected);
    }
}
