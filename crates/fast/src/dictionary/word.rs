//! The eight bytes in which a record or an entry stores a value, and the strings among them.
//!
//! | string | bytes 0 to 3 | bytes 4 to 6 | byte 7 |
//! |---|---|---|---|
//! | at most seven bytes | its bytes | its bytes | its length |
//! | longer, in a message | start among the message's strings | length | [`OUTSIDE`] |
//! | longer, in an entry, which has a buffer for it | 0 | 0 | [`OUTSIDE`] |

/// An integer, a short string, or a reference to data elsewhere.
pub(crate) type Word = [u8; 8];

/// Longest string stored inside a word.
pub(crate) const INLINE_MAX: usize = 7;
/// Last byte of a word whose string is elsewhere.
pub(crate) const OUTSIDE: u8 = 0xff;
/// The word of a string that is in its entry's buffer.
pub(crate) const LONG_WORD: Word = [0, 0, 0, 0, 0, 0, 0, OUTSIDE];
/// The length of a short string is in its word from this bit on.
pub(crate) const LENGTH_SHIFT: u32 = 56;
/// The length of a message's long string is in its word from this bit on.
pub(crate) const LONG_LENGTH_SHIFT: u32 = 32;
/// Long strings are shorter than this: three bytes of the word are their length.
pub(crate) const LEN_MAX: usize = 1 << (LENGTH_SHIFT - LONG_LENGTH_SHIFT);

/// Returns the word of a string; `None` if it is too long.
#[inline]
pub(crate) fn inline_word(bytes: &[u8]) -> Option<Word> {
    let mut word = [0; 8];
    word.get_mut(..bytes.len()).filter(|w| w.len() <= INLINE_MAX)?.copy_from_slice(bytes);
    word[7] = bytes.len() as u8;
    Some(word)
}

/// Returns the word of a string of `len` bytes, at most seven; the first is in the lowest bits.
#[inline(always)]
pub(crate) fn word_of_bytes(bytes: u64, len: usize) -> Word {
    (bytes | (len as u64) << LENGTH_SHIFT).to_le_bytes()
}

/// Returns the bytes of a short string; `None` if they are elsewhere.
#[inline]
pub(crate) fn short_bytes(word: &Word) -> Option<&[u8]> {
    (!is_long(*word)).then(|| &word[..usize::from(word[7]).min(INLINE_MAX)])
}

/// True if a string is not in its word. A shift, because most words are in registers.
#[inline(always)]
pub(crate) fn is_long(word: Word) -> bool {
    u64::from_le_bytes(word) >> LENGTH_SHIFT == u64::from(OUTSIDE)
}

/// Returns the word of `len` bytes at `start` of a message's strings; `None` if either has too many bits.
#[inline]
pub(crate) fn long_word(start: usize, len: usize) -> Option<Word> {
    let start = u32::try_from(start).ok()?;
    (len < LEN_MAX).then(|| place_word(start, len as u32))
}

/// As [`long_word`]; the length is below [`LEN_MAX`].
#[inline(always)]
pub(crate) fn place_word(start: u32, len: u32) -> Word {
    let place = u64::from(start) | u64::from(len) << LONG_LENGTH_SHIFT;
    (place | u64::from_le_bytes(LONG_WORD)).to_le_bytes()
}

/// Returns the start and the length of a long string of a message.
#[inline(always)]
pub(crate) fn place_of(word: Word) -> (usize, usize) {
    let word = u64::from_le_bytes(word);
    (word as u32 as usize, (word >> LONG_LENGTH_SHIFT) as usize & (LEN_MAX - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_strings_are_in_their_word() {
        for len in 0..=INLINE_MAX {
            let bytes = &b"\xffBCDEFG"[..len];
            let word = inline_word(bytes).expect("short");
            assert_eq!(short_bytes(&word), Some(bytes));
            let mut characters = [0; 8];
            characters[..len].copy_from_slice(bytes);
            assert_eq!(word_of_bytes(u64::from_le_bytes(characters), len), word);
        }
        assert_eq!(inline_word(b"ABCDEFGH"), None);
        assert_eq!(inline_word(&[0; 300]), None);
    }

    #[test]
    fn long_strings_have_a_place() {
        for start in [0, 1, 0x1234_5678, u32::MAX as usize] {
            for len in [8, 255, 0x12_3456, LEN_MAX - 1] {
                let word = long_word(start, len).expect("few enough bits");
                assert!(is_long(word) && short_bytes(&word).is_none());
                assert_eq!(place_of(word), (start, len));
            }
            assert_eq!(long_word(start, LEN_MAX), None);
            assert_eq!(long_word(start, usize::MAX), None);
        }
        assert_eq!(long_word(1 << 32, 8), None);
        assert!(is_long(LONG_WORD));
        assert_eq!(place_of(LONG_WORD), (0, 0));
    }
}
