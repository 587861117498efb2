//! Numbers as digits: written three at a time from a table that also holds the sum of the digits' bytes,
//! read eight at a time in one word.

/// `0` in each byte.
pub(crate) const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Three digits of a number below 1000.
#[derive(Clone, Copy)]
pub(crate) struct Triple {
    /// Three digits with leading zeros, first digit in the lowest byte; the highest byte is 0.
    pub text: u32,
    /// Sum of the three bytes.
    pub sum: u8,
    /// Digits without leading zeros, at least 1.
    pub len: u8,
}

/// Every number below 1000; the rest repeats, so that a 10-bit index needs no check.
pub(crate) static TRIPLES: [Triple; 1024] = {
    let mut table = [Triple { text: 0, sum: 0, len: 0 }; 1024];
    let mut number = 0;
    while number < 1024 {
        let below = number as u32 % 1000;
        let (a, b, c) = (below / 100, below / 10 % 10, below % 10);
        let len = if below > 99 {
            3
        } else if below > 9 {
            2
        } else {
            1
        };
        table[number] = Triple {
            text: 0x30_3030 + a + (b << 8) + (c << 16),
            sum: (3 * 0x30 + a + b + c) as u8,
            len,
        };
        number += 1;
    }
    table
};

/// Returns the digits of a number below 1000.
#[inline(always)]
pub(crate) fn triple(number: u32) -> &'static Triple {
    &TRIPLES[number as usize & 1023]
}

/// Returns the sum of the bytes of a word.
#[inline(always)]
pub(crate) const fn sum_of(word: u64) -> u32 {
    const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
    let pairs = (word & EVEN) + (word >> 8 & EVEN);
    (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32
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

/// Whether every byte of a word is at most 9.
#[inline(always)]
pub(crate) const fn are_digits(digits: u64) -> bool {
    const OVER: u64 = 0x7676_7676_7676_7676;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    ((digits & !HIGH).wrapping_add(OVER) | digits) & HIGH == 0
}

/// Returns each digit of a word times ten plus the next, in bytes 0 to 6.
#[inline(always)]
pub(crate) const fn pairs(digits: u64) -> u64 {
    digits.wrapping_mul(10).wrapping_add(digits >> 8)
}

/// Returns the number that eight digits make, the first in the lowest byte.
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
    fn the_table_holds_every_number() {
        for number in 0..1000 {
            let found = triple(number);
            let text = format!("{number:03}");
            assert_eq!(&found.text.to_le_bytes()[..3], text.as_bytes());
            assert_eq!(u32::from(found.sum), text.bytes().map(u32::from).sum::<u32>());
            assert_eq!(usize::from(found.len), number.to_string().len());
        }
    }
}
