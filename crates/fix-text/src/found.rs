//! What is found in a file.

/// Something of a file.
#[derive(Debug)]
pub enum Found<'f> {
    /// A message, or what has the shape of one.
    Message {
        /// As on the wire.
        bytes: &'f [u8],
        /// What is wrong with it, as far as it is known from where it stands.
        notes: &'f [String],
        /// True if BeginString, BodyLength or MsgType were put in front: what BodyLength and CheckSum say
        /// means nothing then.
        is_completed: bool,
    },
    /// What is no message though it begins like one, in words.
    Broken(String),
}
