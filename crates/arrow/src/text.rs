//! Arrays of strings without a look at each: a fenced module.
//!
//! Arrow's own constructor checks that the bytes are UTF-8 and that no string begins within a character, a string at a
//! time: 1.2 ns a value, which was 5 of 70 ns a row. Most strings of market data are ASCII, where every byte is a
//! character: one loop over all bytes shows it.

#![allow(unsafe_code)]

use arrow_array::StringArray;
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

/// Makes an array of strings that lie one behind another; `ends` begins with 0, then says where each ends.
///
/// # Errors
/// Those of Arrow, for strings that are not UTF-8.
///
/// # Panics
/// If `ends` does not ascend from 0 to the number of bytes, or `nulls` are of another number of strings.
pub(crate) fn array(
    ends: ScalarBuffer<i32>,
    bytes: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<StringArray, ArrowError> {
    let first = ends.first().copied();
    let last = ends.last().and_then(|end| usize::try_from(*end).ok());
    assert!(first == Some(0) && last == Some(bytes.len()), "strings cover all bytes");
    let ascends = ends.iter().zip(&ends[1..]).fold(true, |all, (start, end)| all & (start <= end));
    assert!(ascends, "strings lie one behind another");
    let rows = ends.len() - 1;
    assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == rows), "a bit a string");
    let is_ascii = bytes.is_ascii();
    // SAFETY: `OffsetBuffer::new_unchecked` asks for at least one offset, none below 0, none below the one before it. `ends`
    // is not empty and begins with 0, and ascends, by the assertions above.
    let offsets = unsafe { OffsetBuffer::new_unchecked(ends) };
    if !is_ascii {
        return StringArray::try_new(offsets, bytes, nulls);
    }
    // SAFETY: `StringArray::new_unchecked` asks for what `try_new` checks. Offsets are within the bytes: they ascend and the
    // last is their number. Each string is UTF-8: its bytes are ASCII, as all are. `nulls` has a bit a string.
    Ok(unsafe { StringArray::new_unchecked(offsets, bytes, nulls) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn strings_are_those_between_their_ends() {
        for (text, ends) in [("abcd", vec![0, 1, 1, 4]), ("aé", vec![0, 1, 3, 3])] {
            let nulls = NullBuffer::from(vec![true, false, true]);
            let array = array(ends.clone().into(), text.as_bytes().into(), Some(nulls)).unwrap();
            array.to_data().validate_full().unwrap();
            assert_eq!(array.value(0), "a");
            assert!(array.is_null(1));
            assert_eq!(array.value(2), &text[ends[2] as usize..]);
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_or_cut_a_character_are_refused() {
        assert!(array(vec![0, 1].into(), Buffer::from_vec(vec![0xFF_u8]), None).is_err());
        assert!(array(vec![0, 1, 2].into(), "é".as_bytes().into(), None).is_err());
    }

    #[test]
    #[should_panic(expected = "one behind another")]
    fn ends_that_do_not_ascend_are_refused() {
        let _ = array(vec![0, 3, 2, 4].into(), b"abcd".into(), None);
    }
}
