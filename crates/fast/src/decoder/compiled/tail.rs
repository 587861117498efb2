//! Copies of the end of a packet, with room after it: machine code reads ahead.

use crate::rt::copy_ends;

/// Buffer for input that is shorter than compiled code reads ahead.
#[derive(Clone, Debug)]
pub(super) struct PacketTail {
    bytes: Vec<u8>,
}

impl PacketTail {
    /// Creates a buffer for code that reads at most `reach` bytes ahead.
    pub(super) fn new(reach: usize) -> Self {
        Self { bytes: vec![0; 2 * reach] }
    }

    /// Returns a copy of the bytes, followed by `reach` readable bytes of any value.
    pub(super) fn padded(&mut self, input: &[u8], reach: usize) -> &[u8] {
        let end = input.len() + reach;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let bytes = &mut self.bytes[..end];
        copy_short(bytes, input);
        bytes
    }

    /// Returns the bytes followed by `reach` readable bytes; returns `input` itself if it is at
    /// least that long.
    #[inline(always)]
    pub(super) fn lengthened<'t>(&'t mut self, input: &'t [u8], reach: usize) -> &'t [u8] {
        if input.len() >= reach {
            return input;
        }
        let end = input.len() + reach;
        match self.bytes.get_mut(..end) {
            Some(bytes) => {
                copy_short(bytes, input);
                bytes
            }
            None => input,
        }
    }
}

/// Copies to the front of a slice that is at least as long.
#[inline(always)]
fn copy_short(to: &mut [u8], from: &[u8]) {
    match from.len() {
        16..=32 => copy_ends::<16>(to, from),
        33..=64 => copy_ends::<32>(to, from),
        65..=128 => copy_ends::<64>(to, from),
        len => {
            if let Some(to) = to.get_mut(..len) {
                to.copy_from_slice(from);
            }
        }
    }
}
