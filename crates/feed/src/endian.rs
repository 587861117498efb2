//! Byte order of numbers in files and preambles.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Most significant byte first: network order.
    Big,
    /// Least significant byte first.
    Little,
}

impl Endian {
    /// Returns the unsigned number that `bytes` holds, or `None` for more than 8 bytes.
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        if bytes.len() > size_of::<u64>() {
            return None;
        }
        let push = |number: u64, &byte: &u8| (number << 8) | u64::from(byte);
        Some(match self {
            Self::Big => bytes.iter().fold(0, push),
            Self::Little => bytes.iter().rev().fold(0, push),
        })
    }

    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    pub(crate) fn u32_bytes(self, number: u32) -> [u8; 4] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }
}

/// Returns the `N` bytes of `bytes` from `offset` on, or `None` if there are fewer.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width_are_read_in_both_orders() {
        assert_eq!(Endian::Big.number(&[1, 2, 3]), Some(0x01_02_03));
        assert_eq!(Endian::Little.number(&[1, 2, 3]), Some(0x03_02_01));
        assert_eq!(Endian::Big.number(&[0xFF; 8]), Some(u64::MAX));
        assert_eq!(Endian::Little.number(&[]), Some(0));
        assert_eq!(Endian::Big.number(&[0; 9]), None);
    }
}
