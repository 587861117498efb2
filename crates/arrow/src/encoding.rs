//! Selects the Parquet encoding of each column from the first batch.
//!
//! Dictionaries are small if few distinct values repeat; otherwise they dominate the time of writing.
//! Counters, times and prices are smaller as differences (`DELTA_BINARY_PACKED`), which take a third of the
//! time.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Values per block of differences; a block stores its least difference once.
const BLOCK: usize = 128;
/// Differences that share one bit width.
const MINIBLOCK: usize = 32;
/// Bits of a block header: least difference and bit widths.
const BLOCK_HEAD_BITS: usize = 64;
/// Bits of a run of dictionary indexes, without the index.
const RUN_BITS: usize = 8;

/// Encoding of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnEncoding {
    /// Indexes of a dictionary.
    Dictionary,
    /// Differences of consecutive integers.
    Differences,
    /// Values one after the other.
    Plain,
}

impl ColumnEncoding {
    /// Returns the encoding that takes the least space before compression.
    pub(crate) fn of(column: &ArrayRef) -> Self {
        use DataType::{
            Binary, Date32, Duration, Int8, Int16, Int32, Int64, Timestamp, UInt8, UInt16, UInt32,
            UInt64, Utf8,
        };
        match column.data_type() {
            Int8 => integers::<Int8Type>(column, i64::from),
            Int16 => integers::<Int16Type>(column, i64::from),
            Int32 => integers::<Int32Type>(column, i64::from),
            Int64 => integers::<Int64Type>(column, |value| value),
            UInt8 => integers::<UInt8Type>(column, i64::from),
            UInt16 => integers::<UInt16Type>(column, i64::from),
            UInt32 => integers::<UInt32Type>(column, i64::from),
            UInt64 => integers::<UInt64Type>(column, |value| value as i64),
            Date32 => integers_of(column, &DataType::Int32),
            Timestamp(..) | Duration(_) => integers_of(column, &DataType::Int64),
            Utf8 => strings(column.as_string::<i32>().iter().flatten()),
            Binary => strings(column.as_binary::<i32>().iter().flatten()),
            _ => Self::Dictionary,
        }
    }
}

/// Returns the encoding for a column whose values are stored as integers of this type.
fn integers_of(column: &ArrayRef, integer: &DataType) -> ColumnEncoding {
    let data = column.to_data().into_builder().data_type(integer.clone()).build();
    data.map_or(ColumnEncoding::Dictionary, |data| {
        ColumnEncoding::of(&arrow_array::make_array(data))
    })
}

fn integers<A: ArrowPrimitiveType>(
    column: &ArrayRef,
    widen: impl Fn(A::Native) -> i64,
) -> ColumnEncoding {
    let values: Vec<i64> = column.as_primitive::<A>().iter().flatten().map(widen).collect();
    let width = 8 * size_of::<A::Native>().max(4);
    match dictionary_is_smaller(&values, width, differences_bits(&values)) {
        true => ColumnEncoding::Dictionary,
        false => ColumnEncoding::Differences,
    }
}

/// Returns `Dictionary` unless most values are distinct.
fn strings<'a, S: Hash + Eq + ?Sized + 'a>(values: impl Iterator<Item = &'a S>) -> ColumnEncoding {
    let mut distinct = HashSet::new();
    let count = values.inspect(|value| _ = distinct.insert(*value)).count();
    match distinct.len() > 1 && distinct.len() * 2 > count {
        true => ColumnEncoding::Plain,
        false => ColumnEncoding::Dictionary,
    }
}

/// True if a dictionary of values of this width, and its indexes (bit-packed or in runs), take at most
/// `bits_max` bits.
fn dictionary_is_smaller(values: &[i64], width: usize, bits_max: usize) -> bool {
    let mut distinct: HashSet<i64, BuildHasherDefault<IntegerHasher>> = HashSet::default();
    let mut runs = 0;
    for run in values.chunk_by(|before, value| before == value) {
        runs += 1;
        distinct.insert(run[0]);
        if distinct.len() * width > bits_max {
            return false;
        }
    }
    let index_bits = bits_of(distinct.len().saturating_sub(1) as u64);
    let indexes = (values.len() * index_bits).min(runs * (index_bits + RUN_BITS));
    distinct.len() * width + indexes <= bits_max
}

/// Hashes an integer with one multiplication. The standard hasher took 2 % of the time of a file of 144,000
/// rows. Crafted collisions slow down only the choice of an encoding, which looks at one batch.
#[derive(Default)]
struct IntegerHasher(u64);

impl Hasher for IntegerHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_i64(i64::from(*byte)));
    }

    fn write_i64(&mut self, value: i64) {
        let product = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ product >> 32;
    }
}

/// Returns the size in bits of the differences of consecutive values.
fn differences_bits(values: &[i64]) -> usize {
    let differences: Vec<i64> =
        values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    let block_bits = |block: &[i64]| {
        let least = block.iter().copied().min().unwrap_or_default();
        let width = |miniblock: &[i64]| {
            let above = miniblock.iter().map(|value| value.wrapping_sub(least) as u64);
            bits_of(above.max().unwrap_or_default())
        };
        let miniblocks = block.chunks(MINIBLOCK).map(|miniblock| width(miniblock) * MINIBLOCK);
        BLOCK_HEAD_BITS + miniblocks.sum::<usize>()
    };
    differences.chunks(BLOCK).map(block_bits).sum()
}

/// Returns the number of significant bits.
fn bits_of(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        Decimal128Array, Int64Array, StringArray, TimestampNanosecondArray, UInt32Array,
    };
    use std::sync::Arc;

    fn of(column: impl Array + 'static) -> ColumnEncoding {
        ColumnEncoding::of(&(Arc::new(column) as ArrayRef))
    }

    #[test]
    fn counters_and_times_are_written_as_differences() {
        let counter = UInt32Array::from_iter_values(7..4_000);
        assert_eq!(of(counter), ColumnEncoding::Differences);
        let times =
            (0..4_000).map(|index| 1_700_000_000_000_000_000 + index * 1_003 + index * index % 977);
        let times = TimestampNanosecondArray::from_iter_values(times).with_timezone("UTC");
        assert_eq!(of(times), ColumnEncoding::Differences);
    }

    #[test]
    fn differences_of_far_values_do_not_overflow() {
        let far = Int64Array::from_iter_values([i64::MIN, i64::MAX, 0, -1, 1]);
        assert_eq!(of(far), ColumnEncoding::Dictionary);
    }

    #[test]
    fn few_values_are_written_as_a_dictionary() {
        let mut rng = fastrand::Rng::with_seed(1);
        let ids: Vec<u32> = (0..50).map(|_| rng.u32(..)).collect();
        let repeated = (0..4_000).map(|_| ids[rng.usize(..ids.len())]);
        assert_eq!(of(UInt32Array::from_iter_values(repeated)), ColumnEncoding::Dictionary);
        let sides = (0..4_000).map(|index| ["buy", "sell"][index % 2]);
        assert_eq!(of(StringArray::from_iter_values(sides)), ColumnEncoding::Dictionary);
        assert_eq!(of(StringArray::new_null(9)), ColumnEncoding::Dictionary);
        assert_eq!(of(Int64Array::new_null(9)), ColumnEncoding::Dictionary);
        assert_eq!(of(Decimal128Array::new_null(9)), ColumnEncoding::Dictionary);
    }

    #[test]
    fn strings_that_are_all_new_are_plain() {
        let ids = (0..4_000).map(|index| format!("order-{index}"));
        assert_eq!(of(StringArray::from_iter_values(ids)), ColumnEncoding::Plain);
    }
}
