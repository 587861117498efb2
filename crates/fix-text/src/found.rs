//! Items found in a file.

/// An item of a file.
#[derive(Debug)]
pub enum FoundMessage<'f> {
    /// A message, or bytes in the shape of one.
    Message {
        /// The bytes in wire form.
        bytes: &'f [u8],
        /// Its errors, as far as the surrounding text shows them.
        notes: &'f [String],
        /// True if BeginString, BodyLength or MsgType were added at the front: BodyLength and
        /// CheckSum are then meaningless.
        is_completed: bool,
    },
    /// Text that begins like a message but is not one; the error.
    Broken(String),
}
