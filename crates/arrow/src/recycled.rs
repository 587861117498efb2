//! Reuses the memory of earlier batches.

use arrow_buffer::{ArrowNativeType, Buffer};

/// Buffers kept for reuse. With two, the consumer may hold one batch while the next is built.
const GENERATIONS: usize = 2;
/// Largest buffer that is kept, bytes. Only buffers of long strings exceed it.
const BYTES_MAX: usize = 1 << 20;
/// Most values that are reserved in advance.
const VALUES_MAX: usize = 16_384;
/// Values reserved beyond the size of the previous batch, because batches end only between messages.
pub(crate) const ROOM_BEHIND: usize = 512;

/// The buffers of a column's last batches. When every consumer of a batch has dropped it, a later batch
/// reuses its memory, which is still in the caches and need not be zeroed.
#[derive(Default)]
pub(crate) struct Recycled {
    /// Oldest first.
    buffers: Vec<Buffer>,
    /// Values to reserve for the next batch.
    room: usize,
}

impl Recycled {
    /// Converts values to a shared buffer and keeps a reference for reuse.
    pub(crate) fn lend<T: ArrowNativeType>(&mut self, values: Vec<T>) -> Buffer {
        self.room = values.len().min(VALUES_MAX) + ROOM_BEHIND;
        let buffer = Buffer::from_vec(values);
        if buffer.capacity() <= BYTES_MAX {
            if self.buffers.len() == GENERATIONS {
                self.buffers.remove(0);
            }
            self.buffers.push(buffer.clone());
        }
        buffer
    }

    /// Returns the number of values to reserve for the next batch.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Returns a vector over a kept buffer that has no other owner, with its old values; an empty vector if
    /// there is none.
    pub(crate) fn vector<T: ArrowNativeType>(&mut self) -> Vec<T> {
        for index in (0..self.buffers.len()).rev() {
            match self.buffers.remove(index).into_vec() {
                Ok(vector) => return vector,
                Err(buffer) => self.buffers.insert(index, buffer),
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_once_nobody_has_it() {
        let mut recycled = Recycled::default();
        let first = recycled.lend(vec![1_u64, 2, 3]);
        let second = recycled.lend(vec![4_u64]);
        assert!(recycled.vector::<u64>().is_empty(), "both are held");
        let place = first.as_ptr();
        drop(first);
        let vector = recycled.vector::<u64>();
        assert_eq!((vector.as_ptr().cast(), &vector[..]), (place, &[1, 2, 3][..]));
        assert_eq!(second.typed_data::<u64>(), [4]);
        drop(second);
        assert_eq!(recycled.vector::<u64>(), [4]);
        assert!(recycled.vector::<u64>().is_empty(), "each is used once");
    }

    #[test]
    fn what_a_consumer_keeps_is_forgotten() {
        let mut recycled = Recycled::default();
        let kept: Vec<_> = (0..9_u64).map(|number| recycled.lend(vec![number])).collect();
        assert_eq!(recycled.buffers.len(), GENERATIONS);
        drop(recycled);
        let values = kept.iter().map(|buffer| buffer.typed_data::<u64>()[0]);
        assert_eq!(values.collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn large_buffers_are_not_remembered() {
        let mut recycled = Recycled::default();
        drop(recycled.lend(vec![0_u8; BYTES_MAX + 1]));
        assert!(recycled.vector::<u8>().is_empty());
    }
}
