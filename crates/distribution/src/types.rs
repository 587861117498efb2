//! Describes the type of a sample at run time.
//!
//! This description is used where the Rust type of a sample is not known: to show samples, to record them, and for
//! types generated from templates.

use std::sync::Arc;

use crate::cdr::{CdrEncoding, SampleDecodeError, SampleDecoder, SampleEncodeError, SampleEncoder};
use crate::transport::RawSample;

/// The type of the samples of a topic: a final structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructType {
    /// Name on the wire with its modules, such as `tickwire::Trade`; writer and reader must agree on it.
    pub name: String,
    /// The members in order. The members of the key come first.
    pub members: Vec<Member>,
    /// Encoding in which writers write samples of the type.
    pub encoding: CdrEncoding,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the member in the IDL.
    pub name: String,
    /// Type of the member.
    pub of: MemberType,
    /// True if the member belongs to the key.
    pub is_key: bool,
    /// True if the member may be absent; only in [`CdrEncoding::Xcdr2`].
    pub is_optional: bool,
}

/// The type of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberType {
    /// A flag.
    Bool,
    /// Bytes of any content.
    Bytes,
    /// One character of eight bits.
    Char,
    /// A 64-bit floating-point number.
    F64,
    /// A signed 32-bit integer.
    I32,
    /// A signed 64-bit integer.
    I64,
    /// Any number of elements of one type.
    Sequence(Box<MemberType>),
    /// UTF-8 text.
    Str,
    /// A structure.
    Struct(Arc<StructType>),
    /// A byte.
    U8,
    /// An unsigned 16-bit integer.
    U16,
    /// An unsigned 32-bit integer.
    U32,
    /// An unsigned 64-bit integer.
    U64,
}

