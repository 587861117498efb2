//! The only `unsafe` code of this crate: vector instructions, the buffer for written messages, and
//! slots that are not cleared.
//!
//! The AVX2 and AVX-512 engines find delimiters and `=` 64 bytes at a time as bit masks, and sum
//! the bytes in the same pass. They support only plain messages: every field is a tag without
//! leading zero, `=`, a value and a delimiter. Tags of one to four digits are parsed many at a
//! time, longer ones one by one. For other messages `scan` returns `None`, and the portable
//! byte-by-byte scanner decides.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod buffer;
mod column;
#[cfg(target_arch = "x86_64")]
mod columns;
mod delimiters;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod long_tags;
#[cfg(target_arch = "x86_64")]
mod marks;
#[cfg(not(target_arch = "x86_64"))]
mod no_avx;
mod plan;
mod sum;
#[cfg(target_arch = "x86_64")]
mod values;

pub(crate) use block::{BLOCK_LEN, DelimiterBlock};
pub(crate) use buffer::{Buffer, BufferOffset, Pen, WINDOW};
pub(crate) use column::{Filling, SlotColumn};
pub(crate) use delimiters::delimiters_in;
pub(crate) use lanes::Lanes;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use no_avx::{Avx2, Avx512};
pub(crate) use plan::{TagPlan, ValueFormat};
#[cfg(target_arch = "x86_64")]
pub(crate) use {avx2::Avx2, avx512::Avx512};

#[cfg(target_arch = "x86_64")]
use crate::reader::Index;

/// Bytes per iteration.
#[cfg(target_arch = "x86_64")]
const BLOCK: usize = BLOCK_LEN;

/// The result of a pass over a plain message, besides its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageScan {
    /// Sum of all bytes, modulo 256 or more.
    pub sum: u32,
    /// True if one of the tags may be that of a length field of data.
    pub may_hold_data: bool,
}

/// The outcome of a pass.
#[cfg(target_arch = "x86_64")]
enum ScanOutcome {
    /// The columns are too short.
    NeedRoom,
    /// The message is not plain.
    Odd,
    Plain(MessageScan),
}

/// Runs `scan`, and repeats it with longer columns if they are too short. `None` if the message is
/// not plain or has more than `fields_max` fields.
#[cfg(target_arch = "x86_64")]
#[inline]
fn with_room(
    bytes: &[u8],
    index: &mut Index,
    fields_max: usize,
    mut scan: impl FnMut(&mut Index) -> ScanOutcome,
) -> Option<MessageScan> {
    // Positions are 32 bits wide, and signed in some lanes.
    if bytes.len() > i32::MAX as usize {
        return None;
    }
    loop {
        match scan(index) {
            ScanOutcome::Plain(found) => return (index.len <= fields_max).then_some(found),
            ScanOutcome::Odd => return None,
            // Columns for more fields than allowed are not allocated: the message is refused
            // anyway.
            ScanOutcome::NeedRoom if index.capacity() > fields_max.saturating_add(2 * BLOCK) => {
                return None;
            }
            ScanOutcome::NeedRoom => index.grow(),
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::reader::DataFields;
    use tickwire_testing::{Need, skip};

    #[test]
    fn columns_keep_room_for_a_block_of_delimiters_and_the_lanes_after_it() {
        let Some(engine) = Avx512::detect() else {
            return skip(Need::Machine, "this CPU has no AVX-512");
        };
        const LANES: usize = 16;
        let standard = DataFields::standard();
        for fields in 150..300 {
            let (bytes, mut index) = (b"1=\x01".repeat(fields), Index::default());
            assert!(engine.scan(&bytes, &mut index, 1000, standard.filter()).is_some());
            let (blocks, _) = bytes.as_chunks::<BLOCK>();
            let before = blocks.as_flattened().iter().filter(|byte| **byte == 1).count();
            assert!(index.capacity() >= before + BLOCK + LANES, "{fields}");
        }
    }

    #[test]
    fn messages_with_long_tags_are_plain() {
        let standard = DataFields::standard();
        for (tag, is_plain) in [("1234", true), ("12345", true), ("999999999", true)]
            .into_iter()
            .chain([("1234567890", false), ("012345", false), ("x", false)])
        {
            let bytes = format!("8=FIX.4.2\u{1}9=5\u{1}35=0\u{1}{tag}=x\u{1}10=161\u{1}");
            let (bytes, mut index) = (bytes.as_bytes(), Index::default());
            let filter = standard.filter();
            if let Some(engine) = Avx2::detect() {
                let scan = engine.scan(bytes, &mut index, 100, filter);
                assert_eq!(scan.is_some(), is_plain, "{tag}");
            }
            if let Some(engine) = Avx512::detect() {
                let scan = engine.scan(bytes, &mut index, 100, filter);
                assert_eq!(scan.is_some(), is_plain, "{tag}");
            }
        }
    }
}
