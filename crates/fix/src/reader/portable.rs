//! The byte-by-byte scanner, which handles data fields and defines the behaviour that the engines
//! must match. All engines, including the portable one, leave messages that are not plain to it.

use super::data::DataFields;
use super::index::Index;
use super::{SOH, TAG_DIGITS_MAX, parse_length};
use crate::error::{FixError, FixErrorKind};

/// Fills `index` and returns the sum of all bytes.
#[inline(never)]
pub(super) fn scan(
    bytes: &[u8],
    index: &mut Index,
    data_fields: &DataFields,
    fields_max: usize,
) -> Result<u32, FixError> {
    index.clear();
    let mut data = None;
    let mut start = 0;
    while start < bytes.len() {
        if index.len() == fields_max {
            return Err(FixError::new(FixErrorKind::FieldCount, 0, start));
        }
        let Some((tag, equal)) = scan_tag(&bytes[start..]) else {
            let Some(len) = find_delimiter(&bytes[start..]) else {
                return Err(FixError::new(FixErrorKind::HeaderOrder, 0, start));
            };
            note(index, without_number(&bytes[start..start + len], start));
            let equal = bytes[start..start + len].iter().position(|byte| *byte == b'=');
            // Without `=` the value is empty and begins at its end; `=` is taken to be just before
            // it.
            let equal = start.wrapping_add(equal.unwrap_or(len.wrapping_sub(1)));
            index.push(0, equal, start + len);
            start += len + 1;
            data = None;
            continue;
        };
        let value = start + equal + 1;
        let len = match data.take() {
            None => find_delimiter(&bytes[value..]),
            Some((length_tag, data_tag, len)) => {
                if data_tag == tag && bytes.get(len + value) == Some(&SOH) {
                    Some(len)
                } else {
                    note(index, FixError::new(FixErrorKind::DataLength, length_tag, start));
                    find_delimiter(&bytes[value..])
                }
            }
        };
        let Some(len) = len else {
            return Err(FixError::new(FixErrorKind::HeaderOrder, tag, start));
        };
        if let Some(data_tag) = data_fields.data_of(tag) {
            match parse_length(&bytes[value..value + len]) {
                Some(data_len) => data = Some((tag, data_tag, data_len)),
                None => note(index, FixError::new(FixErrorKind::DataLength, tag, start)),
            }
        }
        index.push(tag, value - 1, value + len);
        start = value + len + 1;
    }
    Ok(bytes.iter().fold(0, |sum: u32, byte| sum.wrapping_add(u32::from(*byte))))
}

/// Parses a tag and returns it with the position of `=`; `None` if it is not a positive number
/// without leading zeros.
#[inline]
fn scan_tag(field: &[u8]) -> Option<(u32, usize)> {
    let mut tag = 0_u32;
    for (at, byte) in field.iter().take(TAG_DIGITS_MAX + 1).enumerate() {
        match byte {
            b'=' => return (at > 0).then_some((tag, at)),
            b'0' if at == 0 => return None,
            b'0'..=b'9' if at < TAG_DIGITS_MAX => tag = tag * 10 + u32::from(byte - b'0'),
            _ => return None,
        }
    }
    None
}

/// Returns the position of the next delimiter.
#[inline]
fn find_delimiter(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == SOH)
}

/// Returns the error of a field with an invalid tag number.
fn without_number(field: &[u8], start: usize) -> FixError {
    let kind =
        if field.contains(&b'=') { FixErrorKind::TagSyntax } else { FixErrorKind::FieldDelimiter };
    FixError::new(kind, 0, start)
}

/// Records the first fault.
fn note(index: &mut Index, error: FixError) {
    index.fault.get_or_insert(error);
}
