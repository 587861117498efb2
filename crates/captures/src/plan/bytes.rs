//! Encodes numbers and texts for indexes and splits.

/// Returns the 64-bit FNV-1a hash. It detects accidental differences between files; deliberate
/// collisions are possible.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Appends a number, seven bits per byte, the lowest first; the highest bit is set if more bytes
/// follow.
pub(super) fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends bytes after their count.
pub(super) fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes a number; `None` if there is no valid one.
pub(super) fn take(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (first, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(first & 0x7F);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Takes bytes after their count.
pub(super) fn take_bytes<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = usize::try_from(take(from)?).ok()?;
    let (bytes, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_come_back() {
        let numbers = [0, 1, 0x7F, 0x80, 1 << 35, u64::MAX];
        let mut out = Vec::new();
        numbers.iter().for_each(|number| push(&mut out, *number));
        push_bytes(&mut out, b"text");
        let mut from = &out[..];
        assert!(numbers.iter().all(|number| take(&mut from) == Some(*number)));
        assert_eq!(take_bytes(&mut from), Some(&b"text"[..]));
        assert_eq!(take(&mut from), None);
    }

    #[test]
    fn what_is_no_number_is_none() {
        assert_eq!(take(&mut &[0x80][..]), None);
        assert_eq!(take(&mut &[0xFF; 11][..]), None);
        assert_eq!(take(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2][..]), None);
        assert_eq!(take_bytes(&mut &[3, 1, 2][..]), None);
        assert_eq!(take_bytes(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1][..]), None);
    }
}
