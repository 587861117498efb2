//! Position of the next messages on feeds that put a header before each.

use super::{Framing, FramingError, read_message_header};

/// The bytes of messages after a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockBounds {
    /// Offset of the first message.
    pub start: usize,
    /// End of the messages; the end of the bytes if the header has no length.
    pub end: usize,
    /// True if the header has a length: the messages fill the block.
    pub has_length: bool,
    /// True if the header precedes one message and does not give its length.
    pub is_one_message: bool,
}

/// Finds the block whose header begins at `at`; `None` if the header is not complete.
///
/// # Errors
/// As [`read_message_header`]: the header is malformed, or its length is out of bounds.
pub fn next_block(
    framing: &Framing,
    bytes: &[u8],
    at: usize,
) -> Result<Option<BlockBounds>, FramingError> {
    let header = framing.header_before_message();
    let Some(bounds) = read_message_header(header, bytes, at)? else { return Ok(None) };
    let start = at + bounds.header_bytes;
    let end = match bounds.message_bytes {
        Some(len) => start.checked_add(len).filter(|&end| end <= bytes.len()),
        None => Some(bytes.len()),
    };
    let has_length = bounds.message_bytes.is_some();
    let is_one_message = !has_length && !header.is_none();
    Ok(end.map(|end| BlockBounds { start, end, has_length, is_one_message }))
}
