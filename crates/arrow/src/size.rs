//! Sizes of values in memory.

use arrow_array::{Array, ArrayRef, RecordBatch};

/// Returns the bytes of a batch's values. Columns without a value are not counted: they share their
/// memory.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(array_bytes).sum()
}

/// Returns the bytes of an array's values; 0 if it has none.
pub(crate) fn array_bytes(array: &ArrayRef) -> usize {
    if array.null_count() == array.len() {
        return 0;
    }
    // A slice may use only a part of its buffers.
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}
