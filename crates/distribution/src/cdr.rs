//! The encoding of a sample: plain CDR, little-endian, without the encapsulation header.
//!
//! DDS puts the same bytes on the wire, so every reader that knows the IDL also understands the samples of other
//! transports. Spec: DDS-XTypes 1.3 §7.4.1 (XCDR1), §7.4.2 (XCDR2); final types only.

use std::fmt;

/// Version of the encoding. The versions differ in alignment, and in what precedes optional members and sequences of
/// structures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CdrEncoding {
    /// PLAIN_CDR: values of eight bytes are aligned to eight; no optional members.
    #[default]
    Xcdr1,
    /// PLAIN_CDR2: no value is aligned to more than four bytes; a flag precedes an optional member, and the
    /// length in bytes precedes a sequence of strings or structures.
    Xcdr2,
}

impl CdrEncoding {
    const fn align_max(self) -> usize {
        match self {
            Self::Xcdr1 => 8,
            Self::Xcdr2 => 4,
        }
    }
}

/// Reason why a sample cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleEncodeError {
    /// A string contains a NUL character, which ends strings in CDR.
    TextWithNul,
    /// A string or sequence has more than 2^32 - 2 bytes or elements.
    TooLong,
}

impl fmt::Display for SampleEncodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::TextWithNul => "a string of the sample contains a NUL character",
            Self::TooLong => "the sample is too long",
        })
    }
}

impl std::error::Error for SampleEncodeError {}

/// Reason why bytes are not a valid sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleDecodeError {
    /// The bytes end within a member.
    Cut,
    /// A string is not UTF-8.
    NotUtf8,
    /// A string does not end with its only NUL character, or a flag is neither 0 nor 1.
    Syntax,
}

impl fmt::Display for SampleDecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Cut => "the sample's bytes end inside a member",
            Self::NotUtf8 => "a string of the sample is not UTF-8",
            Self::Syntax => "the sample's bytes are not of its type",
        })
    }
}

impl std::error::Error for SampleDecodeError {}

/// Appends the members of one sample to a buffer.
///
/// # Examples
/// ```
/// use tickwire_distribution::cdr::{CdrEncoding, SampleEncoder};
///
/// let mut bytes = Vec::new();
/// let mut encoder = SampleEncoder::new(&mut bytes, CdrEncoding::Xcdr1);
/// encoder.put_u16(7);
/// encoder.put_u32(9);
/// assert_eq!(bytes, [7, 0, 0, 0, 9, 0, 0, 0]);
/// ```
#[derive(Debug)]
pub struct SampleEncoder<'b> {
    out: &'b mut Vec<u8>,
    encoding: CdrEncoding,
}

macro_rules! put {
    ($($name:ident $type:ident)*) => {
        $(
            #[doc = concat!("Appends a `", stringify!($type), "`.")]
            #[inline]
            pub fn $name(&mut self, value: $type) {
                self.align(size_of::<$type>());
                self.out.extend_from_slice(&value.to_le_bytes());
            }
        )*
    };
}

impl<'b> SampleEncoder<'b> {
    /// Creates an encoder for one sample. Clears `out`, because alignment counts from its first byte.
    pub fn new(out: &'b mut Vec<u8>, encoding: CdrEncoding) -> Self {
        out.clear();
        Self { out, encoding }
    }

    /// Returns the version of the encoding.
    #[must_use]
    pub const fn encoding(&self) -> CdrEncoding {
        self.encoding
    }

    put! { put_u16 u16 put_u32 u32 put_u64 u64 put_i32 i32 put_i64 i64 put_f64 f64 }

    #[inline]
    fn align(&mut self, size: usize) {
        let size = size.min(self.encoding.align_max());
        let place = self.out.len().next_multiple_of(size);
        self.out.resize(place, 0);
    }

    /// Appends a byte.
    #[inline]
    pub fn put_u8(&mut self, value: u8) {
        self.out.push(value);
    }

    /// Appends a flag.
    #[inline]
    pub fn put_bool(&mut self, value: bool) {
        self.out.push(u8::from(value));
    }

