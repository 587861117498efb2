//! Memory in which a sample with strings and sequences takes its C form for one call.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::complex::{EntryMemory, SymbolMemory};
use crate::Error;

/// Reused memory for C strings and sequence elements.
#[derive(Default)]
pub struct Scratch {
    text: Vec<u8>,
    pub(super) entries: Vec<EntryMemory>,
    pub(super) symbols: Vec<SymbolMemory>,
}

// SAFETY: the pointers inside are written and followed within one call of `lend` and never after it, so
// it does not matter which thread holds the memory between calls.
unsafe impl Send for Scratch {}

impl Scratch {
    /// Forgets the last sample and makes room for strings of `text_bytes` bytes, `texts` in number.
    pub(super) fn restart(&mut self, text_bytes: usize, texts: usize) -> Result<(), Error> {
        let room = text_bytes.checked_add(texts).ok_or(Error::TooLong)?;
        self.text.clear();
        self.text.reserve(room);
        self.entries.clear();
        self.symbols.clear();
        Ok(())
    }

    /// Copies `text` as a C string; the pointer is good until the next `restart`.
    ///
    /// # Panics
    /// Where `restart` was told of less text than comes, which would move the strings before.
    pub(super) fn c_string(&mut self, text: &str) -> Result<*mut c_char, Error> {
        if text.is_empty() {
            return Ok(ptr::null_mut());
        }
        if text.as_bytes().contains(&0) {
            return Err(Error::TextWithNul);
        }
        let start = self.text.len();
        assert!(self.text.capacity() - start > text.len(), "restart made too little room");
        self.text.extend_from_slice(text.as_bytes());
        self.text.push(0);
        // SAFETY: `start` is inside the vector, because at least one byte was pushed after it.
        Ok(unsafe { self.text.as_mut_ptr().add(start) }.cast())
    }
}

/// Replaces `text` by the C string; false, with `text` empty, where it is not UTF-8.
///
/// # Safety
/// `string` is null or points to bytes that end in NUL and stay while this runs.
pub(super) unsafe fn load_text(text: &mut String, string: *const c_char) -> bool {
    text.clear();
    if string.is_null() {
        return true;
    }
    // SAFETY: the caller promises a string that ends in NUL.
    let bytes = unsafe { CStr::from_ptr(string) };
    match bytes.to_str() {
        Ok(valid) => {
            text.push_str(valid);
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_stay_in_place_while_more_are_added() {
        let mut scratch = Scratch::default();
        scratch.restart(5, 2).unwrap();
        let first = scratch.c_string("ab").unwrap();
        let second = scratch.c_string("cde").unwrap();
        let mut text = String::new();
        // SAFETY: both pointers came from `c_string` after the last `restart`.
        unsafe {
            assert!(load_text(&mut text, first));
            assert_eq!(text, "ab");
            assert!(load_text(&mut text, second));
            assert_eq!(text, "cde");
        }
    }

    #[test]
    fn a_nul_inside_is_refused_and_bad_utf8_is_told() {
        let mut scratch = Scratch::default();
        scratch.restart(3, 1).unwrap();
        assert_eq!(scratch.c_string("a\0b"), Err(Error::TextWithNul));
        // SAFETY: the literal ends in NUL.
        assert!(!unsafe { load_text(&mut String::new(), c"\xff".as_ptr()) });
    }
}
