//! Memory of batches, used again for later ones.

use arrow_buffer::{ArrowNativeType, Buffer};

/// Batches whose memory is remembered: a consumer may hold one while the next is made.
const GENERATIONS: usize = 2;
/// Largest buffer that is remembered. Numbers of a batch take less; only long strings take more.
const BYTES_MAX: usize = 1 << 20;
/// Values of a batch that room is made for in advance, at most.
const VALUES_MAX: usize = 16_384;
/// Values more than those of the batch before that a vector has room for, as batches end with a message.
pub(crate) const ROOM_BEHIND: usize = 512;

/// The buffers that a column gave to its last batches. Once all who took a batch have dropped it, a later batch is written
/// over it: its memory lies in the caches, and is not cleared as new memory is.
#[derive(Default)]
pub(crate) struct Recycled {
    /// The last one at the end.
    buffers: Vec<Buffer>,
    /// Values that a batch has room for.
    room: usize,
}

impl Recycled {
    /// Hands out values.
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

    /// Values that a batch has room for in advance.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// The vector of a buffer that nobody else has any more, with its old values; an empty one where there is none.
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
