//! Tags as text.

use crate::reader::SOH;
use crate::tag::Tag;

/// Maximum number of digits of a tag whose text fits a word.
const SHORT_DIGITS: u32 = 6;

/// A delimiter, a tag and `=` as text, built at compile time:
/// `const SIDE: TagText = TagText::new(Tag(54));`
///
/// Every field begins with the delimiter of the field before it, so that delimiter and tag are one
/// word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagText {
    /// The delimiter in the lowest byte.
    pub(super) text: u64,
    pub(super) len: u32,
    /// The tag if its text is longer than a word, otherwise 0.
    pub(super) long: u32,
}

impl TagText {
    /// Creates the text of a tag.
    pub const fn new(tag: Tag) -> Self {
        if tag.0 >= 10_u32.pow(SHORT_DIGITS) {
            return Self { text: 0, len: 0, long: tag.0 };
        }
        let (mut text, mut len) = (b'=' as u64, 2);
        let mut rest = tag.0;
        loop {
            let digit = b'0' as u64 + (rest % 10) as u64;
            text = text << 8 | digit;
            len += 1;
            rest /= 10;
            if rest == 0 {
                return Self { text: text << 8 | SOH as u64, len, long: 0 };
            }
        }
    }
}

impl From<Tag> for TagText {
    #[inline]
    fn from(tag: Tag) -> Self {
        Self::new(tag)
    }
}