    /// Appends a string.
    ///
    /// # Errors
    /// [`SampleEncodeError::TextWithNul`] and [`SampleEncodeError::TooLong`].
    #[inline]
    pub fn put_str(&mut self, text: &str) -> Result<(), SampleEncodeError> {
        if text.as_bytes().contains(&0) {
            return Err(SampleEncodeError::TextWithNul);
        }
        self.put_length(text.len().saturating_add(1))?;
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
        Ok(())
    }

    /// Appends the number of elements that follow.
    ///
    /// # Errors
    /// [`SampleEncodeError::TooLong`].
    #[inline]
    pub fn put_length(&mut self, length: usize) -> Result<(), SampleEncodeError> {
        self.put_u32(u32::try_from(length).map_err(|_| SampleEncodeError::TooLong)?);
        Ok(())
    }

    /// Appends a sequence of bytes.
    ///
    /// # Errors
    /// [`SampleEncodeError::TooLong`].
    pub fn put_bytes(&mut self, bytes: &[u8]) -> Result<(), SampleEncodeError> {
        self.put_length(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends a sequence of strings or structures, whose elements `put_elements` appends.
    ///
    /// # Errors
    /// [`SampleEncodeError::TooLong`], and those of `put_elements`.
    pub fn put_sequence<E: From<SampleEncodeError>>(
        &mut self,
        length: usize,
        put_elements: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.encoding == CdrEncoding::Xcdr1 {
            self.put_length(length)?;
            return put_elements(self);
        }
        self.put_u32(0);
        let begin = self.out.len();
        self.put_length(length)?;
        put_elements(self)?;
        let bytes =
            u32::try_from(self.out.len() - begin).map_err(|_| SampleEncodeError::TooLong)?;
        self.out[begin - 4..begin].copy_from_slice(&bytes.to_le_bytes());
        Ok(())
    }
}

/// Reads the members of one sample in order.
#[derive(Clone, Copy, Debug)]
pub struct SampleDecoder<'b> {
    bytes: &'b [u8],
    offset: usize,
    encoding: CdrEncoding,
}

macro_rules! take {
    ($($name:ident $type:ident)*) => {
        $(
            #[doc = concat!("Reads a `", stringify!($type), "`.")]
            ///
            /// # Errors
            /// [`SampleDecodeError::Cut`].
            #[inline]
            pub fn $name(&mut self) -> Result<$type, SampleDecodeError> {
                self.align(size_of::<$type>());
                let rest = self.bytes.get(self.offset..).unwrap_or_default();
                let bytes = rest.first_chunk().ok_or(SampleDecodeError::Cut)?;
                self.offset += size_of::<$type>();
                Ok($type::from_le_bytes(*bytes))
            }
        )*
    };
}

impl<'b> SampleDecoder<'b> {
    /// Creates a decoder at the first member.
    #[must_use]
    pub const fn new(bytes: &'b [u8], encoding: CdrEncoding) -> Self {
        Self { bytes, offset: 0, encoding }
    }

    /// Returns the number of bytes before the next member.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the version of the encoding.
    #[must_use]
    pub const fn encoding(&self) -> CdrEncoding {
        self.encoding
    }

    take! { take_u8 u8 take_u16 u16 take_u32 u32 take_u64 u64 take_i32 i32 take_i64 i64 take_f64 f64 }

    #[inline]
    fn align(&mut self, size: usize) {
        self.offset = self.offset.next_multiple_of(size.min(self.encoding.align_max()));
    }

    /// Reads a flag.
    ///
    /// # Errors
    /// [`SampleDecodeError::Cut`], [`SampleDecodeError::Syntax`].
    pub fn take_bool(&mut self) -> Result<bool, SampleDecodeError> {
        match self.take_u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(SampleDecodeError::Syntax),
        }
    }

