//! Numbers as digits: three at a time from a table that also holds the sum of the digits' bytes.

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

#[cfg(test)]
mod tests {
    use super::*;

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
