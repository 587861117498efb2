//! Integers as decimal digits, eight at a time.

/// The lowest number with nine digits.
const EIGHT_DIGITS_END: u64 = 100_000_000;

/// Appends a number.
pub(crate) fn push_unsigned(out: &mut Vec<u8>, value: u64) {
    // Indexes, actions and levels.
    if value < 10 {
        // Fits: one digit.
        out.push(b'0' + value as u8);
        return;
    }
    if value >= EIGHT_DIGITS_END {
        push_unsigned(out, value / EIGHT_DIGITS_END);
        push_last(out, value % EIGHT_DIGITS_END, 8);
        return;
    }
    let digits = eight(value);
    let zeros = (digits.trailing_zeros() / 8) as usize;
    push_last_of(out, digits, 8 - zeros);
}

/// Appends a number with its sign.
pub(crate) fn push_integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_unsigned(out, value.unsigned_abs());
}

/// Appends the last `count` digits, at most eight, of a number below 100,000,000, with leading
/// zeros.
pub(crate) fn push_last(out: &mut Vec<u8>, value: u64, count: usize) {
    push_last_of(out, eight(value), count);
}

fn push_last_of(out: &mut Vec<u8>, digits: u64, count: usize) {
    let text = (digits | 0x3030_3030_3030_3030) >> (64 - 8 * count.max(1));
    // Storing eight bytes is cheaper than storing a variable number of them.
    let end = out.len() + count;
    out.extend_from_slice(&text.to_le_bytes());
    out.truncate(end);
}

/// Returns the eight digits of a number below 100,000,000, one per byte, the first in the lowest
/// byte.
///
/// Splits the number three times: each step splits every part into two parts with half of its
/// digits, all parts at once. Each division is a multiplication by a reciprocal that is exact for
/// numbers of that size.
fn eight(value: u64) -> u64 {
    let high = value / 10_000;
    let fours = high | (value - high * 10_000) << 32;
    let high = (fours * 10_486) >> 20 & 0x0000_007f_0000_007f;
    let twos = high | (fours - high * 100) << 16;
    let high = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    high | (twos - high * 10) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsigned(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        push_unsigned(&mut out, value);
        out
    }

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let powers = (0..20).map(|places| 10_u64.pow(places));
        let near = powers.flat_map(|power| [power - 1, power, power + 1]);
        // Every number of four digits, in either half of the eight digits and in both.
        let halves = (0..10_000).flat_map(|four| [four, four * 10_000, four * 10_001]);
        for value in near.chain(halves).chain([u64::MAX, u64::MAX - 1, 1 << 63]) {
            assert_eq!(unsigned(value), value.to_string().as_bytes());
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            let mut out = Vec::new();
            push_integer(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }

    #[test]
    fn last_digits_keep_their_zeros() {
        let last = |value, count| {
            let mut out = Vec::new();
            push_last(&mut out, value, count);
            out
        };
        assert_eq!(last(5, 3), b"005");
        assert_eq!(last(0, 8), b"00000000");
        assert_eq!(last(99_999_999, 8), b"99999999");
        assert_eq!(last(7, 0), b"");
    }
}