    /// Reads a string.
    ///
    /// # Errors
    /// [`SampleDecodeError::Cut`], [`SampleDecodeError::NotUtf8`], [`SampleDecodeError::Syntax`].
    pub fn take_str(&mut self) -> Result<&'b str, SampleDecodeError> {
        let length = self.take_length()?;
        match self.take_slice(length)? {
            // Some implementations write an empty string without its NUL.
            [] => Ok(""),
            [text @ .., 0] if !text.contains(&0) => {
                std::str::from_utf8(text).map_err(|_| SampleDecodeError::NotUtf8)
            }
            _ => Err(SampleDecodeError::Syntax),
        }
    }

    /// Reads the number of elements that follow. Do not allocate by it: the bytes may end earlier.
    ///
    /// # Errors
    /// [`SampleDecodeError::Cut`].
    pub fn take_length(&mut self) -> Result<usize, SampleDecodeError> {
        Ok(self.take_u32()? as usize)
    }

    /// Reads the length of a sequence of strings or structures.
    ///
    /// # Errors
    /// [`SampleDecodeError::Cut`].
    pub fn take_sequence(&mut self) -> Result<usize, SampleDecodeError> {
        if self.encoding == CdrEncoding::Xcdr2 {
            self.take_u32()?;
        }
        self.take_length()
    }

    /// Reads a sequence of bytes.
    ///
    /// # Errors
    /// [`SampleDecodeError::Cut`].
    pub fn take_bytes(&mut self) -> Result<&'b [u8], SampleDecodeError> {
        let length = self.take_length()?;
        self.take_slice(length)
    }

    fn take_slice(&mut self, length: usize) -> Result<&'b [u8], SampleDecodeError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let slice = rest.get(..length).ok_or(SampleDecodeError::Cut)?;
        self.offset += length;
        Ok(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_eight_bytes_are_aligned_by_version() {
        for (encoding, offset) in [(CdrEncoding::Xcdr1, 8), (CdrEncoding::Xcdr2, 4)] {
            let mut bytes = Vec::new();
            let mut encoder = SampleEncoder::new(&mut bytes, encoding);
            encoder.put_u8(1);
            encoder.put_i64(-2);
            assert_eq!(bytes.len(), offset + 8);
            let mut decoder = SampleDecoder::new(&bytes, encoding);
            assert_eq!((decoder.take_u8(), decoder.take_i64()), (Ok(1), Ok(-2)));
            assert_eq!(decoder.take_u8(), Err(SampleDecodeError::Cut));
        }
    }

    #[test]
    fn strings_end_in_nul_and_have_none_inside() {
        let mut bytes = Vec::new();
        let mut encoder = SampleEncoder::new(&mut bytes, CdrEncoding::Xcdr1);
        encoder.put_str("ab").unwrap();
        encoder.put_str("").unwrap();
        assert_eq!(encoder.put_str("a\0b"), Err(SampleEncodeError::TextWithNul));
        assert_eq!(bytes, [3, 0, 0, 0, b'a', b'b', 0, 0, 1, 0, 0, 0, 0]);
        let text = |bytes: &'static [u8]| SampleDecoder::new(bytes, CdrEncoding::Xcdr1).take_str();
        assert_eq!(text(&[2, 0, 0, 0, 0xff, 0]), Err(SampleDecodeError::NotUtf8));
        assert_eq!(text(&[2, 0, 0, 0, b'a', b'b']), Err(SampleDecodeError::Syntax));
        assert_eq!(text(&[9, 0, 0, 0, b'a', 0]), Err(SampleDecodeError::Cut));
        assert_eq!(text(&[0, 0, 0, 0]), Ok(""));
    }

    #[test]
    fn a_sequence_of_structures_has_its_length_in_bytes_before_it_in_version_2() {
        let mut bytes = Vec::new();
        let mut encoder = SampleEncoder::new(&mut bytes, CdrEncoding::Xcdr2);
        let put = |encoder: &mut SampleEncoder<'_>| -> Result<(), SampleEncodeError> {
            encoder.put_u16(5);
            Ok(())
        };
        encoder.put_sequence(1, put).unwrap();
        assert_eq!(bytes, [6, 0, 0, 0, 1, 0, 0, 0, 5, 0]);
        let mut decoder = SampleDecoder::new(&bytes, CdrEncoding::Xcdr2);
        assert_eq!((decoder.take_sequence(), decoder.take_u16()), (Ok(1), Ok(5)));
    }
}
