//! How the samples lie in memory for Cyclone.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use super::ffi::TopicDescriptor;
use super::scratch::Scratch;
use crate::{Change, Done, Error, New, Quote, Remove};

/// A sample whose layout in memory a type descriptor of Cyclone describes.
///
/// # Safety
/// `Memory` has size, alignment and members of the C structure that `descriptor` describes, and all zero
/// bytes are a value of it that Cyclone may fill and free.
pub unsafe trait Layout: Sized {
    /// The C structure.
    type Memory: Sized;

    /// The descriptor that Cyclone's compiler made from the IDL file.
    fn descriptor() -> *const TopicDescriptor;

    /// Lends the sample in its C form to `use_sample`, whose pointer is good until it returns.
    ///
    /// # Errors
    /// [`Error::TextWithNul`] and [`Error::TooLong`] where C cannot hold the sample.
    fn lend<R>(
        &self,
        scratch: &mut Scratch,
        use_sample: impl FnOnce(*const c_void) -> R,
    ) -> Result<R, Error>;

    /// Replaces the value by a copy of `memory`; false where a string of it is not UTF-8.
    ///
    /// # Safety
    /// `memory` was zero or a sample before, and Cyclone filled it.
    unsafe fn load(&mut self, memory: &Self::Memory) -> bool;
}

/// Samples without pointers are laid out as in C themselves.
///
/// They are still lent as a copy made member by member: Cyclone sends such a structure as it lies in
/// memory, and the bytes between members of the user's value can hold anything.
macro_rules! plain_layout {
    ($($sample:ident, $descriptor:ident: $($member:ident)*;)*) => {
        unsafe extern "C" {
            $(static $descriptor: TopicDescriptor;)*
        }
        $(
            // SAFETY: `repr(C)` with the members of the IDL file in their order, unsigned integers of the
            // same widths and `u8` for `char`; all zero is a value. A test compares size and alignment.
            unsafe impl Layout for $sample {
                type Memory = Self;

                fn descriptor() -> *const TopicDescriptor {
                    &raw const $descriptor
                }

                fn lend<R>(
                    &self,
                    _scratch: &mut Scratch,
                    use_sample: impl FnOnce(*const c_void) -> R,
                ) -> Result<R, Error> {
                    let $sample { $($member),* } = *self;
                    let mut memory = MaybeUninit::<Self>::zeroed();
                    let place = memory.as_mut_ptr();
                    // SAFETY: `place` is memory of ours for one value; each member is written in place.
                    $(unsafe { (&raw mut (*place).$member).write($member) };)*
                    Ok(use_sample(place.cast_const().cast()))
                }

                unsafe fn load(&mut self, memory: &Self) -> bool {
                    *self = *memory;
                    true
                }
            }
        )*
    };
}

plain_layout! {
    Done, MiddlewareNewsBrief_Done_desc: samples;
    Quote, MiddlewareNewsBrief_Quote_desc:
        message_type sequence_number timestamp order_id volume price security_id exchange_id
        security_type session_id;
    New, MiddlewareNewsBrief_New_desc:
        message_type sequence_number timestamp order_id volume price security_id exchange_id
        security_type session_id side;
    Change, MiddlewareNewsBrief_Change_desc:
        message_type sequence_number timestamp order_id volume price security_id exchange_id
        security_type session_id side;
    Remove, MiddlewareNewsBrief_Remove_desc:
        message_type sequence_number timestamp order_id security_id exchange_id security_type
        session_id side;
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::{MarketData, QuoteRequest, Sample};

    fn agrees_with_its_descriptor<S: Sample>() {
        // SAFETY: the descriptors are constants of the C files in `idl/generated`.
        let descriptor = unsafe { &*S::descriptor() };
        assert_eq!(descriptor.size as usize, size_of::<S::Memory>());
        assert_eq!(descriptor.align as usize, align_of::<S::Memory>());
        assert_eq!(descriptor.keys, u32::from(S::default().key().is_some()));
        // SAFETY: a descriptor's name is a constant string.
        let name = unsafe { CStr::from_ptr(descriptor.type_name) };
        assert_eq!(name.to_str(), Ok(S::TYPE_NAME));
    }

    #[test]
    fn every_sample_agrees_with_its_descriptor() {
        agrees_with_its_descriptor::<Done>();
        agrees_with_its_descriptor::<Quote>();
        agrees_with_its_descriptor::<New>();
        agrees_with_its_descriptor::<Change>();
        agrees_with_its_descriptor::<Remove>();
        agrees_with_its_descriptor::<MarketData>();
        agrees_with_its_descriptor::<QuoteRequest>();
    }

    #[test]
    fn bytes_between_members_do_not_leave_the_process() {
        let mut dirty = MaybeUninit::<Quote>::uninit();
        // SAFETY: one value's worth of bytes in memory of ours, and integers may have any bits.
        let dirty = unsafe {
            dirty.as_mut_ptr().write_bytes(0xaa, 1);
            dirty.assume_init_ref()
        };
        let lent = dirty.lend(&mut Scratch::default(), |memory| {
            // SAFETY: the memory was zeroed before its members were written, so all bytes have a value.
            unsafe { *memory.cast::<[u8; size_of::<Quote>()]>() }
        });
        let bytes = lent.unwrap();
        assert_eq!(bytes[..8], [0xaa, 0xaa, 0, 0, 0xaa, 0xaa, 0xaa, 0xaa]);
        assert_eq!(bytes[26..], [0xaa, 0xaa, 0xaa, 0, 0, 0]);
    }
}