/// The value of a member, borrowed from the bytes of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'b> {
    /// A flag.
    Bool(bool),
    /// Bytes of any content.
    Bytes(&'b [u8]),
    /// One character of eight bits.
    Char(u8),
    /// A floating-point number.
    F64(f64),
    /// A signed integer.
    Int(i64),
    /// Text.
    Str(&'b str),
    /// An unsigned integer.
    UInt(u64),
}

/// Receives the members of a sample in order.
pub trait Visitor {
    /// Called for a plain value; `name` is empty for an element of a sequence.
    fn scalar(&mut self, name: &str, value: Scalar<'_>);
    /// Called for an optional member that is absent.
    fn absent(&mut self, name: &str);
    /// Called before the members of a structure.
    fn begin_struct(&mut self, name: &str, of: &StructType);
    /// Called after the members of a structure.
    fn end_struct(&mut self);
    /// Called before the elements of a sequence.
    fn begin_sequence(&mut self, name: &str, length: usize);
    /// Called after the elements of a sequence.
    fn end_sequence(&mut self);
}

/// Visitor that ignores all members. Walking with it validates the bytes.
struct Nobody;

impl Visitor for Nobody {
    fn scalar(&mut self, _: &str, _: Scalar<'_>) {}
    fn absent(&mut self, _: &str) {}
    fn begin_struct(&mut self, _: &str, _: &StructType) {}
    fn end_struct(&mut self) {}
    fn begin_sequence(&mut self, _: &str, _: usize) {}
    fn end_sequence(&mut self) {}
}

impl StructType {
    /// Passes all members of a sample to `visitor`.
    ///
    /// # Errors
    /// The bytes are not of this type.
    pub fn walk(
        &self,
        decoder: &mut SampleDecoder<'_>,
        visitor: &mut impl Visitor,
    ) -> Result<(), SampleDecodeError> {
        self.members.iter().try_for_each(|member| member.walk(decoder, visitor))
    }

    /// Checks that bytes are a valid sample of this type.
    ///
    /// # Errors
    /// The reason why they are not valid.
    pub fn check(&self, bytes: &[u8], encoding: CdrEncoding) -> Result<(), SampleDecodeError> {
        self.walk(&mut SampleDecoder::new(bytes, encoding), &mut Nobody)
    }

    /// Returns true if the type has a key.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.members.iter().any(|member| member.is_key)
    }

    /// Returns the bytes of a sample's key, which are its first bytes; empty if the type has no key.
    ///
    /// # Errors
    /// The bytes are not of this type.
    pub fn key<'b>(
        &self,
        bytes: &'b [u8],
        encoding: CdrEncoding,
    ) -> Result<&'b [u8], SampleDecodeError> {
        let mut decoder = SampleDecoder::new(bytes, encoding);
        for member in self.members.iter().take_while(|member| member.is_key) {
            member.walk(&mut decoder, &mut Nobody)?;
        }
        bytes.get(..decoder.offset()).ok_or(SampleDecodeError::Cut)
    }

    /// Returns the value of the top-level member of this name, such as a sequence number; `None` if there is no such
    /// member or if it is not an unsigned integer.
    ///
    /// # Errors
    /// The bytes are not of this type.
    pub fn number(
        &self,
        member: usize,
        bytes: &[u8],
        encoding: CdrEncoding,
    ) -> Result<Option<u64>, SampleDecodeError> {
        let mut decoder = SampleDecoder::new(bytes, encoding);
        for before in self.members.iter().take(member) {
            before.walk(&mut decoder, &mut Nobody)?;
        }
        let Some(member) = self.members.get(member) else { return Ok(None) };
        let mut found = NumberVisitor(None);
        member.walk(&mut decoder, &mut found)?;
        Ok(found.0)
    }

    /// Converts a sample to the encoding in which writers write samples of this type.
    ///
    /// # Errors
    /// The bytes are not of this type, or it has optional members, which [`CdrEncoding::Xcdr1`] does not
    /// support.
    pub fn transcode(
        &self,
        raw: &RawSample<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SampleDecodeError> {
        let (mut from, mut to) = (raw.decoder(), SampleEncoder::new(out, self.encoding));
        self.copy(&mut from, &mut to)
    }

    fn copy(
        &self,
        from: &mut SampleDecoder<'_>,
        to: &mut SampleEncoder<'_>,
    ) -> Result<(), SampleDecodeError> {
        self.members.iter().try_for_each(|member| member.copy(from, to))
    }

    /// Returns the index of the top-level member of this name.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }
}

/// Visitor that stores a number.
struct NumberVisitor(Option<u64>);

impl Visitor for NumberVisitor {
    fn scalar(&mut self, _: &str, value: Scalar<'_>) {
        self.0 = match value {
            Scalar::UInt(number) => Some(number),
            _ => None,
        };
    }
    fn absent(&mut self, _: &str) {}
    fn begin_struct(&mut self, _: &str, _: &StructType) {}
    fn end_struct(&mut self) {}
    fn begin_sequence(&mut self, _: &str, _: usize) {}
    fn end_sequence(&mut self) {}
}

impl Member {
    /// Creates a member that is neither part of the key nor optional.
    #[must_use]
    pub fn new(name: impl Into<String>, of: MemberType) -> Self {
        Self { name: name.into(), of, is_key: false, is_optional: false }
    }

    fn walk(
        &self,
        decoder: &mut SampleDecoder<'_>,
        visitor: &mut impl Visitor,
    ) -> Result<(), SampleDecodeError> {
        if self.is_optional && !decoder.take_bool()? {
            visitor.absent(&self.name);
            return Ok(());
        }
        self.of.walk(&self.name, decoder, visitor)
    }

    fn copy(
        &self,
        from: &mut SampleDecoder<'_>,
        to: &mut SampleEncoder<'_>,
    ) -> Result<(), SampleDecodeError> {
        if self.is_optional {
            if [from.encoding(), to.encoding()].contains(&CdrEncoding::Xcdr1) {
                return Err(SampleDecodeError::Syntax);
            }
            let is_there = from.take_bool()?;
            to.put_bool(is_there);
            if !is_there {
                return Ok(());
            }
        }
        self.of.copy(from, to)
    }
}

impl MemberType {
    fn walk(
        &self,
        name: &str,
        decoder: &mut SampleDecoder<'_>,
        visitor: &mut impl Visitor,
    ) -> Result<(), SampleDecodeError> {
        let value = match self {
            Self::Bool => Scalar::Bool(decoder.take_bool()?),
            Self::Bytes => Scalar::Bytes(decoder.take_bytes()?),
            Self::Char => Scalar::Char(decoder.take_u8()?),
            Self::F64 => Scalar::F64(decoder.take_f64()?),
            Self::I32 => Scalar::Int(decoder.take_i32()?.into()),
            Self::I64 => Scalar::Int(decoder.take_i64()?),
            Self::Str => Scalar::Str(decoder.take_str()?),
            Self::U8 => Scalar::UInt(decoder.take_u8()?.into()),
            Self::U16 => Scalar::UInt(decoder.take_u16()?.into()),
            Self::U32 => Scalar::UInt(decoder.take_u32()?.into()),
            Self::U64 => Scalar::UInt(decoder.take_u64()?),
            Self::Struct(of) => {
                visitor.begin_struct(name, of);
                of.walk(decoder, visitor)?;
                visitor.end_struct();
                return Ok(());
            }
            Self::Sequence(of) => {
                let length = match of.is_plain() {
                    true => decoder.take_length()?,
                    false => decoder.take_sequence()?,
                };
                visitor.begin_sequence(name, length);
                for _ in 0..length {
                    of.walk("", decoder, visitor)?;
                }
                visitor.end_sequence();
                return Ok(());
            }
        };
        visitor.scalar(name, value);
        Ok(())
    }

    fn copy(
        &self,
        from: &mut SampleDecoder<'_>,
        to: &mut SampleEncoder<'_>,
    ) -> Result<(), SampleDecodeError> {
        // Every decoded value can be encoded again: strings contain no NUL, and lengths fit 32 bits.
        let unfit = |_: SampleEncodeError| SampleDecodeError::Syntax;
        match self {
            Self::Bool => to.put_bool(from.take_bool()?),
            Self::Bytes => to.put_bytes(from.take_bytes()?).map_err(unfit)?,
            Self::Char | Self::U8 => to.put_u8(from.take_u8()?),
            Self::F64 => to.put_f64(from.take_f64()?),
            Self::I32 => to.put_i32(from.take_i32()?),
            Self::I64 => to.put_i64(from.take_i64()?),
            Self::Str => to.put_str(from.take_str()?).map_err(unfit)?,
            Self::U16 => to.put_u16(from.take_u16()?),
            Self::U32 => to.put_u32(from.take_u32()?),
            Self::U64 => to.put_u64(from.take_u64()?),
            Self::Struct(of) => of.copy(from, to)?,
            Self::Sequence(of) if of.is_plain() => {
                let length = from.take_length()?;
                to.put_length(length).map_err(unfit)?;
                (0..length).try_for_each(|_| of.copy(from, to))?;
            }
            Self::Sequence(of) => {
                let length = from.take_sequence()?;
                let mut copied = Ok(());
                to.put_sequence(length, |to| {
                    copied = (0..length).try_for_each(|_| of.copy(from, to));
                    Ok(())
                })
                .map_err(unfit)?;
                copied?;
            }
        }
        Ok(())
    }

    /// Returns true for a number, a character or a flag.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        !matches!(self, Self::Bytes | Self::Sequence(_) | Self::Str | Self::Struct(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BookLevel, BookSample, SampleFields, SampleInfo};

    #[test]
    fn a_sample_of_the_other_encoding_is_written_in_that_of_its_type() {
        let levels = |count| (0..count).map(|orders| BookLevel { orders, ..BookLevel::default() });
        let (source, bids, offers) = ("é".to_owned(), levels(3).collect(), levels(1).collect());
        let book = BookSample { source, seq_num: 7, bids, offers, ..BookSample::default() };
        let [own, other] = [CdrEncoding::Xcdr1, CdrEncoding::Xcdr2].map(|encoding| {
            let mut bytes = Vec::new();
            book.encode_members(&mut SampleEncoder::new(&mut bytes, encoding)).unwrap();
            bytes
        });
        assert_ne!(own, other);
        let info = SampleInfo::default();
        let raw = RawSample { bytes: &other, encoding: CdrEncoding::Xcdr2, info };
        let mut written = Vec::new();
        BookSample::struct_type().transcode(&raw, &mut written).unwrap();
        assert_eq!(written, own);
        let cut = RawSample { bytes: &other[..other.len() - 1], ..raw };
        assert_eq!(
            BookSample::struct_type().transcode(&cut, &mut written),
            Err(SampleDecodeError::Cut)
        );
    }
}
