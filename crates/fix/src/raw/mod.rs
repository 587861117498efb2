//! The only `unsafe` of this crate: wide instructions, the buffer that messages are written to, and slots
//! that are not cleared.
//!
//! Both engines find delimiters and `=` 64 bytes at a time as bit masks, and sum the bytes on the way.
//! They treat plain messages only: every field is a tag of one to four digits without leading zero, `=`,
//! a value and a delimiter. For anything else `scan` returns `None` and the portable twin decides.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod buffer;
mod column;
#[cfg(target_arch = "x86_64")]
mod columns;
mod delimiters;
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod marks;
mod plan;
mod sum;
#[cfg(target_arch = "x86_64")]
mod values;

pub(crate) use buffer::{Buffer, Pen, Place, WINDOW};
pub(crate) use column::{Column, Filling};
pub(crate) use delimiters::delimiters_in;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use elsewhere::{Avx2, Avx512};
pub(crate) use lanes::Lanes;
pub(crate) use plan::{Plan, Reading};
#[cfg(target_arch = "x86_64")]
pub(crate) use {avx2::Avx2, avx512::Avx512};

#[cfg(target_arch = "x86_64")]
use crate::reader::Index;

/// Bytes handled at a time.
#[cfg(target_arch = "x86_64")]
const BLOCK: usize = 64;

/// What a pass over a plain message has found, besides its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    /// Sum of all bytes.
    pub sum: u32,
    /// Whether one of the tags may be that of a length field of data.
    pub may_hold_data: bool,
}

/// What came of a pass.
#[cfg(target_arch = "x86_64")]
enum Outcome {
    /// The columns are too short.
    NeedRoom,
    /// The message is not plain.
    Odd,
    Plain(Scan),
}

/// Runs `scan`, again with longer columns where they are too short; `None` if the message is not plain or
/// has more than `fields_max` fields.
#[cfg(target_arch = "x86_64")]
#[inline]
fn with_room(
    bytes: &[u8],
    index: &mut Index,
    fields_max: usize,
    mut scan: impl FnMut(&mut Index) -> Outcome,
) -> Option<Scan> {
    // Positions are 32 bits wide, and signed in some lanes.
    if bytes.len() > i32::MAX as usize {
        return None;
    }
    loop {
        match scan(index) {
            Outcome::Plain(found) => return (index.len <= fields_max).then_some(found),
            Outcome::Odd => return None,
            // Columns for more fields than are allowed need not be made: the message is refused.
            Outcome::NeedRoom if index.capacity() > fields_max.saturating_add(2 * BLOCK) => {
                return None;
            }
            Outcome::NeedRoom => index.grow(),
        }
    }
}
