//! Digests of packets, by which the copies of lines A and B are compared.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

/// Returns a digest that is the same for the same bytes, for the duration of the process.
#[inline(always)]
pub(crate) fn digest(packet: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(packet);
    hasher.finish()
}
