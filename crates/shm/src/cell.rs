//! A cell: bytes behind a sequence lock, in a slot of the ring or an entry of the last values.
//!
//! | word | what it holds |
//! |---|---|
//! | 0 | the lock: 2n + 1 while sample n is written, 2n + 2 once it is whole |
//! | 1 | length in bytes (low half), the writer's epoch (high half) |
//! | 2 | the sample's key, [`NO_KEY`](crate::layout::NO_KEY) for none; unused in entries |
//! | 3.. | the bytes |
//!
//! Sequence numbers never repeat, so equal locks before and after a copy prove that nobody wrote in between.
//!
//! Orderings:
//! - The writer's release fence before the odd lock: a reader that finds the lock also finds everything stored earlier.
//!   That is a head of at least n and, for an entry, the ring's slot that holds n.
//! - The fence after the odd lock: the lock is stored before the bytes. A reader that copied a byte of sample n
//!   therefore finds, after its acquire fence, a lock of at least 2n + 1, and drops the copy.
//! - The fence before the even lock: all bytes are stored before it.
//!
//! On x86-64 these fences only keep the compiler from reordering.

use crate::layout::CELL_HEADER_WORDS;
use crate::memory::{Memory, MemoryMut};

/// Lock of a cell that was never written.
pub const EMPTY: u64 = 0;

/// Lock while sample `seq_num` is written.
pub fn writing(seq_num: u64) -> u64 {
    2 * seq_num + 1
}

/// Lock of a cell that holds sample `seq_num`.
pub fn written(seq_num: u64) -> u64 {
    2 * seq_num + 2
}

/// The words between the lock and the bytes, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellLabel {
    /// Length in bytes.
    pub len: u32,
    /// The low half of the writer's epoch.
    pub epoch: u32,
    /// The sample's key.
    pub key: u64,
}

/// Writes sample `seq_num` into the cell at `at`.
pub fn write(memory: &impl MemoryMut, at: usize, seq_num: u64, label: CellLabel, bytes: &[u8]) {
    memory.release();
    memory.store(at, writing(seq_num));
    memory.release();
    memory.store(at + 1, u64::from(label.len) | u64::from(label.epoch) << 32);
    memory.store(at + 2, label.key);
    memory.store_bytes(at + CELL_HEADER_WORDS, bytes);
    memory.release();
    memory.store(at, written(seq_num));
}

/// Result of reading a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellContent {
    /// The sample, whole.
    Sample(CellLabel),
    /// The lock is not that of the sample, before or after copying. Carries the lock.
    Lock(u64),
    /// The lock is right, but the length is longer than any sample. Carries the length.
    Length(u32),
}

/// Copies sample `seq_num` from the cell at `at` into the buffer, if the cell holds it, and sets the buffer's length.
///
/// The buffer always has room for the longest sample; only its length changes.
pub fn read(
    memory: &impl Memory,
    at: usize,
    seq_num: u64,
    buffer: &mut SampleBuffer,
) -> CellContent {
    let lock = memory.load(at);
    if lock != written(seq_num) {
        return CellContent::Lock(lock);
    }
    memory.acquire();
    let word = memory.load(at + 1);
    let label =
        CellLabel { len: word as u32, epoch: (word >> 32) as u32, key: memory.load(at + 2) };
    let is_valid = label.len as usize <= buffer.bytes.len();
    if is_valid {
        buffer.len = label.len as usize;
        memory.load_bytes(at + CELL_HEADER_WORDS, &mut buffer.bytes[..label.len as usize]);
    }
    memory.acquire();
    match memory.load(at) {
        after if after != lock => CellContent::Lock(after),
        _ if is_valid => CellContent::Sample(label),
        _ => CellContent::Length(label.len),
    }
}

/// The buffer into which samples are copied.
#[derive(Debug)]
pub struct SampleBuffer {
    bytes: Box<[u8]>,
    len: usize,
}

impl SampleBuffer {
    /// Creates a buffer for samples of up to `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes].into(), len: 0 }
    }

    /// Returns the sample that was read last.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
