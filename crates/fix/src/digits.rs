//! Conversion of digits: written two and three at a time from tables, read eight at a time in one
//! word.

/// `0` in each byte.
pub(crate) const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The three digits of every number below 1000 with leading zeros, first digit in the lowest byte;
/// the highest byte is 0. The table has 1024 entries so that a 10-bit index needs no bounds check.
static TRIPLES: [u32; 1024] = {
    let mut table = [0; 1024];
    let mut number = 0;
    while number < 1024 {
        let below = number as u32 % 1000;
        let (a, b, c) = (below / 100, below / 10 % 10, below % 10);
        table[number] = 0x30_3030 + a + (b << 8) + (c << 16);
        number += 1;
    }
    table
};

/// The two digits of every number below 100; padded to 128 entries so that a 7-bit index needs no
/// bounds check.
static PAIRS: [u16; 128] = {
    let mut table = [0; 128];
    let mut number = 0;
    while number < 128 {
        let below = number as u16 % 100;
        table[number] = 0x3030 + below / 10 + ((below % 10) << 8);
        number += 1;
    }
    table
};

/// The digits of every number below 1000 without leading zeros, first digit in the lowest byte;
/// their count is in the highest byte. Padded to 1024 entries so that a 10-bit index needs no
/// bounds check.
static SHORT: [u32; 1024] = {
    let mut table = [0; 1024];
    let mut number = 0;
    while number < 1024 {
        let len = match number % 1000 {
            0..10 => 1,
            10..100 => 2,
            _ => 3,
        };
        table[number] = TRIPLES[number] >> (8 * (3 - len)) | len << 24;
        number += 1;
    }
    table
};

/// Returns the digits of a number below 1000, first digit in the lowest byte, and their count.
#[inline(always)]
pub(crate) fn short(number: u32) -> (u64, usize) {
    let text = SHORT[number as usize & 1023];
    // The mask limits the count to 3 for the compiler, which then needs no bounds checks on it.
    (u64::from(text & 0x00FF_FFFF), (text >> 24 & 3) as usize)
}

/// Returns the three digits of a number below 1000, first digit in the lowest byte; the highest
/// byte is 0.
#[inline(always)]
pub(crate) fn triple(number: u32) -> u32 {
    TRIPLES[number as usize & 1023]
}

/// Returns the two digits of a number below 100, the first in the lowest byte.
#[inline(always)]
pub(crate) fn pair(number: u32) -> u16 {
    PAIRS[number as usize & 127]
}

/// Returns the eight digits of a number below 100 000 000, the first in the lowest byte.
#[inline(always)]
pub(crate) fn eight(number: u32) -> u64 {
    if number < 1_000_000 {
        let [high, low] = [number / 1000, number % 1000].map(triple);
        return 0x3030 | u64::from(high) << 16 | u64::from(low) << 40;
    }
    let high = number / 1000;
    let [middle, low] = [high % 1000, number % 1000].map(triple);
    u64::from(pair(high / 1000)) | u64::from(middle) << 16 | u64::from(low) << 40
}

/// Returns the number of bits before the first non-zero digit of eight digits; 56 if all are 0.
#[inline(always)]
pub(crate) const fn leading_zero_bits(digits: u64) -> u32 {
    ((digits ^ ZEROS) | 1 << 56).trailing_zeros() & 56
}

/// Returns at most eight bytes as the low bytes of a word.
#[inline(always)]
pub(crate) fn short_word(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << ((8 * (len - 4)) & 63);
    }
    match bytes {
        [] => 0,
        [a] => u64::from(*a),
        [a, b] => u64::from(*a) | u64::from(*b) << 8,
        [a, b, c, ..] => u64::from(*a) | u64::from(*b) << 8 | u64::from(*c) << 16,
    }
}

/// True if every byte of a word is at most 9.
#[inline(always)]
pub(crate) const fn are_digits(digits: u64) -> bool {
    const SIXES: u64 = 0x0606_0606_0606_0606;
    const HIGH: u64 = 0xF0F0_F0F0_F0F0_F0F0;
    // Adding 6 carries into the high half of bytes above 9. A carry into the next byte comes only
    // from a byte that is itself above 9, so the result is correct.
    (digits.wrapping_add(SIXES) | digits) & HIGH == 0
}

/// Returns ten times each digit plus the next digit, in bytes 0 to 6.
#[inline(always)]
pub(crate) const fn pairs(digits: u64) -> u64 {
    digits.wrapping_mul(10).wrapping_add(digits >> 8)
}

/// Returns the number formed by eight digits, first digit in the lowest byte.
///
/// [`pairs`] joins digits to numbers below 100 in the even bytes. One multiplication each weights
/// the pairs 0 and 2 (by 1,000,000 and 100) and the pairs 1 and 3 (by 10,000 and 1); the sum is in
/// the upper half.
#[inline(always)]
pub(crate) const fn eight_digits(digits: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00FF_0000_00FF;
    let pairs = pairs(digits);
    let high = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & PAIRS).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_at_a_time() {
        for number in [0, 1, 12_345_678, 99_999_999, 10_203_040, 90_909_090] {
            let text = format!("{number:08}");
            let word = short_word(text.as_bytes());
            assert!(are_digits(word ^ ZEROS));
            assert_eq!(eight_digits(word ^ ZEROS), number);
            for at in 0..8 {
                for wrong in [b'/', b':', b' ', 0x80, 0xB5, 0xFF] {
                    let mut bytes = word.to_le_bytes();
                    bytes[at] = wrong;
                    assert!(!are_digits(u64::from_le_bytes(bytes) ^ ZEROS));
                }
            }
        }
        for len in 0..=8 {
            let word = short_word(&b"abcdefgh"[..len]).to_le_bytes();
            assert_eq!((&word[..len], &word[len..]), (&b"abcdefgh"[..len], &[0; 8][len..]));
        }
    }

    #[test]
    fn the_tables_hold_every_number() {
        for number in 0..1000 {
            let bytes = triple(number).to_le_bytes();
            assert_eq!(bytes, *format!("{number:03}\0").as_bytes());
            let (digits, len) = short(number);
            assert_eq!(digits.to_le_bytes()[..len], *number.to_string().as_bytes());
            assert_eq!(digits >> (8 * len), 0);
        }
        for number in 0..100 {
            assert_eq!(pair(number).to_le_bytes(), *format!("{number:02}").as_bytes());
        }
    }

    #[test]
    fn eight_digits_of_every_length() {
        let mut power = 1;
        while power < 100_000_000 {
            for number in [power, power - 1, power * 7 + power / 3, power * 10 - 1] {
                let digits = eight(number);
                assert_eq!(digits.to_le_bytes(), *format!("{number:08}").as_bytes());
                let len = number.to_string().len() as u32;
                assert_eq!(leading_zero_bits(digits), 8 * (8 - len), "{number}");
            }
            power *= 10;
        }
    }
}
