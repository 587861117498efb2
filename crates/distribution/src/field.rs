//! Encoding and decoding of the members of typed samples.

use std::sync::Arc;

use crate::cdr::{SampleDecodeError, SampleDecoder, SampleEncodeError, SampleEncoder};
use crate::types::{MemberType, StructType};

/// The type of a member of a typed sample.
pub trait SampleField: Default {
    /// Encodes the value.
    ///
    /// # Errors
    /// [`SampleEncodeError`].
    fn encode(&self, encoder: &mut SampleEncoder<'_>) -> Result<(), SampleEncodeError>;

    /// Decodes the value into `self`, reusing its memory.
    ///
    /// # Errors
    /// [`SampleDecodeError`].
    fn decode(&mut self, decoder: &mut SampleDecoder<'_>) -> Result<(), SampleDecodeError>;

    /// Returns the type of the member.
    fn member_type() -> MemberType;
}

/// A structure with members.
pub trait SampleFields: Default {
    /// Returns the type of the structure.
    fn struct_type() -> &'static Arc<StructType>;

    /// Encodes all members.
    ///
    /// # Errors
    /// [`SampleEncodeError`].
    fn encode_members(&self, encoder: &mut SampleEncoder<'_>) -> Result<(), SampleEncodeError>;

    /// Decodes all members into `self`.
    ///
    /// # Errors
    /// [`SampleDecodeError`].
    fn decode_members(&mut self, decoder: &mut SampleDecoder<'_>) -> Result<(), SampleDecodeError>;

    /// Decodes only the members of the key into `self`.
    ///
    /// # Errors
    /// [`SampleDecodeError`].
    fn decode_key(&mut self, decoder: &mut SampleDecoder<'_>) -> Result<(), SampleDecodeError>;
}

macro_rules! plain {
    ($($type:ident $put:ident $take:ident $member:ident;)*) => {
        $(
            impl SampleField for $type {
                #[inline]
                fn encode(&self, encoder: &mut SampleEncoder<'_>) -> Result<(), SampleEncodeError> {
                    encoder.$put(*self);
                    Ok(())
                }

                #[inline]
                fn decode(&mut self, decoder: &mut SampleDecoder<'_>) -> Result<(), SampleDecodeError> {
                    *self = decoder.$take()?;
                    Ok(())
                }

                fn member_type() -> MemberType {
                    MemberType::$member
                }
            }
        )*
    };
}

plain! {
    bool put_bool take_bool Bool;
    u8 put_u8 take_u8 U8;
    u16 put_u16 take_u16 U16;
    u32 put_u32 take_u32 U32;
    u64 put_u64 take_u64 U64;
    i32 put_i32 take_i32 I32;
    i64 put_i64 take_i64 I64;
    f64 put_f64 take_f64 F64;
}

impl SampleField for String {
    #[inline]
    fn encode(&self, encoder: &mut SampleEncoder<'_>) -> Result<(), SampleEncodeError> {
        encoder.put_str(self)
    }

    #[inline]
    fn decode(&mut self, decoder: &mut SampleDecoder<'_>) -> Result<(), SampleDecodeError> {
        self.clear();
        self.push_str(decoder.take_str()?);
        Ok(())
    }

    fn member_type() -> MemberType {
        MemberType::Str
    }
}

impl<T: SampleFields> SampleField for T {
    #[inline]
    fn encode(&self, encoder: &mut SampleEncoder<'_>) -> Result<(), SampleEncodeError> {
        self.encode_members(encoder)
    }

    #[inline]
    fn decode(&mut self, decoder: &mut SampleDecoder<'_>) -> Result<(), SampleDecodeError> {
        self.decode_members(decoder)
    }

    fn member_type() -> MemberType {
        MemberType::Struct(T::struct_type().clone())
    }
}

/// A sequence of structures.
impl<T: SampleFields> SampleField for Vec<T> {
    fn encode(&self, encoder: &mut SampleEncoder<'_>) -> Result<(), SampleEncodeError> {
        encoder.put_sequence(self.len(), |encoder| {
            self.iter().try_for_each(|element| element.encode_members(encoder))
        })
    }

    fn decode(&mut self, decoder: &mut SampleDecoder<'_>) -> Result<(), SampleDecodeError> {
        let length = decoder.take_sequence()?;
        self.truncate(length);
        for index in 0..length {
            // Grow one element at a time, because the length is not trusted.
            if index == self.len() {
                self.push(T::default());
            }
            self[index].decode_members(decoder)?;
        }
        Ok(())
    }

    fn member_type() -> MemberType {
        MemberType::Sequence(Box::new(T::member_type()))
    }
}

/// Implements [`SampleFields`] for a structure: `fields!("module::Name" Type { key "keyMember"; member "memberInTheIdl", .. })`
/// gives the name of the type and of each member in the IDL, the members of the key first. `as Char` after a name marks a
/// byte that is a character. Members are [`SampleField`]s: numbers, `bool`, `String`, structures with `SampleFields`, and vectors of
/// these structures.
///
/// # Examples
/// ```
/// use tickwire_distribution::{Sample, SampleFields, fields};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Spread {
///     symbol: String,
///     bid: f64,
///     ask: f64,
/// }
/// fields!("Example::Spread" Spread { symbol "symbol"; bid "bid", ask "ask" });
///
/// impl Sample for Spread {
///     const TOPIC: &'static str = "Spread";
/// }
///
/// assert!(Spread::struct_type().members[0].is_key);
/// ```
#[macro_export]
macro_rules! fields {
    ($name:literal $type:ident {
        $($key:ident $key_name:literal),* ;
        $($member:ident $member_name:literal $(as $kind:ident)?),* $(,)?
    }) => {
        impl $crate::SampleFields for $type {
            fn struct_type() -> &'static std::sync::Arc<$crate::types::StructType> {
                static TYPE: std::sync::LazyLock<std::sync::Arc<$crate::types::StructType>> =
                    std::sync::LazyLock::new(|| {
                        // Lets the compiler infer the types of the members.
                        fn of<F: $crate::SampleField>(
                            _: impl Fn(&$type) -> &F,
                        ) -> $crate::types::MemberType {
                            F::member_type()
                        }
                        let members = vec![
                            $($crate::types::Member {
                                is_key: true,
                                ..$crate::types::Member::new($key_name, of(|sample| &sample.$key))
                            },)*
                            $($crate::types::Member::new(
                                $member_name,
                                $crate::fields!(@type $member $type $($kind)?),
                            ),)*
                        ];
                        std::sync::Arc::new($crate::types::StructType {
                            name: $name.to_owned(),
                            members,
                            encoding: $crate::cdr::CdrEncoding::Xcdr1,
                        })
                    });
                &TYPE
            }

            #[inline]
            fn encode_members(
                &self,
                encoder: &mut $crate::cdr::SampleEncoder<'_>,
            ) -> Result<(), $crate::cdr::SampleEncodeError> {
                $($crate::SampleField::encode(&self.$key, encoder)?;)*
                $($crate::SampleField::encode(&self.$member, encoder)?;)*
                Ok(())
            }

            #[inline]
            fn decode_members(
                &mut self,
                decoder: &mut $crate::cdr::SampleDecoder<'_>,
            ) -> Result<(), $crate::cdr::SampleDecodeError> {
                $($crate::SampleField::decode(&mut self.$key, decoder)?;)*
                $($crate::SampleField::decode(&mut self.$member, decoder)?;)*
                Ok(())
            }

            #[allow(unused_variables)]
            fn decode_key(
                &mut self,
                decoder: &mut $crate::cdr::SampleDecoder<'_>,
            ) -> Result<(), $crate::cdr::SampleDecodeError> {
                $($crate::SampleField::decode(&mut self.$key, decoder)?;)*
                Ok(())
            }
        }
    };
    (@type $member:ident $type:ident) => {
        of(|sample| &sample.$member)
    };
    (@type $member:ident $type:ident $kind:ident) => {
        $crate::types::MemberType::$kind
    };
}
