//! Bounds on sizes that the input chooses.

use crate::dictionary::INLINE_MAX;
use crate::options::setters;

/// Limits of a decoder or encoder. Exceeding one is an error, before memory is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Entries of one sequence. Default 65,536.
    pub entries_max: u32,
    /// Entries of all sequences of one message together. Default 1,048,576.
    pub entries_total_max: u32,
    /// Bytes of one string or byte vector. Default 1,048,576; at most 16,777,215.
    pub string_max: u32,
    /// Depth of dynamic template references. Default 16.
    pub nesting_max: u32,
    /// Memory of one decoded message in bytes; applies to words and to strings separately. Default
    /// 64 MiB. Strings count whether or not they are stored, so that decoding, visiting and
    /// projections fail alike.
    pub message_bytes_max: usize,
    /// Bytes of an incomplete message that a stream may hold back. Default 64 KiB.
    pub stream_bytes_max: usize,
}

setters!(Limits {
    entries_max: u32,
    entries_total_max: u32,
    string_max: u32,
    nesting_max: u32,
    message_bytes_max: usize,
    stream_bytes_max: usize,
});

impl Limits {
    /// Depth of groups, sequences and dynamic references together. It bounds the stack and cannot
    /// be raised.
    pub const DEPTH_MAX: u32 = 64;

    /// True if strings that fit a word may be read without checking the limit.
    pub(crate) fn take_short_strings(&self) -> bool {
        self.string_max >= INLINE_MAX as u32
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries_max: 65_536,
            entries_total_max: 1 << 20,
            string_max: 1 << 20,
            nesting_max: 16,
            message_bytes_max: 64 << 20,
            stream_bytes_max: 64 << 10,
        }
    }
}
