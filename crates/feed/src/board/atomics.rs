//! The atomics of the seqlock; its model check puts those of a model in their place.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
