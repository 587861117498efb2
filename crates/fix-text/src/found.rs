//! Items found in a file.

/// Something of a file.
#[derive(Debug)]
pub enum Found<'f> {
    /// A message, or what has the shape of one.
    Message {
        /// As on the wire.
        bytes: &'f [u8],
        /// Its errors, as far as the surrounding text shows them.
        notes: &'f [String],
        /// True if BeginString, BodyLength or MsgType were put in front: what BodyLength and CheckSum say
        /// means nothing then.
        is_completed: bool,
    },
    /// Text that begins like a message but is not one; the error.
    Broken(String),
}
